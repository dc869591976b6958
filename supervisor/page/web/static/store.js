// What the page knows of the farm: rows of jobs and hosts and the farm in numbers, as the stream sends them.

import { batch, effect, signal } from "@preact/signals";
import { createParser } from "eventsource-parser";
import { me, open } from "./session.js";

/**
 * Rows by key; the signal is set anew when rows have changed. unread: none have come yet, which does not say that
 * there are none.
 */
export const unread = new Map();
export const jobs = signal(unread);
export const hosts = signal(unread);
export const farm = signal(null);
/** The connection: state is connecting, live or cut; at is when something was last heard, by this machine's clock. */
export const link = signal({ state: "connecting", at: 0, reason: "" });
export const hello = signal(null);
/**
 * Whether the supervisor has another version of the page than this tab; the address of this module has the hash of
 * its own.
 */
export const outdated = signal(false);
/** The job whose items are followed, 0 for none, and who hears of them. */
export const watched = signal(0);
/** While true, lists stay as they are; the rows that come are held. */
export const paused = signal(false);
export const held = signal(0);

let waiting = { jobs: null, hosts: null }; // maps that are ahead of the shown ones while paused
let listener = null;
let clockAhead = 0; // of the server, in seconds

/** now is the farm's time in seconds: a wrong clock here does not matter. */
export const now = () => Date.now() / 1000 + clockAhead;

/** follow hears of the changes of a job's items until the returned function is called. */
export function follow(job, hear) {
  listener = hear;
  watched.value = job;
  return () => {
    if (listener === hear) {
      listener = null;
      watched.value = 0;
    }
  };
}

/**
 * keysOf are numbers, each as what it is more than the one before, or texts, each as how much it shares with the
 * one before and the rest.
 */
function keysOf(packed) {
  const keys = [];
  if (typeof packed[1] === "string") {
    let last = "";
    for (let n = 0; n < packed.length; n += 2) {
      last = last.slice(0, packed[n]) + packed[n + 1];
      keys.push(last);
    }
  } else {
    let last = 0;
    for (const step of packed) {
      last += step;
      keys.push(last);
    }
  }
  return keys;
}

/** apply takes in a change: columns of cells, null for what is as before. */
function apply(name, shown, key, change) {
  const base = waiting[name] ?? shown.value;
  const next = change.full ? new Map() : new Map(base),
    keys = keysOf(change.keys),
    columns = Object.entries(change.columns);
  for (const gone of change.gone) next.delete(gone);
  for (let n = 0; n < keys.length; n++) {
    const entry = { ...next.get(keys[n]), [key]: keys[n] };
    for (const [column, cells] of columns) if (cells[n] !== null) entry[column] = cells[n];
    next.set(keys[n], entry);
  }
  if (paused.value) {
    waiting[name] = next;
    held.value += keys.length + change.gone.length;
  } else {
    shown.value = next;
  }
}

/** pauseOrResume holds changes of the lists, or shows what was held. */
export function pauseOrResume() {
  if (paused.value) resume();
  else paused.value = true;
}

/** resume shows what was held. */
export function resume() {
  batch(() => {
    paused.value = false;
    held.value = 0;
    if (waiting.jobs) jobs.value = waiting.jobs;
    if (waiting.hosts) hosts.value = waiting.hosts;
    waiting = { jobs: null, hosts: null };
  });
}

function hear({ event, data }) {
  const value = JSON.parse(data);
  batch(() => {
    switch (event) {
      case "hello":
        hello.value = value;
        outdated.value = !import.meta.url.includes(`/${value.page}/`);
        clockAhead = Date.parse(value.now) / 1000 - Date.now() / 1000;
        listener?.({ anew: true });
        break;
      case "farm":
        farm.value = value;
        break;
      case "jobs":
        apply("jobs", jobs, hello.value.columns.jobs[0], value);
        break;
      case "hosts":
        apply("hosts", hosts, hello.value.columns.hosts[0], value);
        break;
      case "items":
        if (value.job === watched.value) listener?.(value);
    }
    link.value = { state: "live", at: Date.now(), reason: "" };
  });
}

const silence = 6; // seconds; the supervisor says something each second

/** read follows the stream until it ends, is ended, or nothing is heard. */
async function read(job, until) {
  const deaf = new AbortController();
  let quiet = 0;
  const timer = setInterval(() => {
    if (++quiet > silence) deaf.abort();
  }, 1000);
  try {
    const answer = await open("watch", { job: job || undefined }, { signal: AbortSignal.any([until, deaf.signal]) });
    const parser = createParser({ onEvent: hear, maxBufferSize: 64 << 20 });
    const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await text.read();
      if (done) return;
      quiet = 0;
      parser.feed(value);
    }
  } finally {
    clearInterval(timer);
  }
}

const pause = (time, until) =>
  new Promise(done => {
    const timer = setTimeout(done, time);
    until.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });

async function keepReading(job, until) {
  for (let wait = 500; !until.aborted; wait = Math.min(wait * 2, 10_000)) {
    const began = Date.now();
    let reason = "the connection was closed";
    try {
      await read(job, until);
    } catch (error) {
      reason = error.status ? error.message : "the supervisor does not answer";
      if (error.status === 401) return;
    }
    if (until.aborted) return;
    if (Date.now() - began > 10_000) wait = 500;
    link.value = { ...link.value, state: "cut", reason };
    await pause(wait, until);
  }
}

/** needed is true while a hidden tab has to hear, too: somebody wants to be told of a job. */
export const needed = signal(false);
const seen = signal(!document.hidden);
let hiding = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden)
    hiding = setTimeout(() => {
      seen.value = false;
    }, 30_000); // a hidden tab holds no connection
  else seen.value = true;
});

// One stream at a time, while somebody is logged in and the tab is seen.
effect(() => {
  const who = me.value?.user,
    job = watched.value;
  if (!who || (!seen.value && !needed.value)) return;
  const stop = new AbortController();
  keepReading(job, stop.signal);
  return () => stop.abort();
});
