// The user's own tokens and sessions, the keys, the way out.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { confirm, Reading, say } from "./parts.js";
import { call, end, me } from "./session.js";
import { now } from "./store.js";
import { moment, plain } from "./text.js";

export const keys = [
  [
    "g then f, j, h, m, t, w, r, y, s",
    "the farm, jobs, hosts, slot map, share over time, what if, reports, history, submit",
  ],
  ["/", "filter a list, or jump to a job by its id"],
  ["↑ ↓ or j k", "move in a list"],
  ["Enter", "open"],
  ["x, Shift x", "select, select up to here"],
  ["Space", "pause the list of jobs"],
  ["n", "in a grid: the next failure"],
  ["arrows, Shift arrows", "in a grid: move, pick a range"],
  ["u", "what can be undone"],
  ["?", "this list"],
];

const state = t =>
  t.revoked ? "revoked" : Date.parse(t.expires_at) < now() * 1000 ? "expired" : t.uses_left === 0 ? "used" : "good";

export function Me() {
  const [tokens, setTokens] = useState(null);
  const read = () => call("list-own-tokens").then(setTokens, error => say(error.message, { bad: true }));
  useEffect(() => {
    read();
  }, []);
  const revoke = async t => {
    if (
      !(await confirm({
        title: `Revoke ${t.id}?`,
        text: "Whoever uses it is logged out within a minute.",
        label: "Revoke",
        bad: true,
        command: `qb login -revoke ${t.id}`,
      }))
    )
      return;
    await call("revoke-own-token", { token: t.id }).then(
      () => say("revoked"),
      error => say(error.message, { bad: true }),
    );
    read();
  };
  const good = (tokens ?? []).filter(t => state(t) === "good");
  return html`<div class="page"><header class="bar-top"><h1>${plain(me.value.user)}</h1><span class="muted">
    ${me.value.role}</span><span class="spring"></span>
    <button type="button" class="quiet" onClick=${end}>Log out</button></header>
    <section class="card flush"><h2 class="padded">Sessions and tokens</h2>${
      !tokens
        ? html`<${Reading} />`
        : html`<div class="scroll"><table><thead><tr><th>Id</th><th>What</th><th>Role</th><th class="right">Made</th>
          <th class="right">Last used</th><th class="right">Ends</th><th></th></tr></thead>
      <tbody>${good.map(
        t => html`<tr key=${t.id}><td><code>${t.id}</code></td><td class="grow">
          ${
            t.session_of
              ? t.uses_left === null
                ? "session of the page"
                : "code for a session"
              : plain(t.name) || "token"
          }</td><td>${t.role}</td><td class="right">${moment(t.created_at)}</td>
          <td class="right">${moment(t.last_used_at)}</td><td class="right">${moment(t.expires_at)}</td>
        <td class="right"><button type="button" class="quiet" onClick=${() => revoke(t)}>Revoke…</button></td></tr>`,
      )}</tbody></table></div>`
    }</section>
    <section class="card"><h2>Keys</h2><dl class="given">
      ${keys.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl></section></div>`;
}
