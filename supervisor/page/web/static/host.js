// A host: its slots and memory, what runs there and what that needs of what it was promised, what was done to it,
// what it did by day.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "./answer.js";
import { Events, Older, useHistory } from "./history.js";
import { Change, Command, Division, Empty, lock, Name, Reading, State } from "./parts.js";
import { to } from "./route.js";
import { call, may } from "./session.js";
import { hosts, jobs, now } from "./store.js";
import { bytes, count, moment, plain, quoted, span } from "./text.js";

const Figure = ({ label, value, note }) =>
  html`<div class="figure"><div class="label">${label}</div><div class="value">${value}</div><div class="note">${note}
    </div></div>`;
const part = (value, all) => ({ width: `${all ? Math.max(0, Math.min(100, (100 * value) / all)) : 0}%` });

/** Memory is one bar: what programs hold now, what is promised beyond that, what is free. */
function Memory({ host: { memory: m, instances, slots } }) {
  const held = Math.max(0, m.total - m.available),
    promised = instances.reduce((sum, i) => sum + i.memory, 0),
    beyond = Math.max(0, m.promised - held),
    free = Math.max(0, m.total - held - beyond);
  const legend = (kind, text, value) =>
    html`<span class="legend"><span class="swatch ${kind}"></span>${text} <strong>${bytes(value)}</strong></span>`;
  return html`<section class="card"><div class="row"><h2>Memory</h2><span class="muted">${bytes(m.total)} in all</span>
    </div>
    <div class="bar tall" role="img"
      aria-label=${`${bytes(held)} held, ${bytes(beyond)} promised and not held, ${bytes(free)} free`}>
      <span class="fill-complete" style=${part(held, m.total)}></span>
      <span class="fill-promised" style=${part(beyond, m.total)}></span></div>
    <div class="row">${legend("fill-complete", "held now", held)}${legend(
      "fill-promised",
      "promised and not held",
      beyond,
    )}${legend("", "free", free)}<span class="spring"></span><span class="note">
      ${bytes(promised)} promised to what runs${
        slots.total > slots.used ? `; ${bytes(m.per_idle)} for each idle slot` : ""
      }</span></div></section>`;
}

const order = { primary: "running", secondary: "secondary" };

function Running({ host }) {
  if (!host.instances.length)
    return html`<section class="card"><h2>What runs</h2><${Empty} title="Nothing runs here">${plain(host.remark)}<//>
      </section>`;
  return html`<section class="card flush"><h2 class="padded">What runs <span class="muted">
    ${count(host.instances.length)}</span></h2><div class="scroll" tabindex="0" role="region" aria-label="What runs">
    <table>
    <thead><tr><th>Item</th><th class="grow">Job</th><th class="hide-small">User</th><th>Kind</th>
      <th class="right">Slots</th><th class="right hide-small">Promised</th><th>Largest peak of the job</th>
      <th class="right">For</th></tr></thead>
    <tbody>${host.instances.map(i => {
      const j = jobs.value.get(i.job),
        over = j?.peak > i.memory;
      return html`<tr key=${`${i.job}.${i.instance}`}><td>
        ${
          i.item
            ? html`<a href=${to(["jobs", String(i.job), "items", i.item])}>${i.job}:${plain(i.item)}</a>`
            : html`<span class="muted">between items</span>`
        }</td><td><a href=${to(["jobs", String(i.job)])}>
        <${Name} text=${j?.name ?? i.job} /></a></td><td class="hide-small"><${Name} text=${j?.user ?? ""} /></td>
      <td><${State} of=${i.state !== "active" ? "stopping" : order[i.kind]} /></td><td class="right">${i.slots}</td>
        <td class="right hide-small">${i.memory ? bytes(i.memory) : ""}</td>
      <td>${
        j?.peak > 0 && i.memory > 0
          ? html`<span class="progress" title=${`${bytes(j.peak)} of ${bytes(i.memory)} promised`}><span class="bar">
        <span class=${over ? "fill-failed" : "fill-complete"} style=${part(j.peak, i.memory)}></span></span>
        <span class="percent long">${bytes(j.peak)}</span></span>`
          : html`<span class="muted">not known yet</span>`
      }
        </td>
      <td class="right">${i.item_started_at ? span(now() - Date.parse(i.item_started_at) / 1000) : ""}</td></tr>`;
    })}</tbody></table></div></section>`;
}

/** Days is what ended here, by day. */
function Days({ name }) {
  const [answer, set] = useState({ rows: null, error: null });
  useEffect(() => {
    const from = new Date(Date.now() - 13 * 86_400_000).toISOString().slice(0, 10);
    call("get-stats", { by: "day", host: name, from }).then(
      reply => set({ rows: reply.rows, error: null }),
      error => set({ rows: null, error }),
    );
  }, [name]);
  const { rows, error } = answer,
    most = Math.max(1e-9, ...(rows ?? []).map(r => r.slot_hours));
  return html`<section class="card flush"><h2 class="padded">What ended here, by day</h2>${
    error
      ? html`<p class="field-error padded">${plain(error.message)}</p>`
      : !rows
        ? html`<${Reading} />`
        : !rows.length
          ? html`<p class="muted padded">Nothing has ended here in the last 14 days.</p>`
          : html`<div class="scroll" tabindex="0" role="region" aria-label="By day"><table><thead><tr><th>Day</th>
            <th class="grow">Slot-hours</th><th class="right">Sum</th><th class="right">Failed or lost</th>
            <th class="right hide-small">Killed</th><th class="right hide-small">Preempted</th>
            <th class="right">Attempts</th></tr></thead>
      <tbody>${rows.toReversed().map(
        r =>
          html`<tr key=${r.day}><td>${r.day}</td><td><${Division} row=${r} most=${most} /></td><td class="right">
        ${r.slot_hours.toFixed(2)}</td><td class="right">${Math.round(100 * r.failed)} %</td>
        <td class="right hide-small">${Math.round(100 * r.killed)} %</td><td class="right hide-small">
        ${Math.round(100 * r.preempted)} %</td><td class="right">${count(r.attempts)}</td></tr>`,
      )}</tbody></table>
        </div>`
  }</section>`;
}

function Past({ name }) {
  const page = useHistory({ host: name });
  return html`<section class="card flush"><h2 class="padded">What was done</h2>
    ${page.error && html`<p class="field-error padded">${plain(page.error.message)}</p>`}${
      !page.rows
        ? html`<${Reading} />`
        : page.rows.length
          ? html`<${Events} list=${page.rows} host />`
          : html`<p class="muted padded">Nothing is known of this host yet.</p>`
    }<${Older} of=${page} /></section>`;
}

export function Host({ name }) {
  const row = hosts.value.get(name),
    { value: host, error } = useAnswer("get-host", { host: name }, [name, row], 3000);
  if (error && !host) return html`<${Empty} title=${plain(error.message)}><a href=${to(["hosts"])}>All hosts</a><//>`;
  if (!host) return html`<div class="page"><${Reading} /></div>`;
  return html`<div class="page"><header class="bar-top"><h1><${Name} text=${name} /></h1><${State} of=${host.state} />
    <span class="spring"></span>
      <a class="button quiet" href=${to(["slots"], { host: name })}>On the map</a>
        <a class="button quiet" href=${to(["what-if"], { lock: name })}>What if it is locked</a>
        ${
          may("lock-host") &&
          html`<${Change} class="quiet" onClick=${() => lock([name], !host.locked)}>${host.locked ? "Unlock…" : "Lock…"}
        <//>`
        }</header>
    <p class="facts-line">${plain(
      [
        host.cluster,
        host.groups.join(", "),
        Object.entries(host.resources)
          .map(([n, v]) => `${n}=${v}`)
          .join(" "),
      ]
        .filter(Boolean)
        .join(" · "),
    )} · last heard ${moment(host.last_seen_at)}</p>
    ${host.remark && html`<section class="card warn"><p>${plain(host.remark)}</p></section>`}
    <div class="numbers">
      <${Figure} label="Slots" value=${`${host.slots.used} / ${host.slots.total}`}
      note=${`${count(host.instances.length)} instance${host.instances.length === 1 ? "" : "s"}`} />
      <${Figure} label="Memory free" value=${bytes(host.memory.available)} note=${`of ${bytes(host.memory.total)}`} />
      <${Figure} label="Promised" value=${bytes(host.memory.promised)} note="to what runs" />
      ${
        host.swap?.total > 0 &&
        html`<${Figure} label="Swap" value=${bytes(host.swap.used ?? 0)} note=${`of ${bytes(host.swap.total)} in use`}
      />`
      }</div>
    <${Memory} host=${host} /><${Running} host=${host} /><${Days} name=${name} />
      ${may("history") && html`<${Past} name=${name} />`}
    <${Command} text=${`qbhosts -long ${quoted(name)}`} /></div>`;
}
