// A table of many rows: those that are seen are in the document, all are in memory. Rows have one height. The
// keyboard moves a cursor, which is what a screen reader hears.
import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { kept } from "./kept.js";
import { refine, route } from "./route.js";

const height = 32,
  spare = 8;

/**
 * @param {{columns: {id: string, label: string, width: string, cell: Function, sort?: Function, wide?: boolean,
 *   right?: boolean}[], rows: any[], keyOf: Function, chosen?: Set<any>, choose?: Function, open: Function,
 *   sort: {by: string, down: boolean}, onSort: Function, label: string, empty: any}} props
 */
export function Table({ columns, rows, keyOf, chosen, choose, open, sort, onSort, label, empty }) {
  const box = useRef(null),
    last = useRef(-1);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [cursor, setCursor] = useState(0);
  const look = () => box.current && setView({ top: box.current.scrollTop, height: box.current.clientHeight });
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(view.top / height) - spare);
  const end = Math.min(rows.length, Math.ceil((view.top + view.height) / height) + spare);
  const template = (choose ? "32px " : "") + columns.map(c => c.width).join(" ");
  const narrow =
    (choose ? "24px " : "") +
    columns
      .filter(c => !c.wide)
      .map(c => c.narrow ?? c.width)
      .join(" ");
  const at = Math.min(cursor, rows.length - 1);

  const go = next => {
    next = Math.max(0, Math.min(rows.length - 1, next));
    setCursor(next);
    const y = next * height;
    if (y < box.current.scrollTop) box.current.scrollTop = y;
    else if (y + 2 * height > box.current.scrollTop + view.height) box.current.scrollTop = y + 2 * height - view.height;
  };
  const toggle = (n, range) => {
    const keys = new Set(chosen);
    const on = !keys.has(keyOf(rows[n]));
    const [a, b] = range && last.current >= 0 ? [Math.min(last.current, n), Math.max(last.current, n)] : [n, n];
    for (let i = a; i <= b; i++) on ? keys.add(keyOf(rows[i])) : keys.delete(keyOf(rows[i]));
    last.current = n;
    choose(keys);
  };
  const onKey = event => {
    const page = Math.max(1, Math.floor(view.height / height) - 2);
    const moves = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      j: at + 1,
      k: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    };
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      (event.target.tagName === "INPUT" && event.target.type !== "checkbox")
    )
      return;
    if (event.key in moves) go(moves[event.key]);
    else if (event.key === "Enter" && rows[at]) open(rows[at]);
    else if ((event.key === "x" || event.key === "X") && choose && rows[at]) toggle(at, event.shiftKey);
    else return;
    event.preventDefault();
  };
  const keys = useRef(onKey);
  keys.current = onKey;
  useEffect(() => {
    // the list is what the view is about: its keys work before it is clicked
    const hear = event => {
      const { target } = event,
        loose = target === document.body || (/^[jkx]$/i.test(event.key) && /^(A|BUTTON|SUMMARY)$/.test(target.tagName));
      if (loose && !box.current.contains(target) && !document.querySelector("dialog")) keys.current(event);
    };
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, []);
  const all = choose && rows.length > 0 && rows.every(r => chosen.has(keyOf(r)));

  return html`<div class="table" role="grid" aria-label=${label} aria-rowcount=${rows.length + 1} tabindex="0"
    ref=${box} onScroll=${look} onKeyDown=${onKey}
      aria-activedescendant=${rows[at] ? `row-${keyOf(rows[at])}` : undefined}>
    <div class="head" role="row" aria-rowindex="1" style=${{ gridTemplateColumns: template, "--narrow": narrow }}>
      ${
        choose &&
        html`<span role="columnheader">
        <input type="checkbox" aria-label="Select all" checked=${all}
        onChange=${() => choose(all ? new Set() : new Set(rows.slice(0, 1000).map(keyOf)))} /></span>`
      }
      ${columns.map(
        c => html`<span key=${c.id} role="columnheader" class="${c.wide ? "wide" : ""} ${c.right ? "right" : ""}"
          aria-sort=${sort.by === c.id ? (sort.down ? "descending" : "ascending") : undefined}>
        ${
          c.sort
            ? html`<button type="button" class="plain" tabindex="-1"
          onClick=${() => onSort({ by: c.id, down: sort.by === c.id ? !sort.down : false })}>
          ${c.label}${sort.by === c.id ? (sort.down ? " ↓" : " ↑") : ""}</button>`
            : c.label
        }</span>`,
      )}
    </div>
    ${
      rows.length === 0
        ? empty
        : html`<div class="rows" style=${{ height: `${rows.length * height}px` }}>
      ${rows.slice(first, end).map((row, i) => {
        const n = first + i,
          key = keyOf(row);
        return html`<div key=${key} id=${`row-${key}`} role="row" aria-rowindex=${n + 2}
          aria-selected=${chosen?.has(key)}
          class="row-line ${n === at ? "cursor" : ""} ${chosen?.has(key) ? "chosen" : ""}"
            style=${{ top: `${n * height}px`, gridTemplateColumns: template, "--narrow": narrow }} onClick=${event => {
              if (event.target.closest("a,input,button")) return;
              setCursor(n);
              open(row);
            }}>
          ${
            choose &&
            html`<span role="gridcell">
              <input type="checkbox" tabindex="-1" aria-label=${`Select ${key}`} checked=${chosen.has(key)}
              onClick=${event => {
                toggle(n, event.shiftKey);
              }} /></span>`
          }
          ${columns.map(
            c => html`<span key=${c.id} role="gridcell"
            class="${c.wide ? "wide" : ""} ${c.right ? "right" : ""}">${c.cell(row)}</span>`,
          )}
        </div>`;
      })}</div>`
    }
  </div>`;
}

/** sorted is the rows in the order that a column asks for; rows that are alike stay as they are. */
export function sorted(rows, columns, sort) {
  const by = columns.find(c => c.id === sort.by)?.sort;
  if (!by) return rows;
  const sign = sort.down ? -1 : 1;
  return rows
    .map(row => [by(row), row])
    .sort(([a], [b]) => (a < b ? -sign : a > b ? sign : 0))
    .map(([, row]) => row);
}

/**
 * useColumns is the columns that are shown of a list, and the menu that chooses them; the choice is in the address
 * and kept in this browser.
 */
export function useColumns(name, all) {
  const key = `qb-columns-${name}`,
    given = route.value.query.get("cols") ?? kept.getItem(key),
    usual = all.filter(c => !c.off).map(c => c.id);
  const shown = given ? given.split(",") : usual;
  const toggle = id => {
    const next = all.map(c => c.id).filter(c => (c === id ? !shown.includes(c) : shown.includes(c))),
      text = next.join(",") === usual.join(",") ? "" : next.join(",");
    if (!next.length) return;
    if (text) kept.setItem(key, text);
    else kept.removeItem(key);
    refine({ cols: text });
  };
  const menu = html`<details class="menu"><summary class="button quiet">Columns</summary><div class="card">
    ${all.map(
      c => html`<label class="choice" key=${c.id}>
    <input type="checkbox" checked=${shown.includes(c.id)} onChange=${() => toggle(c.id)} /> ${c.label}</label>`,
    )}</div>
    </details>`;
  return { columns: all.filter(c => shown.includes(c.id)), menu };
}
