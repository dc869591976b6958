// What the items of a job took: the grid in colours of time, memory, attempts or host, and the items that stand out.
import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { useAnswer } from "./answer.js";
import { Grid } from "./grid.js";
import { Name, Reading } from "./parts.js";
import { refine, to } from "./route.js";
import { bytes, count, plain, span } from "./text.js";
import { named, tone } from "./theme.js";

const every = 5000; // milliseconds between two readings of all values
/** A colour for each step, from little to much, in both themes; what has no value is none. */
const ramps = {
  light: ["#bcd8f4", "#8fbde9", "#5f9fdb", "#2f7ac2", "#17549a", "#0a2c60"],
  dark: ["#1c3657", "#245088", "#2f74ba", "#5a9fe0", "#93c5f5", "#e2f1ff"],
};
const none = { light: "#eceef1", dark: "#23272e" };
/** Steps end at these times the median, or numbers of attempts; the last has no end. */
const ends = { seconds: [0.5, 0.9, 1.1, 2, 4], memory: [0.5, 0.9, 1.1, 2, 4], attempts: [1, 2, 3, 4, 5] };

const text = (value, of) =>
  of === "seconds"
    ? value < 10
      ? `${Number(value.toPrecision(2))} s`
      : span(value)
    : of === "memory"
      ? bytes(value * 2 ** 20)
      : count(value);

/** pixel is a colour as a canvas has it in memory. */
function pixel(colour) {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.fillStyle = colour; // reads back as #rrggbb
  const n = parseInt(pen.fillStyle.slice(1), 16);
  return (0xff000000 | ((n & 255) << 16) | (((n >> 8) & 255) << 8) | (n >> 16)) >>> 0;
}

/**
 * legendOf is what the colours mean: of each its label and how many items have it, and of a value its place among
 * them.
 */
function legendOf(reply, theme) {
  const { of, values, hosts } = reply;
  if (of === "host") {
    const sums = hosts.map((name, n) => ({ label: name, host: n + 1, items: 0 }));
    for (const v of values) if (v) sums[v - 1].items++;
    const order = sums.toSorted((a, b) => b.items - a.items),
      place = new Map(order.map((entry, n) => [entry.host, Math.min(n, named)]));
    const entries = order.slice(0, named).map((entry, n) => ({ ...entry, colour: tone(n, theme === "dark") }));
    if (order.length > named)
      entries.push({
        label: `${count(order.length - named)} others`,
        items: order.slice(named).reduce((n, o) => n + o.items, 0),
        colour: tone(-1, theme === "dark"),
      });
    return { entries, at: v => place.get(v) };
  }
  const sorted = reply.spread ? null : values.filter(Boolean).sort((a, b) => a - b);
  const median = of === "attempts" ? 1 : (reply.spread?.median ?? sorted[Math.floor(sorted.length / 2)] ?? 1);
  const limits = ends[of].map(times => times * median),
    at = v => {
      const n = limits.findIndex(limit => v <= limit);
      return n < 0 ? limits.length : n;
    };
  const entries = ramps[theme].map((colour, n) => ({
    colour,
    items: 0,
    label:
      n === limits.length
        ? `over ${text(limits.at(-1), of)}`
        : of === "attempts"
          ? count(limits[n])
          : `to ${text(limits[n], of)}`,
  }));
  for (const v of values) if (v) entries[at(v)].items++;
  return { entries, at };
}

/** tintOf is the colour of each item, and what it stands for. */
function tintOf(reply, legend, items, theme) {
  const { of, values, hosts } = reply,
    colours = legend.entries.map(entry => pixel(entry.colour)),
    pixels = new Uint32Array(items).fill(pixel(none[theme]));
  for (let n = 0; n < values.length && n < items; n++) if (values[n]) pixels[n] = colours[legend.at(values[n])];
  const tell = n =>
    !values[n]
      ? "no value"
      : of === "host"
        ? `on ${plain(hosts[values[n] - 1])}`
        : of === "attempts"
          ? `attempt ${values[n]}`
          : text(values[n], of);
  return { pixels, tell };
}

const faults = {
  host: (o, of) => `the host: half of its other items need ${text(o.others_median, of)} and more`,
  item: (o, of) => `the item: half of the host's others need ${text(o.others_median, of)} at most`,
  unknown: () => "not known: the host has completed fewer than three other items of the job",
};

/** Outliers is the table of the items that stand out. */
const Outliers = ({ id, reply: { of, outliers, outliers_all: all, spread } }) => html`
  <p class="note">${
    !spread
      ? "No complete item has a value yet."
      : `Of ${count(spread.count)} complete items half need ${text(
          spread.median,
          of,
        )} or less, nine tenths ${text(spread.p90, of)} or less, the largest ${text(spread.most, of)}.${
          all === 0 ? " None stands out." : ""
        }`
  }</p>
  ${
    all > 0 &&
    html`<details open><summary>
      ${all === 1 ? "One item stands out" : `${count(all)} items stand out`}${
        all > outliers.length ? `; these are the first ${outliers.length}` : ""
      }</summary>
    <div class="scroll outliers" tabindex="0" role="region" aria-label="Items that stand out"><table><thead><tr>
      <th>Item</th><th class="right">${of === "seconds" ? "Took" : "Peak"}</th><th class="right">Times the median</th>
      <th>Host</th><th class="grow">Whose fault</th></tr></thead>
      <tbody>${outliers.map(
        o => html`<tr key=${o.number}><td><a href=${to(["jobs", id, "items", o.item])}><${Name} text=${o.item} /></a>
          </td><td class="right">${text(o.value, of)}</td><td class="right">${o.times}</td>
        <td><a href=${to(["hosts", o.host])}><${Name} text=${o.host} /></a></td><td class="muted">
          ${faults[o.fault](o, of)}</td></tr>`,
      )}</tbody></table></div></details>`
  }`;

/** Values is the grid in other colours than those of the states. */
export function Values({ id, of, job, grid }) {
  const { value: reply, error } = useAnswer(
    "item-values",
    { job: id, of },
    [id, of, job.complete, job.failed, job.running, job.version],
    every,
  );
  const legend = useMemo(() => reply && legendOf(reply, grid.theme), [reply, grid.theme]);
  const tint = useMemo(
    () => reply && tintOf(reply, legend, grid.states.length, grid.theme),
    [reply, legend, grid.states.length],
  );
  if (!reply)
    return error ? html`<p class="field-error" role="alert">${plain(error.message)}</p>` : html`<${Reading} />`;
  return html`<div class="row" role="group" aria-label="Legend">
    ${legend.entries
      .filter(entry => entry.items > 0)
      .map(
        ({ label, items, colour, host }) =>
          html`<${of === "host" && host ? "button" : "span"} key=${colour}
    class="legend ${of === "host" && host ? "quiet" : ""}"
    ...${
      of === "host" && host
        ? {
            type: "button",
            title: "Show the items of this host",
            onClick: () => refine({ on: label, items: "", tab: "" }),
          }
        : {}
    }><span class="swatch" style=${{ background: colour }}></span><bdi class="clip">${plain(label)}
    </bdi> <span class="muted">${count(items)}</span><//>`,
      )}
      <span class="legend"><span class="swatch" style=${{ background: none[grid.theme] }}></span>no value</span></div>
    <${Grid} ...${grid} tint=${tint} />
    ${(of === "seconds" || of === "memory") && html`<${Outliers} id=${id} reply=${reply} />`}`;
}
