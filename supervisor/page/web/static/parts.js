// Small parts that every view uses: marks of states, bars, dialogs, notices, commands to copy.
import { effect, signal } from "@preact/signals";
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { route } from "./route.js";
import { farm } from "./store.js";
import { count, divided, outcomes, plain } from "./text.js";

/** States of jobs, items and hosts: a glyph and a word beside the colour, which never stands alone. */
export const marks = {
  pending: "·",
  running: "▶",
  secondary: "▷",
  stopping: "◔",
  complete: "✓",
  failed: "✕",
  killed: "⊘",
  blocked: "‖",
  suspended: "‖",
  resuming: "‖",
  up: "●",
  locked: "‖",
  unreachable: "◔",
  lost: "✕",
  preempted: "↶",
  superseded: "↶",
  done: "✓",
};
const classes = {
  suspended: "blocked",
  resuming: "blocked",
  up: "running",
  locked: "blocked",
  unreachable: "stopping",
  lost: "failed",
  preempted: "stopping",
  superseded: "pending",
  done: "complete",
};

export const State = ({ of }) =>
  html`<span class="state s-${classes[of] ?? of}"><span class="glyph" aria-hidden="true">${marks[of] ?? "·"}</span>${of}
    </span>`;

const parts = [
  ["complete", "complete"],
  ["running", "running"],
  ["failed", "failed"],
  ["killed", "killed"],
  ["blocked", "blocked"],
];

/** Bar is the items of a job as parts of a line. */
export function Bar({ job }) {
  const done = job.total ? Math.floor((100 * job.complete) / job.total) : 0;
  const title = `${count(job.complete)} of ${count(job.total)} complete, ${job.running} running, ${job.pending} pending, ${job.failed} failed, ${job.killed} killed, ${job.blocked} blocked`;
  return html`<span class="progress" title=${title} role="img" aria-label=${title}>
    <span class="bar items">
      ${parts.map(
        ([name, state]) =>
          job[name] > 0 &&
          html`<span class="fill-${state}" style=${{ width: `max(2px, ${(100 * job[name]) / job.total}%)` }}></span>`,
      )}
      </span>
    <span class="percent">${done}%</span></span>`;
}

/** avoided says whether a host gets nothing of a user, a folder or a job for a while; its remark says of whom. */
export const avoided = host => host.avoidances > 0;

export const Name = ({ text }) => html`<bdi class="name" title=${plain(text)}>${plain(text)}</bdi>`;

/** Change is a button of what changes the farm: it is off, with the reason, while the farm can change nothing. */
export function Change({ disabled, title, ...props }) {
  const why = farm.value?.trouble && plain(farm.value.trouble);
  return html`<button type="button" ...${props} disabled=${Boolean(disabled || why)} title=${why || title} />`;
}

/**
 * here is the view that is seen, without its query. Dialogs, and buttons of notices, belong to the view in which
 * they were made.
 */
export const here = () => route.value.path.join("/");

/** undoable is how many changes can be undone. */
export const undoable = signal(0);

/** bells are the jobs of which somebody wants to hear, and how many notices were not seen. */
export const bells = signal({ ids: [], fresh: 0 });

// Actions and their dialogs are loaded with the first of them.
const act =
  name =>
  (...given) =>
    import("./actions.js").then(
      module => module[name](...given),
      () => say("the page cannot be loaded; load it again", { bad: true }),
    );
export const ring = id => import("./bell.js").then(module => module.ring(id));
export const order = act("order"),
  modify = act("modify"),
  lock = act("lock");

/**
 * Notices at the lower edge; each goes by itself. Of those with a button the newest about the same takes the place
 * of the others, but for what waits to be sent.
 */
const notices = signal([]);
let serial = 0;
export function say(text, { bad = false, action, label, of = "", waits = false } = {}) {
  const id = ++serial;
  notices.value = [
    ...notices.value.filter(n => !of || n.of !== of || n.waits).slice(-4),
    { id, text, bad, action, label, of, waits, view: here() },
  ];
  setTimeout(() => dismiss(id), bad || action ? 12_000 : 5000);
  return id;
}
export const dismiss = id => {
  notices.value = notices.value.filter(n => n.id !== id);
};
export const Notices = () =>
  html`<div class="notices" role="status" aria-live="polite">${notices.value.map(
    n => html`
  <div key=${n.id} class="notice ${n.bad ? "bad" : ""}"><span>${plain(n.text)}</span>
    ${
      n.action &&
      n.view === here() &&
      html`<button type="button" class="plain" aria-label=${`${n.label}: ${plain(n.text)}`} onClick=${() => {
        dismiss(n.id);
        n.action();
      }}>${n.label}</button>`
    }
    <button type="button" class="plain" aria-label="Dismiss" onClick=${() => dismiss(n.id)}>✕</button></div>`,
  )}</div>`;

/** Command is what does the same on a terminal. */
export const Command = ({ text }) =>
  text &&
  html`<span class="command"><code>${plain(text)}</code>
  <button type="button" class="plain" title="Copy the command" aria-label="Copy the command" onClick=${() =>
    navigator.clipboard.writeText(text).then(
      () => say("copied"),
      () => say("the browser does not let the page copy; select the text", { bad: true }),
    )}>Copy</button></span>`;

const asked = signal(null);

/** confirm asks; what it returns is the answer, or null, as when the view is left. field asks for a value as well. */
export function confirm(question) {
  asked.peek()?.done(null);
  return new Promise(done => {
    asked.value = { ...question, done, view: here() };
  });
}
effect(() => {
  const view = here(),
    q = asked.peek();
  if (!q || q.view === view) return;
  asked.value = null;
  q.done(null);
});

/** Question is the open dialog. */
export function Question() {
  const box = useRef(null),
    q = asked.value;
  useEffect(() => {
    if (q && !box.current.open) box.current.showModal();
  }, [q]);
  if (!q) return null;
  const end = answer => {
    asked.value = null;
    q.done(answer);
  };
  const submit = event => {
    event.preventDefault();
    end(q.field ? box.current.querySelector("input").value : true);
  };
  return html`<dialog ref=${box} onCancel=${() => end(null)}>
    <form onSubmit=${submit}><h2>${plain(q.title)}</h2>
      ${q.text && html`<p>${plain(q.text)}</p>`}
      ${
        q.list &&
        html`<ul>
        ${q.list.slice(0, 12).map(line => html`<li>${plain(line)}</li>`)}${
          q.list.length > 12 && html`<li>and ${q.list.length - 12} more</li>`
        }</ul>`
      }
      ${
        q.field &&
        html`<label>${q.field.label}
        <input autofocus value=${q.field.value} placeholder=${q.field.hint ?? ""} /></label>`
      }
      <p class="muted"><${Command} text=${typeof q.command === "string" ? q.command : ""} /></p>
      <div class="row end"><button type="button" class="quiet" onClick=${() => end(null)}>Cancel</button>
        <button type="submit" class=${q.bad ? "danger" : "primary"} autofocus=${!q.field}>${q.label}</button></div>
          </form></dialog>`;
}

/** Reading stands where an answer will be: until it has come, nothing is said about what it may be. */
export const Reading = () => html`<div class="skeleton" role="status">Reading…</div>`;

/** Empty is what a view says when it has nothing to show. */
export const Empty = ({ title, children }) =>
  html`<div class="empty"><strong>${title}</strong><div>${children}</div></div>`;

const known = new Map(); // views by what loads them

/** Later is a view whose module is loaded when it is first seen, or its children, or that it is on its way. */
export function Later({ load, children, ...props }) {
  const [made, setMade] = useState(() => known.get(load) ?? null);
  useEffect(() => {
    if (!made)
      load().then(
        view => {
          known.set(load, view);
          setMade(() => view);
        },
        () => say("the view cannot be loaded; load the page again", { bad: true }),
      );
  }, []);
  return made ? html`<${made} ...${props} />` : (children ?? html`<div class="page"><${Reading} /></div>`);
}

/** Division is the slot-hours of a row of statistics as a bar, divided by how its attempts ended; most fills it. */
export function Division({ row, most }) {
  return html`<span class="bar">
    ${divided(row).map(
      (hours, n) =>
        html`<span class=${`fill-${outcomes[n][1]}`} title=${`${outcomes[n][2]}: ${hours.toFixed(2)} slot-hours`}
    style=${{ width: `${(100 * hours) / most}%` }}></span>`,
    )}</span>`;
}
