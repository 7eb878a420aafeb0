// The page: read the knobs, ask the server, show what it says.

import { KNOBS, fits, fromDescription, shown, toDelta, toDescription } from "./description.js";
import { brief, briefDown, cited, draw, plainName } from "./chart.js";
import { buttonsFor } from "./remedies.js";

const $ = (id) => document.getElementById(id);
const CHUNKS = 6, POINTS = 5;
const SAVES = ["save-description", "save-certificate", "save-page", "save-code"];
const OLD = " The numbers shown are those of the last description that was right.";
let values = {}, aside = null, asked = 0, answer = null;
const rounded = new Set(); // fields that show fewer digits than they hold

const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

async function ask(path, body) {
  const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (reply.ok) return reply;
  const complaint = await reply.json().catch(() => ({ error: "the server gave no answer", field: "" }));
  throw Object.assign(new Error(complaint.error), { field: complaint.field });
}

const question = () => ({ run: aside ?? toDescription(values), delta: toDelta(values) });

function buildForm() {
  for (const knob of KNOBS) {
    const holder = make("div", { id: `knob-${knob.id}` }, make("label", { for: knob.id }, knob.label, " ", make("code", {}, knob.path.replace(".value", ""))));
    const described = { "aria-describedby": `${knob.id}-error` };
    if (knob.kind === "choice") {
      const select = make("select", { id: knob.id, ...described });
      for (const [value, text] of knob.values) select.append(make("option", { value }, text));
      select.addEventListener("change", () => change(knob.id, select.value));
      holder.append(select);
    } else {
      const field = make("input", { id: knob.id, type: "text", inputmode: "decimal", autocomplete: "off", ...described });
      const slider = make("input", { id: `${knob.id}-slider`, type: "range", min: 0, max: 1000, step: 1, "aria-label": `${knob.label}, slider` });
      field.addEventListener("input", () => change(knob.id, field.value));
      slider.addEventListener("input", () => change(knob.id, fromSlider(knob, Number(slider.value))));
      holder.append(make("div", { class: "knob" }, slider, field), make("p", { id: `${knob.id}-exactly`, class: "exactly" }));
    }
    holder.append(make("p", { id: `${knob.id}-error`, class: "error", role: "alert" }));
    $("fields").append(holder);
  }
}

const fromSlider = (knob, place) => {
  const value = knob.low * (knob.high / knob.low) ** (place / 1000);
  return knob.whole ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
};

const toSlider = (knob, text) => {
  const value = Number(text);
  if (!(value > 0)) return 0;
  return Math.round(1000 * Math.min(1, Math.max(0, Math.log(value / knob.low) / Math.log(knob.high / knob.low))));
};

function change(id, value) {
  values[id] = value;
  rounded.delete(id);
  aside = null;
  show();
  schedule();
}

function show() {
  for (const knob of KNOBS) {
    $(`knob-${knob.id}`).hidden = !shown(knob, values);
    const field = $(knob.id), exact = String(values[knob.id] ?? "");
    const text = rounded.has(knob.id) ? forTheEye(knob, exact) : exact;
    if (field.value !== text) field.value = text;
    if (knob.kind !== "number") continue;
    $(`${knob.id}-slider`).value = toSlider(knob, exact);
    $(`${knob.id}-exactly`).textContent = text === exact ? "" : `Rounded for the eye; the files and the address hold ${exact}.`;
  }
}

// noise is rounded up and everything else down, so that a number copied from the screen is no worse
const forTheEye = (knob, exact) => (exact.replace(/e.*|[^0-9]/g, "").length <= 6 || !Number.isFinite(Number(exact)) ? exact
  : (knob.id === "noise" ? brief : briefDown)(Number(exact)));

function stale(yes) {
  for (const place of ["glance", "answer"]) $(place).classList.toggle("stale", yes);
  for (const button of SAVES) $(button).disabled = yes;
}

let timer = 0;
function schedule() {
  clearTimeout(timer);
  timer = setTimeout(refresh, 120);
}

async function refresh() {
  const mine = ++asked, body = question();
  history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify({ run: body.run, delta: values.delta })));
  clearErrors();
  $("status").textContent = "Computing.";
  try {
    const made = await (await ask("/api/certify", body)).json();
    if (mine !== asked) return;
    answer = made;
    $("help").hidden = true;
    stale(false);
    showNumbers(); showTheorems();
    $("status").textContent = `Epsilon is ${brief(made.certificate.epsilon)} at delta ${brief(made.certificate.delta)}, by ${plainName(made.certificate.theorem)} (${made.certificate.theorem}).`;
    if ($("code-shown").open) showCode();
    await refreshCurve(mine, body);
    refreshChange(mine, body).catch(() => {}); // advice that takes too long is left out
  } catch (error) {
    if (mine !== asked) return;
    stale(true);
    complain(error, answer ? OLD : "");
  }
}

async function refreshCurve(mine, body) {
  const run = body.run;
  if (run.schedule || typeof run.steps !== "number") { $("chart").textContent = "A schedule has no curve over steps."; return; }
  const low = 1, high = Math.max(1000, run.steps * 30), bar = $("progress");
  const total = { values: [], theorems: {}, delta: body.delta };
  bar.hidden = false;
  for (let i = 0; i < CHUNKS; i++) {
    bar.value = i / CHUNKS;
    const [start, stop] = [i, i + 1].map((k) => low * (high / low) ** (k / CHUNKS));
    const part = await (await ask("/api/curve", { ...body, over: "steps", start, stop, points: POINTS })).json();
    if (mine !== asked) return;
    append(total, part);
    draw(total, run.steps, $("chart"), $("legend"), $("chart-table"));
  }
  bar.hidden = true;
}

async function refreshChange(mine, body) {
  if (mine !== asked) return;
  const made = await (await ask("/api/change", body)).json();
  if (mine !== asked || !made.change) return;
  const before = body.run.objective ?? {}, run = made.description;
  const objective = before.loss ? { ...before, ridge: run.objective.ridge } : run.objective;
  const words = made.change[0].toUpperCase() + made.change.slice(1);
  const button = make("button", { type: "button", id: "make-change" }, "Make this change");
  button.addEventListener("click", () => load({ ...run, objective }, values.delta));
  $("change").replaceChildren(make("p", {}, `${words}: epsilon ${brief(made.epsilon)} in place of ${brief(answer.certificate.epsilon)}.`), button);
  $("help").hidden = false;
}

function append(total, part) {
  const fresh = part.values.map((v, i) => i).filter((i) => !total.values.includes(part.values[i]));
  const before = total.values.length;
  total.values.push(...fresh.map((i) => part.values[i]));
  for (const name of new Set([...Object.keys(total.theorems), ...Object.keys(part.theorems)])) {
    total.theorems[name] ??= Array(before).fill(null);
    total.theorems[name].push(...fresh.map((i) => part.theorems[name]?.[i] ?? null));
  }
}

function showNumbers() {
  const c = answer.certificate, b = answer.bracket;
  const rows = [["Leaks at most", "epsilon", brief(c.epsilon)], ["If every step were seen", "composition", brief(c.composition_epsilon)],
    ["A run of this kind leaks", "lower bound", briefDown(b.lower_epsilon)], ["At most this many times that", "ratio", brief(b.ratio)],
    ["As a shift of unit noise", "mu", brief(c.mu)]];
  $("numbers").replaceChildren(...rows.map(([what, name, value]) => make("div", {},
    make("div", { class: "what" }, `${what} `, make("code", {}, name)), make("div", { class: "value" }, value))));
}

function heading(v) {
  const title = make("h3", {}, `${plainName(v.theorem)} `, make("code", {}, v.theorem));
  return [title, make("p", {}, answer.words[v.theorem] ?? "")];
}

function applying(v, place) {
  const box = make("div", { class: place ? "verdict yes" : "verdict yes best", "data-theorem": v.theorem }, ...heading(v));
  box.append(make("p", {}, make("strong", {}, `epsilon ${brief(v.epsilon)}`), place ? "" : ": the answer"), make("p", { class: "source" }, cited(v.citation)));
  return box;
}

function refused(v) {
  const list = make("ul");
  for (const h of v.obstacles) {
    const item = make("li", {}, `Needed: ${h.statement}. Here: ${h.because}.`);
    if (h.remedy) item.append(make("span", { class: "try" }, `It would with ${h.remedy}.`), ...buttonsFor(h.remedy, values).map(remedyButton));
    list.append(item);
  }
  return make("div", { class: "verdict no", "data-theorem": v.theorem }, ...heading(v), list);
}

function remedyButton({ label, set, focus }) {
  const button = make("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", () => {
    for (const [id, value] of Object.entries(set)) change(id, value);
    $(focus).focus();
  });
  return make("span", { class: "try" }, button);
}

function showTheorems() {
  const verdicts = answer.certificate.verdicts;
  const size = (v) => (typeof v.epsilon === "number" ? v.epsilon : Infinity);
  const yes = verdicts.filter((v) => v.applies).sort((a, b) => (a.theorem === answer.certificate.theorem ? -1 : b.theorem === answer.certificate.theorem ? 1 : size(a) - size(b)));
  const no = verdicts.filter((v) => !v.applies).sort((a, b) => a.obstacles.length - b.obstacles.length);
  $("applies").replaceChildren(...yes.map(applying));
  $("theorems").replaceChildren(...no.map(refused));
  $("rest-title").textContent = `What does not apply, and why (${no.length})`;
}

async function showCode() {
  try { $("code").textContent = await (await ask("/api/code", question())).text(); } catch { $("code").textContent = ""; }
}

function clearErrors() {
  for (const place of document.querySelectorAll(".error")) place.textContent = "";
  for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

const PLACES = { "batches.size": "size", noise: "noise", epsilon: "target" };
function complain(error, also = "") {
  $("progress").hidden = true;
  const name = error.field ?? "", last = name.split(".").pop();
  const id = PLACES[name] ?? (name.startsWith("noise.") ? "noise" : name.startsWith("domain") ? "radius" : last);
  const place = $(`${id}-error`);
  $("status").textContent = error.message + also;
  if (!place) return;
  place.textContent = error.message;
  $(id).setAttribute("aria-invalid", "true");
}

function load(run, delta) {
  values = fromDescription(run, delta);
  aside = fits(run) ? null : run;
  rounded.clear();
  for (const knob of KNOBS) if (knob.kind === "number") rounded.add(knob.id);
  show();
  refresh();
}

async function calibrate() {
  clearErrors();
  const target = Number($("target").value);
  try {
    const body = { ...question(), epsilon: Number.isFinite(target) && $("target").value.trim() ? target : $("target").value, over: $("over").value };
    const made = await (await ask("/api/calibrate", body)).json();
    const before = question().run.objective;
    const run = made.description;
    load(before.loss ? { ...run, objective: before } : run, values.delta);
  } catch (error) { complain(error); }
}

function save(name, content, type) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([content], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function fetchAndSave(path, name) {
  try { save(name, await (await ask(path, question())).text(), "text/plain"); } catch (error) { complain(error); }
}

async function open(file) {
  clearErrors();
  try {
    if (file.size > 200000) throw new Error("the file must be a description of at most 200 kB");
    load(await (await ask("/api/read", { text: await file.text() })).json(), values.delta);
  } catch (error) { $("file-error").textContent = error.message; }
}

async function start() {
  buildForm();
  const { presets, table } = await (await fetch("/api/presets")).json();
  $("to-table").hidden = !table;
  $("code-shown").addEventListener("toggle", () => $("code-shown").open && showCode());
  presets.forEach((preset, i) => $("preset").append(make("option", { value: i }, preset.name)));
  $("preset").addEventListener("change", () => load(presets[$("preset").value].run, 1e-5));
  $("file").addEventListener("change", () => $("file").files[0] && open($("file").files[0]));
  $("calibrate").addEventListener("click", calibrate);
  $("form").addEventListener("submit", (event) => event.preventDefault());
  $("save-description").addEventListener("click", () => save("description.json", JSON.stringify(answer.description, null, 2), "application/json"));
  $("save-certificate").addEventListener("click", () => save("certificate.json", JSON.stringify(answer.certificate, null, 2), "application/json"));
  $("save-page").addEventListener("click", () => fetchAndSave("/api/page", "certificate.html"));
  $("save-code").addEventListener("click", () => fetchAndSave("/api/code", "certificate.py"));
  let state = null;
  try { state = location.hash.length > 1 ? JSON.parse(decodeURIComponent(location.hash.slice(1))) : null; } catch { state = null; }
  if (state?.run) load(state.run, state.delta); else load(presets[0].run, 1e-5);
}

start();
