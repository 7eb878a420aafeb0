// The form: which knobs there are, how they become a description, and back.

const number = (id, label, path, low, high, options = {}) =>
  ({ id, label, path, low, high, kind: "number", ...options });
const choice = (id, label, path, values) => ({ id, label, path, values, kind: "choice" });

const DECLARED = "declared";
const named = (...losses) => (v) => losses.includes(v.loss);
const declared = named(DECLARED);

// Choices say what they mean; the identifier that files use stands behind, as it does at each field.
export const KNOBS = [
  choice("loss", "What is fitted", "objective.loss", [
    ["logistic", "yes or no (logistic)"], ["softmax", "one of several classes (softmax)"],
    ["least_squares", "a number, gradients clipped (least_squares)"],
    ["poisson", "a count, gradients clipped (poisson)"], [DECLARED, "something else: declare its constants"]]),
  number("feature_norm", "Longest row (norm)", "objective.feature_norm", 0.01, 100, { when: (v) => !declared(v) }),
  number("clip", "Clip each gradient at (empty: not clipped)", "objective.clip", 0.001, 100, { when: named("logistic", "least_squares", "poisson"), optional: true }),
  number("largest_count", "Largest count", "objective.largest_count", 1, 1000, { when: named("poisson") }),
  number("gradient_bound", "Longest gradient of one record", "objective.gradient_bound", 0.01, 100, { when: declared, optional: true }),
  number("gradient_difference_bound", "How far the gradients of two records are apart at most (empty: twice that)", "objective.gradient_difference_bound", 0.01, 100, { when: declared, optional: true }),
  number("smoothness", "Smoothness: how fast a gradient changes (Lipschitz constant)", "objective.smoothness", 0.001, 1000, { when: declared, optional: true }),
  number("strong_convexity", "Strong convexity (0: convex; empty: unknown)", "objective.strong_convexity", 1e-5, 10, { when: declared, optional: true }),
  choice("clipped", "The longest gradient is", "objective.clipped", [["false", "proven"], ["true", "where gradients are clipped"]]),
  number("ridge", "Ridge, a weight decay", "objective.ridge", 1e-6, 10, { optional: true }),
  number("records", "Records", "records", 10, 1e7, { whole: true }),
  choice("batches", "Records in each step", "batches.kind", [["full", "all of them (full)"], ["cyclic", "batch after batch, in a fixed order (cyclic)"],
    ["shuffled-once", "batch after batch, in a secret order (shuffled-once)"], ["poisson", "each with the same chance (poisson)"],
    ["without-replacement", "as many as said, drawn anew (without-replacement)"]]),
  number("size", "Batch size, or its mean", "batches.size", 1, 1e6, { whole: true, when: (v) => v.batches !== "full" }),
  number("steps", "Steps", "steps", 1, 1e9, { whole: true }),
  number("step_size", "Step size", "step_size", 1e-4, 100),
  choice("noise_kind", "Noise is given as", "noise", [["multiplier", "times the longest gradient (multiplier)"],
    ["gradient_std", "deviation on the averaged gradient (gradient_std)"], ["iterate_std", "deviation on the weights (iterate_std)"],
    ["temperature", "Langevin temperature (temperature)"]]),
  number("noise", "Noise", "noise.value", 1e-8, 1000),
  choice("domain", "Where the weights may be", "domain.kind", [["unbounded", "anywhere (unbounded)"], ["ball", "in a ball (ball)"], ["l1-ball", "absolute values of bounded sum (l1-ball)"],
    ["ridge", "anywhere, pulled to zero in each step (ridge)"], ["lasso", "anywhere, small ones set to zero (lasso)"]]),
  number("radius", "Radius, or weight of the penalty", "domain.radius", 1e-4, 100, { when: (v) => v.domain !== "unbounded" }),
  choice("adjacency", "What is hidden: whether", "adjacency", [["replace-one", "one record is another (replace-one)"], ["zero-out", "one record is blank (zero-out)"],
    ["add-remove", "one record is there at all (add-remove)"]]),
  choice("release", "What is seen", "release", [["last-iterate", "the end only (last-iterate)"], ["every-iterate", "every step (every-iterate)"]]),
  number("delta", "Slack of the bound, a probability", "delta", 1e-12, 0.1),
];

const SIZES = { ball: "radius", "l1-ball": "radius", ridge: "weight", lasso: "weight" };

export const shown = (knob, values) => (knob.id === "clipped" ? declared(values) : !knob.when || knob.when(values));

// Text that is not a number goes to the server as it is: it says what is wrong with it.
const read = (text, whole) => {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const value = Number(trimmed);
  if (!Number.isFinite(value)) return trimmed;
  return whole && Number.isInteger(value) ? Math.round(value) : value;
};

export function toDescription(values) {
  const get = (id) => {
    const knob = KNOBS.find((k) => k.id === id);
    return shown(knob, values) ? read(String(values[id] ?? ""), knob.whole) : undefined;
  };
  const objective = {};
  const keys = ["feature_norm", "clip", "largest_count", "gradient_bound", "gradient_difference_bound", "smoothness", "strong_convexity", "ridge"];
  for (const key of keys) if (get(key) !== undefined) objective[key] = get(key);
  if (values.loss === DECLARED) {
    if (values.clipped === "true") objective.clipped = true;
    if (values.form) objective.form = values.form;
  } else objective.loss = values.loss;
  const run = { kind: "noisy-descent", records: get("records"), steps: get("steps"), step_size: get("step_size"),
    noise: { [values.noise_kind]: get("noise") }, batches: { kind: values.batches }, objective,
    adjacency: values.adjacency, release: values.release };
  if (values.batches !== "full") run.batches.size = get("size");
  if (values.domain !== "unbounded") run.domain = { kind: values.domain, [SIZES[values.domain]]: get("radius") };
  return run;
}

export const toDelta = (values) => read(String(values.delta ?? "")) ?? null;

// What the form cannot show (schedules, other domains) is kept aside and sent back unchanged.
export function fromDescription(run, delta) {
  const objective = run.objective ?? {};
  const [noiseKind, noise] = Object.entries(run.noise ?? { multiplier: "" })[0];
  const domain = run.domain ?? { kind: "unbounded" };
  const values = { loss: objective.loss ?? DECLARED, clipped: String(Boolean(objective.clipped)), form: objective.form ?? "",
    batches: run.batches?.kind ?? "full", size: run.batches?.size ?? "", records: run.records, steps: run.steps ?? "",
    step_size: run.step_size ?? "", noise_kind: noiseKind, noise, domain: domain.kind,
    radius: domain.radius ?? domain.weight ?? "", adjacency: run.adjacency ?? "replace-one", release: run.release ?? "last-iterate",
    delta: delta ?? 1e-5 };
  for (const key of ["feature_norm", "clip", "largest_count", "gradient_bound", "gradient_difference_bound", "smoothness", "strong_convexity", "ridge"])
    values[key] = objective[key] ?? "";
  return values;
}

export function fits(run) {
  const known = new Set(["kind", "records", "steps", "step_size", "noise", "batches", "objective", "domain", "adjacency", "release"]);
  const objective = new Set(["loss", "form", "feature_norm", "clip", "largest_count", "gradient_bound", "gradient_difference_bound", "smoothness", "strong_convexity", "ridge", "clipped"]);
  return Object.keys(run).every((k) => known.has(k)) && Object.keys(run.objective ?? {}).every((k) => objective.has(k))
    && (!run.domain || run.domain.kind in SIZES) && typeof run.release !== "object";
}
