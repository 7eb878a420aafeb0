// The page for a table: what is public about it, what wane check says, one fit, its certificate.
// No row comes here.  The token stands behind the # of the address, which no browser sends.

import { brief } from "./chart.js";

const $ = (id) => document.getElementById(id);
if (location.hash.length > 1) sessionStorage.setItem("token", location.hash.slice(1));
const token = sessionStorage.getItem("token") ?? ""; // kept until this tab is closed
const KINDS = [["", "not read"], ["numeric", "number"], ["categorical", "categories"], ["boolean", "true or false"]];
const MISSING = [["zero", "zeros"], ["indicator", "zeros and a mark"]];
let columns = [], header = null, rest = {}, models = [];

const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const select = (id, values, chosen) => {
  const made = make("select", { id });
  for (const [value, text] of values) made.append(make("option", { value }, text));
  made.value = chosen;
  return made;
};
const text = (id, value, mode = "text") => { const made = make("input", { id, type: "text", inputmode: mode, autocomplete: "off" }); made.value = value ?? ""; return made; };
const labelled = (label, field) => make("div", {}, make("label", { for: field.id }, label), field);
const list = (words) => words.split(",").map((word) => word.trim()).filter((word) => word !== "");
// what is no number goes to the server as it is: it says what is wrong with it
const number = (words) => (words.trim() === "" || !Number.isFinite(Number(words)) ? words : Number(words));

async function ask(question, body) {
  const reply = await fetch(`/api/table/${question}`, { method: "POST",
    headers: { "Content-Type": "application/json", "X-Wane-Token": token }, body: JSON.stringify(body) });
  const made = await reply.json().catch(() => ({ error: "the server gave no answer" }));
  if (!reply.ok) throw new Error(made.error);
  return made;
}

function columnRow(name, i, given) {
  const kind = select(`type-${i}`, KINDS, given?.type ?? "");
  const low = text(`low-${i}`, given?.low, "decimal"), high = text(`high-${i}`, given?.high, "decimal");
  const words = text(`categories-${i}`, (given?.categories ?? []).join(", "));
  const missing = select(`missing-${i}`, MISSING, typeof given?.missing === "string" ? given.missing : "zero");
  const bounds = make("div", { class: "pair bounds" }, labelled("lowest", low), labelled("highest", high));
  const categories = make("div", { class: "bounds" }, labelled("categories, separated by commas", words));
  const empty = make("div", { class: "bounds" }), absent = labelled("if missing", missing);
  const row = make("div", { class: "column", role: "group", "aria-label": name }, make("b", {}, name), labelled("holds", kind), bounds, categories, empty, absent, make("p", { class: "found", id: `found-${i}` }));
  const show = () => {
    row.hidden = name === $("target").value;
    bounds.hidden = kind.value !== "numeric"; categories.hidden = kind.value !== "categorical";
    empty.hidden = !(bounds.hidden && categories.hidden); absent.hidden = kind.value === "";
  };
  kind.addEventListener("change", show);
  $("target").addEventListener("change", show);
  show();
  const read = () => {
    const rule = typeof given?.missing === "object" ? given.missing : missing.value;
    if (kind.value === "numeric") return { ...(given?.scale ? { scale: given.scale } : {}), type: "numeric", low: number(low.value), high: number(high.value), missing: rule };
    if (kind.value === "categorical") return { type: "categorical", categories: list(words.value), missing: rule };
    return { type: kind.value, missing: rule };
  };
  return { name, row, kind, read, found: row.lastChild };
}

function schema() {
  const target = { name: $("target").value };
  if ($("target_kind").value === "classes") target.classes = list($("classes").value);
  else Object.assign(target, { low: number($("target_low").value), high: number($("target_high").value) });
  const made = { ...rest, feature_norm: number($("feature_norm").value), rows_per_person: number($("rows_per_person").value), target, columns: {} };
  if (header) made.header = header;
  for (const column of columns) if (column.name !== target.name && column.kind.value) made.columns[column.name] = column.read();
  return made;
}

function showTarget() {
  const classes = $("target_kind").value === "classes";
  $("classes-field").hidden = !classes; $("bounds-field").hidden = classes;
  const chosen = $("model").value;
  const fitting = models.filter((model) => model.target === $("target_kind").value);
  $("model").replaceChildren(...fitting.map((model) => make("option", { value: model.command }, `${model.words} (${model.command})`)));
  if (fitting.some((model) => model.command === chosen)) $("model").value = chosen;
}

async function begin(told) {
  $("page-error").textContent = "";
  let made;
  try { made = await ask("names", told); } catch (error) {
    $("page-error").textContent = error.message;
    $("header-question").hidden = !error.message.startsWith("--header");
    if (!$("header-question").hidden) $("page-error").textContent = "It is not certain whether the first line holds names or a record: say it in step 2.";
    return;
  }
  $("header-question").hidden = true;
  models = made.models; header = made.header ?? made.schema?.header ?? null;
  $("table-name").textContent = made.name; $("out").textContent = made.out;
  const given = made.schema;
  rest = given ? Object.fromEntries(["missing_words", "delimiter", "newlines_in_cells"].filter((key) => key in given).map((key) => [key, given[key]])) : {};
  $("target").replaceChildren(...made.columns.map((name) => make("option", { value: name }, name)));
  $("target").value = given?.target.name ?? made.columns[made.columns.length - 1];
  if (given) {
    $("feature_norm").value = given.feature_norm; $("rows_per_person").value = given.rows_per_person ?? 1;
    $("target_kind").value = given.target.classes ? "classes" : "bounds";
    $("classes").value = (given.target.classes ?? []).join(", ");
    $("target_low").value = given.target.low ?? ""; $("target_high").value = given.target.high ?? "";
  }
  columns = made.columns.map((name, i) => columnRow(name, i, given?.columns[name]));
  $("columns").replaceChildren(...columns.map((column) => column.row));
  showTarget();
}

const percent = (share) => `${Number((100 * share).toPrecision(3))} %`;
const FINDINGS = [["missing", "missing"], ["clipped", "outside the bounds"], ["unknown", "not among the declared words"], ["unknown_by_case", "of these, known but for upper and lower case"]];

function findings(found) {
  const said = FINDINGS.filter(([key]) => found[key]).map(([key, words]) => `${words}: ${percent(found[key])}`);
  if (found.bounds_equal_extremes) said.push(`${found.bounds_equal_extremes} of 2 bounds equal the column's own extremes; a bound read off the rows is a release`);
  return said;
}

async function check() {
  $("check-error").textContent = ""; $("check-status").textContent = "Counting."; $("check-found").replaceChildren();
  for (const column of columns) column.found.textContent = "";
  try {
    const made = await ask("check", { schema: schema() });
    $("not-private").hidden = false; $("not-private").textContent = made.not_private;
    const long = made.rows_shortened === null ? "not known until the cells named above can be read" : percent(made.rows_shortened);
    $("check-found").append(make("p", {}, `${made.rows} rows; scaled down to the norm: ${long}.`));
    const rows = Object.entries(made.columns).map(([name, found]) => [name, findings(found).join("; ") || "fits"]);
    const table = make("table"), body = make("tbody");
    for (const [name, said] of rows) body.append(make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, said)));
    table.append(make("caption", {}, "What the schema does not foresee"), body);
    $("check-found").append(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Findings" }, table));
    $("check-status").textContent = "Counted.";
  } catch (error) { $("check-status").textContent = ""; $("check-error").textContent = error.message; }
}

async function fit() {
  const asked = { schema: schema(), model: $("model").value, epsilon: number($("epsilon").value), delta: number($("delta").value), adjacency: $("adjacency").value };
  $("fit-error").textContent = ""; $("fit-status").textContent = "Fitting; this can take minutes."; $("fit").disabled = true;
  try {
    const made = await ask("fit", asked);
    $("fit-status").textContent = "Released.";
    $("released").hidden = false;
    $("verdict").textContent = `Written to ${made.written}. ${made.status === "void" ? "The certificate is void: no privacy is claimed." : `Epsilon is at most ${brief(made.epsilon)} at delta ${brief(made.delta)}.`}`;
    $("notes").replaceChildren(...made.notes.map((note) => make("li", {}, note)));
    $("open-certificate").href = made.page; $("certificate").src = made.page;
    $("command").textContent = `wane fit ${$("table-name").textContent} --schema ${made.written}/schema.json --model ${asked.model} --epsilon ${asked.epsilon} --delta ${asked.delta} --adjacency ${asked.adjacency} --out ANOTHER-FOLDER\nwane verify ${made.written}`;
    $("released").scrollIntoView();
  } catch (error) { $("fit-status").textContent = ""; $("fit-error").textContent = error.message; $("fit").disabled = false; }
}

function saveSchema() {
  const link = make("a", { download: "schema.json", href: URL.createObjectURL(new Blob([JSON.stringify(schema(), null, 2)], { type: "application/json" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

$("check").addEventListener("click", check);
$("fit").addEventListener("click", fit);
$("save-schema").addEventListener("click", saveSchema);
$("target_kind").addEventListener("change", showTarget);
$("header-yes").addEventListener("click", () => begin({ header: true }));
$("header-no").addEventListener("click", () => begin({ header: false }));
if (token) begin({}); else $("page-error").textContent = "Open the whole address that wane serve printed: the part behind the # is missing.";
