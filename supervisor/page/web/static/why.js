// The facts below the reason why a job waits: who holds the slots, as bars, and sentences whose jobs and hosts are
// links.
import { html } from "htm/preact";
import { Name } from "./parts.js";
import { to } from "./route.js";
import { jobs } from "./store.js";
import { count, plain } from "./text.js";

/**
 * linked is a sentence with links to the jobs and hosts that the fact tells of, and to those that it only counts
 * below it.
 */
function linked({ text, jobs: ids = [], hosts: names = [] }) {
  const found = new Set(),
    escaped = names.map(name => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(\\bjob \\d+${escaped.length ? `|(?<![\\w.-])(?:${escaped.join("|")})(?![\\w-])` : ""})`);
  const parts = text.split(pattern).map((part, n) => {
    if (!(n % 2)) return plain(part);
    found.add(part);
    return part.startsWith("job ") && !names.includes(part)
      ? html`<a href=${to(["jobs", part.slice(4)])}>${part}</a>`
      : html`<a href=${to(["hosts", part])}>${plain(part)}</a>`;
  });
  const rest = names.filter(name => !found.has(name)),
    others = ids.filter(id => !found.has(`job ${id}`));
  return html`${parts}${
    (rest.length > 0 || others.length > 0) &&
    html` <span class="note">
    ${rest.slice(0, 12).map(name => html`<a href=${to(["hosts", name])}>${plain(name)}</a> `)}${
      rest.length > 12 && `and ${rest.length - 12} more `
    }${others.map(id => html`<a href=${to(["jobs", String(id)])}>job ${id}</a> `)}
    </span>`
  }`;
}

const kinds = [
  ["primary", "running", "primary"],
  ["secondary", "secondary", "secondary"],
  ["ending", "stopping", "leaving"],
];

/** Holder is what one job holds of the slots that fit. */
function Holder({ fact, all, self }) {
  const id = fact.jobs?.[0],
    job = jobs.value.get(id),
    width = slots => ({ width: `${(100 * slots) / all}%` });
  const parts = fact.holds
    ? kinds
        .filter(([kind]) => fact.holds[kind] > 0)
        .map(([kind, , word]) => `${count(fact.holds[kind])} ${word}`)
        .join(" + ")
    : `${count(fact.slots)} slots`;
  return html`<div class="holder" title=${plain(fact.text)}>
    ${
      id
        ? html`<a href=${to(["jobs", String(id)])}>${id} <${Name} text=${job?.name ?? ""} /></a>`
        : html`<span class="muted">${plain(fact.text.split(" hold")[0])}</span>`
    }<span class="muted hide-small">
    <${Name} text=${id === self ? "this job" : (job?.user ?? "")} /></span>
    <span class="bar" role="img" aria-label=${parts}>
      ${
        fact.holds
          ? kinds.map(
              ([kind, state]) =>
                fact.holds[kind] > 0 && html`<span class="fill-${state}" style=${width(fact.holds[kind])}></span>`,
            )
          : html`<span class="fill-promised" style=${width(fact.slots)}></span>`
      }</span><span class="muted right">${parts}
      </span></div>`;
}

/** Linked is a sentence whose jobs are links. */
export const Linked = ({ text }) => linked({ text });

export function Facts({ facts, id }) {
  const holders = facts.filter(f => f.kind === "holder"),
    all = facts.find(f => f.kind === "slots")?.slots || holders.reduce((n, f) => n + f.slots, 0) || 1;
  return html`${
    holders.length > 0 &&
    html`<h3>Who holds the ${count(all)} slots on hosts that serve it</h3><div class="holders">
    ${holders.map(f => html`<${Holder} key=${f.text} fact=${f} all=${all} self=${Number(id)} />`)}</div>`
  }
    <ul class="facts">${facts.filter(f => f.kind !== "holder").map(f => html`<li key=${f.text}>${linked(f)}</li>`)}
      </ul>`;
}
