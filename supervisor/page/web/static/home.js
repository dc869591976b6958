// The farm at a look: slots, trouble, who waits longest, own jobs.
import { html } from "htm/preact";
import { avoided, Bar, Empty, Name, Reading, State } from "./parts.js";
import { to } from "./route.js";
import { me } from "./session.js";
import { farm, hosts, jobs, unread } from "./store.js";
import { age, count, ends, plain } from "./text.js";

const Line = ({
  job,
}) => html`<a class="job-line" href=${to(["jobs", String(job.id)])}><span class="id">${job.id}</span>
  <${Name} text=${job.name} /><${State} of=${job.status} />
  <${Bar} job=${job} /><span class="muted right hide-small">
    ${ends(job) ? `ends ${ends(job)}` : job.finished ? `${age(job.finished)} ago` : `${age(job.submitted)} old`}</span>
    </a>`;

const List = ({
  title,
  list,
  more,
  none,
  children,
}) => html`<section class="card"><div class="row"><h2>${title}</h2><span class="spring"></span>${more}</div>
  ${list.length ? children : html`<p class="muted">${none}</p>`}</section>`;

export function Home() {
  const f = farm.value,
    all = [...jobs.value.values()];
  if (!f || jobs.value === unread || hosts.value === unread) return html`<div class="page"><${Reading} /></div>`;
  const waits = all.filter(j => j.status === "pending" && j.pending > 0).sort((a, b) => a.submitted - b.submitted);
  const mine = all.filter(j => j.user === me.value.user).sort((a, b) => b.id - a.id);
  const failing = all
    .filter(j => j.failed > 0 && !["complete", "killed"].includes(j.status))
    .sort((a, b) => b.failed - a.failed);
  const trouble = [...hosts.value.values()].filter(h => h.state === "lost" || h.state === "unreachable");
  const kept = [...hosts.value.values()].filter(avoided);
  const share = part => ({ width: `${f.slots.total ? (100 * part) / f.slots.total : 0}%` });
  const { primary, secondary, draining } = f.instances;
  return html`<div class="page">
    <div class="numbers">
      <div class="figure grow"><div class="label">Slots in use</div><div class="value">${count(f.slots.used)}
        <span class="muted"> / ${count(f.slots.total)}</span></div>
        <div class="bar tall" role="img"
          aria-label=${`${primary} primary, ${secondary} secondary, ${draining} stopping instances`}>
          <span class="fill-running"
          style=${share((f.slots.used * primary) / Math.max(1, primary + secondary + draining))}></span>
          <span class="fill-secondary"
          style=${share((f.slots.used * secondary) / Math.max(1, primary + secondary + draining))}></span>
          <span class="fill-stopping"
          style=${share((f.slots.used * draining) / Math.max(1, primary + secondary + draining))}></span></div>
        <div class="note">▶ ${count(primary)} primary · ▷ ${count(secondary)} secondary${
          draining > 0 ? ` · ◔ ${count(draining)} end after their item` : ""
        }</div></div>
      <a class="figure" href=${to(["hosts"])}><div class="label">Hosts</div><div class="value">
        ${count((f.hosts.up ?? 0) + (f.hosts.locked ?? 0))}</div><div class="note">${
          Object.entries(f.hosts)
            .filter(([state]) => state !== "up")
            .map(([state, n]) => `${n} ${state}`)
            .join(", ") || (f.hosts.up ? "all are up" : "none has registered")
        }${kept.length > 0 && html`, <span class="warn-text">${count(kept.length)} kept from some work</span>`}</div>
          </a>
      <a class="figure" href=${to(["jobs"], { q: "status:running,pending" })}><div class="label">Unfinished jobs</div>
        <div class="value">${count(
          (f.jobs.running ?? 0) + (f.jobs.pending ?? 0) + (f.jobs.blocked ?? 0) + (f.jobs.suspended ?? 0),
        )}</div><div class="note">
        ${f.jobs.running ?? 0} run, ${f.jobs.pending ?? 0} wait, ${f.jobs.blocked ?? 0} blocked</div></a>
      <a class="figure" href=${to(["jobs"], { q: "failed>0" })}><div class="label">Items left</div><div class="value">
        ${count(f.items.pending + f.items.running)}</div><div class="note">
        ${f.items.failed ? `${count(f.items.failed)} failed` : "none failed"} in unfinished jobs</div></a>
    </div>
    ${
      trouble.length > 0 &&
      html`<section class="card warn"><h2>
      ${trouble.length === 1 ? "A host is" : `${count(trouble.length)} hosts are`} silent</h2><p>
      ${trouble
        .slice(0, 5)
        .map(
          h => html`<a href=${to(["hosts", h.name])}>${plain(h.name)}</a> `,
        )} ${plain(trouble[0].remark)}</p></section>`
    }
    ${
      kept.length > 0 &&
      html`<section class="card warn"><h2>
      ${kept.length === 1 ? "A host is" : `${count(kept.length)} hosts are`} kept from some work</h2>
      ${kept.slice(0, 5).map(
        h =>
          html`<p key=${h.name}><a href=${to(["hosts", h.name])}>${plain(h.name)}</a>: ${plain(h.remark)}
      </p>`,
      )}${kept.length > 5 && html`<a href=${to(["hosts"], { q: "avoided:yes" })}>all ${count(kept.length)}</a>`}
      </section>`
    }
    <div class="columns">
      <${List} title="Jobs that wait, longest first" list=${waits} none="No job waits."
        more=${
          waits.length > 6 &&
          html`<a href=${to(["jobs"], { q: "status:pending", sort: "age" })}>all ${waits.length}</a>`
        }>
        ${waits.slice(0, 6).map(
          j =>
            html`<a key=${j.id} class="job-line two" href=${to(["jobs", String(j.id)])}><span class="id">${j.id}</span>
          <${Name} text=${j.name} /><span class="muted">${plain(j.user)}</span><span class="muted right">
          ${age(j.submitted)}</span><span class="why">${plain(j.reason)}</span></a>`,
        )}<//>
      <${List} title="Jobs with failed items" list=${failing} none="No unfinished job has a failed item."
        more=${html`<a href=${to(["jobs"], { q: "failed>0" })}>all with failures</a>`}>
        ${failing.slice(0, 6).map(
          j =>
            html`<a key=${j.id} class="job-line two" href=${to(["jobs", String(j.id)], { state: "failed" })}>
          <span class="id">${j.id}</span><${Name} text=${j.name} /><span class="bad-text">
          ${count(j.failed)} of ${count(j.total)}</span><span class="muted right">${plain(j.user)}</span>
          <span class="why">${plain(j.reason)}</span></a>`,
        )}<//>
    </div>
    <section class="card"><div class="row"><h2>My jobs</h2><span class="spring"></span>
      <a href=${to(["jobs"], { q: `user:${me.value.user}` })}>all of mine</a></div>
      ${
        mine.length
          ? mine.slice(0, 8).map(j => html`<${Line} key=${j.id} job=${j} />`)
          : html`<${Empty} title="You have no jobs">
        <a href=${to(["submit"])}>Submit one</a>, or type <code>qbsub -range 1-10 echo hello</code><//>`
      }</section>
  </div>`;
}
