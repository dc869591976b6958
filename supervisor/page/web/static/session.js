// The session: who the user is, and every call of the API. The key of the session is in the memory of this document
// alone, where no script can read it, and is never sent: it signs requests. Before each request the supervisor
// proves that it has the key, too, for without TLS any program of this machine may have taken the port.
import { signal } from "@preact/signals";
import endpoints from "./endpoints.js";

/** @type {import("@preact/signals").Signal<null | {user: string, role: string, version: string}>} */
export const me = signal(null);
/** Why the log-in form is shown; empty: it needs no reason. */
export const signedOut = signal("");
/** Whether the certificate says who has served this document. */
export const secure = location.protocol === "https:";

const mac = { name: "HMAC", hash: "SHA-256" },
  form = /^qb_[a-z-]+_([0-9a-f]{16})_([\w-]{43})$/;
let session = null; // {id, key, count}; of a code also {code: true}
let proving = null; // the proof that is under way

const bytes = text => new TextEncoder().encode(text);
const sign = (key, ...lines) => crypto.subtle.sign("HMAC", key, bytes(lines.join("\n")));
const encode = given =>
  btoa(String.fromCharCode(...new Uint8Array(given)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const decode = text => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
const hex = given => [...new Uint8Array(given)].map(b => b.toString(16).padStart(2, "0")).join("");

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

/**
 * prove asks the supervisor for a proof that it has the key, and gives back which run of it that is. Whoever else
 * answers is sent nothing.
 */
async function prove(as) {
  const nonce = encode(crypto.getRandomValues(new Uint8Array(24)));
  const answer = await fetch(path(endpoints["prove-server"], { session: as.id, nonce, code: as.code }), {
    signal: AbortSignal.timeout(6000),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  const told = await answer.json().catch(() => ({}));
  if (
    typeof told.proof !== "string" ||
    typeof told.process !== "string" ||
    encode(await sign(as.key, "qb server 1", nonce, told.process, location.origin)) !== told.proof
  ) {
    throw new Error(
      as.code
        ? "this link belongs to another supervisor than the one that answers here; run qb open for a new link"
        : "what answers at this address is not the supervisor, or it is stopping; nothing was sent to it",
    );
  }
  return told.process;
}

/**
 * alone ends the session if a service worker could hear what is said: the farm has none, so that somebody who had
 * the port has left it.
 */
async function alone(as) {
  const workers = navigator.serviceWorker;
  if (!workers?.controller && !(await workers?.getRegistrations())?.length) return;
  if (as === session) leave("another program had this address and left a service worker; run qb open");
  throw new Error("another program had this address and left a service worker; nothing was sent");
}

/** prepare proves the supervisor and signs a request; what it gives back sends that at once. */
export async function prepare(
  id,
  params = {},
  { body, header = {}, signal: until, as = session, keepalive = false } = {},
) {
  if (!as) throw new Error("the session has ended; run qb open");
  const endpoint = endpoints[id],
    { pathname, search } = new URL(path(endpoint, params), location),
    headers = { ...header };
  const text = body === undefined ? undefined : JSON.stringify(body);
  if (text !== undefined) headers["Content-Type"] = "application/json";
  if (endpoint.keyed) headers["Idempotency-Key"] ??= crypto.getRandomValues(new Uint32Array(4)).join("-");
  proving ??= prove(as).finally(() => {
    proving = null;
  });
  const run = await proving;
  await alone(as);
  const number = ++as.count,
    hash = hex(await crypto.subtle.digest("SHA-256", bytes(text ?? "")));
  const signed = await sign(
    as.key,
    "qb request 1",
    run,
    number,
    endpoint.method,
    location.origin,
    pathname + search,
    headers["If-Match"] ?? "",
    headers["Idempotency-Key"] ?? "",
    hash,
  );
  headers.Authorization = `QB-Signed ${as.id} ${run} ${number} ${hash} ${encode(signed)}`;
  return () =>
    fetch(pathname + search, {
      method: endpoint.method,
      headers,
      body: text,
      signal: until,
      keepalive,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
}

/** open sends a request and returns the answer as it begins; what is refused is thrown. */
export async function open(id, params = {}, options = {}) {
  const as = options.as ?? session;
  for (let left = 2, turns = 5; ; ) {
    const answer = await (await prepare(id, params, { ...options, as }))();
    if (answer.ok) return answer;
    if (answer.status === 429 && endpoints[id].method === "GET" && --turns > 0) {
      // this user reads a lot already: the next in turn
      await new Promise(done => setTimeout(done, 1000 * Math.min(Number(answer.headers.get("Retry-After")) || 1, 15)));
      options.signal?.throwIfAborted();
      continue;
    }
    const refusal = new Refusal(answer.status, await answer.json().catch(() => ({})));
    if (refusal.code === "other-run" && left-- > 0) continue; // the supervisor has restarted since the proof
    if (refusal.status === 401 && as === session) leave(refusal.message);
    throw refusal;
  }
}

/** call sends a request and returns what the answer says. */
export async function call(id, params, options) {
  return (await open(id, params, options)).json();
}

function leave(reason) {
  session = null;
  signedOut.value = reason;
  me.value = null;
}

const imported = raw => crypto.subtle.importKey("raw", raw, mac, false, ["sign"]);

/** enter exchanges a code for a session. The key comes encrypted for whoever has the code. */
async function enter(code) {
  const [, id, secret] = form.exec(code) ?? [];
  if (!id) throw new Error("the link is incomplete; run qb open for a new link");
  const as = { id, key: await imported(decode(secret)), count: 0, code: true };
  const made = await call("begin-session", {}, { as }),
    sealed = decode(made.key);
  const wrap = await crypto.subtle.importKey("raw", await sign(as.key, "qb wrap 1", made.id), "AES-GCM", false, [
    "unwrapKey",
  ]);
  const key = await crypto.subtle.unwrapKey(
    "raw",
    sealed.subarray(12),
    wrap,
    { name: "AES-GCM", iv: sealed.subarray(0, 12) },
    mac,
    false,
    ["sign"],
  );
  session = { id: made.id, key, count: 0 };
  const ping = await call("ping");
  me.value = { user: ping.user, role: ping.role, version: ping.version };
  signedOut.value = "";
}

/**
 * begin trades a token for a session; the token is not kept. It is sent by TLS alone, where the certificate says
 * who gets it.
 */
export async function begin(token) {
  if (!secure) throw new Error("without TLS no token is sent; run qb open");
  const endpoint = endpoints["make-code"];
  const answer = await fetch(endpoint.path, {
    method: endpoint.method,
    headers: { Authorization: `Bearer ${token.trim()}` },
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(answer.status, told);
  await enter(told.token);
}

/** start begins the session of the code in the address. */
export async function start() {
  const [, code, view] = /^#code=([^/]+)(\/.*)?$/.exec(location.hash) ?? [];
  if (!code) return;
  location.replace(`#${view ?? "/"}`); // the code stays in no history of the tab
  try {
    await enter(code);
  } catch (error) {
    signedOut.value = error.message;
  }
}

/** end revokes the session. */
export async function end() {
  await call("revoke-own-token", { token: session?.id }).catch(() => {}); // it has ended anyway
  leave("");
}

const ranks = ["anyone", "read-only", "user", "operator", "admin"];

/** may says whether the role of the session may call an endpoint at all. */
export function may(id) {
  return ranks.indexOf(me.value?.role) >= ranks.indexOf(endpoints[id].role);
}
