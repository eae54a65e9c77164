// The answers: from the server, or from the data inside a static page. Both have the same form (contract.py).

const inside = JSON.parse(document.getElementById("data").textContent);
export const isStatic = inside !== null;
const running = new Map(); // part -> the request under way, which a newer one replaces

export class Refused extends Error {}

const get = async (path) => (await fetch(path)).json();
export const start = async () => (isStatic ? inside.start : get("/api/start"));
export const preparedSequences = async () => (isStatic ? inside.examples : get("/api/examples"));

// Of a static page: the answer that it holds, or undefined.
export const holds = (part, example) => inside?.parts[example]?.[part];

function prepared(part, request, example) {
  const found = holds(part, example);
  if (found && (part !== "ablation" || request.ablated.length === 0)) return found;
  throw new Refused("This page holds prepared sequences. To change them, run: icalgebra explore");
}

async function post(part, request) {
  running.get(part)?.abort();
  const mine = new AbortController();
  running.set(part, mine);
  const answer = await fetch(`/api/${part}`, {
    method: "POST", signal: mine.signal, headers: { "content-type": "application/json" }, body: JSON.stringify(request),
  });
  if (!answer.ok) throw new Refused((await answer.json()).error);
  return answer;
}

export async function ask(part, request, example) {
  return isStatic ? prepared(part, request, example) : (await post(part, request)).json();
}

// An answer in steps; step(answer) is called with each. A newer request or abandon(part) ends it.
export async function askInSteps(part, request, step, example) {
  if (isStatic) return step(prepared(part, request, example));
  const reader = (await post(part, request)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = lines.pop();
    lines.filter(Boolean).forEach((line) => step(JSON.parse(line)));
    if (done) return;
  }
}

export const abandon = (part) => running.get(part)?.abort();
