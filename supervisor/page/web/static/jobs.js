// The list of jobs: live, filtered by the words of its address, with the reason of each that waits.
import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { FilterError, jobFields, parse } from "./filter.js";
import { kept } from "./kept.js";
import { Bar, Change, Empty, modify, Name, order, Reading, State } from "./parts.js";
import { go, refine, route, to } from "./route.js";
import { me } from "./session.js";
import { held, jobs, now, paused, pauseOrResume, resume, unread } from "./store.js";
import { sorted, Table, useColumns } from "./table.js";
import { age, bytes, count, ends, plain, span } from "./text.js";

const running = j => j.primary + j.secondary + j.draining;
const ranks = ["running", "pending", "blocked", "suspended", "failed", "killed", "complete"];

const every = [
  {
    id: "status",
    label: "State",
    width: "112px",
    narrow: "96px",
    cell: j => html`<${State} of=${j.status} />`,
    sort: j => ranks.indexOf(j.status),
  },
  {
    id: "id",
    label: "Job",
    width: "64px",
    narrow: "40px",
    right: true,
    cell: j => html`<a href=${to(["jobs", String(j.id)])}>${j.id}</a>`,
    sort: j => j.id,
  },
  {
    id: "name",
    label: "Name",
    width: "minmax(150px, 1.5fr)",
    narrow: "minmax(0, 1fr)",
    cell: j => html`<${Name} text=${j.name} />`,
    sort: j => j.name.toLowerCase(),
  },
  {
    id: "user",
    label: "User",
    width: "84px",
    wide: true,
    cell: j => html`<${Name} text=${j.user} />`,
    sort: j => j.user,
  },
  {
    id: "priority",
    label: "Prio",
    width: "56px",
    wide: true,
    right: true,
    cell: j => j.priority,
    sort: j => j.priority,
  },
  {
    id: "running",
    label: "Runs",
    width: "68px",
    wide: true,
    right: true,
    cell: j =>
      running(j) > 0 &&
      html`<span title="primary and secondary instances">
        ${j.primary}${j.secondary + j.draining > 0 && html`<span class="muted"> + ${j.secondary + j.draining}</span>`}
        </span>`,
    sort: running,
  },
  {
    id: "progress",
    label: "Items",
    width: "minmax(110px, 1fr)",
    narrow: "72px",
    cell: j => html`<${Bar} job=${j} />`,
    sort: j => (j.total ? j.complete / j.total : 0),
  },
  {
    id: "failed",
    label: "Failed",
    width: "56px",
    wide: true,
    right: true,
    cell: j => j.failed > 0 && html`<span class="bad-text">${count(j.failed)}</span>`,
    sort: j => j.failed,
  },
  {
    id: "age",
    label: "Age",
    width: "88px",
    wide: true,
    right: true,
    cell: j => age(j.submitted),
    sort: j => -j.submitted,
  },
  {
    id: "ends",
    label: "Ends",
    width: "96px",
    wide: true,
    right: true,
    cell: j => html`<span title="if it keeps what runs now">${ends(j)}</span>`,
  },
  {
    id: "cluster",
    label: "Cluster",
    width: "minmax(60px, 130px)",
    off: true,
    wide: true,
    cell: j => html`<${Name} text=${j.cluster} />`,
    sort: j => j.cluster,
  },
  {
    id: "account",
    label: "Account",
    width: "minmax(60px, 120px)",
    off: true,
    wide: true,
    cell: j => html`<${Name} text=${j.account} />`,
    sort: j => j.account,
  },
  {
    id: "cpus",
    label: "cpus",
    width: "56px",
    off: true,
    wide: true,
    right: true,
    cell: j => count(j.cpus),
    sort: j => j.cpus,
  },
  {
    id: "max_cpus",
    label: "max_cpus",
    width: "80px",
    off: true,
    wide: true,
    right: true,
    cell: j => count(j.max_cpus),
    sort: j => j.max_cpus,
  },
  {
    id: "mean",
    label: "An item",
    width: "80px",
    off: true,
    wide: true,
    right: true,
    cell: j => (j.mean ? span(j.mean) : ""),
    sort: j => j.mean,
  },
  {
    id: "peak",
    label: "Peak",
    width: "72px",
    off: true,
    wide: true,
    right: true,
    cell: j => (j.peak ? bytes(j.peak) : ""),
    sort: j => j.peak,
  },
  {
    id: "reason",
    label: "Why it waits or failed",
    width: "minmax(0, 2.6fr)",
    wide: true,
    cell: j => html`<span class="muted clip" title=${plain(j.reason)}>${plain(j.reason)}</span>`,
    sort: j => j.reason,
  },
];

/** Saved filters: some for everybody, and those of this browser. */
const given = [
  ["Not ended", "status:running,pending,blocked,suspended"],
  ["Waiting", "status:pending"],
  ["With failures", "failed>0"],
];
const savedKey = "qb-filters";
const saved = () => JSON.parse(kept.getItem(savedKey) ?? "[]");

export function Filter({ text, error, onText, label }) {
  return html`<label class="filter"><span class="sr">${label}</span>
    <input id="filter" type="search" spellcheck="false" autocomplete="off" placeholder=${label} value=${text}
      aria-invalid=${error ? "true" : undefined}
      onInput=${e => onText(e.currentTarget.value)} onKeyDown=${e => {
        if (e.key === "Escape") {
          onText("");
          e.currentTarget.blur();
        }
      }} />
    ${error && html`<span class="field-error" role="alert">${error.message}</span>`}</label>`;
}

/** filtered is the rows that pass; a filter that cannot be read shows what the last one did. */
export function filtered(rows, text, fields) {
  try {
    return { rows: rows.filter(parse(text, fields, now)), error: null };
  } catch (error) {
    if (error instanceof FilterError) return { rows, error };
    throw error;
  }
}

export function Jobs() {
  const text = route.value.query.get("q") ?? "",
    by = route.value.query.get("sort") ?? "id",
    down = route.value.query.get("down") !== "0";
  const all = jobs.value,
    { columns, menu } = useColumns("jobs", every);
  const [chosen, choose] = useState(new Set());
  const { rows, error } = useMemo(() => filtered([...all.values()], text, jobFields), [all, text]);
  const list = useMemo(() => sorted(rows, every, { by, down }), [rows, by, down]);
  useEffect(() => {
    const onKey = event => {
      if (event.key === " " && event.target === document.body) {
        event.preventDefault();
        pauseOrResume();
      }
    };
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("keydown", onKey);
      resume();
    };
  }, []);
  const mine = `user:${me.value.user}`;
  const views = [["All", ""], ["Mine", mine], ...given, ...saved().map(q => [q, q])];
  const ids = [...chosen].filter(id => all.has(id));
  const act = (label, run, bad) => html`<${Change} class=${bad ? "danger quiet" : "quiet"} onClick=${run}>${label}<//>`;

  return html`<section class="full">
    <header class="bar-top"><h1>Jobs</h1>
      <nav class="chips" aria-label="Filters">
        ${views.map(
          ([label, q]) =>
            html`<a class="chip" aria-current=${q === text ? "true" : undefined} href=${to(["jobs"], { q })}>
              ${plain(label)}
        </a>`,
        )}</nav>
      <span class="spring"></span>
      <span class="muted">${count(list.length)} of ${count(all.size)}</span>
      <button type="button" class="quiet" aria-pressed=${paused.value} title="Space pauses the list"
        onClick=${pauseOrResume}>
        ${paused.value ? `▶ Resume (${count(held.value)} changes)` : "‖ Pause"}</button>
      <a class="button primary" href=${to(["submit"])}>Submit a job</a></header>
    <div class="row"><${Filter} text=${text} error=${error} onText=${q => refine({ q })}
      label="Filter: words, user:ada, status:pending, failed>0, age>2h, -word" />
      ${
        text &&
        !error &&
        html`<button type="button" class="quiet" onClick=${() => {
          const q = saved();
          kept.setItem(savedKey, JSON.stringify(q.includes(text) ? q.filter(x => x !== text) : [...q, text].slice(-8)));
          refine({ q: text });
        }}>${saved().includes(text) ? "Forget filter" : "Save filter"}</button>`
      }<span class="spring"></span>${menu}</div>
    <${Table} label="Jobs" columns=${columns} rows=${list} keyOf=${j => j.id} chosen=${chosen} choose=${choose}
      open=${j => go(["jobs", String(j.id)])}
      sort=${{ by, down }} onSort=${s => refine({ sort: s.by, down: s.down ? "1" : "0" })}
      empty=${
        all === unread
          ? html`<${Reading} />`
          : all.size
            ? html`<${Empty} title="No job passes this filter">
              <a href=${to(["jobs"])}>Show all ${count(all.size)} jobs</a>
        <//>`
            : html`<${Empty} title="There are no jobs yet">
        <a href=${to(["submit"])}>Submit one here</a>, or type <code>qbsub -range 1-10 echo hello</code><//>`
      } />
    ${
      ids.length > 0 &&
      html`<footer class="actions" role="toolbar" aria-label="Selected jobs"><strong>${ids.length} selected</strong>
      ${act("Kill…", () => order("kill", ids), true)}${act("Retry failed…", () => order("retry", ids))}${act(
        "Block…",
        () => order("block", ids),
      )}${act("Unblock…", () => order("unblock", ids))}${act("Suspend…", () =>
        order("suspend", ids),
      )}${act("Resume…", () => order("resume", ids))}
      ${act("Priority…", () => modify("priority", ids))}${act("cpus…", () => modify("cpus", ids))}${act(
        "max_cpus…",
        () => modify("max_cpus", ids),
      )}
      <span class="spring"></span><button type="button" class="quiet" onClick=${() => choose(new Set())}>Clear</button>
        </footer>`
    }
  </section>`;
}
