// Reports: what ended attempts used, by day as a curve and by user, account, cluster, host or class as a table.
import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useOf } from "./answer.js";
import { Command, Division, Empty, Name, Reading } from "./parts.js";
import { refine, route, to } from "./route.js";
import { call } from "./session.js";
import { now } from "./store.js";
import { count, outcomes, plain, quoted } from "./text.js";
import { theme } from "./theme.js";

const groups = [
  ["user", "User"],
  ["account", "Account"],
  ["cluster", "Cluster"],
  ["host", "Host"],
  ["class", "Class of hosts"],
];
const day = 86_400,
  dayOf = seconds => new Date(seconds * 1000).toISOString().slice(0, 10);

/**
 * stacked is the columns of a curve: by day the sums of slot-hours of each kind and those below it; a day without a
 * row is a gap.
 */
export function stacked(rows, from, to) {
  const days = [];
  for (let at = Date.parse(from) / 1000; at <= Date.parse(to) / 1000; at += day) days.push(at);
  const place = new Map(days.map((at, n) => [dayOf(at), n]));
  const values = outcomes.map(() => new Array(days.length).fill(0)),
    seen = new Array(days.length).fill(false),
    stops = new Array(days.length).fill(0);
  for (const row of rows) {
    const n = place.get(row.day),
      k = outcomes.findIndex(([end]) => end === row.kind);
    if (n === undefined || k < 0) continue;
    values[k][n] += row.slot_hours;
    seen[n] = true;
    if (row.kind === "preempted") stops[n] += row.attempts;
  }
  for (let k = 1; k < outcomes.length; k++) for (let n = 0; n < days.length; n++) values[k][n] += values[k - 1][n];
  return { columns: [days, ...values.map(list => list.map((v, n) => (seen[n] ? v : null)))], stops };
}

/** mark writes above each day how many attempts were preempted. */
function mark(u, columns, stops, colour) {
  u.ctx.save();
  u.ctx.fillStyle = colour;
  u.ctx.textAlign = "center";
  u.ctx.font = `${11 * devicePixelRatio}px system-ui`;
  for (let n = 0; n < stops.length; n++)
    if (stops[n])
      u.ctx.fillText(
        `▼ ${stops[n]}`,
        u.valToPos(columns[0][n], "x", true),
        u.valToPos(columns[outcomes.length][n], "y", true) - 5 * devicePixelRatio,
      );
  u.ctx.restore();
}

function Curve({ rows, from, until }) {
  const box = useRef(null),
    look = theme.value;
  useEffect(() => {
    const place = box.current;
    const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const { columns, stops } = stacked(rows, from, until);
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--line-soft"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui",
    };
    const bars = uPlot.paths.bars({ size: [0.7, 64] });
    const series = outcomes.map(([, state, name], k) => ({
      label: name.toLowerCase(),
      fill: colour(`--s-${state}`),
      stroke: colour(`--s-${state}`),
      width: 0,
      paths: bars,
      points: { show: false },
      value: (_u, sum, _at, n) =>
        n === null ? "–" : sum === null ? "none" : (sum - (k ? columns[k][n] : 0)).toFixed(2),
    }));
    const plot = new uPlot(
      {
        width: Math.max(200, place.clientWidth),
        height: 260,
        tzDate: at => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
        cursor: { y: false, points: { show: false } },
        scales: {
          x: { range: (_u, low, high) => [low - day / 2, high + day / 2] },
          y: { range: (_u, _low, high) => [0, Math.max(0.01, high * 1.12)] },
        },
        axes: [
          {
            ...axis,
            incrs: [day, 2 * day, 7 * day, 14 * day, 30 * day],
            values: (_u, at) => at.map(dayOf).map(text => text.slice(5)),
          },
          { ...axis, label: "slot-hours", labelSize: 18, size: 56 },
        ],
        // The highest sum first, so that those below it stand before it
        series: [{ label: "day", value: (_u, at) => (at === null ? "–" : dayOf(at)) }, ...series.toReversed()],
        hooks: { draw: [u => mark(u, columns, stops, colour("--text"))] },
      },
      [columns[0], ...columns.slice(1).toReversed()],
      place,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, place.clientWidth), height: 260 }));
    observer.observe(place);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [rows, from, until, look]);
  return html`<div class="curve" ref=${box} role="img"
    aria-label="Slot-hours by day, primary and secondary; the table below has the sums"></div>`;
}

const small = end => (end === "secondary" || end === "killed" ? "right hide-small" : "right");

function Table({ rows, by }) {
  const most = Math.max(...rows.map(r => r.slot_hours), 1e-9),
    sorted = rows.toSorted((a, b) => b.slot_hours - a.slot_hours);
  return html`<section class="card flush"><div class="scroll" tabindex="0" role="region" aria-label="Use"><table><thead>
    <tr><th>${groups.find(([g]) => g === by)[1]}</th><th class="grow">Slot-hours</th><th class="right">Sum</th>
    ${outcomes.slice(1).map(([end, , label]) => html`<th class=${small(end)}>${label}</th>`)}
    <th class="right hide-small">CPU hours</th><th class="right hide-small">GiB hours</th>
    <th class="right hide-small">Attempts</th></tr></thead>
    <tbody>${sorted.slice(0, 200).map(row => {
      const name = row[by] || "–";
      return html`<tr key=${name}><td>
        ${
          by === "class" || !row[by]
            ? html`<${Name} text=${name} />`
            : html`<a href=${to(["reports"], { ...Object.fromEntries(route.value.query), of: row[by] })}>
        <${Name} text=${name} /></a>`
        }</td>
      <td><${Division} row=${row} most=${most} /></td>
      <td class="right">${row.slot_hours.toFixed(2)}</td>
        ${outcomes.slice(1).map(([end]) => html`<td class=${small(end)}>${Math.round(100 * row[end])} %</td>`)}
        <td class="right hide-small">${row.cpu_hours.toFixed(2)}</td><td class="right hide-small">
        ${row.memory_gib_hours.toFixed(2)}</td><td class="right hide-small">${count(row.attempts)}</td></tr>`;
    })}</tbody></table></div>
    ${
      rows.length > 200 &&
      html`<p class="muted padded">and ${count(rows.length - 200)} more; <code>qbstats</code> lists all</p>`
    }
      </section>`;
}

export function Reports() {
  const query = route.value.query,
    by = groups.some(([g]) => g === query.get("by")) ? query.get("by") : "user",
    days = Number(query.get("days")) || 14,
    of = query.get("of") ?? "";
  const [answer, setAnswer] = useOf(`${by} ${days} ${of}`, { byDay: null, rows: [], error: null });
  const narrowed = of && by !== "class" ? { [by]: of } : {};
  useEffect(() => {
    const stop = new AbortController(),
      range = { from: dayOf(now() - (Math.min(days, 3660) - 1) * day), ...narrowed };
    Promise.all([
      call("get-stats", { by: "day,kind", limit: 9999, ...range }, { signal: stop.signal }),
      call("get-stats", { by, ...range }, { signal: stop.signal }),
    ]).then(
      ([byDay, rows]) => setAnswer({ byDay, rows: rows.rows, error: null }),
      error => {
        if (!stop.signal.aborted) setAnswer({ byDay: null, rows: [], error });
      },
    );
    return () => stop.abort();
  }, [by, days, of]);
  const { byDay, rows, error } = answer;
  const chip = (label, change, on) =>
    html`<button type="button" class="chip" aria-pressed=${on} onClick=${() => refine(change)}>${label}</button>`;
  return html`<div class="page"><header class="bar-top"><h1>Reports</h1>
    <span class="chips" role="group" aria-label="By">
    ${groups.map(([g, label]) => chip(label, { by: g, of: "" }, g === by))}</span><span class="spring"></span>
    <span class="chips" role="group" aria-label="Days">
    ${[7, 14, 30, 90].map(n => chip(`${n} days`, { days: n }, n === days))}</span></header>
    ${
      of &&
      html`<div class="row"><span>Only ${by} <strong><${Name} text=${of} /></strong></span>
      <button type="button" class="quiet" onClick=${() => refine({ of: "" })}>Show all</button></div>`
    }
    ${
      error
        ? html`<p class="field-error" role="alert">${plain(error.message)}</p>`
        : !byDay
          ? html`<${Reading} />`
          : byDay.rows.length === 0
            ? html`<${Empty} title="No attempt has ended in these days">Attempts count on the day on which they end, by
              UTC.<//>`
            : html`
      <section class="card"><div class="row"><h2>Share over time</h2>
        <span class="legend muted">slot-hours of attempts by the day of their end; ▼ attempts preempted</span></div>
        <${Curve} rows=${byDay.rows} from=${byDay.from} until=${byDay.to} /></section>
      <${Table} rows=${rows} by=${by} />`
    }
    <div class="row"><${Command}
      text=${`qbstats -by ${by} -from ${byDay?.from ?? ""}${of && by !== "class" ? ` -${by} ${quoted(of)}` : ""}`} />
      </div></div>`;
}
