// Panel "tables": one partial Cayley table per component.
import { el, fill, light, onPoint } from "explorer/draw.js";
import { change, changeText, state } from "explorer/state.js";
import { isStatic } from "explorer/api.js";

export function drawTables(answer) {
  const query = answer.facts.at(-1).text.slice(0, 2);
  const known = answer.tables.some((table) => table.truth.length);
  const box = el("input", { type: "checkbox", id: "truth", onchange: () => change({ truth: box.checked }) });
  box.checked = state.truth;
  fill("tables",
    el("p", { class: "note" }, "Known products; small letters: ", el("span", { "data-word": "candidates", tabindex: 0 }, "candidates"),
      " left by ", el("span", { "data-word": "closure", tabindex: 0 }, "closure"), " and ", el("span", { "data-word": "cancellation", tabindex: 0 }, "cancellation"),
      isStatic ? "." : ". Click a cell to ask for it."),
    known ? el("label", {}, box, " show the true tables") : el("p", { class: "note" }, "The true tables are known for sampled sequences."),
    ...answer.tables.map((table, i) => one(table, i, query, answer)));
}

function one(table, place, query, answer) {
  const name = table.structure ? `${table.structure}${table.identity && state.truth ? `, identity ${table.identity}` : ""}` : "component";
  const head = el("tr", {}, el("th", {}, "·"), ...[...table.letters].map((x) => el("th", { scope: "col" }, x)));
  const rows = [...table.letters].map((x, i) => el("tr", {}, el("th", { scope: "row" }, x), ...table.cells[i].map((cell, j) => draw(cell, table.truth[i]?.[j], query, answer))));
  return el("div", { class: "scroll" }, el("h3", { style: { "border-bottom": `3px solid var(--c${Math.min(place, 6)})`, width: "max-content" } }, `${name} (${[...table.letters].join(" ")})`),
    el("table", { class: "cayley" }, head, ...rows));
}

function draw(cell, truth, query, answer) {
  const asked = cell.pair === query;
  const hidden = state.truth && truth && truth !== " ";
  const shown = cell.answers || (hidden ? truth : cell.candidates.length <= 3 ? cell.candidates : `${cell.candidates.length}`);
  const names = [cell.answers ? "" : "open", asked ? "asked" : "", cell.answers.length > 1 ? "clash" : ""];
  const from = cell.facts.map((i) => answer.facts[i].text).join(" ");
  const tip = cell.answers ? `${cell.pair}=${cell.answers}: ${from}` : `${cell.pair}: ${cell.candidates.length ? `candidates ${[...cell.candidates].join(" ")}` : "no candidate yet"}`;
  const node = el("td", { class: names.filter(Boolean).join(" "), tabindex: 0, "data-tip": tip, "data-pair": cell.pair }, asked && !hidden && !cell.answers ? "?" : shown);
  const ask = () => {
    if (isStatic) return;
    const facts = state.text.split(",");
    facts[facts.length - 1] = `${cell.pair}=`;
    changeText(facts.join(","));
  };
  node.addEventListener("click", ask);
  node.addEventListener("keydown", (event) => { if (event.key === "Enter") ask(); });
  return onPoint(node, () => light(cell.facts), () => light([]));
}
