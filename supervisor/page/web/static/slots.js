// The slot map: each host a row of its slots, drawn on a canvas as far as it is seen. One host has the same below
// as a list.
import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Empty, Name, Reading, State } from "./parts.js";
import { go, refine, route, to } from "./route.js";
import { call } from "./session.js";
import { useSlots } from "./slotmap.js";
import { hosts, jobs, now } from "./store.js";
import { count, plain, span } from "./text.js";
import { named, theme, tone } from "./theme.js";

const ways = [
  ["job", "Job"],
  ["user", "User"],
  ["kind", "Primary, secondary"],
  ["state", "State of the job"],
];
const every = 3000,
  line = 14,
  cell = 12; // milliseconds; pixels of a row and of a slot

/** keyOf is what a part counts to in the legend. */
function keyOf(part, by) {
  if (by === "job") return part.job;
  const job = jobs.value.get(part.job);
  return by === "kind" ? part.kind : by === "user" ? (job?.user ?? "?") : (job?.status ?? "?");
}

/** legend is what the colours mean: the largest first, and the slots of each. */
function legend(rows, by, dark) {
  const sums = new Map();
  let free = 0,
    foreign = 0;
  for (const row of rows) {
    let used = 0;
    for (const part of row.parts) {
      const key = keyOf(part, by),
        slots = part.each * part.count;
      sums.set(key, (sums.get(key) ?? 0) + slots);
      used += slots;
    }
    if (row.state === "up") free += Math.max(0, row.slots - used - row.foreign);
    foreign += row.foreign;
  }
  const list = [...sums].sort((a, b) => b[1] - a[1]),
    style = getComputedStyle(document.documentElement),
    own = by === "job" || by === "user";
  const colour = new Map(
    list.map(([key], n) => [
      key,
      own
        ? tone(n, dark)
        : style.getPropertyValue(`--s-${{ primary: "running", suspended: "blocked" }[key] ?? key}`).trim() ||
          tone(-1, dark),
    ]),
  );
  return { list, colour, free, foreign };
}

const label = (key, by) => (by === "job" ? `${key} ${plain(jobs.value.get(key)?.name ?? "")}` : plain(key));

/** Canvas draws the rows that are seen; a click asks for what runs in a slot. */
function Canvas({ rows, by, colour, only, pick, picked }) {
  const box = useRef(null),
    canvas = useRef(null);
  const [seen, setSeen] = useState({ top: 0, width: 0, height: 0 }),
    [hover, setHover] = useState(null),
    [cursor, setCursor] = useState(0);
  useLayoutEffect(() => {
    const look = () =>
      setSeen({ top: box.current.scrollTop, width: box.current.clientWidth, height: box.current.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(box.current);
    look();
    return () => observer.disconnect();
  }, []);
  const most = useMemo(() => Math.max(1, ...rows.map(r => r.slots)), [rows]);
  const names = seen.width < 600 ? 84 : 132,
    room = Math.max(40, seen.width - names - 16);
  const size = Math.max(1, Math.min(cell, Math.floor(room / most) || room / most)),
    first = Math.floor(seen.top / line),
    last = Math.min(rows.length, first + Math.ceil(seen.height / line) + 1);
  useEffect(() => {
    const on = canvas.current,
      scale = devicePixelRatio,
      style = getComputedStyle(document.documentElement),
      look = name => style.getPropertyValue(name).trim();
    on.width = seen.width * scale;
    on.height = seen.height * scale;
    const pen = on.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui";
    pen.textBaseline = "middle";
    const gap = size >= 4 ? 1 : 0,
      free = look("--line"),
      none = look("--line-soft"),
      ink = look("--text"),
      weak = look("--muted"),
      card = look("--card");
    for (let n = first; n < last; n++) {
      const row = rows[n],
        y = n * line - seen.top;
      let x = names;
      const part = (slots, fill, faint) => {
        pen.globalAlpha = faint ? 0.25 : 1;
        pen.fillStyle = fill;
        pen.fillRect(x, y + 1, slots * size - gap, line - 3);
        pen.globalAlpha = 1;
        x += slots * size;
      };
      for (const p of row.parts) {
        const of = keyOf(p, by);
        for (let i = 0; i < p.count; i++) {
          const from = x;
          part(p.each, colour.get(of), only !== undefined && String(of) !== only);
          if (p.kind === "secondary" && by !== "kind" && size >= 6) {
            pen.fillStyle = card;
            pen.fillRect(from + 3, y + 5, p.each * size - gap - 6, line - 11);
          } // hollow
        }
      }
      const used = Math.round((x - names) / size);
      if (row.foreign) part(row.foreign, weak, true);
      for (let left = row.slots - used - row.foreign; left > 0; left--)
        part(1, row.state === "up" ? free : none, false);
      pen.fillStyle =
        n === cursor && document.activeElement === box.current ? look("--accent") : row.name === picked ? ink : weak;
      const mark = { locked: "‖ ", unreachable: "◔ ", lost: "✕ " }[row.state] ?? "";
      let text = mark + plain(row.name);
      while (pen.measureText(text).width > names - 12 && text.length > 4) text = text.slice(0, -2).replace(/…?$/, "…");
      pen.fillText(text, 4, y + line / 2);
    }
  }, [rows, by, colour, seen, size, theme.value, only, picked, cursor]);

  const slotAt = event => {
    const edge = canvas.current.getBoundingClientRect(),
      row = rows[Math.floor((event.clientY - edge.top + seen.top) / line)];
    const slot = Math.floor((event.clientX - edge.left - names) / size);
    if (!row) return null;
    let from = 0;
    for (const part of row.parts) {
      const to = from + part.each * part.count;
      if (slot >= from && slot < to) return { row, slot, part, nth: Math.floor((slot - from) / part.each) };
      from = to;
    }
    return { row, slot, part: null };
  };
  const tell = at =>
    at
      ? `${plain(at.row.name)}, ${at.row.state}, ${at.row.slots} slots${
          at.slot < 0 || at.slot >= at.row.slots
            ? ""
            : at.part
              ? `: job ${at.part.job} ${plain(
                  jobs.value.get(at.part.job)?.name ?? "",
                )} (${plain(jobs.value.get(at.part.job)?.user ?? "?")}), ${at.part.kind}${
                  at.part.each > 1 ? `, ${at.part.each} slots each` : ""
                }`
              : ": free or taken by others"
        }`
      : " ";
  const onKey = event => {
    const page = Math.max(1, Math.floor(seen.height / line) - 1);
    const next = {
      ArrowDown: cursor + 1,
      ArrowUp: cursor - 1,
      PageDown: cursor + page,
      PageUp: cursor - page,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (event.key === "Enter") pick({ row: rows[cursor], part: null });
    else if (next === undefined) return;
    else {
      const at = Math.max(0, Math.min(rows.length - 1, next));
      setCursor(at);
      setHover({ row: rows[at], slot: -1, part: null });
      if (at * line < seen.top) box.current.scrollTop = at * line;
      else if ((at + 1) * line > seen.top + seen.height) box.current.scrollTop = (at + 1) * line - seen.height;
    }
    event.preventDefault();
  };
  return html`<div class="slot-box" ref=${box} tabindex="0" role="group"
    aria-label=${`${count(rows.length)} hosts and their slots; arrows move from host to host, Enter lists what runs there`}
      onScroll=${e => setSeen({ ...seen, top: e.currentTarget.scrollTop })} onKeyDown=${onKey}>
      <canvas ref=${canvas} class="slot-canvas" style=${{ width: `${seen.width}px`, height: `${seen.height}px` }}
        data-size=${size} data-names=${names} aria-hidden="true"
        onPointerMove=${e => setHover(slotAt(e))} onPointerLeave=${() => setHover(null)} onClick=${e => {
          const at = slotAt(e);
          if (at) pick(at);
        }}></canvas>
      <div style=${{ height: `${Math.max(0, rows.length * line - seen.height)}px` }}></div></div>
    <div class="hint" aria-live="polite">${tell(hover)}</div>`;
}

/** order of the instances of a host, as the map has them. */
const ranks = { primary: "p", secondary: "s" },
  letter = i => (i.state === "active" ? ranks[i.kind] : "d");
const inOrder = list =>
  list.toSorted(
    (a, b) => a.job - b.job || letter(a).localeCompare(letter(b)) || a.slots - b.slots || a.instance - b.instance,
  );

/** Host is what runs on the host that was picked. */
function Host({ name, close }) {
  const [answer, setAnswer] = useState({});
  useEffect(() => {
    const stop = new AbortController();
    setAnswer({});
    call("get-host", { host: name }, { signal: stop.signal }).then(
      host => setAnswer({ host }),
      error => {
        if (!stop.signal.aborted) setAnswer({ error });
      },
    );
    return () => stop.abort();
  }, [name]);
  const { host, error } = answer;
  return html`<section class="card flush slot-host"><div class="row padded"><h2><a href=${to(["hosts", name])}>
    <${Name} text=${name} /></a></h2>
    ${
      host &&
      html`<${State} of=${host.state} /><span class="muted">
    ${host.slots.used} of ${host.slots.total} slots</span>`
    }<span class="spring"></span>
    <button type="button" class="plain" aria-label="Close" onClick=${close}>✕</button></div>
    ${
      error
        ? html`<p class="field-error padded" role="alert">${plain(error.message)}</p>`
        : !host
          ? html`<${Reading} />`
          : host.instances.length === 0
            ? html`<${Empty} title="Nothing runs here">${plain(host.remark)}<//>`
            : html`
      <div class="scroll" tabindex="0" role="region" aria-label="Instances"><table><thead><tr><th>Item</th>
        <th class="grow">Job</th><th>User</th><th>Kind</th><th class="right">Slots</th><th class="right">For</th></tr>
        </thead>
      <tbody>${inOrder(host.instances).map(
        i => html`<tr key=${`${i.job}.${i.instance}`}><td>
          ${
            i.item
              ? html`<a href=${to(["jobs", String(i.job), "items", i.item])}>${i.job}:${plain(i.item)}</a>`
              : html`<span class="muted">between items</span>`
          }</td><td><a href=${to(["jobs", String(i.job)])}>
          <${Name} text=${jobs.value.get(i.job)?.name ?? i.job} /></a></td><td>
          <${Name} text=${jobs.value.get(i.job)?.user ?? ""} /></td>
        <td><${State} of=${i.state !== "active" ? "stopping" : i.kind === "primary" ? "running" : "secondary"} /></td>
          <td class="right">${i.slots}</td><td class="right">
          ${i.item_started_at ? span(now() - Date.parse(i.item_started_at) / 1000) : ""}</td></tr>`,
      )}</tbody></table></div>`
    }</section>`;
}

export function Slots() {
  const query = route.value.query,
    by = ways.some(([w]) => w === query.get("by")) ? query.get("by") : "job",
    picked = query.get("host") ?? "",
    only = query.get("only") ?? undefined;
  const { rows, error } = useSlots(every),
    known = hosts.value;
  const order = useMemo(
    () => rows?.toSorted((a, b) => (known.get(a.name)?.cluster ?? "").localeCompare(known.get(b.name)?.cluster ?? "")),
    [rows],
  );
  const dark = theme.value === "dark",
    what = useMemo(() => rows && legend(rows, by, dark), [rows, by, dark]);
  const pick = at => {
    if (!at.part) return refine({ host: at.row.name });
    call("get-host", { host: at.row.name }).then(
      host => {
        const alike = inOrder(host.instances).filter(
          i =>
            i.job === at.part.job &&
            { p: "primary", s: "secondary", d: "stopping" }[letter(i)] === at.part.kind &&
            i.slots === at.part.each,
        );
        if (alike[at.nth]?.item) go(["jobs", String(at.part.job), "items", alike[at.nth].item]);
        else refine({ host: at.row.name });
      },
      () => refine({ host: at.row.name }),
    );
  };
  return html`<section class="full"><header class="bar-top"><h1>Slots</h1>
    <span class="chips" role="group" aria-label="Colour by">
    ${ways.map(
      ([w, text]) =>
        html`<button type="button" class="chip" aria-pressed=${w === by} onClick=${() => refine({ by: w, only: "" })}>
    ${text}</button>`,
    )}</span></header>
    ${error && html`<p class="field-error" role="alert">${plain(error.message)}</p>`}
    ${
      !rows
        ? !error && html`<${Reading} />`
        : rows.length === 0
          ? html`<${Empty} title="No worker has registered yet">
            <code>qbadmin worker token</code> prints the line that joins a machine.<//>`
          : html`
      <div class="chips" role="group" aria-label="Legend">
        ${what.list.slice(0, named).map(
          ([key, slots]) =>
            html`<button type="button" key=${key} class="chip" aria-pressed=${String(key) === only}
              title="Show it alone"
        onClick=${() => refine({ only: String(key) === only ? "" : String(key) })}>
        <span class="swatch" style=${{ background: what.colour.get(key) }}></span><bdi class="clip">${label(key, by)}
        </bdi> <span class="muted">${count(slots)}</span></button>`,
        )}
        ${
          what.list.length > named &&
          html`<span class="legend"><span class="swatch" style=${{ background: tone(-1, dark) }}></span>
          ${count(what.list.length - named)} others <span class="muted">
          ${count(what.list.slice(named).reduce((n, [, slots]) => n + slots, 0))}</span></span>`
        }
        <span class="legend"><span class="swatch free"></span>free <span class="muted">${count(what.free)}</span></span>
          ${
            what.foreign > 0 &&
            html`<span class="legend">taken by others <span class="muted">${count(what.foreign)}</span></span>`
          }</div>
      <div class="card flush slot-map" style=${{ flexBasis: `${order.length * line + 48}px` }}>
        <${Canvas} rows=${order} by=${by} colour=${what.colour} only=${only} pick=${pick} picked=${picked} /></div>
      ${
        by !== "kind" &&
        html`<p
        class="note">Hollow slots are secondary. Click a slot to see its item, a name to list what runs on the
        host.</p>`
      }`
    }
    ${picked && html`<${Host} name=${picked} close=${() => refine({ host: "" })} />`}</section>`;
}
