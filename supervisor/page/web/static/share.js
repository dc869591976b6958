// Share over time: how many instances each job, user or account had, primary solid and secondary light, one above
// the other. Stops and promotions are marks; what nobody sampled is a gap.
import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { useOf } from "./answer.js";
import { Command, Empty, Name, Reading } from "./parts.js";
import { refine, route, to } from "./route.js";
import { call } from "./session.js";
import { jobs, link } from "./store.js";
import { count, plain } from "./text.js";
import { named, theme, tone } from "./theme.js";

const groups = [
  ["job", "Job"],
  ["user", "User"],
  ["account", "Account"],
];
const ranges = [
  [3600, "1 hour"],
  [21_600, "6 hours"],
  [86_400, "1 day"],
  [604_800, "7 days"],
];
const clock = new Intl.DateTimeFormat("en-GB", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/**
 * layers are what is drawn: of each series primary and secondary, the first eight by themselves and the others
 * together.
 */
export function layers({ series, samples }) {
  const own = series.slice(0, named).filter(s => !s.others),
    others = series.slice(own.length),
    list = own.slice();
  if (others.length) {
    const sum = name => samples.map((_, n) => others.reduce((total, s) => total + s[name][n], 0));
    list.push({
      key: "",
      others: others.reduce((n, s) => n + (s.others || 1), 0),
      primary: sum("primary"),
      secondary: sum("secondary"),
    });
  }
  const sums = new Array(samples.length).fill(0),
    out = [];
  list.forEach((s, n) => {
    for (const kind of ["primary", "secondary"]) {
      for (let i = 0; i < sums.length; i++) sums[i] += s[kind][i];
      out.push({ series: s, n: s.others ? -1 : n, kind, top: sums.map((v, i) => (samples[i] ? v : null)) });
    }
  });
  return { list, layers: out };
}

/** Marks are drawn along the upper edge: what was stopped points down, what was promoted up. */
function drawMarks(u, times, marks, colours) {
  const sums = new Map();
  for (const m of marks) sums.set(`${m.point} ${m.kind}`, (sums.get(`${m.point} ${m.kind}`) ?? 0) + m.count);
  const pen = u.ctx,
    r = devicePixelRatio;
  pen.save();
  pen.textAlign = "center";
  pen.font = `${9 * r}px system-ui`;
  for (const key of sums.keys()) {
    const [point, kind] = key.split(" ");
    pen.fillStyle = colours[kind];
    pen.fillText(
      kind === "stopped" ? "▼" : "▲",
      u.valToPos(times[point], "x", true),
      u.bbox.top + (kind === "stopped" ? 8 : 18) * r,
    );
  }
  pen.restore();
}

function Curve({ reply, drawn, hover }) {
  const box = useRef(null),
    look = theme.value;
  useEffect(() => {
    const place = box.current,
      style = getComputedStyle(document.documentElement),
      colour = name => style.getPropertyValue(name).trim();
    const begin = Date.parse(reply.from) / 1000,
      times = reply.samples.map((_, n) => begin + n * reply.step);
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--line-soft"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui",
    };
    const fill = ({ n, kind }) =>
      kind === "primary"
        ? tone(n, look === "dark")
        : `color-mix(in srgb, ${tone(n, look === "dark")} 42%, ${colour("--card")})`;
    const paths = uPlot.paths.stepped({ align: 1 });
    const plot = new uPlot(
      {
        width: Math.max(200, place.clientWidth),
        height: 320,
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        scales: {
          x: { range: [begin, begin + times.length * reply.step] },
          y: { range: (_u, _low, high) => [0, Math.max(1, high * 1.15)] },
        },
        axes: [
          {
            ...axis,
            space: 70,
            size: 28,
            values: (_u, at) =>
              at.map(t => clock.format(t * 1000).slice(reply.step * times.length > 90_000 ? 0 : -8, -3)),
          },
          { ...axis, label: "instances", labelSize: 18, size: 48 },
        ],
        series: [
          {},
          ...drawn.layers
            .toReversed()
            .map(layer => ({ fill: fill(layer), stroke: fill(layer), width: 0, paths, points: { show: false } })),
        ],
        hooks: {
          draw: [u => drawMarks(u, times, reply.marks, { stopped: colour("--bad"), promoted: colour("--s-running") })],
          setCursor: [u => hover(u.cursor.idx ?? -1)],
        },
      },
      [times, ...drawn.layers.toReversed().map(layer => layer.top)],
      place,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, place.clientWidth), height: 320 }));
    observer.observe(place);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [reply, look]);
  return html`<div class="curve" ref=${box} role="img"
    aria-label="Instances over time, primary and secondary; the table below has the means"></div>`;
}

const nameOf = (s, by) =>
  s.others
    ? `${count(s.others)} others`
    : by === "job"
      ? `${s.key} ${plain(s.name || jobs.value.get(Number(s.key))?.name || "")}`
      : plain(s.key || "none");

/** told is what a point is, for the line below the curve. */
function told(reply, drawn, n) {
  if (n < 0 || n >= reply.samples.length) return " ";
  const at = clock.format(Date.parse(reply.from) + n * reply.step * 1000);
  if (!reply.samples[n]) return `${at}: a gap, of which nothing is known`;
  const parts = drawn.list
    .filter(s => s.primary[n] + s.secondary[n] > 0)
    .map(s => `${nameOf(s, reply.by)}: ${s.primary[n]}${s.secondary[n] ? ` + ${s.secondary[n]}` : ""}`);
  const sum = kind => reply.marks.filter(m => m.point === n && m.kind === kind).reduce((all, m) => all + m.count, 0);
  return `${at} · ${parts.join(" · ") || "nothing ran"}${
    sum("stopped") ? ` · ▼ ${sum("stopped")} stopped` : ""
  }${sum("promoted") ? ` · ▲ ${sum("promoted")} promoted` : ""}`;
}

function Means({ reply, by }) {
  const known = reply.samples.filter(Boolean).length || 1,
    mean = list => list.reduce((sum, v, n) => sum + (reply.samples[n] ? v : 0), 0) / known;
  const rows = reply.series.map(s => ({
    s,
    primary: mean(s.primary),
    secondary: mean(s.secondary),
    stopped: reply.marks
      .filter(m => m.key === s.key && m.kind === "stopped" && !s.others)
      .reduce((n, m) => n + m.count, 0),
  }));
  const all = rows.reduce((sum, r) => sum + r.primary + r.secondary, 0) || 1,
    dark = theme.value === "dark";
  return html`<section class="card flush"><div class="scroll" tabindex="0" role="region" aria-label="Means"><table>
    <thead><tr><th>${groups.find(([g]) => g === by)[1]}</th><th class="grow">Share</th><th class="right">Primary</th>
    <th class="right">Secondary</th><th class="right hide-small">Stopped</th></tr></thead>
    <tbody>${rows.map(
      ({ s, primary, secondary, stopped }, n) => html`<tr key=${s.key}><td><span class="legend">
        <span class="swatch" style=${{ background: tone(s.others ? -1 : n, dark) }}></span>
        ${
          s.others || (by !== "job" && !s.key)
            ? nameOf(s, by)
            : html`<a href=${
                by === "job"
                  ? to(["jobs", s.key])
                  : by === "user"
                    ? to(["fairshare", s.key])
                    : to(["jobs"], { q: `account:${s.key}` })
              }><${Name} text=${nameOf(s, by)} /></a>`
        }</span></td>
      <td><span class="progress"><span class="bar">
        <span class="fill-running" style=${{ width: `${(100 * primary) / all}%` }}></span>
        <span class="fill-secondary" style=${{ width: `${(100 * secondary) / all}%` }}></span></span>
        <span class="percent">${Math.round((100 * (primary + secondary)) / all)}%</span></span></td>
      <td class="right">${primary.toFixed(1)}</td><td class="right">${secondary.toFixed(1)}</td>
        <td class="right hide-small">${stopped ? count(stopped) : ""}</td></tr>`,
    )}</tbody></table></div></section>`;
}

export function Share() {
  const query = route.value.query,
    by = groups.some(([g]) => g === query.get("by")) ? query.get("by") : "job",
    last = Math.min(691_200, Math.max(60, Number(query.get("last")) || 3600)),
    until = query.get("to") ?? "";
  const [answer, setAnswer] = useOf(`${by} ${last} ${until}`, { reply: null, error: null }),
    [at, hover] = useState(-1);
  const live = link.value.state === "live";
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const read = async () => {
      const end = until ? Date.parse(until) : NaN,
        from = end ? new Date(end - last * 1000).toISOString() : new Date(Date.now() - last * 1000).toISOString();
      try {
        const reply = await call(
          "timeline",
          { by, from, to: end ? new Date(end).toISOString() : undefined, step: Math.ceil(last / 360) },
          { signal: stop.signal },
        );
        setAnswer({ reply, error: null });
      } catch (error) {
        if (!stop.signal.aborted) setAnswer(a => ({ ...a, error }));
      }
      if (!stop.signal.aborted && !until && live)
        timer = setTimeout(read, Math.min(60_000, Math.max(10_000, last / 0.36)));
    };
    read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [by, last, until, live]);
  const { reply, error } = answer,
    drawn = useMemo(() => reply && layers(reply), [reply]);
  const chip = (label, change, on) =>
    html`<button type="button" class="chip" aria-pressed=${on} onClick=${() => refine(change)}>${label}</button>`;
  return html`<div class="page"><header class="bar-top"><h1>Share over time</h1>
    <span class="chips" role="group" aria-label="By">
    ${groups.map(([g, label]) => chip(label, { by: g === "job" ? "" : g }, g === by))}</span><span class="spring">
    </span>
      <span class="chips" role="group" aria-label="How far back">
        ${ranges.map(([s, label]) => chip(label, { last: s === 3600 ? "" : s, to: "" }, s === last))}</span></header>
    ${error && html`<p class="field-error" role="alert">${plain(error.message)}</p>`}
    ${
      !reply
        ? !error && html`<${Reading} />`
        : !reply.samples.some(Boolean)
          ? html`<${Empty} title="Nothing is known of this time">The supervisor that leads takes a sample each 10
            seconds and keeps them for a day, and one each 2 minutes for a week. It began after this time, or a moment
            ago.<//>`
          : html`<section class="card"><div class="row"><span class="legend"><span class="swatch fill-running">
            </span>primary, solid</span><span class="legend"><span class="swatch fill-secondary">
            </span>secondary, light</span><span class="legend">
            <span class="bad-text">▼</span> items stopped for others</span><span class="legend">
            <span class="good-text">▲</span> secondaries made primary</span><span class="spring"></span>
          <span class="muted hide-small">a point is ${
            reply.step < 120 ? `${reply.step} s` : `${Math.round(reply.step / 60)} min`
          }${until ? "" : ", and this view goes on"}</span></div>
        <${Curve} reply=${reply} drawn=${drawn} hover=${hover} /><div class="hint" aria-live="off">
          ${told(reply, drawn, at)}</div></section>
        <${Means} reply=${reply} by=${by} />
        ${
          reply.entries > reply.series.length &&
          html`<p class="note">
          ${count(reply.entries)} in all; the 20 with the most instances stand by themselves.</p>`
        }`
    }
    <div class="row"><${Command} text=${`qbstats -by ${by === "job" ? "user" : by}`} />
      <span class="note">has the sums of days</span></div></div>`;
}
