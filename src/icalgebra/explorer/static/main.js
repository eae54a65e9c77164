// The page: asks for what has changed and hands the answers to the panels.
import { abandon, ask, askInSteps, holds, isStatic, preparedSequences, Refused, start } from "explorer/api.js";
import { drawAnswers, drawVerdict, provingFacts } from "explorer/answers.js";
import { el } from "explorer/draw.js";
import { drawInside } from "explorer/inside.js";
import { drawPair, offerPair } from "explorer/pair.js";
import { drawReliance, offerReliance } from "explorer/reliance.js";
import { deleteChosen, drawSequence } from "explorer/sequence.js";
import { change, onChange, readLink, state } from "explorer/state.js";
import { drawTables } from "explorer/tables.js";
import { endTour, tour, touring } from "explorer/tour.js";
import { drawTraining, offerTraining } from "explorer/training.js";
import { explainWords } from "explorer/words.js";

const have = {}; // the latest answer of every part
let info = null, examples = [];
let shown = 0; // counts the sequences shown: an answer about an earlier one is dropped
let working = 0;

const request = () => ({ model: state.model, text: state.text });
const modelNamed = (name) => info.models.find((model) => model.name === name);
const canRead = (model, text) => [...text].every((token) => ",=".includes(token) || model.variables.includes(token));

function say(words, isError = false) {
  const node = document.getElementById("status");
  node.textContent = words;
  node.classList.toggle("error", isError);
}

// Runs some work; what goes wrong is said in one sentence, a request that was replaced is not.
async function attempt(work, where = say) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) where(error.message, true);
    else if (error.name === "TypeError" && !isStatic) where("The explorer does not answer; is `icalgebra explore` still running?", true);
    else if (error.name !== "AbortError") throw error;
    return null;
  }
}

// data-ready says that nothing is under way.
async function busy(work) {
  working += 1;
  document.body.dataset.ready = "";
  try {
    await work();
  } finally {
    working -= 1;
    if (!working) document.body.dataset.ready = "yes";
  }
}

async function showSequence() {
  const begun = performance.now(), mine = ++shown;
  Object.assign(have, { sequence: null, inside: null, ablation: null, reliance: null, pair: null, patched: null });
  abandon("reliance");
  showStory();
  const found = await attempt(() => ask("sequence", { ...request(), query: state.query, drawn: state.drawn }, state.example));
  if (!found || mine !== shown) return;
  have.sequence = found;
  state.text = found.text;
  drawSequence(found, info, sample);
  drawVerdict(found);
  drawTables(found);
  drawAnswers(found, null);
  offerReliance(showReliance, isStatic);
  offerPair(showPair);
  offerTraining(info, showTraining, "", otherExample());
  const inside = await attempt(() => ask("inside", request(), state.example));
  if (!inside || mine !== shown) return;
  have.inside = inside;
  drawInside(found, inside, null, provingFacts(found));
  say(isStatic ? "" : `${found.facts.length} facts, shown in ${Math.round(performance.now() - begun)} ms`);
  await showAblation();
  if (state.corrupt) await showPair();
  if (state.run) await showTraining();
}

async function showAblation() {
  if (!have.sequence || !have.inside) return;
  const chosen = state.ablated, mine = shown;
  const alone = isStatic && chosen.length === 1;
  const found = await attempt(() => ask("ablation", { ...request(), ablated: alone ? [] : chosen }, state.example));
  if (!found || mine !== shown) return;
  // A static page knows every part ablated alone.
  have.ablation = alone ? { ablated: chosen, together: found.toggled[chosen[0]], toggled: { ...found.toggled, [chosen[0]]: found.together } } : found;
  drawInside(have.sequence, have.inside, have.ablation, provingFacts(have.sequence));
  drawAnswers(have.sequence, have.ablation);
}

async function showReliance() {
  await attempt(() => askInSteps("reliance", request(), (found) => { have.reliance = found; redrawReliance(); }, state.example));
}

function redrawReliance() {
  if (!have.reliance) return;
  const stop = () => { abandon("reliance"); have.reliance = { ...have.reliance, total: have.reliance.done }; redrawReliance(); };
  drawReliance(have.sequence, have.reliance, provingFacts(have.sequence), stop);
}

const pairRequest = () => ({ model: state.model, clean: state.text, corrupt: state.corrupt });
const pairSays = (words) => { const node = document.getElementById("pair-error"); if (node) node.textContent = words; };

async function showPair() {
  const mine = shown;
  const found = await attempt(() => ask("pair", pairRequest(), state.example), pairSays);
  if (!found || mine !== shown) return;
  have.pair = found;
  pairSays("");
  await showPatch();
}

async function showPatch() {
  if (!have.pair) return;
  const mine = shown;
  have.patched = null;
  if (state.sites.length && !isStatic) have.patched = await attempt(() => ask("patch", { ...pairRequest(), sites: state.sites }), pairSays);
  if (mine === shown) drawPair(have.sequence, have.pair, have.patched, modelNamed(state.model));
}

async function showTraining() {
  if (isStatic && !holds("training", state.example)) return;
  const run = state.run || info.runs[0], mine = shown;
  const refused = (words) => offerTraining(info, showTraining, words);
  if (!canRead(modelNamed(run), state.text)) {
    const { variables } = modelNamed(run);
    refused(`The models of ${run} know the variables ${variables[0]} to ${variables.at(-1)} only. Choose ${run} as the model to get a sequence that they can read.`);
    return;
  }
  const found = await attempt(() => ask("training", { run, text: state.text }, state.example), refused);
  if (found && mine === shown) drawTraining(found);
}

async function sample(drawn, model = state.model) {
  const found = await attempt(() => ask("sample", { model, ...drawn }));
  if (found) change({ model, text: found.text, drawn: found.drawn, ablated: [], corrupt: "", sites: [], example: -1 });
}

// A model with fewer variables cannot read every sequence; then one is sampled from its world.
function chooseModel(name) {
  const model = modelNamed(name);
  if (canRead(model, state.text)) change({ model: name, drawn: null, ablated: [], sites: [], run: "", example: -1 });
  else busy(() => sample({ distribution: "holdout", n_facts: Math.min(20, model.n_facts), seed: 0, structures: "" }, name));
}

const showExample = (i) => change({ query: "auto", ablated: [], sites: [], corrupt: "", drawn: null, run: "", checkpoint: -1, ...examples[i].state, example: i });

function showStory() {
  document.getElementById("story").textContent = examples[state.example]?.story ?? "";
  for (const node of document.querySelectorAll("#stories button")) node.setAttribute("aria-pressed", String(Number(node.dataset.example) === state.example));
}

// On a static page without the phases of training for this sequence: the way to the one that has them.
function otherExample() {
  const at = isStatic ? examples.findIndex((_, i) => holds("training", i)) : -1;
  if (at < 0 || at === state.example) return isStatic ? "" : null;
  return el("button", { type: "button", onclick: () => showExample(at) }, `see the prepared sequence: ${examples[at].title}`);
}

async function showExamples() {
  examples = (await attempt(preparedSequences)) ?? [];
  document.getElementById("stories").replaceChildren(...examples.map((found, i) =>
    el("button", { type: "button", class: "story", "data-example": i, onclick: () => showExample(i) }, found.title)));
  showStory();
}

function controls() {
  const model = document.getElementById("model");
  model.append(...info.models.map((found) => el("option", { value: found.name, selected: found.name === state.model }, found.name)));
  model.disabled = isStatic;
  model.addEventListener("change", () => chooseModel(model.value));
  document.getElementById("tour").addEventListener("click", () => tour(1));
  document.getElementById("theme").addEventListener("click", theme);
  document.getElementById("link").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(location.href); say("The link carries the whole state; it is copied."); } catch { say("The address of this page carries the whole state."); }
  });
}

const theme = () => document.documentElement.classList.toggle("dark");

const KEYS = {
  t: () => tour(1), d: theme, r: () => document.getElementById("measure")?.click(), n: () => document.getElementById("next")?.click(), Delete: deleteChosen,
};

function keyboard(event) {
  if (event.key === "Escape") return endTour();
  if (touring() && event.key === "ArrowRight") return tour(1);
  if (touring() && event.key === "ArrowLeft") return tour(-1);
  const typing = event.target.matches("input, textarea, select");
  if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey) KEYS[event.key]?.();
}

async function changed(names) {
  const has = (...wanted) => wanted.some((name) => names.includes(name));
  document.getElementById("model").value = state.model;
  if (has("text", "model", "query", "drawn", "example")) return showSequence();
  if (!have.sequence) return;
  if (has("truth")) drawTables(have.sequence);
  if (has("sorted")) redrawReliance();
  if (has("view") && have.inside) drawInside(have.sequence, have.inside, have.ablation, provingFacts(have.sequence));
  if (has("ablated")) await showAblation();
  if (has("sites")) await showPatch();
  if (has("run")) await showTraining();
}

// From the link; a static page shows only what it holds.
function restore() {
  readLink();
  if (isStatic) {
    const example = examples[state.example] ? state.example : 0;
    Object.assign(state, { corrupt: "", drawn: null, run: "" }, examples[example].state, { example, query: "auto" });
  }
  if (!modelNamed(state.model)) state.model = info.models[0].name;
  if (!info.runs.includes(state.run)) state.run = "";
}

async function main() {
  if (matchMedia("(prefers-color-scheme: dark)").matches) theme();
  explainWords();
  if (!isStatic) say("Loading the model…");
  info = await start();
  if (isStatic) await showExamples();
  restore();
  controls();
  onChange((names) => busy(() => changed(names)));
  document.addEventListener("keydown", keyboard);
  window.addEventListener("hashchange", () => { restore(); busy(() => changed(["text"])); });
  await busy(async () => {
    await showSequence();
    if (!isStatic) await showExamples();
  });
}

main();
