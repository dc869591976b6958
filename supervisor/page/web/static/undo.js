// What can be undone for 10 minutes: the inverse of each change, which is made only if nobody has changed the job
// or host since. The list is this document's.
import { signal } from "@preact/signals";
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { Command, confirm, Empty, say, undoable } from "./parts.js";
import { to } from "./route.js";
import { call, me, open } from "./session.js";
import { jobs } from "./store.js";
import { count, quoted, span } from "./text.js";

const keep = 600,
  most = 50; // seconds; changes
let serial = Date.now();

/** changes: {id, user, at, text, steps}. A step is {call, params, body, match, command, what}. */
const changes = signal([]);

/**
 * mine are the versions of jobs that changes of this document made of others, by job and version: what one has
 * changed oneself, nobody else has.
 */
export const mine = signal(new Map());

/** own notes that a change of this document made one version of a job of another. */
export function own(job, from, to) {
  if (from && to > from) mine.value = new Map([...[...mine.value].slice(-999), [`${job} ${from}`, to]]);
}

/** advanced is the version that own changes made of the one that was shown. */
export function advanced(job, version) {
  while (mine.value.has(`${job} ${version}`)) version = mine.value.get(`${job} ${version}`);
  return version;
}

const good = list => list.filter(c => c.user === me.value?.user && Date.now() - c.at < keep * 1000).slice(-most);

function put(list) {
  changes.value = good(list);
  undoable.value = changes.value.length;
}
setInterval(() => {
  if (good(changes.value).length !== changes.value.length) put(changes.value);
}, 5000);

const about = steps => steps.map(step => step.what).join();

/** record takes in a change that was made and how to undo it, and offers that. */
export function record(text, steps) {
  if (!steps.length) return say(text);
  const change = { id: ++serial, user: me.value.user, at: Date.now(), text, steps };
  put([...changes.value, change]);
  say(text, { label: "Undo", action: () => undo(change), of: about(steps) });
}

const pause = time => new Promise(done => setTimeout(done, time));

/** retried lets what was killed run again; what is still being stopped, as soon as it has ended. */
async function retried(step) {
  let match = advanced(step.params.job, step.match),
    affected = 0;
  for (let end = Date.now() + 60_000; ; ) {
    const reply = await call(step.call, step.params, { body: step.body, header: { "If-Match": `"${match}"` } });
    affected += reply.affected;
    own(step.params.job, match, reply.version);
    match = reply.version;
    if (reply.order || affected >= step.items || Date.now() > end || !jobs.value.get(step.params.job)?.running)
      return affected;
    await pause(2000);
  }
}

async function take(step) {
  if (step.items) {
    const affected = await retried(step);
    if (affected < step.items)
      say(`${step.what}: ${count(affected)} of ${count(step.items)} items could be put back`, { bad: true });
    return;
  }
  const { job } = step.params,
    match = step.match && advanced(job, step.match);
  const answer = await open(step.call, step.params, {
    body: step.body,
    header: match ? { "If-Match": `"${match}"` } : {},
  });
  if (match) own(job, match, (await answer.json()).version ?? versionOf(answer));
}

const versionOf = answer => Number((answer.headers.get("ETag") ?? "").replace(/\D/g, ""));

/** again says whether a step of a later change has changed the same once more. */
const again = (step, later) =>
  step.call === later.call &&
  step.what === later.what &&
  Object.keys(step.body ?? {}).join() === Object.keys(later.body ?? {}).join();

/** undo makes the inverse of a change; what somebody else has changed since stays as it is. */
export async function undo(change) {
  if (!changes.value.some(c => c.id === change.id))
    return say("it is too late to undo that, or it was undone", { bad: true });
  const newer = changes.value.find(
    c => c.id > change.id && c.steps.some(later => change.steps.some(step => again(step, later))),
  );
  if (newer) return say(`you changed the same later: undo ${newer.text} first`, { bad: true });
  put(changes.value.filter(c => c.id !== change.id));
  const refused = [];
  const queue = change.steps.slice();
  const worker = async () => {
    while (queue.length) {
      const step = queue.shift();
      await take(step).catch(error => refused.push([step, error]));
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  const done = change.steps.length - refused.length;
  if (done) say(`undone: ${change.text}${refused.length ? `, for ${done} of ${change.steps.length}` : ""}`);
  if (!refused.length) return;
  const [step, error] = refused[0];
  say(
    error.kind === "stale"
      ? `${step.what} was changed since by another user or command, so this undo left ${step.what} as it is`
      : `${step.what}: ${error.message}`,
    { bad: true },
  );
  const unanswered = refused
    .filter(([, e]) => e.kind !== "stale" && !(e.status >= 400 && e.status < 500))
    .map(([s]) => s);
  if (unanswered.length) put([...changes.value, { ...change, steps: unanswered }]); // the farm did not answer
}

/** modified changes a job and is the step that undoes it. */
export async function modified(job, name, value, before, version) {
  const answer = await open(
    "modify-job",
    { job },
    { body: { [name]: value }, header: version ? { "If-Match": `"${version}"` } : {} },
  );
  const match = versionOf(answer),
    reply = await answer.json();
  own(job, version, match);
  for (const remark of reply.remarks ?? []) say(`job ${job}: ${remark}`);
  return {
    call: "modify-job",
    params: { job },
    body: { [name]: before },
    match,
    what: `job ${job}`,
    command: `qbmodify -m${name} ${quoted(String(before))} ${job}`,
  };
}

/** ordered is the step that undoes an order on a job, by what the answer says it did; null: there is none. */
export function ordered(action, reply) {
  const inverse = { kill: "retry", block: "unblock", unblock: "block", suspend: "resume", resume: "suspend" }[action],
    { job, affected, items, version } = reply;
  if (!inverse || !affected || (action === "kill" && !items)) return null;
  const step = {
    call: "order-job",
    params: { job, action: inverse },
    match: version,
    what: `job ${job}`,
    command: `qb${inverse} ${job}`,
  };
  return action === "kill"
    ? { ...step, body: { items }, items: affected, command: `qbretry ${quoted(`${job}:${items}`)}` }
    : step;
}

/** Undo is the view of all that can be undone. */
export function Undo() {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick(n => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const list = good(changes.value).toReversed();
  const ask = async change => {
    if (
      await confirm({
        title: "Undo this?",
        text: change.text,
        list: change.steps.map(step => step.command),
        label: "Undo",
        command: change.steps.length === 1 ? change.steps[0].command : "",
      })
    )
      await undo(change);
  };
  return html`<div class="page"><header class="bar-top"><h1>Undo</h1></header>
    ${
      list.length
        ? html`<section class="card flush">
          <div class="scroll" tabindex="0" role="region" aria-label="Changes that can be undone"><table><thead><tr>
          <th class="grow">What was done</th><th class="hide-small">What undoes it</th><th class="right">Time left</th>
          <th></th></tr></thead>
      <tbody>${list.map(
        c => html`<tr key=${c.id}><td class="clip" title=${c.text}>${c.text}</td><td class="hide-small">
          <${Command} text=${c.steps[0].command} />
          ${c.steps.length > 1 && html`<span class="muted"> and ${count(c.steps.length - 1)} more</span>`}</td>
        <td class="right">${span(Math.max(0, keep - (Date.now() - c.at) / 1000))}</td><td class="right">
          <button type="button" class="quiet" onClick=${() => ask(c)}>Undo…</button></td></tr>`,
      )}</tbody></table></div></section>
      <p class="note">An undo leaves a value that another user or command has changed since. After a kill exactly the
        items that it stopped run again, from their start.</p>`
        : html`<${Empty} title="There is nothing to undo">Blocking, locking, killing and changes of priority and width
          that you make here can be undone for 10 minutes.<br /><a href=${to([])}>The farm</a><//>`
    }</div>`;
}
