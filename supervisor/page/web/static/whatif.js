// What if: a change tried by the planner that would make it, before it is made. What is tried stands in the address.
import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Change, Command, confirm, Empty, Name, Reading, say } from "./parts.js";
import { refine, route, to } from "./route.js";
import { call, may } from "./session.js";
import { hosts, jobs, unread } from "./store.js";
import { count, plain, quoted, span } from "./text.js";
import { advanced } from "./undo.js";

const fields = [
  {
    id: "max_cpus",
    label: "max_cpus",
    hint: "0: no secondaries, *: no limit",
    now: j => (j.max_cpus < 0 ? "*" : (j.max_cpus ?? "site's default")),
  },
  { id: "cpus", label: "cpus (instances)", hint: "what it is given first", now: j => j.cpus },
  { id: "priority", label: "priority", hint: "1 is the best", now: j => j.priority },
  { id: "cluster", label: "cluster", hint: "such as /show/sh010", now: j => j.cluster },
];
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const list = text =>
  (text ?? "")
    .split(",")
    .map(s => s.trim())
    .filter(Boolean);

/** asked is the query of what-if that the address holds; null: nothing is changed. */
function asked(query) {
  const q = { job: Number(query.get("job")) || undefined, lock: list(query.get("lock")).join(",") || undefined };
  let changes = 0;
  for (const f of fields) {
    const typed = query.get(f.id)?.trim();
    if (q.job && typed) {
      q[f.id] = typed;
      changes++;
    }
  }
  if (!changes) delete q.job;
  return changes || q.lock ? q : null;
}

/** useTrial asks when the query has rested for a moment. */
function useTrial(q, again) {
  const [trial, setTrial] = useState({ reply: null, error: null, busy: false });
  useEffect(() => {
    if (!q) {
      setTrial({ reply: null, error: null, busy: false });
      return;
    }
    const stop = new AbortController();
    setTrial(t => ({ ...t, busy: true }));
    const timer = setTimeout(async () => {
      try {
        const reply = await call("what-if", q, { signal: stop.signal });
        setTrial({ reply, error: null, busy: false });
      } catch (error) {
        if (!stop.signal.aborted) setTrial({ reply: null, error, busy: false });
      }
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [JSON.stringify(q), again]);
  return trial;
}

const total = c => c.primary + c.secondary;
const Counts = ({ of }) =>
  html`<span class="nowrap">${of.primary}${of.secondary > 0 && html`<span class="muted"> + ${of.secondary}</span>`}
    </span>`;

function Moved({ row }) {
  const more = total(row.after) - total(row.before);
  if (more === 0)
    return html`<span class="muted">${row.after.primary > row.before.primary ? "promoted" : "demoted"}</span>`;
  return more > 0
    ? html`<strong class="good-text">gains ${more}</strong>`
    : html`<strong class="bad-text">loses ${-more}</strong>`;
}

function Moves({ reply }) {
  if (!reply.moved)
    return html`<${Empty}
      title="No job gains or loses an instance">The next plan gives each job the same instances with the change as
      without it.<//>`;
  return html`<section class="card flush"><h2 class="padded">Who gains, who loses <span class="muted">
    ${count(reply.moved)} job${reply.moved > 1 ? "s" : ""}, primary + secondary</span></h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Who gains, who loses"><table><thead><tr><th>Job</th>
      <th class="grow">Name</th><th class="hide-small">User</th><th class="right">Runs now</th>
      <th class="right hide-small">Without</th><th class="right">With</th><th class="right">Change</th></tr></thead>
    <tbody>${reply.jobs.slice(0, 200).map(row => {
      const j = jobs.value.get(row.job);
      return html`<tr key=${row.job}><td>
        ${row.job ? html`<a href=${to(["jobs", String(row.job)])}>${row.job}</a>` : "new"}</td><td>
        <${Name} text=${j?.name ?? ""} /></td><td class="hide-small"><${Name} text=${j?.user ?? ""} /></td>
      <td class="right"><${Counts} of=${row.running} /></td><td class="right hide-small"><${Counts} of=${row.before} />
        </td><td class="right"><${Counts} of=${row.after} /></td><td class="right"><${Moved} row=${row} /></td></tr>`;
    })}</tbody></table></div>
    ${reply.moved > 200 && html`<p class="muted padded">and ${count(reply.moved - 200)} more</p>`}</section>`;
}

function Stops({ reply }) {
  if (!reply.stopped) return null;
  return html`<section class="card flush">
    <h2 class="padded">Items that ${reply.passive ? "are the last of their instance" : "stop"} <span class="muted">
    ${count(reply.stopped)}, cheapest first</span></h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Items that stop"><table><thead><tr><th>Item</th>
      <th class="grow">Job</th><th>Host</th><th class="right">Has run for</th></tr></thead>
    <tbody>${reply.stops.slice(0, 100).map(
      s =>
        html`<tr key=${s.instance}><td><a href=${to(["jobs", String(s.job), "items", s.item])}>${s.job}:${plain(s.item)}
      </a></td><td><${Name} text=${jobs.value.get(s.job)?.name ?? ""} /></td><td><${Name} text=${s.host} /></td>
      <td class="right">${span(s.seconds)}</td></tr>`,
    )}</tbody></table></div>
    ${reply.stopped > 100 && html`<p class="muted padded">and ${count(reply.stopped - 100)} more</p>`}</section>`;
}

function Result({ reply }) {
  const gains = reply.jobs.filter(r => total(r.after) > total(r.before)).length,
    loses = reply.jobs.filter(r => total(r.after) < total(r.before)).length;
  const lost = Math.max(0, reply.lost_after - reply.lost_before);
  const figure = (label, value, note) =>
    html`<div class="figure"><div class="label">${label}</div><div class="value">${value}</div><div class="note">${note}
      </div></div>`;
  return html`<div class="numbers">
      ${figure("Jobs that gain", count(gains), loses ? `${count(loses)} lose${loses === 1 ? "s" : ""}` : "none loses")}
      ${figure(
        reply.passive ? "Instances that end" : "Items that stop",
        count(reply.stopped),
        reply.spared
          ? `${count(reply.spared)} others go on that would stop`
          : reply.passive && reply.stopped
            ? "each after its item"
            : "beyond those that stop anyway",
      )}
      ${figure(
        "Work lost",
        reply.passive || !lost ? "none" : span(lost),
        reply.passive ? "items are not cut short" : "run again from their start",
      )}
      ${figure("Slots left free", count(reply.free_after), `${count(reply.free_before)} without the change`)}</div>
    <${Moves} reply=${reply} /><${Stops} reply=${reply} />`;
}

/** Trial is what a submission would do. */
export function Trial({ reply }) {
  const { start, now, after_stops: later, items, earliest_seconds: least, reason } = reply.submission,
    of = `of ${count(items)} item${items === 1 ? "" : "s"}`;
  const text =
    start === "now"
      ? `Starts ${now} ${of} at once${later ? `, ${later} more when what stops for it has ended` : ""}`
      : start === "after-stops"
        ? `Starts ${later} ${of} when what stops for it has ended`
        : "Starts later";
  return html`<section class="card ${start === "later" ? "warn" : ""}" role="status"><strong>
    ${text}${start !== "now" && least >= 1 ? `, not before ${span(least)}` : ""}</strong>
    ${reason && html` <span>${plain(reason)}</span>`}</section><${Result} reply=${reply} />`;
}

/** command is what makes the change on a terminal. */
function command(q) {
  if (!q) return "";
  const change = q.job
    ? `qbmodify ${fields
        .filter(f => q[f.id])
        .map(f => `-m${f.id} ${quoted(q[f.id])}`)
        .join(" ")} ${q.job}`
    : "";
  return [change, q.lock && `qblock ${list(q.lock).map(quoted).join(" ")}`].filter(Boolean).join(" && ");
}

/** doIt makes the change if the job is still what was shown; if not, it says what it is now. */
async function doIt(q, reply, shown) {
  if (q.job) {
    const body = Object.fromEntries(
      fields.filter(f => q[f.id]).map(f => [f.id, f.id === "cluster" || q[f.id] === "*" ? q[f.id] : Number(q[f.id])]),
    );
    try {
      const made = await call(
        "modify-job",
        { job: q.job },
        { body, header: { "If-Match": `"${advanced(q.job, reply.version)}"` } },
      );
      for (const remark of made.remarks) say(`job ${q.job}: ${remark}`);
    } catch (error) {
      if (error.kind !== "stale") throw error;
      const now = await call("get-job", { job: q.job });
      const both = fields
        .filter(f => String(f.now(now)) !== String(f.now(shown)))
        .map(f => `${f.label}: shown ${f.now(shown)}, now ${f.now(now)}`);
      await confirm({
        title: `Job ${q.job} was changed meanwhile`,
        text: "Nothing was done. What the change does is worked out again.",
        list: both.length ? both : ["the job's attributes are as shown; only its items went on"],
        label: "Look again",
      });
      return false;
    }
  }
  for (const host of list(q.lock)) await call("lock-host", { host });
  say("the change is made");
  return true;
}

export function WhatIf() {
  const query = route.value.query,
    id = Number(query.get("job")),
    job = jobs.value.get(id),
    q = asked(query);
  const [again, setAgain] = useState(0),
    [detail, setDetail] = useState(null);
  const { reply, error, busy } = useTrial(q, again);
  useEffect(() => {
    if (id) call("get-job", { job: id }).then(setDetail, () => setDetail(null));
    else setDetail(null);
  }, [id, again, job?.version]);
  const shown = useMemo(() => detail, [reply]); // what the job was when the answer came
  const names = [...hosts.value.keys()].slice(0, 500);
  const set = (name, value) => refine({ [name]: value });
  const run = async () => {
    const lose = reply.stopped && !reply.passive ? `${count(reply.stopped)} items stop.` : "";
    if (
      !(await confirm({
        title: `Change ${[q.job && `job ${q.job}`, ...list(q.lock)].filter(Boolean).join(", ")}?`,
        text: `${lose} ${reply.moved ? `${count(reply.moved)} jobs move.` : ""}`.trim(),
        label: "Do it",
        bad: Boolean(lose),
        command: command(q),
      }))
    )
      return;
    try {
      if (await doIt(q, reply, shown ?? detail)) for (const f of fields) set(f.id, "");
    } catch (e) {
      say(e.message, { bad: true });
    }
    setAgain(n => n + 1);
  };
  const field = f => html`<label class="field" key=${f.id}><span class="label">${f.label}</span>
      <input name=${f.id} autocomplete="off" spellcheck="false" disabled=${!id} value=${query.get(f.id) ?? ""}
      placeholder=${detail ? `${plain(String(f.now(detail)))} now` : f.hint}
    onInput=${e => set(f.id, e.currentTarget.value)} /><span class="note">${f.hint}</span></label>`;
  const allowed = q && (!q.job || may("modify-job")) && (!q.lock || may("lock-host"));
  return html`<div class="page"><header class="bar-top"><h1>What if</h1><span class="spring"></span>
      ${
        reply &&
        html`<span class="muted" role="status">
        ${busy ? "working it out…" : `as of ${clock.format(new Date(reply.at))}, term ${reply.epoch}`}</span>
        <button type="button" class="quiet" onClick=${() => setAgain(n => n + 1)}>Try again</button>`
      }</header>
    <section class="card"><div class="fields narrow-fields">
      <label class="field"><span class="label">Job</span>
        <input name="job" inputmode="numeric" autocomplete="off" value=${query.get("job") ?? ""} placeholder="number"
        onInput=${e => set("job", e.currentTarget.value)} /><span class="note clip">
        ${
          job
            ? html`<a href=${to(["jobs", String(id)])}>${plain(job.name)}</a>`
            : id && jobs.value !== unread
              ? "the farm has no unfinished job with this id"
              : "the job to change"
        }</span></label>
      ${fields.map(field)}
      <label class="field"><span class="label">lock hosts</span>
        <input name="lock" list="hosts-known" autocomplete="off" spellcheck="false" value=${query.get("lock") ?? ""}
        placeholder="h1,h2" onInput=${e => set("lock", e.currentTarget.value)} />
        <span class="note">what runs there goes on</span></label>
      <datalist id="hosts-known">${names.map(name => html`<option value=${name} />`)}</datalist></div>
      ${error && html`<p class="field-error" role="alert">${plain(error.message)}</p>`}
      ${
        q &&
        html`<div class="row"><${Command} text=${command(q)} /><span class="spring"></span>
        <${Change} class="primary" disabled=${!reply || busy || !allowed}
        title=${allowed ? "Refused if the job was changed meanwhile" : "your role may not make this change"}
        onClick=${run}>Do it…<//></div>`
      }</section>
    ${
      reply
        ? html`<${Result} reply=${reply} />
          <p class="note">One plan, made now on a copy of the farm. It says nothing of jobs that arrive and items that
          end later.</p>`
        : !q &&
          html`<${Empty} title="Try a change before making it">Name a job and what it would have, or hosts to lock: the
            farm's own planner says who gains, who loses and what stops. Nothing is changed.<//>`
    }
    ${q && !reply && !error && html`<${Reading} />`}</div>`;
}
