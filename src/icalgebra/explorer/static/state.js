// What is shown, as one value. The link carries all of it, so that a state can be sent to someone.

const START = {
  model: "", text: ",pf=p,ee=n,pf=p,ae=f,pp=e,pn=f,pe=", query: "auto", drawn: null, // the sequence
  ablated: [], corrupt: "", sites: [], run: "", checkpoint: -1, // what is done to it
  view: "ablation", truth: false, sorted: true, example: -1, // how it is shown
};
export const state = { ...START };
const listeners = [];

const kind = (value) => (Array.isArray(value) ? "array" : typeof value);

export function readLink() {
  Object.assign(state, START);
  try {
    const found = JSON.parse(decodeURIComponent(location.hash.slice(1) || "{}"));
    for (const name of Object.keys(START)) if (kind(found[name]) === kind(START[name])) state[name] = found[name];
  } catch { /* a link that was cut off: start as usual */ }
}

function writeLink() {
  const differs = ([name, value]) => JSON.stringify(value) !== JSON.stringify(START[name]);
  const changed = Object.fromEntries(Object.entries(state).filter(differs));
  history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify(changed)));
}

export const onChange = (listener) => listeners.push(listener);

// Change some fields; listeners get the names of those that differ.
export function change(fields) {
  const names = Object.keys(fields).filter((name) => JSON.stringify(fields[name]) !== JSON.stringify(state[name]));
  if (!names.length) return;
  Object.assign(state, fields);
  writeLink();
  listeners.forEach((listener) => listener(names));
}

// An edited sequence is no longer the prepared one, and what was ablated or patched belongs to the old one.
export const changeText = (text, more = {}) => change({ text, ablated: [], corrupt: "", sites: [], example: -1, ...more });
