// The headings of the output of an item of Open Job Description: which environments its session entered, what it ran
// in them, and how that ended. A program that prints such a line makes a heading, too.
import { html } from "htm/preact";
import { textOf } from "./lines.js";
import { refine } from "./route.js";
import { plain } from "./text.js";

const form = /^(Entering environment:|Running task of|Leaving environment:|Process exited with code:) (.*)$/s,
  first = new Set([..."ERLP"].map(c => c.charCodeAt(0))),
  most = 200, // headings
  longest = 4096; // bytes of a line that is one

/** isSession says whether the items of a job are sessions. */
export const isSession = job => /^exec "\$QBDIR\/qb" openjd session\b/.test(job?.command?.[0]);

/** found adds the headings of the lines of a part of the output, from a byte of it on, to those of earlier parts. */
export function found(log, list = [], from = 0) {
  for (const [line, span] of log.list.entries()) {
    if (log.begin + span[0] < from) continue;
    if (!first.has(log.bytes[span[0]]) || span[1] - span[0] > longest) continue;
    const [, what, name] = form.exec(textOf(log, span)) ?? [];
    if (what?.startsWith("Process")) {
      if (list.length) list.at(-1).code ??= Number(name);
    } else if (what && list.length < most) list.push({ what: what.split(" ")[0], name, line, at: log.begin + span[0] });
  }
  return list;
}

/** nested has each heading know the environments that are entered then. */
export function nested(list) {
  const entered = [],
    before = []; // entered before the first heading
  for (const { what, name } of list) {
    if (what === "Entering") entered.push(name);
    else if (what === "Leaving" && entered.pop() === undefined) before.unshift(name);
  }
  return list.map(heading => {
    if (heading.what === "Leaving") before.pop();
    const inside = before.slice();
    if (heading.what === "Entering") before.push(heading.name);
    return { ...heading, inside };
  });
}

/** headingsOf are the headings of a part of the output, nested. */
export const headingsOf = log => nested(found(log));

/** Code is how the process of an action has ended. */
export const Code = ({ code }) =>
  code !== undefined &&
  html`<span class="nowrap ${code ? "bad-text" : "muted"}">${code ? "✕" : "✓"} exit ${code}</span>`;

/** Headings are buttons that go to the lines. */
export const Headings = ({ of, cut }) =>
  html`<details class="padded" open><summary>Actions${cut && " in the part that is shown"}</summary>
  <ol class="headings">${of.map(
    ({ what, name, at, code, inside }) => html`<li key=${at} style=${{ paddingLeft: `${20 * inside.length}px` }}>
    <button type="button" class="plain" title=${inside.length ? `in ${inside.map(plain).join(", ")}` : undefined}
      onClick=${() => refine({ at: String(at), follow: "" })}>
      <span class="muted">${what}</span> ${plain(name)}</button> <${Code} code=${code} /></li>`,
  )}</ol></details>`;
