// The page: asks for what has changed and hands the answers to the panels.
import { abandon, ask, askInSteps, examples, isStatic, Refused, start } from "explorer/api.js";
import { drawAnswers, provingFacts } from "explorer/answers.js";
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
let info = null;

const request = () => ({ model: state.model, text: state.text });

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

async function showSequence() {
  const begun = performance.now();
  Object.assign(have, { sequence: null, inside: null, ablation: null, reliance: null, pair: null, patched: null });
  abandon("reliance");
  const found = await attempt(() => ask("sequence", { ...request(), query: state.query, drawn: state.drawn }, state.example));
  if (!found) { document.body.dataset.ready = "refused"; return; }
  have.sequence = found;
  state.text = found.text;
  drawSequence(found, info, sample);
  drawTables(found);
  drawAnswers(found, null);
  offerReliance(showReliance, isStatic);
  offerPair(showPair);
  offerTraining(info, showTraining);
  const inside = await attempt(() => ask("inside", request(), state.example));
  if (!inside) return;
  have.inside = inside;
  drawInside(found, inside, null, provingFacts(found));
  say(`${found.facts.length} facts, shown in ${Math.round(performance.now() - begun)} ms`);
  await showAblation();
  document.body.dataset.ready = state.text;
  if (state.corrupt) showPair();
  if (isStatic && info.runs.length) showTraining();
}

async function showAblation() {
  if (!have.sequence || !have.inside) return;
  const chosen = state.ablated;
  const alone = isStatic && chosen.length === 1;
  const found = await attempt(() => ask("ablation", { ...request(), ablated: alone ? [] : chosen }, state.example));
  if (!found) return;
  // A static page knows every part ablated alone.
  have.ablation = alone ? { ablated: chosen, together: found.toggled[chosen[0]], toggled: { ...found.toggled, [chosen[0]]: found.together } } : found;
  drawInside(have.sequence, have.inside, have.ablation, provingFacts(have.sequence));
  drawAnswers(have.sequence, have.ablation);
}

async function showReliance() {
  const sequence = have.sequence;
  await attempt(() => askInSteps("reliance", request(), (found) => {
    have.reliance = found;
    drawReliance(sequence, found, provingFacts(sequence), () => { abandon("reliance"); drawReliance(sequence, { ...found, total: found.done }, provingFacts(sequence), null); });
  }, state.example));
}

const pairRequest = () => ({ model: state.model, clean: state.text, corrupt: state.corrupt });
const pairSays = (words) => { const node = document.getElementById("pair-error"); if (node) node.textContent = words; };

async function showPair() {
  const found = await attempt(() => ask("pair", pairRequest(), state.example), pairSays);
  if (!found) return;
  have.pair = found;
  pairSays("");
  await showPatch();
}

async function showPatch() {
  if (!have.pair) return;
  have.patched = null;
  if (state.sites.length && !isStatic) have.patched = await attempt(() => ask("patch", { ...pairRequest(), sites: state.sites }), pairSays);
  drawPair(have.sequence, have.pair, have.patched, info.models.find((model) => model.name === state.model));
}

async function showTraining() {
  if (isStatic && !examples[state.example].parts.training) { offerTraining(info, showTraining, "The last prepared sequence shows the phases of training."); return; }
  const run = state.run || info.runs[0];
  const found = await attempt(() => ask("training", { run, text: state.text }, state.example), (words) => offerTraining(info, showTraining, words));
  if (found) drawTraining(found);
}

async function sample(drawn) {
  const found = await attempt(() => ask("sample", { model: state.model, ...drawn }));
  if (!found) return;
  change({ text: found.text, drawn: found.drawn, ablated: [], corrupt: "", sites: [] });
}

function showExample(i) {
  const example = examples[i];
  change({ ablated: [], sites: [], corrupt: "", drawn: null, checkpoint: -1, ...example.state, example: i });
}

function controls() {
  const model = document.getElementById("model");
  model.append(...info.models.map((found) => el("option", { value: found.name, selected: found.name === state.model }, found.name)));
  model.disabled = isStatic;
  model.addEventListener("change", () => change({ model: model.value, ablated: [], sites: [] }));
  const example = document.getElementById("example");
  document.getElementById("example-choice").hidden = !isStatic;
  example.append(...examples.map((found, i) => el("option", { value: i, selected: i === state.example }, found.title)));
  example.addEventListener("change", () => showExample(Number(example.value)));
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

function changed(names) {
  document.body.dataset.ready = "";
  if (names.includes("example")) document.getElementById("story").textContent = examples[state.example]?.story ?? "";
  if (names.some((name) => ["text", "model", "query", "drawn", "example"].includes(name))) {
    document.getElementById("model").value = state.model;
    showSequence();
    return;
  }
  if (names.includes("ablated")) showAblation();
  if (names.includes("sites")) showPatch();
  if (names.includes("run")) showTraining();
}

async function main() {
  if (matchMedia("(prefers-color-scheme: dark)").matches) theme();
  explainWords();
  info = await start();
  readLink();
  if (isStatic) Object.assign(state, examples[state.example].state, { ablated: state.ablated, sites: state.sites });
  if (!info.models.some((model) => model.name === state.model)) state.model = info.models[0].name;
  controls();
  onChange(changed);
  document.addEventListener("keydown", keyboard);
  window.addEventListener("hashchange", () => { readLink(); showSequence(); });
  if (isStatic) document.getElementById("story").textContent = examples[state.example].story;
  await showSequence();
}

main();
