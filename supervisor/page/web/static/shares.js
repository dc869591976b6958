// Fairshare: who stands where, budgets and accounts, and the ledger of one user line by line to the factor.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { Command, Empty, Name, Reading } from "./parts.js";
import { to } from "./route.js";
import { call, me } from "./session.js";
import { count, moment, plain, quoted, span } from "./text.js";

/** useRead asks once, and again when what it depends on changes. */
function useRead(id, params, depends) {
  const [answer, set] = useState({ value: null, error: null });
  useEffect(() => {
    const stop = new AbortController();
    call(id, params, { signal: stop.signal }).then(
      value => set({ value, error: null }),
      error => {
        if (!stop.signal.aborted) set({ value: null, error });
      },
    );
    return () => stop.abort();
  }, depends);
  return answer;
}

/** hours is an amount of CPU-equivalent seconds. */
const hours = seconds =>
  seconds >= 360_000
    ? `${count(Math.round(seconds / 3600))} h`
    : seconds >= 36
      ? `${(seconds / 3600).toFixed(seconds < 3600 ? 2 : 1)} h`
      : `${seconds.toFixed(1)} s`;
const percent = part => `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`;
const part = value => ({ width: `${Math.max(0, Math.min(100, 100 * value))}%` });
const Wait = () => html`<${Reading} />`;
const Scroll = ({ label, children }) =>
  html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>${children}</div>`;

function Standing({ s }) {
  const mine = s.user === me.value.user;
  return html`<tr class=${mine ? "chosen" : ""}><td class="right">${s.rank}</td><td>
    <a href=${to(["fairshare", s.user])}><${Name} text=${s.user} /></a></td><td class="hide-small">
    <${Name} text=${s.account || "–"} /></td>
    <td><span class="progress" title=${`factor ${s.factor.toFixed(4)}; 0.5 is exactly the share`}><span class="bar">
      <span class="fill-complete" style=${part(s.factor)}></span></span><span class="percent">${s.factor.toFixed(2)}
      </span></span></td>
    <td class="right hide-small">
      ${
        s.shares === s.base_shares
          ? s.shares
          : html`<span title=${`${s.base_shares} raised by credit ${s.credit.toPrecision(3)}`}>
      ${s.shares.toPrecision(3)} ↑</span>`
      }</td>
    <td class="right">${percent(s.entitled)}</td><td class="right">${percent(s.received)}</td>
      <td class="right hide-small">${hours(s.usage.total)}</td><td class="right hide-small">
      ${s.ahead ? hours(s.ahead) : "–"}</td></tr>`;
}

function Budgets() {
  const { value, error } = useRead("list-budgets", {}, []);
  if (error) return html`<p class="field-error">${plain(error.message)}</p>`;
  if (!value) return null;
  return html`<section class="card flush"><h2 class="padded">Budgets</h2>${
    value.length === 0
      ? html`<p class="muted padded">No user and no account has a budget. <code>qbadmin share set NAME -budget
        100h</code> sets one.</p>`
      : html`<${Scroll} label="Budgets"><table>
    <thead><tr><th>Of</th><th class="grow">Used</th><th class="right">Budget</th><th class="right">In</th>
      <th>Beyond it</th><th class="right">Fits again</th></tr></thead>
    <tbody>${value.map(b => {
      const used = b.used_seconds ?? 0,
        over = used >= b.budget_seconds;
      return html`<tr key=${b.path}><td><${Name} text=${b.path} /></td>
      <td><span class="progress" title=${`${hours(used)} used`}><span class="bar">
        <span class=${over ? "fill-failed" : "fill-complete"} style=${part(used / b.budget_seconds)}></span></span>
        <span class="percent">${percent(used / b.budget_seconds)}</span></span></td>
      <td class="right">${hours(b.budget_seconds)}</td><td class="right">
        ${b.per_seconds ? span(b.per_seconds) : "as use decays"}</td><td>
        ${b.over === "idle" ? "idle slots only" : "its jobs wait"}</td><td class="right">
        ${b.until ? moment(b.until) : over ? "–" : ""}</td></tr>`;
    })}</tbody></table><//>`
  }</section>`;
}

function Accounts() {
  const { value } = useRead("list-accounts", {}, []);
  if (!value?.length) return null;
  return html`<section class="card flush"><h2 class="padded">Accounts</h2><${Scroll} label="Accounts"><table><thead><tr>
    <th>Account</th><th class="grow">Users</th><th>Groups</th><th>Default for</th></tr></thead>
    <tbody>${value.map(
      a =>
        html`<tr key=${a.path}><td><${Name} text=${a.path} /></td><td>
      <${Name} text=${(a.users ?? []).join(", ") || "–"} /></td><td>
      <${Name} text=${(a.groups ?? []).join(", ") || "–"} /></td><td>
      <${Name} text=${(a.default_for ?? []).join(", ") || "–"} /></td></tr>`,
    )}</tbody></table><//></section>`;
}

function Ranks() {
  const { value, error } = useRead("list-shares", {}, []);
  return html`<div class="page"><header class="bar-top"><h1>Fairshare</h1><span class="spring"></span>
    <${Command} text="qbshare" /></header>
    ${
      error
        ? html`<p class="field-error" role="alert">${plain(error.message)}</p>`
        : !value
          ? html`<${Wait} />`
          : value.length === 0
            ? html`<${Empty} title="Nobody has used the farm yet">Users with shares, credit, usage or a job are listed
              here by rank.<//>`
            : html`
    <section class="card flush">
      <h2 class="padded">Who is served first <span
      class="muted">among jobs of equal priority; a factor of 0.5 is exactly the share</span></h2>
      <${Scroll} label="Who is served first"><table>
      <thead><tr><th class="right">Rank</th><th>User</th><th class="hide-small">Account</th><th class="grow">Factor</th>
        <th class="right hide-small">Shares</th><th class="right">Entitled</th><th class="right">Received</th>
        <th class="right hide-small">Used</th><th class="right hide-small">Ahead</th></tr></thead>
      <tbody>${value.slice(0, 300).map(s => html`<${Standing} key=${`${s.user} ${s.account}`} s=${s} />`)}</tbody>
        </table><//>${
          value.length > 300 &&
          html`<p class="muted padded">and ${count(value.length - 300)} more; <code>qbshare</code> lists all</p>`
        }
        </section>`
    }
    <${Budgets} /><${Accounts} /></div>`;
}

function Sum({ x }) {
  const charged = x.lines.filter(l => l.charged).reduce((sum, l) => sum + l.decayed, 0),
    counts = x.ended + x.running + x.ahead;
  const unit = [
    [3600, "hours"],
    [1, "seconds"],
  ].find(([size]) => counts >= 100 * size) ?? [1, "seconds"];
  const hours = seconds => (seconds / unit[0]).toFixed(2); // all lines of a sum have one unit
  const line = (what, value, strong) =>
    html`<tr class=${strong ? "sum" : ""}><td colspan="4">${what}</td><td class="right">${value}</td></tr>`;
  const rows = x.lines.slice(-60);
  return html`<section class="card flush"><h2 class="padded">
    ${
      x.account ? `In ${plain(x.account)}` : "In no account"
    } <span class="muted">rank ${x.rank}, as of ${moment(x.at)}; CPU-equivalent ${unit[1]}</span></h2>
    <${Scroll} label="The ledger"><table><thead><tr><th>Day</th><th class="right">Attempts</th>
      <th class="right">Ran</th><th class="right">Charged</th><th class="right">Left of it now</th></tr></thead><tbody>
      ${
        x.lines.length > rows.length &&
        line(
          `${x.lines.length - rows.length} earlier days`,
          hours(
            x.lines
              .slice(0, -60)
              .filter(l => l.charged)
              .reduce((sum, l) => sum + l.decayed, 0),
          ),
        )
      }
      ${rows.map(
        l => html`<tr key=${`${l.day}${l.charged}`}><td>
        ${l.day.slice(0, 10)}${!l.charged && html` <span class="muted">charged to nobody</span>`}</td><td class="right">
        ${count(l.attempts)}</td><td class="right">${hours(l.wall_seconds)}</td><td class="right">${hours(l.charge)}
        </td><td class="right ${l.charged ? "" : "muted"}">${hours(l.decayed)}</td></tr>`,
      )}
      ${line("Sum of what was charged", hours(charged), true)}
      ${
        Math.abs(x.ended - charged) > 0.001 * Math.max(1, charged) &&
        line("Kept by the farm (the half-life was changed since)", hours(x.ended))
      }
      ${line("+ what runs, so far", hours(x.running))}${line(
        "+ what runs, still ahead by the mean of its jobs",
        hours(x.ahead),
      )}
      ${line("= usage that counts", hours(counts), true)}</tbody></table><//>
    <dl class="given padded"><dt>half-life</dt><dd>
      ${x.half_life_seconds > 0 ? span(x.half_life_seconds) : "none: nothing is forgotten"}</dd>
      <dt>shares</dt><dd>${x.shares.toPrecision(4)} = ${x.base_shares} × min(3, 1 + 0.25 ×
        credit ${x.credit.toPrecision(3)})</dd>
      <dt>entitled</dt><dd>${x.entitled.toFixed(6)} of the farm</dd><dt>received</dt><dd>
        ${x.received.toFixed(6)} of all usage that counts; with the account's part ${x.counted.toFixed(6)}</dd>
      <dt>factor</dt><dd><strong>${x.factor.toFixed(6)}</strong>
        ${
          x.rule === "tree"
            ? ` = 2^−(${x.counted.toFixed(6)} / ${x.entitled.toFixed(6)})`
            : " by place: accounts are compared first, by entitled / received"
        }</dd>
      <dt>decides</dt><dd>${
        x.multifactor_points
          ? `${(x.factor * x.multifactor_points).toFixed(1)} of each job's points`
          : x.order
            ? "the order of jobs of equal priority, in steps of 0.01"
            : "nothing now: supervisor_fairshare is off"
      }</dd>
        </dl></section>`;
}

function Explained({ user }) {
  const { value, error } = useRead("explain-share", { user }, [user]);
  return html`<div class="page"><header class="bar-top"><h1>
    <a href=${to(["fairshare"])}>Fairshare</a> <span class="muted">of</span> <${Name} text=${user} /></h1>
    <span class="spring"></span><${Command} text=${`qbshare -explain ${quoted(user)}`} /></header>
    ${
      error
        ? html`<${Empty} title=${plain(error.message)}><a href=${to(["fairshare"])}>Who has</a><//>`
        : !value
          ? html`<${Wait} />`
          : value.map(x => html`<${Sum} key=${x.account} x=${x} />`)
    }</div>`;
}

export const Fairshare = ({ path }) =>
  path[1] !== undefined ? html`<${Explained} key=${path[1]} user=${path[1]} />` : html`<${Ranks} />`;
