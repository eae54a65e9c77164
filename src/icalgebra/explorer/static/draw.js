// Small pieces of the page. Text is always set as text, never as HTML.

export function el(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else if (name === "class") node.className = value;
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function svg(tag, options = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(options)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const body = (panel) => document.querySelector(`#${panel} .body`);
export const fill = (panel, ...children) => body(panel).replaceChildren(...children);
export const percent = (p) => `${(100 * p).toFixed(p > 0.0995 && p < 0.9995 ? 0 : 1)} %`;
export const signed = (x, digits = 2) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(digits);

// The likeliest variables as bars. shares: one probability per variable.
export function bars(shares, variables, colour, shown = 4, least = 0.005) {
  const order = [...shares.keys()].sort((i, j) => shares[j] - shares[i]).filter((i) => shares[i] >= least);
  const parts = order.slice(0, shown).map((i) =>
    el("span", { class: "bar", "data-letter": variables[i], "data-share": shares[i] },
      el("b", { class: "mono" }, variables[i]),
      el("i", { style: { width: `${Math.round(70 * shares[i]) + 1}px`, "--bar": colour } }), percent(shares[i])));
  if (order.length > shown) parts.push(el("span", { class: "note" }, `and ${order.length - shown} more`));
  return el("span", { class: "bars" }, ...(parts.length ? parts : ["no answer"]));
}

export const best = (shares, variables) => variables[shares.indexOf(Math.max(...shares))];

// Facts light up in the sequence panel, wherever they are mentioned.
export function light(facts) {
  document.querySelectorAll(".fact").forEach((node) => node.classList.toggle("lit", facts.includes(Number(node.dataset.fact))));
}

// Attention of one head over the facts, as shades.
export function shade(weights) {
  document.querySelectorAll("#sequence .fact").forEach((node) => node.style.setProperty("--seen", weights[node.dataset.fact] ?? 0));
}

// Hover and focus do the same, so that the keyboard reaches everything.
export function onPoint(node, enter, leave) {
  for (const name of ["mouseenter", "focus"]) node.addEventListener(name, enter);
  for (const name of ["mouseleave", "blur"]) node.addEventListener(name, leave);
  return node;
}

export const lights = (node, facts) => onPoint(node, () => light(facts), () => light([]));
