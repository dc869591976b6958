// The grid of a job's items: one cell an item, in agenda order, wrapped at a round number. It is painted into one
// pixel an item and drawn scaled; a change touches its pixel only. The same states stand below as a table and as
// counts.
import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "./text.js";

/** States by letter, as item-states has them. */
export const letters = {
  p: "pending",
  r: "running",
  s: "secondary",
  c: "complete",
  f: "failed",
  k: "killed",
  b: "blocked",
};
/** Ways to colour the grid. */
export const ways = [
  ["state", "State"],
  ["seconds", "Time"],
  ["memory", "Memory"],
  ["attempts", "Attempts"],
  ["host", "Host"],
];
const glyphs = { f: "✕", k: "⊘", b: "‖", r: "▶", s: "▷", c: "", p: "" };
const codes = Object.fromEntries(Object.keys(letters).map(l => [l, l.charCodeAt(0)]));

/** palette is the colour of each state by its letter's code, as the theme has them. */
function palette() {
  const style = getComputedStyle(document.documentElement),
    colours = new Uint32Array(128);
  for (const [letter, name] of Object.entries(letters)) {
    const hex = parseInt(style.getPropertyValue(`--s-${name}`).trim().slice(1), 16);
    colours[codes[letter]] = 0xff000000 | ((hex & 255) << 16) | (((hex >> 8) & 255) << 8) | (hex >> 16);
  }
  return colours;
}

/** shape is how many columns the grid has, and how large a cell is, in pixels of the screen. */
function shape(items, width) {
  for (const size of [22, 18, 14, 12, 10, 8, 6, 5, 4, 3, 2]) {
    const most = Math.floor(width / size);
    if (items <= most * Math.max(4, Math.floor(340 / size)) || size === 2) {
      const round = most >= 1000 ? 500 : most >= 200 ? 100 : most >= 50 ? 50 : most >= 20 ? 10 : 5;
      const columns = Math.max(1, Math.min(items, Math.floor(most / round) * round || most));
      return { size, columns, rows: Math.ceil(items / columns) };
    }
  }
}

const mostHigh = 8192; // pixels of a canvas

/**
 * Grid draws states, a Uint8Array of letter codes that is changed in place; version rises with it. A tint draws
 * other colours than those of the states: pixels has one for each item, tell says what it stands for.
 * @param {{states: Uint8Array, version: number, changed: Set<number> | null, from: number, to: number,
 *   pick: Function, theme: string, tint?: {pixels: Uint32Array, tell: (n: number) => string}}} props
 */
export function Grid({ states, version, changed, from, to, pick, theme, tint }) {
  const box = useRef(null),
    canvas = useRef(null),
    kept = useRef(null);
  const [width, setWidth] = useState(0);
  const [hover, setHover] = useState(-1);
  const drag = useRef(-1);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.current.clientWidth - 48));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const { size, columns, rows } = shape(states.length, Math.max(200, width));
  const shown = Math.min(rows, Math.floor(mostHigh / size));

  useEffect(() => {
    const k = kept.current,
      began = performance.now();
    if (!k || k.states !== states || k.columns !== columns || k.theme !== theme || k.tint !== tint || !changed) {
      const image = new ImageData(columns, shown);
      const pixels = new Uint32Array(image.data.buffer),
        colours = palette();
      const length = Math.min(states.length, columns * shown);
      for (let n = 0; n < length; n++) pixels[n] = tint ? tint.pixels[n] : colours[states[n]];
      const small = new OffscreenCanvas(columns, shown);
      kept.current = { states, columns, theme, tint, image, pixels, colours, small };
    } else if (!tint) {
      for (const n of changed) if (n < k.pixels.length) k.pixels[n] = k.colours[states[n]];
    }
    draw();
    canvas.current.dataset.took = (performance.now() - began).toFixed(2); // milliseconds, for measurements
  }, [states, version, columns, shown, size, theme, tint, from, to]);

  function draw() {
    const { image, small } = kept.current,
      on = canvas.current,
      pen = on.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    if (on.width !== columns * size || on.height !== shown * size) {
      on.width = columns * size;
      on.height = shown * size;
    }
    small.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.clearRect(0, 0, on.width, on.height);
    pen.drawImage(small, 0, 0, on.width, on.height);
    if (size >= 6) {
      pen.fillStyle = style.getPropertyValue("--card"); // gaps between the cells
      for (let x = 1; x <= columns; x++) pen.fillRect(x * size - 1, 0, 1, on.height);
      for (let y = 1; y <= shown; y++) pen.fillRect(0, y * size - 1, on.width, 1);
    }
    if (size >= 14 && !tint) {
      pen.font = `${size - 8}px sans-serif`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillStyle = style.getPropertyValue("--on-state");
      for (let n = 0; n < states.length && n < columns * shown; n++) {
        const glyph = glyphs[String.fromCharCode(states[n])];
        if (glyph)
          pen.fillText(glyph, (n % columns) * size + (size - 1) / 2, Math.floor(n / columns) * size + size / 2);
      }
    }
    if (from >= 0) {
      pen.strokeStyle = style.getPropertyValue("--text");
      pen.lineWidth = 2;
      for (let y = Math.floor(from / columns); y <= Math.floor(to / columns) && y < shown; y++) {
        const a = Math.max(from, y * columns) % columns,
          b = Math.min(to, y * columns + columns - 1) % columns;
        pen.strokeRect(a * size + 1, y * size + 1, (b - a + 1) * size - 2, size - 2);
      }
    }
  }

  const itemAt = event => {
    const edge = canvas.current.getBoundingClientRect();
    const x = Math.floor((event.clientX - edge.left) / size),
      y = Math.floor((event.clientY - edge.top) / size);
    const n = y * columns + x;
    return x >= 0 && x < columns && y >= 0 && n < states.length ? n : -1;
  };
  const onKey = event => {
    const at = event.shiftKey ? to : Math.max(from, 0);
    const next = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at + columns,
      ArrowUp: at - columns,
      Home: 0,
      End: states.length - 1,
    }[event.key];
    if (event.key === "n") {
      const n = states.indexOf(codes.f, Math.max(from, -1) + 1);
      pick(n < 0 ? states.indexOf(codes.f) : n);
    } else if (event.key === "Escape") pick(-1);
    else if (next === undefined || next < 0 || next >= states.length) return;
    else if (event.shiftKey && from >= 0) pick(Math.min(from, next), Math.max(from, next));
    else pick(next);
    event.preventDefault();
  };
  const every = Math.max(1, Math.ceil(18 / size));
  return html`<div class="grid" ref=${box}>
    <div class="edge" aria-hidden="true">
      ${Array.from(
        { length: Math.ceil(shown / every) },
        (_, i) => html`<span style=${{ top: `${i * every * size}px` }}>${count(i * every * columns)}</span>`,
      )}</div>
    <canvas ref=${canvas} tabindex="0" role="img"
      aria-label=${`${count(states.length)} items; arrows move, shift extends, n finds the next failure`}
      data-columns=${columns} data-size=${size} data-hover=${hover}
      onPointerDown=${e => {
        const n = itemAt(e);
        if (n < 0) return;
        drag.current = e.shiftKey && from >= 0 ? from : n;
        canvas.current.setPointerCapture(e.pointerId);
        pick(Math.min(drag.current, n), Math.max(drag.current, n));
      }}
      onPointerMove=${e => {
        const n = itemAt(e);
        if (n !== hover) setHover(n);
        if (drag.current >= 0 && n >= 0) pick(Math.min(drag.current, n), Math.max(drag.current, n));
      }}
      onPointerUp=${() => {
        drag.current = -1;
      }} onPointerLeave=${() => setHover(-1)} onKeyDown=${onKey}></canvas>
    <div class="hint" aria-live="polite">
      ${
        hover >= 0
          ? `number ${count(hover)}: ${letters[String.fromCharCode(states[hover])]}${
              tint ? `, ${tint.tell(hover)}` : ""
            }`
          : shown < rows
            ? `the first ${count(columns * shown)} items are drawn; the table has all`
            : " "
      }</div></div>`;
}
