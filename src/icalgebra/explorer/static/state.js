// What is shown, as one value. The link carries all of it, so that a state can be sent to someone.

const START = {
  model: "", text: ",pf=p,ee=n,pf=p,ae=f,pp=e,pn=f,pe=", query: "auto", drawn: null, ablated: [], corrupt: "", sites: [], run: "",
  checkpoint: -1, example: 0,
};
export const state = { ...START };
const listeners = [];

export function readLink() {
  try {
    const found = JSON.parse(decodeURIComponent(location.hash.slice(1) || "{}"));
    for (const name of Object.keys(START)) if (name in found) state[name] = found[name];
  } catch { /* a link that was cut off: start as usual */ }
}

function writeLink() {
  const changed = Object.fromEntries(Object.entries(state).filter(([k, v]) => JSON.stringify(v) !== JSON.stringify(START[k])));
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

export const changeText = (text, more = {}) => change({ text, ablated: [], ...more });
