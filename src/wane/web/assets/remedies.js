// Remedies are written in the language of descriptions.  Where one names a field and its value, a
// button makes the change; where only the holder can know the value, a button goes to the field.

import { KNOBS, shown } from "./description.js";

const words = (knob, value) => knob.values.find(([known]) => known === value)?.[1];

function choices(text, values) {
  const made = [];
  for (const [, path, list] of text.matchAll(/([a-z_.]+) = ((?:"[a-z0-9-]+"(?: or )?)+)/g)) {
    const knob = KNOBS.find((known) => known.kind === "choice" && known.path === path);
    for (const [, value] of knob ? list.matchAll(/"([a-z0-9-]+)"/g) : []) {
      if (!words(knob, value)) continue;
      const set = { [knob.id]: value };
      if (knob.id === "batches" && value !== "full" && !String(values.size ?? "").trim())
        set.size = String(Math.max(1, Math.round(Number(values.records) / 100)));
      made.push({ label: `${knob.label}: ${words(knob, value)}`, set, focus: knob.id });
    }
  }
  return made;
}

const PROPOSED = [
  [/domain\.diameter = /, (v) => ({ label: "Keep the weights in a ball", set: { domain: "ball", radius: String(v.radius || "5") }, focus: "radius" })],
  [/\ba ridge\b/, () => ({ label: "Add a ridge of 0.01", set: { ridge: "0.01" }, focus: "ridge" })],
];

// nobody but the holder can prove a constant: the button leads to its field and writes nothing
function fields(text, values) {
  const named = [...text.matchAll(/(?:objective\.)?\b([a-z]+(?:_[a-z]+)*)\b/g)].map(([, word]) => word);
  const found = [...new Set(named)].map((word) => KNOBS.find((knob) => knob.kind === "number" && knob.id === word));
  if (/larger batches/.test(text)) found.push(KNOBS.find((knob) => knob.id === "size"));
  return found.filter((knob) => knob && knob.id !== "ridge" && knob.id !== "clip" && shown(knob, values))
    .map((knob) => ({ label: `Go to: ${knob.label}`, set: {}, focus: knob.id }));
}

export function buttonsFor(text, values) {
  const made = choices(text, values);
  for (const [pattern, propose] of PROPOSED) if (pattern.test(text)) made.push(propose(values));
  return made.length ? made : fields(text, values);
}
