// Notices: jobs of which somebody wants to hear when they end or an item fails, over the stream. They are this
// browser's. Beside the page the browser itself says it only if that was allowed by a click.
import { effect, signal } from "@preact/signals";
import { html } from "htm/preact";
import { kept } from "./kept.js";
import { bells, Empty, Name, State, say } from "./parts.js";
import { to } from "./route.js";
import { me } from "./session.js";
import { jobs, needed } from "./store.js";
import { count, moment, plain } from "./text.js";

const key = "qb-bells",
  most = 100;
const over = ["complete", "failed", "killed"];

function read() {
  try {
    return JSON.parse(kept.getItem(key) ?? "{}");
  } catch {
    return {};
  }
}

/**
 * told are the notices of this browser, the newest last: {job, name, text, at, bad, seen}. watched are jobs by id:
 * {name, failed}.
 */
const state = signal({ told: [], watched: {}, system: false, user: "", ...read() });

function put(change) {
  state.value = { ...state.value, ...change };
  kept.setItem(key, JSON.stringify(state.value));
  show();
}

function show() {
  const { told, watched, user } = state.value,
    mine = !user || user === me.value?.user;
  needed.value = mine && Object.keys(watched).length > 0;
  bells.value = {
    ids: mine ? Object.keys(watched).map(Number) : [],
    fresh: mine ? told.filter(n => !n.seen).length : 0,
  };
}
addEventListener("storage", event => {
  if (event.key === key) {
    state.value = { ...state.value, ...read() };
    show();
  }
}); // another tab

function tell(id, job, text, bad) {
  say(`job ${id} ${plain(job.name)}: ${text}`, { bad });
  if (state.value.system && globalThis.Notification?.permission === "granted")
    new Notification(`job ${id} ${plain(job.name)}`, { body: text, tag: `qb-${id}` });
  return { job: Number(id), name: job.name, text, bad, at: Date.now(), seen: false };
}

effect(() => {
  const all = jobs.value,
    { watched, told } = state.value;
  if (!all.size || (state.value.user && state.value.user !== me.value?.user)) return;
  const next = { ...watched },
    fresh = [];
  for (const [id, was] of Object.entries(watched)) {
    const job = all.get(Number(id));
    if (!job) continue; // it has not come yet, or ended long ago
    if (over.includes(job.status)) {
      fresh.push(
        tell(
          id,
          job,
          job.status === "complete"
            ? "complete"
            : job.status === "killed"
              ? "killed"
              : `failed, ${count(job.failed)} of ${count(job.total)} items`,
          job.status !== "complete",
        ),
      );
      delete next[id];
    } else if (job.failed > was.failed) {
      fresh.push(tell(id, job, `${count(job.failed)} item${job.failed === 1 ? " has" : "s have"} failed`, true));
      next[id] = { ...was, failed: job.failed };
    } else if (job.failed < was.failed) next[id] = { ...was, failed: job.failed };
    else continue;
  }
  if (fresh.length || JSON.stringify(next) !== JSON.stringify(watched))
    queueMicrotask(() => put({ watched: next, told: [...told, ...fresh].slice(-most) }));
});
show();

/** ring sets or takes away the bell of a job. */
export function ring(id) {
  const watched = { ...state.value.watched },
    job = jobs.value.get(id);
  if (watched[id]) {
    delete watched[id];
    put({ watched });
    return say(`no notice of job ${id} any more`);
  }
  if (Object.keys(watched).length >= most) return say(`at most ${most} jobs at a time`, { bad: true });
  watched[id] = { name: job?.name ?? "", failed: job?.failed ?? 0 };
  put({ watched, user: me.value.user });
  say(`you get a notice when job ${id} ends or an item of it fails`);
}

const names = {
  default: "Tell me outside of the page too",
  granted: "Tell me outside of the page too",
  denied: "This browser's settings for the page forbid notices; allow them there",
};

export function Bell() {
  const { told, watched, system } = state.value,
    may = globalThis.Notification?.permission ?? "denied";
  if (told.some(n => !n.seen)) queueMicrotask(() => put({ told: state.value.told.map(n => ({ ...n, seen: true })) }));
  const allow = async () =>
    put({ system: !system && (may === "granted" || (await Notification.requestPermission()) === "granted") });
  return html`<div class="page"><header class="bar-top"><h1>Notices</h1><span class="spring"></span>
    <button type="button" class="quiet" aria-pressed=${system && may === "granted"} disabled=${may === "denied"}
    onClick=${allow}>${names[may]}</button>
    ${told.length > 0 && html`<button type="button" class="quiet" onClick=${() => put({ told: [] })}>Clear</button>`}
    </header>
    <section class="card flush"><h2 class="padded">Jobs that you get notices of</h2>${
      Object.keys(watched).length
        ? html`<div class="scroll"><table><tbody>${Object.entries(watched).map(([id, w]) => {
            const job = jobs.value.get(Number(id));
            return html`<tr key=${id}><td class="right">${id}</td><td class="grow"><a href=${to(["jobs", id])}>
              <${Name} text=${job?.name || w.name || id} /></a></td><td>
              ${job ? html`<${State} of=${job.status} />` : html`<span class="muted">not in the list</span>`}</td>
              <td class="right"><button type="button" class="quiet"
              onClick=${() => ring(Number(id))}>Not any more</button></td></tr>`;
          })}</tbody></table></div>`
        : html`<p class="muted padded">None. <em>Tell me</em> in the view of a job adds it: you get a notice when the
          job ends or an item of it fails.</p>`
    }</section>
    <section class="card flush"><h2 class="padded">What you were told</h2>
      ${
        told.length
          ? html`<div class="scroll"><table><tbody>
      ${told.toReversed().map(
        (n, i) =>
          html`<tr key=${i}><td>${moment(n.at / 1000)}</td><td class="right">${n.job}</td><td class="grow">
      <a href=${to(["jobs", String(n.job)])}><${Name} text=${n.name} /></a></td>
      <td class=${n.bad ? "bad-text" : "good-text"}>${plain(n.text)}</td></tr>`,
      )}</tbody></table></div>`
          : html`<${Empty} title="You have no notices yet" />`
      }</section>
    <p class="note">Notices come only in this browser, while a tab of the page is open. A hidden tab stays connected as
      long as you wait for a job.</p></div>`;
}
