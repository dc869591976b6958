// What was done on the farm: the newest first, by who did it, host, type and job, as the address says.
import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { useOf } from "./answer.js";
import { Command, Empty, Name, Reading } from "./parts.js";
import { refine, route, to } from "./route.js";
import { call, may } from "./session.js";
import { plain, quoted } from "./text.js";

const filters = [
  ["user", "who did it", "ana"],
  ["host", "host", "rn0001"],
  ["type", "what", "ordered-kill"],
  ["job", "job", "12"],
];
const types = [
  "ordered-kill",
  "ordered-retry",
  "ordered-block",
  "ordered-unblock",
  "ordered-preempt",
  "modified",
  "host-locked",
  "host-unlocked",
  "host-confirmed-dead",
  "host-lost",
  "promoted",
  "job-complete",
  "job-failed",
  "job-killed",
  "job-blocked",
  "item-held",
  "out-of-memory",
  "slow",
  "policy-changed",
  "term",
];
const clock = new Intl.DateTimeFormat("en-GB", {
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/** read gives pages until there are so many events, or no older ones. */
async function read(given, before, until) {
  const found = [];
  let next = before;
  for (let n = 0; n < 10 && found.length < 100; n++) {
    const reply = await call("history", { ...given, before: next || undefined, limit: 200 }, { signal: until });
    found.push(...reply.events);
    next = reply.next;
    if (!next) break;
  }
  return { found, next };
}

export const Events = ({
  list,
  host,
}) => html`<div class="scroll" tabindex="0" role="region" aria-label="What was done"><table><thead><tr><th>When</th>
  <th>What</th><th>Who</th><th>Job</th><th class="hide-small">Item</th>
  ${!host && html`<th class="hide-small">Host</th>`}<th class="grow">Why</th></tr></thead>
  <tbody>${list.map(
    (e, n) => html`<tr key=${n}><td>${clock.format(Date.parse(e.at))}</td><td>${e.type.replaceAll("-", " ")}</td><td>
      ${e.user && html`<a href=${to(["history"], { user: e.user })}><${Name} text=${e.user} /></a>`}</td>
    <td>${e.job && html`<a href=${to(["jobs", String(e.job)])}>${e.job}</a>`}</td><td class="hide-small">
      ${e.item && html`<a href=${to(["jobs", String(e.job), "items", e.item])}><${Name} text=${e.item} /></a>`}</td>
    ${
      !host &&
      html`<td class="hide-small">
      ${e.host && html`<a href=${to(["hosts", e.host])}><${Name} text=${e.host} /></a>`}</td>`
    }
      <td class="muted clip" title=${plain(e.cause)}>${plain(e.cause)}</td></tr>`,
  )}</tbody></table></div>`;

/** useHistory is a page of events, and what reads the older ones. */
export function useHistory(given) {
  const key = JSON.stringify(given),
    [list, setList] = useOf(key, { rows: null, next: 0, error: null, busy: true });
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(
      () =>
        read(given, 0, stop.signal).then(
          ({ found, next }) => setList({ rows: found, next, error: null, busy: false }),
          error => {
            if (!stop.signal.aborted) setList({ rows: [], next: 0, error, busy: false });
          },
        ),
      250,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key]);
  const older = () => {
    setList(l => ({ ...l, busy: true }));
    read(given, list.next).then(
      ({ found, next }) => setList(l => ({ rows: [...l.rows, ...found], next, error: null, busy: false })),
      error => setList(l => ({ ...l, error, busy: false })),
    );
  };
  return { ...list, older };
}

export const Older = ({ of }) =>
  of.next > 0 &&
  html`<div class="padded"><button type="button" class="quiet" disabled=${of.busy} onClick=${of.older}>
    ${of.busy ? "Reading…" : "Show older"}</button></div>`;

export function FarmHistory() {
  const query = route.value.query,
    given = {};
  for (const [name] of filters) if (query.get(name)) given[name] = query.get(name).trim();
  if (given.job && !/^\d+$/.test(given.job)) delete given.job;
  if (!may("history"))
    return html`<div class="page"><header class="bar-top"><h1>History</h1></header>
      <${Empty} title="The history of the whole farm needs the role operator">Each job shows its own history.<br />
      <a href=${to(["jobs"])}>All jobs</a><//></div>`;
  return html`<${List} given=${given} query=${query} />`;
}

function List({ given, query }) {
  const page = useHistory(given),
    some = Object.keys(given).length > 0;
  return html`<div class="page"><header class="bar-top"><h1>History</h1><span class="muted">the newest first</span>
    <span class="spring"></span>
    ${
      some &&
      html`<button type="button" class="quiet"
    onClick=${() => refine(Object.fromEntries(filters.map(([name]) => [name, ""])))}>Show all</button>`
    }</header>
    <section class="card"><div class="fields narrow-fields">
      ${filters.map(
        ([name, label, hint]) =>
          html`<label class="field" key=${name}><span class="label">${label}</span>
      <input name=${name} list=${name === "type" ? "types-known" : undefined} spellcheck="false" autocomplete="off"
      placeholder=${hint} value=${query.get(name) ?? ""} onInput=${e => refine({ [name]: e.currentTarget.value })} />
      </label>`,
      )}
      <datalist id="types-known">${types.map(type => html`<option value=${type} />`)}</datalist></div></section>
    ${page.error && html`<p class="field-error" role="alert">${plain(page.error.message)}</p>`}
    ${
      !page.rows
        ? html`<${Reading} />`
        : html`<section class="card flush">
      ${
        page.rows.length
          ? html`<${Events} list=${page.rows} />`
          : html`<${Empty} title=${some ? "Nothing of this kind was done" : "Nothing was done yet"} />`
      }
      <${Older} of=${page} /></section>`
    }
    <p class="note">Starts and ends of items are in the history of their job.</p>
    <${Command} text=${
      given.job ? `qbhist ${given.job}` : `qbadmin audit log${given.user ? ` -user ${quoted(given.user)}` : ""}`
    } /></div>`;
}
