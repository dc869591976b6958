// A job: the grid of its items, why it waits, its attempts, its history and what it was given.
import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer, useOf } from "./answer.js";
import { Grid, letters, ways } from "./grid.js";
import { Bar, bells, Change, Empty, Later, marks, modify, Name, order, Reading, ring, State, say } from "./parts.js";
import { refine, route, to } from "./route.js";
import { call } from "./session.js";
import { follow, jobs, now } from "./store.js";
import { age, bytes, count, ends, moment, plain, span } from "./text.js";
import { theme } from "./theme.js";

const codes = Object.fromEntries(Object.keys(letters).map(l => [l, l.charCodeAt(0)]));

const values = () => import("./values.js").then(module => module.Values);

/** useStates is the letters of a job's items, followed as they change. */
function useStates(id) {
  const states = useRef(new Uint8Array(0));
  const [shown, setShown] = useState({ version: 0, changed: null, error: "" });
  useEffect(() => {
    let gone = false,
      asked = 0,
      again = false;
    const early = []; // changes that came while all were being read
    const take = change =>
      change.items.forEach((n, i) => {
        states.current[n] = change.states.charCodeAt(i);
      });
    async function readAll() {
      if (asked) {
        again = true;
        return;
      }
      asked = 1;
      try {
        const reply = await call("item-states", { job: id });
        if (gone) return;
        states.current = new TextEncoder().encode(reply.states);
        early.splice(0).forEach(take);
        setShown(s => ({ version: s.version + 1, changed: null, error: "" }));
      } catch (error) {
        if (!gone) setShown(s => ({ ...s, error: error.message }));
      }
      asked = 0;
      if (again && !gone) {
        again = false;
        setTimeout(readAll, 500);
      }
    }
    const stop = follow(Number(id), change => {
      if (change.anew) return readAll();
      if (asked) early.push(change);
      else {
        take(change);
        setShown(s => ({ version: s.version + 1, changed: new Set(change.items), error: "" }));
      }
    });
    readAll();
    return () => {
      gone = true;
      stop();
    };
  }, [id]);
  return { states: states.current, ...shown };
}

function counts(states) {
  const by = new Uint32Array(128);
  for (const code of states) by[code]++;
  return by;
}

const failures = () => import("./failures.js").then(module => module.Failures);
const links = () => import("./failures.js").then(module => module.Links);
const linked = () => import("./why.js").then(module => module.Linked);

function Why({ id, job }) {
  const { value } = useAnswer("explain-job", { job: id }, [id, job.code, job.pending > 0, job.primary + job.secondary]);
  if (!value || (!value.reason && !job.failed && (!value.facts.length || !job.pending))) return null;
  return html`<section class="card"><h2>
    ${
      !value.reason && job.failed
        ? "What failed"
        : html`Why ${job.status === "failed" ? "it failed" : job.running > 0 ? "the rest waits" : "it waits"}`
    }</h2>
    ${
      value.reason &&
      html`<p class="lead"><${Later} load=${linked} text=${value.reason}>${plain(value.reason)}<//>
      </p>`
    }
    ${job.failed > 0 && html`<${Later} load=${failures} id=${id} job=${job} />`}
    ${
      job.pending > 0 &&
      value.facts.length > 0 &&
      html`<details open=${!job.running}><summary>
      ${count(value.facts.length)} facts: who holds the slots, and what would help</summary>
      <${Later} load=${() => import("./why.js").then(module => module.Facts)} facts=${value.facts} id=${id} />
      </details>`
    }</section>`;
}

const pictures = () => import("./pictures.js").then(module => module.Pictures);
const tabs = [
  ["items", "Items"],
  ["pictures", "Pictures"],
  ["attempts", "Attempts"],
  ["history", "History"],
  ["given", "What it was given"],
];

export function Job({ id }) {
  const row = jobs.value.get(Number(id));
  const detail = useAnswer("get-job", { job: id }, [id, row?.version, row?.status]);
  const grid = useStates(id);
  const query = route.value.query,
    tab = query.get("tab") ?? "items",
    state = query.get("state") ?? "",
    shade = ways.some(([way]) => way === query.get("by")) ? query.get("by") : "state";
  const [from, to_] = (query.get("items") ?? "").split("-").map(Number);
  const picked = query.get("items") ? { from, to: to_ || from } : { from: -1, to: -1 };
  if (detail.error && !row)
    return html`<${Empty} title=${detail.error.message}><a href=${to(["jobs"])}>All jobs</a><//>`;
  const full = detail.value;
  if (!full && !row) return html`<div class="page"><${Reading} /></div>`;
  const job = row ?? flat(full);
  const by = counts(grid.states),
    number = Number(id),
    over = ["complete", "failed", "killed"].includes(job.status);
  const pick = (a, b = a) => refine({ items: a < 0 ? "" : a === b ? String(a) : `${a}-${b}`, tab: "" });

  const shown = { ...grid, from: picked.from, to: picked.to, pick, theme: theme.value };

  return html`<div class="page">
    <header class="bar-top"><h1><span class="muted">${id}</span> <${Name} text=${job.name} /></h1>
      <${State} of=${job.status} /><span class="spring"></span>
      ${
        !over &&
        html`<button type="button" class="quiet" aria-pressed=${bells.value.ids.includes(number)}
          title="Tell me when it ends or an item fails" onClick=${() => ring(number)}>Tell me</button>
          <${Change} class="quiet" onClick=${() => modify("priority", [number])}>Priority…<//>
        <${Change} class="quiet" onClick=${() => modify("cpus", [number])}>cpus…<//>
        <${Change} class="quiet" onClick=${() => modify("max_cpus", [number])}>max_cpus…<//>
        <a class="button quiet" href=${to(["what-if"], { job: id })}>What if</a>
        <${Change} class="quiet" onClick=${() => order(job.status === "blocked" ? "unblock" : "block", [number])}>
          ${job.status === "blocked" ? "Unblock…" : "Block…"}<//>
        ${
          ["running", "suspended"].includes(job.status) &&
          html`<${Change} class="quiet"
          onClick=${() => order(job.status === "suspended" ? "resume" : "suspend", [number])}>
          ${job.status === "suspended" ? "Resume…" : "Suspend…"}<//>`
        }`
      }
      ${
        job.failed > 0 &&
        html`<${Change} class="quiet"
        onClick=${() => order("retry", [number])}>Retry ${count(job.failed)} failed…<//>`
      }
      <a class="button quiet" href=${to(["submit"], { from: id })}>Submit again</a>
      ${!over && html`<${Change} class="danger" onClick=${() => order("kill", [number])}>Kill…<//>`}</header>
    <p class="facts-line">
      ${plain(job.user)}${job.cluster && ` · ${plain(job.cluster)}`}${
        job.account && ` · ${plain(job.account)}`
      } · priority ${job.priority} · submitted ${age(job.submitted)} ago</p>
    <div class="numbers">
      <${Figure} label="Instances" value=${over ? "–" : `${job.primary} + ${job.secondary + job.draining}`}
        note=${over ? "the job has ended" : `primary + secondary, at most ${count(job.max_cpus)}`} />
      <${Figure} label="Complete" value=${`${job.total ? Math.floor((100 * job.complete) / job.total) : 0}%`}
        note=${`${count(job.complete)} of ${count(job.total)} items`} />
      <${Figure} label="Ends" value=${over ? moment(job.finished) : ends(job) || "–"}
        note=${
          over
            ? `after ${span(job.finished - job.submitted)}`
            : job.mean
              ? "if it keeps what runs now"
              : "no item is complete yet"
        } />
      <${Figure} label="An item takes" value=${job.mean ? span(job.mean) : "–"} note="mean wall time" />
      <${Figure} label="Memory" value=${bytes(job.need)}
        note=${job.peak ? `promised; largest peak ${bytes(job.peak)}` : "promised to an instance"} />
    </div>
    <${Bar} job=${job} />
    ${full && html`<${Later} load=${links} job=${full}><span /><//>`}
    <${Why} id=${id} job=${job} />
    <section class="card"><div class="row"><h2>Items</h2>
      <div class="chips">${Object.entries(letters).map(
        ([letter, name]) =>
          by[codes[letter]] > 0 &&
          html`
        <button type="button" key=${letter} class="chip s-${name}" aria-pressed=${state === name}
          onClick=${() => refine({ state: state === name ? "" : name, tab: "", on: "", exit: "" })}>
          <span class="glyph" aria-hidden="true">${marks[name]}</span>${name} ${count(by[codes[letter]])}</button>`,
      )}</div>
      <span class="spring"></span><span class="muted hide-small">drag to pick a range · n: next failure</span></div>
      <div class="chips" role="group" aria-label="Colour by">
        ${ways.map(
          ([way, label]) =>
            html`<button type="button" key=${way} class="chip" aria-pressed=${way === shade}
        onClick=${() => refine({ by: way === "state" ? "" : way })}>${label}</button>`,
        )}</div>
      ${
        grid.error
          ? html`<p class="bad-text">${grid.error}</p>`
          : !grid.version
            ? html`<${Reading} />`
            : grid.states.length > 0 &&
              (shade === "state"
                ? html`<${Grid} ...${shown} />`
                : html`<${Later} load=${values} key=${shade} id=${id} of=${shade} job=${job} grid=${shown} />`)
      }</section>
    <nav class="tabs" role="tablist">
      ${tabs
        .filter(([name]) => name !== "pictures" || full?.validate?.length)
        .map(
          ([name, label]) =>
            html`<button type="button" role="tab" aria-selected=${tab === name || (!tab && name === "items")}
      onClick=${() => refine({ tab: name })}>${label}</button>`,
        )}</nav>
    ${
      tab === "pictures"
        ? html`<${Later} load=${pictures} id=${id} job=${job} />`
        : tab === "attempts"
          ? html`<${Attempts} id=${id} job=${job} />`
          : tab === "history"
            ? html`<${History} id=${id} job=${job} />`
            : tab === "given"
              ? full
                ? html`<${Given} job=${full} />`
                : html`<${Reading} />`
              : html`<${Items} id=${id} job=${job} state=${state} picked=${picked} on=${query.get("on") ?? ""}
                exit=${query.get("exit") ?? ""} />`
    }
  </div>`;
}

/** flat is a job of the API in the shape of a row of the list: one that ended long ago is in no list. */
export const flat = j => ({
  ...j,
  ...j.items,
  primary: j.instances.primary,
  secondary: j.instances.secondary,
  draining: j.instances.draining,
  max_cpus: j.max_cpus_effective,
  submitted: Date.parse(j.submitted_at) / 1000,
  started: j.started_at ? Date.parse(j.started_at) / 1000 : 0,
  finished: j.finished_at ? Date.parse(j.finished_at) / 1000 : 0,
  mean: j.mean_item_seconds ?? 0,
  estimated: j.estimated_item_seconds ?? 0,
  need: j.memory.need,
  peak: j.memory.largest_peak,
});

const Figure = ({ label, value, note }) =>
  html`<div class="figure"><div class="label">${label}</div><div class="value">${value}</div><div class="note">${note}
    </div></div>`;

const page = 60;

/** endOf is how an item ended, as the address has it. */
export const endOf = i =>
  i.exit_code !== null ? `exit ${i.exit_code}` : i.signal !== null ? `signal ${i.signal}` : i.code;

/** Items is the table of the items that are picked, in the states asked for. */
function Items({ id, job, state, picked, on, exit }) {
  const chosen = `${id} ${state} ${picked.from} ${picked.to} ${on} ${exit}`,
    [list, setList] = useOf(chosen, { rows: null, after: -1, more: false, error: "" });
  const reads = useRef({ begun: 0, shown: 0, at: 0, chosen: "" }),
    r = reads.current;
  const read = async (after, before) => {
    const turn = ++r.begun,
      late = () => turn < r.shown || r.chosen !== chosen; // a later one was answered, or other items are asked for
    const wanted = state === "secondary" ? "running" : state;
    const some = on || exit; // these are chosen here, so that all are read
    const limit = some ? 10_000 : picked.from >= 0 ? Math.min(page, picked.to - after) : page;
    try {
      const rows = limit > 0 ? await call("list-items", { job: id, status: wanted, after, limit }) : [];
      if (late()) return;
      r.shown = turn;
      const inside = rows
        .filter(i => picked.from < 0 || i.number <= picked.to)
        .filter(i => state !== "secondary" || i.kind === "secondary")
        .filter(i => state !== "running" || i.kind !== "secondary")
        .filter(i => (!on || i.host === on) && (!exit || endOf(i) === exit));
      const last = rows.at(-1)?.number ?? after;
      setList({
        rows: [...before, ...inside],
        after: last,
        more: rows.length === limit && (picked.from < 0 ? last < job.total - 1 : last < picked.to),
        error: "",
      });
    } catch (error) {
      if (!late()) setList(l => ({ ...l, error: error.message }));
    }
  };
  useEffect(() => {
    if (r.chosen !== chosen) Object.assign(r, { chosen, at: 0 });
    const timer = setTimeout(
      () => {
        r.at = Date.now();
        read(picked.from - (picked.from >= 0 ? 1 : 0), []);
      },
      Math.max(0, 2000 - (Date.now() - r.at)),
    );
    return () => clearTimeout(timer);
  }, [chosen, `${job.complete} ${job.running} ${job.failed} ${job.killed} ${job.blocked} ${job.version}`]);
  const many = picked.from >= 0 ? picked.to - picked.from + 1 : 0;
  const act = async action => {
    if (many > 10_000) return say("pick 10,000 items at most", { bad: true });
    const rows = many ? await call("list-items", { job: id, after: picked.from - 1, limit: many }) : list.rows;
    await order(action, [Number(id)], rows.map(i => i.name).join(","));
  };
  return html`<section class="card flush">
    ${
      (many > 0 || ((on || exit) && list.rows?.length > 0)) &&
      html`<div class="row padded"><strong>
        ${
          many > 0
            ? `${count(many)} picked`
            : `${count(list.rows.length)}${exit && ` with ${exit}`}${on && ` on ${plain(on)}`}`
        }</strong>
      <${Change} class="quiet" onClick=${() => act("retry")}>Retry…<//>
        <${Change} class="quiet" onClick=${() => act("block")}>Block…<//>
        <${Change} class="danger quiet" onClick=${() => act("kill")}>Kill…<//>
      <span class="spring"></span>
        <button type="button" class="quiet" onClick=${() => refine({ items: "", on: "", exit: "" })}>Clear</button>
        </div>`
    }
    ${list.error && html`<p class="bad-text padded">${list.error}</p>`}
    ${
      !list.rows
        ? !list.error && html`<${Reading} />`
        : list.rows.length
          ? html`<div class="scroll"><table><thead><tr><th>Item</th><th>State</th><th class="right">Attempt</th>
            <th>Host</th><th class="right">Started</th><th class="right">Took</th><th class="right">Peak</th>
            <th class="grow">Why</th></tr></thead>
      <tbody>${list.rows.map(
        i => html`<tr key=${i.number}><td><a href=${to(["jobs", id, "items", i.name])}><${Name} text=${i.name} /></a>
          </td>
        <td><${State} of=${i.status === "running" && i.kind === "secondary" ? "secondary" : i.status} /></td>
          <td class="right">${i.attempt || ""}</td>
        <td>${i.host && html`<a href=${to(["hosts", i.host])}><${Name} text=${i.host} /></a>`}</td><td class="right">
          ${moment(i.started_at)}</td><td class="right">${took(i)}</td>
        <td class="right">${i.peak_memory ? bytes(i.peak_memory) : ""}</td>
          <td class="muted clip" title=${plain(i.reason)}>${plain(i.reason)}</td></tr>`,
      )}</tbody></table></div>
      ${
        list.more &&
        html`<div class="padded">
        <button type="button" class="quiet" onClick=${() => read(list.after, list.rows)}>Show ${page} more</button>
        </div>`
      }`
          : html`<${Empty} title="No item is like this">
            ${
              (state || on || exit) &&
              html`<button type="button" class="quiet"
            onClick=${() => refine({ state: "", on: "", exit: "" })}>Show all items</button>`
            }<//>`
    }
  </section>`;
}

export const took = a =>
  a.started_at
    ? span(((a.finished_at ? Date.parse(a.finished_at) : now() * 1000) - Date.parse(a.started_at)) / 1000)
    : "";

function Attempts({ id, job }) {
  const { value, error } = useAnswer("list-attempts", { job: id, limit: 500 }, [
    id,
    job.complete + job.failed + job.running,
  ]);
  if (error) return html`<p class="bad-text">${error.message}</p>`;
  if (!value) return html`<${Reading} />`;
  if (!value.length) return html`<section class="card"><${Empty} title="No item has started yet" /></section>`;
  return html`<section class="card flush"><${AttemptTable} job=${id} list=${value} items />
    ${value.length === 500 && html`<p class="muted padded">The first 500 attempts; qb items and the API have all.</p>`}
    </section>`;
}

export const AttemptTable = ({
  job,
  list,
  items,
  chosen,
}) => html`<div class="scroll"><table><thead><tr>${items && html`<th>Item</th>`}<th class="right">Attempt</th>
  <th>State</th><th>Kind</th><th>Host</th><th class="right">Started</th><th class="right">Took</th>
  <th class="right">CPU</th><th class="right">Peak</th><th class="grow">Why</th></tr></thead>
  <tbody>${list.map(
    a => html`<tr key=${`${a.number}.${a.attempt}`} class=${chosen === a.attempt ? "chosen" : ""}>
      ${items && html`<td><a href=${to(["jobs", job, "items", a.item])}><${Name} text=${a.item} /></a></td>`}
    <td class="right"><a href=${to(["jobs", job, "items", a.item], { attempt: a.attempt })}>${a.attempt}</a></td><td>
      <${State} of=${a.state} /></td><td>${a.kind}</td><td><a href=${to(["hosts", a.host])}><${Name} text=${a.host} />
      </a></td>
    <td class="right">${moment(a.started_at)}</td><td class="right">${took(a)}</td><td class="right">
      ${a.cpu_seconds ? span(a.cpu_seconds) : ""}</td><td class="right">${a.peak_memory ? bytes(a.peak_memory) : ""}
      </td><td class="muted clip" title=${plain(a.reason)}>${plain(a.reason)}</td></tr>`,
  )}</tbody></table></div>`;

function History({ id, job }) {
  const { value, error } = useAnswer("job-history", { job: id, limit: 200 }, [
    id,
    job.version,
    job.complete + job.failed,
  ]);
  if (error) return html`<p class="bad-text">${error.message}</p>`;
  if (!value) return html`<${Reading} />`;
  return html`<section class="card flush"><div class="scroll"><table><thead><tr><th>When</th><th>What</th><th>Item</th>
    <th>Host</th><th class="grow">Why</th></tr></thead>
    <tbody>${value.toReversed().map(
      e =>
        html`<tr key=${e.id}><td>${moment(e.at)}</td><td>${e.type.replaceAll("-", " ")}</td><td>
      <${Name} text=${e.item ?? ""} /></td><td><${Name} text=${e.host ?? ""} /></td>
      <td class="muted clip" title=${plain(e.cause)}>${plain(e.cause)}</td></tr>`,
    )}</tbody></table></div>
    <p class="muted padded">The newest 200 lines. <code>qbhist ${id}</code> prints all.</p></section>`;
}

function Given({ job }) {
  const values = useMemo(
    () =>
      Object.entries(job).filter(
        ([name, value]) =>
          !["orders", "instances", "items", "memory", "reason", "code", "params"].includes(name) &&
          value !== "" &&
          value !== null &&
          !(Array.isArray(value) && !value.length),
      ),
    [job],
  );
  return html`<section class="card"><dl class="given">
    ${values.map(
      ([name, value]) =>
        html`<dt key=${name}>${name}</dt><dd>
    ${plain(
      name === "command"
        ? value.map(w => JSON.stringify(w)).join(" ")
        : typeof value === "object"
          ? JSON.stringify(value)
          : String(value),
    )}</dd>`,
    )}</dl></section>`;
}
