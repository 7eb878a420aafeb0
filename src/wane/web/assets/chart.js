// Curves on logarithmic axes, told apart by dashes and marks as well as by colour.

const NS = "http://www.w3.org/2000/svg";
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "12 5", "4 2", "1 4"];
const HEIGHT = 380, LEFT = 70, RIGHT = 20, TOP = 15, BOTTOM = 50;

const node = (name, attributes, text) => {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

// colours are those of the style sheet, so that they follow light and dark
const style = (place) => ({ class: `s${place % DASHES.length}`, "stroke-dasharray": DASHES[place % DASHES.length], "stroke-width": 2.2, fill: "none" });

const decades = (low, high) => {
  const ticks = [];
  const step = Math.max(1, Math.ceil((Math.log10(high) - Math.log10(low)) / 7));
  for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.log10(high) + 1e-9; p += step) ticks.push(10 ** p);
  return ticks.length > 1 ? ticks : [low, high];
};

// Five digits, rounded the safe way: bounds from above go up, bounds from below go down.
const shortened = (value, round) => {
  if (value === null || value === undefined) return "none";
  if (typeof value !== "number") return String(value);
  if (value === 0 || Number.isInteger(value)) return Math.abs(value) < 1e5 ? String(value) : value.toExponential();
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) - 4);
  const safe = round(value / unit) * unit;
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? safe.toExponential(4).replace(/\.?0+e/, "e") : String(Number(safe.toPrecision(5)));
};
/** A source with author and year in place of its key in the bibliography. */
export const cited = (source) => source.replace(/^([a-z])([a-z]*)(\d{4})[a-z]+/, (_, a, b, year) => `${a.toUpperCase()}${b} ${year}`);

export const plainName = (identifier) => { const words = identifier.replaceAll("_", " "); return words[0].toUpperCase() + words.slice(1); };
export const brief = (value) => shortened(value, (v) => Math.ceil(v - 1e-9));
export const briefDown = (value) => shortened(value, (v) => Math.floor(v + 1e-9));

const drawable = (e) => typeof e === "number" && e > 0;

export function draw(curve, here, holder, legend, table) {
  const names = Object.keys(curve.theorems).filter((name) => curve.theorems[name].some(drawable));
  const finite = names.flatMap((n) => curve.theorems[n]).filter(drawable);
  holder.replaceChildren(); legend.replaceChildren(); table.replaceChildren();
  if (!finite.length) { holder.textContent = "No theorem gives a finite epsilon here."; return; }
  const WIDTH = Math.max(320, Math.min(720, holder.clientWidth || 720)); // so that text keeps its size on a phone
  const [x0, x1] = [curve.values[0], curve.values[curve.values.length - 1]];
  const y0 = Math.min(...finite) / 1.3, y1 = Math.max(...finite) * 1.3;
  const x = (v) => LEFT + (WIDTH - LEFT - RIGHT) * (Math.log(v / x0) / Math.log(x1 / x0));
  const y = (v) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (Math.log(v / y0) / Math.log(y1 / y0));
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-labelledby": "chart-title chart-words" });
  svg.append(node("title", { id: "chart-title" }, "Epsilon against steps"),
    node("desc", { id: "chart-words" }, words(curve, names)));
  for (const tick of decades(x0, x1)) svg.append(node("line", { x1: x(tick), x2: x(tick), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }),
    node("text", { x: x(tick), y: HEIGHT - BOTTOM + 20, "text-anchor": "middle", "font-size": 13 }, brief(tick)));
  for (const tick of decades(y0, y1)) svg.append(node("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick), class: "grid" }),
    node("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end", "font-size": 13 }, brief(tick)));
  svg.append(node("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 10, "text-anchor": "middle", "font-size": 14 }, "steps"));
  svg.append(node("text", { x: 16, y: HEIGHT / 2, "text-anchor": "middle", "font-size": 14, transform: `rotate(-90 16 ${HEIGHT / 2})` }, `epsilon at delta = ${brief(curve.delta)}`));
  names.forEach((name, place) => {
    const points = curve.values.map((v, i) => [v, curve.theorems[name][i]]).filter(([, e]) => drawable(e));
    svg.append(node("polyline", { points: points.map(([v, e]) => `${x(v)},${y(e)}`).join(" "), "data-theorem": name, ...style(place) }));
    const key = node("svg", { viewBox: "0 0 40 10", "aria-hidden": "true" });
    key.append(node("line", { x1: 0, x2: 40, y1: 5, y2: 5, ...style(place) }));
    const item = document.createElement("li");
    item.append(key, plainName(name));
    legend.append(item);
  });
  if (here >= x0 && here <= x1) svg.append(node("line", { x1: x(here), x2: x(here), y1: TOP, y2: HEIGHT - BOTTOM, class: "here", "stroke-dasharray": "3 3" }));
  holder.append(svg);
  tabulate(curve, names, table);
}

const words = (curve, names) => names.map((name) => {
  const known = curve.theorems[name].filter((e) => e !== null);
  return known.length ? `${plainName(name)}: from ${brief(known[0])} to ${brief(known[known.length - 1])}.` : `${plainName(name)}: no answer.`;
}).join(" ");

function tabulate(curve, names, table) {
  const made = document.createElement("table");
  const head = made.createTHead().insertRow();
  for (const title of ["steps", ...names.map(plainName)]) {
    const cell = document.createElement("th");
    cell.scope = "col"; cell.textContent = title; head.append(cell);
  }
  const body = made.createTBody();
  curve.values.forEach((value, i) => {
    const row = body.insertRow();
    for (const entry of [value, ...names.map((n) => curve.theorems[n][i])]) row.insertCell().textContent = brief(entry);
  });
  table.append(made);
}
