// What the forms of a submission share: their fields, their head, and the draft that the browser keeps.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import attributes from "./attributes.js";
import { Items } from "./check.js";
import { kept } from "./kept.js";
import { to } from "./route.js";
import { typed } from "./submission.js";
import { plain } from "./text.js";

const labels = {
  name: "Name",
  command: "Command",
  range: "Range",
  cwd: "Folder",
  priority: "Priority",
  cpus: "Instances (cpus)",
  reservations: "Reservations",
};
const hints = {
  command: "render -s QB_FRAME_START -e QB_FRAME_END -j QB_FRAME_STEP scene.blend",
  range: "1-100, 1-100x5,200 or labels",
  cwd: "/proj/sh010",
  reservations: "host.processors=2,host.memory=8GiB",
};
// On the page there is no current directory, and N needs no name.
const notes = {
  name: "default: the first word of the command",
  range: "the items; empty: the command runs once in each instance",
  cwd: "working directory on the hosts",
  priority: "1 is the best; empty: the site's default",
  cpus: "primary instances, which no other job of equal priority takes; default 1",
  reservations: "of each instance; empty: one slot",
  shell: "how the command is read",
  env: "NAME=VALUE, separated by white space, in quotes where a value has blanks",
  command: "one line for a shell; QB_FRAME_NUMBER is the item",
};
export const known = new Map(attributes.map(a => [a.name, a]));
const help = a => plain(a.help).replaceAll("`", "");
// They may have several
const lines = ["notes", "env", ...attributes.filter(a => a.name.startsWith("regex_")).map(a => a.name)];

/** useDraft is what was typed into a form. */
export function useDraft(key) {
  const [draft, setDraft] = useState(() => JSON.parse(kept.getItem(key) ?? "{}"));
  useEffect(() => {
    try {
      kept.setItem(key, JSON.stringify(draft));
    } catch {} // the browser has no room for it: it is kept as long as the view
  }, [draft]);
  return [draft, setDraft];
}

/** Head is the head of a form: the ways to submit, and a button that empties the form. */
export const Head = ({ path, clear }) =>
  html`<header class="bar-top"><h1>Submit a job</h1>
    <nav class="chips" aria-label="What is submitted">${[
      ["Job type", ["submit", "type"]],
      ["Command", ["submit"]],
      ["Template", ["submit", "template"]],
    ].map(
      ([label, way]) =>
        html`<a class="chip" href=${to(way)} aria-current=${way[1] === path[1] ? "page" : undefined}>${label}
      </a>`,
    )}</nav><span class="spring"></span>
    ${clear && html`<button type="button" class="quiet" onClick=${clear}>Clear</button>`}</header>`;

/** Labelled is a field with its label, and below it what is wrong with it, or a note. */
export const Labelled = ({ label, wide, error, note, children }) =>
  html`<label class="field ${wide ? "wide-field" : ""}"><span class="label">${label}</span>${children}
    ${error ? html`<span class="field-error" role="alert">${plain(error)}</span>` : note}</label>`;

/** Field is that of an attribute of a job. */
export function Field({ attribute, draft, set, error, items }) {
  const { name } = attribute,
    note = items ? html`<${Items} of=${items} />` : html`<span class="note">${notes[name] ?? help(attribute)}</span>`;
  return html`<${Labelled} label=${labels[name] ?? name} wide=${name === "command"} error=${error} note=${note}>
    ${
      name === "shell"
        ? html`<select name="shell" value=${draft.shell ?? ""} onChange=${e => set("shell", e.currentTarget.value)}>
          <option value="">as it looks: a line for a shell if it has blanks</option>
          <option value="line">a line for /bin/sh</option>
          <option value="words">a program and its arguments, in quotes where they have blanks</option></select>`
        : name === "order"
          ? html`<select name="order" value=${draft.order === "ascend" ? "" : (draft.order ?? "")}
            onChange=${e => set("order", e.currentTarget.value)}><option value="">ascend</option>
            <option>reverse</option><option>binary</option></select>`
          : lines.includes(name)
            ? html`<textarea name=${name} rows="2" value=${typed(draft, name)} spellcheck="false"
              aria-invalid=${error ? "true" : undefined} onInput=${e => set(name, e.currentTarget.value)}></textarea>`
            : html`<input name=${name} value=${typed(draft, name)} placeholder=${hints[name] ?? ""} spellcheck="false"
              autocomplete="off" inputmode=${attribute.kind === "number" && !attribute.seconds ? "numeric" : undefined}
              aria-invalid=${error ? "true" : undefined} onInput=${e => set(name, e.currentTarget.value)} />`
    }<//>`;
}

/** Width is the choice of max_cpus; first says what is done if none is made. */
export function Width({ draft, set, error, first }) {
  const choice = (value, label) =>
    html`<label class="choice">
      <input type="radio" name="width" checked=${(draft.width ?? "") === value} onChange=${() => set("width", value)}
      /> ${label}</label>`;
  return html`<section class="card"><h2>Width</h2><div class="choices">
    ${first && choice("", first)}${choice(first ? "all" : "", "* : as many as the site allows")}${choice(
      "none",
      "0 : no secondary instances",
    )}
    <span>${choice(
      "most",
      "at most",
    )} <input class="short" aria-label="max_cpus" aria-invalid=${error ? "true" : undefined}
      inputmode="numeric" value=${draft.max_cpus ?? ""} onInput=${e => {
        set("max_cpus", e.currentTarget.value);
        set("width", "most");
      }} /> instances</span></div>
    ${
      error
        ? html`<p class="field-error" role="alert">${plain(error)}</p>`
        : html`<p class="note">max_cpus: secondary instances fill slots that no other job needs, and leave when
      another job needs them. A number above the site's limit is reduced, and the answer says so.</p>`
    }</section>`;
}
