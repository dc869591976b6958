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

/** headingsOf are those of the lines of a part of the output: of each, the environments that are entered then. */
export function headingsOf(log) {
  const found = [],
    entered = [],
    before = []; // entered before the part, or for an item before this one
  for (const [line, span] of log.list.entries()) {
    if (!first.has(log.bytes[span[0]]) || span[1] - span[0] > longest) continue;
    const [, what, name] = form.exec(textOf(log, span)) ?? [];
    if (what?.startsWith("Process")) {
      if (found.length) found.at(-1).code ??= Number(name);
    } else if (what && found.length < most)
      found.push({ what: what.split(" ")[0], name, line, at: log.begin + span[0] });
  }
  for (const { what, name } of found) {
    if (what === "Entering") entered.push(name);
    else if (what === "Leaving" && entered.pop() === undefined) before.unshift(name);
  }
  for (const heading of found) {
    if (heading.what === "Leaving") before.pop();
    heading.inside = before.slice();
    if (heading.what === "Entering") before.push(heading.name);
  }
  return found;
}

/** Headings are buttons that go to the lines. */
export const Headings = ({ of, cut }) =>
  html`<details class="padded" open><summary>Actions${cut && " in the part that is shown"}</summary>
  <ol class="headings">${of.map(
    ({ what, name, at, code, inside }) => html`<li key=${at} style=${{ paddingLeft: `${20 * inside.length}px` }}>
    <button type="button" class="plain" title=${inside.length ? `in ${inside.map(plain).join(", ")}` : undefined}
      onClick=${() => refine({ at: String(at), follow: "" })}>
      <span class="muted">${what}</span> ${plain(name)}</button>
    ${
      code !== undefined &&
      html`<span class="nowrap ${code ? "bad-text" : "muted"}">${code ? "✕" : "✓"} exit ${code}</span>`
    }</li>`,
  )}</ol></details>`;
