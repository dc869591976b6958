// The hosts: state, slots, memory, what runs there; lock and unlock.
import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { hostFields } from "./filter.js";
import { Filter, filtered } from "./jobs.js";
import { avoided, Change, Empty, lock, Name, Reading, State } from "./parts.js";
import { go, refine, route, to } from "./route.js";
import { may } from "./session.js";
import { useSlots } from "./slotmap.js";
import { hosts, unread } from "./store.js";
import { sorted, Table, useColumns } from "./table.js";
import { age, bytes, count, plain } from "./text.js";

const ranks = ["lost", "unreachable", "locked", "up"];
const Slots = ({ host }) =>
  html`<span class="progress" title=${`${host.used} of ${host.slots} slots are used`}><span class="bar">
    <span class="fill-running" style=${{ width: `${host.slots ? (100 * host.used) / host.slots : 0}%` }}></span></span>
    <span class="percent">${host.used}/${host.slots}</span></span>`;

/** Memory is three parts: in use or reserved beyond what is promised, promised, free. */
function Memory({ host }) {
  const size = value => bytes(value * 1048576),
    used = Math.max(0, host.memory - host.available),
    part = value => `${host.memory ? Math.min(100, (100 * value) / host.memory) : 0}%`;
  return html`<span class="progress"
    title=${`${size(host.promised)} promised, ${size(host.available)} of ${size(host.memory)} free now`}>
    <span class="bar"><span class="fill-complete" style=${{ width: part(used) }}></span>
    <span class="fill-promised" style=${{ width: part(Math.max(0, host.promised - used)) }}></span></span>
    <span class="percent long">${size(host.memory)}</span></span>`;
}

const every = 10_000; // milliseconds between two looks at what runs

const columnsAll = [
  {
    id: "state",
    label: "State",
    width: "122px",
    cell: h => html`<${State} of=${h.state} />`,
    sort: h => ranks.indexOf(h.state),
  },
  {
    id: "name",
    label: "Host",
    width: "minmax(110px, 1fr)",
    narrow: "minmax(0, 1fr)",
    cell: h => html`<a href=${to(["hosts", h.name])}><${Name} text=${h.name} /></a>`,
    sort: h => h.name,
  },
  {
    id: "used",
    label: "Slots",
    width: "minmax(110px, 160px)",
    narrow: "96px",
    cell: h => html`<${Slots} host=${h} />`,
    sort: h => h.used / (h.slots || 1),
  },
  {
    id: "memory",
    label: "Memory",
    width: "minmax(120px, 190px)",
    wide: true,
    cell: h => html`<${Memory} host=${h} />`,
    sort: h => h.memory,
  },
  {
    id: "cluster",
    label: "Cluster",
    width: "minmax(60px, 130px)",
    wide: true,
    cell: h => html`<${Name} text=${h.cluster} />`,
    sort: h => h.cluster,
  },
  {
    id: "groups",
    label: "Groups",
    width: "minmax(60px, 130px)",
    wide: true,
    cell: h => html`<${Name} text=${h.groups} />`,
    sort: h => h.groups,
  },
  {
    id: "jobs",
    label: "Jobs",
    width: "minmax(80px, 180px)",
    wide: true,
    cell: h =>
      html`<span class="clip">
        ${h.jobs.slice(0, 6).map(id => html`<a href=${to(["jobs", String(id)])}>${id}</a> `)}${
          h.jobs.length > 6 && `and ${h.jobs.length - 6} more`
        }</span>`,
    sort: h => h.jobs.length,
  },
  {
    id: "remark",
    label: "Remark",
    width: "minmax(0, 2fr)",
    wide: true,
    cell: h =>
      html`<span class="${avoided(h) ? "warn-text" : "muted"} clip" title=${plain(h.remark)}>
        ${h.locked_by ? `locked by ${plain(h.locked_by)}. ` : ""}${
          h.seen ? `silent for ${age(h.seen)}. ` : ""
        }${plain(h.remark)}</span>`,
    sort: h => h.remark,
  },
];

export function Hosts() {
  const query = route.value.query,
    text = query.get("q") ?? "",
    by = query.get("sort") ?? "name",
    down = query.get("down") === "1";
  const all = hosts.value,
    { columns, menu } = useColumns("hosts", columnsAll);
  const [chosen, choose] = useState(new Set());
  const slots = useSlots(every).rows;
  const runs = useMemo(
    () => new Map(slots?.map(row => [row.name, [...new Set(row.parts.map(part => part.job))]])),
    [slots],
  );
  const { rows, error } = useMemo(
    () =>
      filtered(
        Array.from(all.values(), h => ({ ...h, avoided: avoided(h) ? "yes" : "no", jobs: runs.get(h.name) ?? [] })),
        text,
        hostFields,
      ),
    [all, runs, text],
  );
  const list = useMemo(() => sorted(rows, columnsAll, { by, down }), [rows, by, down]);
  const names = [...chosen].filter(name => all.has(name)),
    operator = may("lock-host");
  const views = [
    ["All", ""],
    ["Trouble", "state:lost,unreachable"],
    ["Locked", "state:locked"],
    ["Idle", "idle>0 state:up"],
    ["Kept from some work", "avoided:yes"],
  ];
  return html`<section class="full">
    <header class="bar-top"><h1>Hosts</h1>
      <nav class="chips" aria-label="Filters">
        ${views.map(
          ([label, q]) =>
            html`<a class="chip" aria-current=${q === text ? "true" : undefined} href=${to(["hosts"], { q })}>${label}
        </a>`,
        )}</nav>
      <span class="spring"></span><span class="muted">${count(list.length)} of ${count(all.size)}</span></header>
    <div class="row"><${Filter} text=${text} error=${error} onText=${q => refine({ q })}
      label="Filter: words, state:up, group:gpu, job:12, idle>0" /><span class="spring"></span>${menu}</div>
    <${Table} label="Hosts" columns=${columns} rows=${list} keyOf=${h => h.name} chosen=${chosen}
      choose=${operator ? choose : undefined} open=${h => go(["hosts", h.name])}
      sort=${{ by, down }} onSort=${s => refine({ sort: s.by, down: s.down ? "1" : "0" })}
      empty=${
        all === unread
          ? html`<${Reading} />`
          : all.size
            ? html`<${Empty} title="No host passes this filter">
        <a href=${to(["hosts"])}>Show all ${count(all.size)} hosts</a><//>`
            : html`<${Empty} title="No worker has registered yet">
        <code>qbadmin worker token</code> prints the line that joins a machine.<//>`
      } />
    ${
      names.length > 0 &&
      html`<footer class="actions" role="toolbar" aria-label="Selected hosts"><strong>${names.length} selected</strong>
      <${Change} class="quiet" onClick=${() => lock(names, true)}>Lock…<//>
        <${Change} class="quiet" onClick=${() => lock(names, false)}>Unlock…<//><span class="spring"></span>
        <button type="button" class="quiet" onClick=${() => choose(new Set())}>Clear</button></footer>`
    }
  </section>`;
}
