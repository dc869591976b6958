// The session: who the user is, and every call of the API. The token is in this tab's memory and sessionStorage and goes out as
// a header alone; there is no cookie. This module is the only one that knows it.
import { signal } from "@preact/signals";
import endpoints from "./endpoints.js";

/** @type {import("@preact/signals").Signal<null | {user: string, role: string, version: string}>} */
export const me = signal(null);
/** Why the log-in form is shown; empty: it needs no reason. */
export const signedOut = signal("");

const key = "qb-session";
const sisters = new BroadcastChannel(key); // tabs of the same origin, which is also the same port
let token = sessionStorage.getItem(key) ?? "";

sisters.onmessage = event => {
  if (event.data === "who" && token) sisters.postMessage({ token });
  else if (event.data?.token && !token) keep(event.data.token);
};

function keep(text) {
  token = text;
  if (text) sessionStorage.setItem(key, text);
  else sessionStorage.removeItem(key);
}

/** A refusal of the API. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the answer has status ${status}`);
    this.status = status;
    this.kind = (problem.type ?? "").replace("urn:qb:error:", "");
    this.code = problem.code;
    this.places = problem.errors ?? [];
  }
}

/** path is the address of an endpoint; what is not in its path goes into the query. */
function path(endpoint, params) {
  const query = new URLSearchParams();
  let address = endpoint.path;
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null || value === "") continue;
    if (address.includes(`{${name}}`)) address = address.replace(`{${name}}`, encodeURIComponent(value));
    else query.set(name, value);
  }
  return query.size ? `${address}?${query}` : address;
}

/** open sends a request and returns the answer as it begins; what is refused is thrown. */
export async function open(id, params = {}, { body, header = {}, signal: until, as = token } = {}) {
  const endpoint = endpoints[id];
  const headers = { ...header };
  if (as) headers.Authorization = "Bearer " + as;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (endpoint.keyed) headers["Idempotency-Key"] ??= crypto.getRandomValues(new Uint32Array(4)).join("-");
  const answer = await fetch(path(endpoint, params), {
    method: endpoint.method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal: until, cache: "no-store", credentials: "omit",
  });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  const refusal = new Refusal(answer.status, problem);
  if (refusal.status === 401 && as === token) leave(refusal.message);
  throw refusal;
}

/** call sends a request and returns what the answer says. */
export async function call(id, params, options) {
  return (await open(id, params, options)).json();
}

function leave(reason) {
  keep("");
  signedOut.value = reason;
  me.value = null;
}

async function enter() {
  const ping = await call("ping");
  me.value = { user: ping.user, role: ping.role, version: ping.version };
  signedOut.value = "";
}

/** begin trades a code or a token for a session, which alone is kept. */
export async function begin(given) {
  const made = await call("begin-session", {}, { as: given.trim() });
  keep(made.token);
  await enter();
}

/** start finds a session: by the code of the address, in this tab, or from another tab. */
export async function start() {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1];
  if (code) location.replace("#/"); // the code stays in no history
  try {
    if (code) return await begin(code);
    if (!token) {
      sisters.postMessage("who");
      await new Promise(done => setTimeout(done, 200));
    }
    if (token) await enter();
  } catch (error) {
    signedOut.value = error.message;
  }
}

/** end revokes the session. */
export async function end() {
  await call("revoke-own-token", { token: token.split("_")[2] }).catch(() => {}); // it has ended anyway
  leave("");
}

const ranks = ["anyone", "read-only", "user", "operator", "admin"];

/** may says whether the role of the session may call an endpoint at all. */
export function may(id) {
  return ranks.indexOf(me.value?.role) >= ranks.indexOf(endpoints[id].role);
}
