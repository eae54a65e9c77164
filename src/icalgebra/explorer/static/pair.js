// Panel "two sequences": clean and corrupt side by side; patch heads, MLPs or positions from one into the other.
import { bars, el, fill, signed } from "explorer/draw.js";
import { change, state } from "explorer/state.js";
import { isStatic } from "explorer/api.js";

let layer = 1; // behind which a clicked token is patched

export function offerPair(compare) {
  const area = el("textarea", { id: "corrupt", "aria-label": "the corrupt sequence", spellcheck: "false", disabled: isStatic });
  area.value = (state.corrupt || state.text) + "?";
  fill("pair", el("p", { class: "note", "data-word": "patch", tabindex: 0 }, "The sequence above is the clean one. Change a fact here to make the corrupt one, then patch values of the clean run into it."),
    area, el("div", { class: "controls" }, el("button", { type: "button", id: "compare", disabled: isStatic, onclick: () => { change({ corrupt: area.value.trim().replace(/\?$/, ""), sites: [] }); compare(); } }, "compare"),
      el("span", { class: "error", id: "pair-error" })));
}

export function drawPair(answer, found, patched, model) {
  const v = answer.variables;
  const most = Math.max(0.01, ...Object.values(found.effects).map(Math.abs));
  const toggle = (site) => () => change({ sites: state.sites.includes(site) ? state.sites.filter((s) => s !== site) : isStatic ? [site] : [...state.sites, site] });
  const button = (site, label) => {
    const effect = found.effects[site];
    const style = { "--amount": Math.abs(effect) / most, "--tone": effect < 0 ? "var(--down)" : "var(--up)" };
    return el("td", {}, el("button", { type: "button", class: state.sites.includes(site) ? "on" : "", "data-site": site, "data-value": effect, style, onclick: toggle(site) }, el("b", {}, label), signed(effect)));
  };
  const rows = [...Array(model.n_layers).keys()].map((i) => el("tr", {}, el("th", { scope: "row" }, `layer ${i}`),
    ...[...Array(model.n_heads).keys()].map((h) => button(`${i}.${h}`, `${i}.${h}`)), button(`mlp ${i}`, `mlp ${i}`)));
  const places = [...new Set(Object.keys(found.effects).filter((s) => s.startsWith("token")).map((s) => Number(s.split(" ")[1])))];
  const streams = [...Array(model.n_layers).keys()].map((i) => el("tr", {}, el("th", { scope: "row" }, `after ${i}`),
    ...places.map((t) => button(`token ${t} after ${i}`, state.corrupt[t]))));
  const result = el("div", { class: "rows" }, el("span", {}, "clean"), bars(found.clean, v, "var(--model)", 3), el("span", {}, "corrupt"), bars(found.corrupt, v, "var(--rule)", 3),
    ...(patched ? [el("span", {}, "patched"), el("span", { id: "patched" }, bars(patched.probabilities, v, "var(--up)", 3))] : []));
  document.querySelector("#pair .found")?.remove();
  document.querySelector("#pair .body").append(el("div", { class: "found" }, result,
    el("p", { class: "note", id: "pair-words" }, words(found, patched)),
    el("h3", {}, `Heads and MLPs at '=': change of P(${found.clean_answer})`), el("div", { class: "scroll" }, el("table", { class: "map", id: "pair-map" }, ...rows)),
    ...(places.length ? [el("h3", {}, "Residual stream of the differing fact, the comma behind it, and the query"), el("div", { class: "scroll" }, el("table", { class: "map" }, ...streams))] : []),
    anyToken(found, model, toggle)));
}

function words(found, patched) {
  const differ = found.differing.length ? `They differ in fact ${found.differing.map((i) => i + 1).join(", ")}.` : "They are equal.";
  if (!state.sites.length) return `${differ} Click a head, an MLP or a position to patch it.`;
  const known = found.effects[state.sites[0]];
  const index = patched ? null : known;
  return `${differ} Patched: ${state.sites.join(", ")}.` + (index === null || index === undefined ? "" : ` Change of P(${found.clean_answer}): ${signed(index)}.`);
}

// Any other position: choose a layer, click a token of the corrupt sequence.
function anyToken(found, model, toggle) {
  if (isStatic) return "";
  const pick = el("select", { onchange: () => { layer = Number(pick.value); } }, ...[...Array(model.n_layers).keys()].map((i) => el("option", { value: i, selected: i === layer }, `after layer ${i}`)));
  const tokens = [...state.corrupt].map((token, i) => el("button", { type: "button", "data-token": i,
    class: ["token", token !== state.text[i] ? "differs" : "", state.sites.some((s) => s.startsWith(`token ${i} `)) ? "on" : ""].join(" "), onclick: () => toggle(`token ${i} after ${layer}`)() }, token));
  return el("details", {}, el("summary", {}, "any position: click a token of the corrupt sequence"), pick, el("div", { class: "tokens" }, ...tokens));
}
