// An instance of a load-once job, which is a session of Open Job Description: its items in order, what was done in
// which environment, and what its programs wrote between two items.
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Code, found, nested } from "./headings.js";
import { AttemptTable } from "./job.js";
import { codingOf, linesOf, plainOf, textOf } from "./lines.js";
import { Command, Empty, Name, Reading } from "./parts.js";
import { to } from "./route.js";
import { call, open } from "./session.js";
import { jobs, now } from "./store.js";
import { bytes, count, plain } from "./text.js";

const pages = 10,
  page = 1000, // attempts of the job that are looked through
  latest = 50, // items of the instance whose output is read
  part = 65_536, // bytes of the output of one
  most = 262_144, // bytes of what is between the items
  complete = 10, // seconds after the end of an attempt, when all of its output has come
  pause = 3000; // milliseconds between two readings

/** read has the lines of the first bytes of an answer. */
async function read(id, params, limit, signal) {
  const answer = await open(id, params, { signal }),
    reader = answer.body.getReader(),
    held = new Uint8Array(limit);
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const taken = value.subarray(0, limit - size);
    held.set(taken, size);
    size += taken.length;
    if (taken.length < value.length) {
      await reader.cancel();
      break;
    }
  }
  const all = held.subarray(0, size),
    coding = codingOf(all),
    begin = params.tail ? Math.max(0, Number(answer.headers.get("Qb-Log-Size") ?? 0) - params.tail) : 0;
  return { ...linesOf(all, begin, coding), bytes: all, begin, coding };
}

/** actionsOf are the headings in the begin and in the end of the output of an attempt. */
async function actionsOf(job, a, signal) {
  const which = { job, item: a.item, attempt: a.attempt, stream: "both" },
    head = await read("item-log", { ...which, offset: 0, limit: part }, part, signal),
    list = found(head);
  if (head.bytes.length === part) found(await read("item-log", { ...which, tail: part }, part, signal), list, part);
  return list.map(heading => ({ ...heading, of: a }));
}

/**
 * merged puts what was left between two items, which no time tells, before what the next program entered: it has left
 * all that it had entered.
 */
function merged(actions, between) {
  const list = [],
    rest = between.slice();
  let entered = 0,
    ran = false;
  for (const action of actions) {
    if (action.what === "Entering" && ran) {
      while (entered-- > 0 && rest[0]?.what === "Leaving") list.push(rest.shift());
      entered = 0;
      ran = false;
    }
    entered += { Entering: 1, Leaving: -1 }[action.what] ?? 0;
    ran ||= action.what === "Running";
    list.push(action);
  }
  return [...list, ...rest];
}

/** attemptsOf are those of an instance by their start, and whether the job has more than were looked at. */
async function attemptsOf(job, instance, signal) {
  const list = [];
  let after;
  for (let n = 0; n < pages; n++) {
    const some = await call("list-attempts", { job, limit: page, after }, { signal });
    list.push(...some.filter(a => a.instance === instance));
    if (some.length < page) return { list: sorted(list), more: false };
    after = `${some.at(-1).number}.${some.at(-1).attempt}`;
  }
  return { list: sorted(list), more: true };
}

const sorted = list => list.sort((a, b) => a.started_at.localeCompare(b.started_at));

/** instanceOf reads all of an instance. What is known of attempts that have ended for a while is not read again. */
async function instanceOf(job, instance, known, signal) {
  const { list, more } = await attemptsOf(job, `${job}.${instance}`, signal),
    actions = [];
  for (const a of list.slice(-latest)) {
    const key = `${a.number}.${a.attempt}`,
      own = known.get(key) ?? (await actionsOf(job, a, signal));
    if (a.finished_at && now() - Date.parse(a.finished_at) / 1000 > complete) known.set(key, own);
    actions.push(...own);
  }
  const between = await read("session-log", { job, instance, stream: "both" }, most, signal);
  return { list, more, between, actions: nested(merged(actions, found(between))) };
}

/**
 * useInstance reads an instance, and reads it again when its job has changed meanwhile. A reading is never given up for
 * the next change: of a job whose items are short none would come to its end.
 */
function useInstance(job, instance, state) {
  const [seen, set] = useState(null),
    newest = useRef(state);
  newest.current = state;
  useEffect(() => {
    const stop = new AbortController(),
      { signal } = stop,
      known = new Map();
    (async () => {
      while (!signal.aborted) {
        const of = newest.current;
        try {
          set(await instanceOf(job, instance, known, signal));
        } catch (error) {
          if (!signal.aborted) set({ error });
        }
        do await new Promise(resolve => setTimeout(resolve, pause));
        while (!signal.aborted && of === newest.current);
      }
    })();
    return () => stop.abort();
  }, [job, instance]);
  return seen;
}

/** Actions are what was done, each in the environments that were entered then. */
const Actions = ({ job, of }) =>
  html`<section class="card"><h2>Actions</h2><ol class="headings">${of.map(
    ({ what, name, at, code, inside, of: a }, n) => html`<li key=${n}
      style=${{ paddingLeft: `${20 * inside.length}px` }}>
      <span class="muted">${what}</span>
      <span title=${inside.length ? `in ${inside.map(plain).join(", ")}` : undefined}>
        ${plain(name)}</span> <${Code} code=${code} /> ${
          a
            ? html`<a href=${to(["jobs", job, "items", a.item], { attempt: a.attempt, at })}>item ${plain(a.item)}</a>`
            : html`<span class="muted">between items</span>`
        }</li>`,
  )}</ol></section>`;

export function Instance({ id, instance }) {
  const row = jobs.value.get(Number(id)),
    seen = useInstance(id, instance, JSON.stringify([row?.complete, row?.failed, row?.running, row?.killed]));
  if (seen?.error)
    return html`<${Empty} title=${seen.error.message}><a href=${to(["jobs", id])}>Job ${plain(id)}</a><//>`;
  if (!seen) return html`<${Reading} />`;
  const { list, more, between, actions } = seen;
  return html`<div class="page">
    <header class="bar-top"><h1>Instance ${id}.${plain(instance)}</h1><a class="muted" href=${to(["jobs", id])}>
      ${row ? html`<${Name} text=${row.name} />` : `job ${id}`}</a></header>
    ${actions.length > 0 && html`<${Actions} job=${id} of=${actions} />`}
    ${
      list.length > latest &&
      html`<p class="muted">Of the latest ${count(latest)} items, the first and the last ${bytes(part)} of the output of each.</p>`
    }
    <section class="card flush"><h2 class="padded">Items in order</h2>
      ${
        list.length
          ? html`<${AttemptTable} job=${id} list=${list.slice(-500)} items />`
          : html`<${Empty} title="This instance had no item" />`
      }
      ${
        (more || list.length > 500) &&
        html`<p class="muted padded">The latest 500 of the first ${count(pages * page)} attempts of the job.
          <code>qbitems ${id} -attempts</code> prints all.</p>`
      }</section>
    <section class="card flush"><h2 class="padded">Output between items</h2>
      ${
        between.list.length
          ? html`<pre class="padded found" tabindex="0">${between.list
              .map(span => plain(plainOf(textOf(between, span))))
              .join("\n")}</pre>`
          : html`<${Empty} title="No output" />`
      }
      ${
        between.bytes.length === most &&
        html`<p class="muted padded">The first ${bytes(most)}; the command has all.</p>`
      }
      <p class="padded"><${Command} text=${`qbout -session ${id}.${instance}`} /></p></section>
  </div>`;
}
