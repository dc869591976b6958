// What failed in a job, by exit code and host, with the last lines of the first; and the jobs that it waits for and
// that wait for it.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "./answer.js";
import { endOf } from "./job.js";
import { codingOf, codingOfLog, linesOf, plainOf, textOf } from "./lines.js";
import { Change, Name, order, Reading, State } from "./parts.js";
import { refine, to } from "./route.js";
import { open } from "./session.js";
import { jobs } from "./store.js";
import { bytes, count, plain } from "./text.js";

const most = 1000,
  lastLines = 5,
  end = 8192; // items that are looked at; lines; bytes of the output

/** groupsOf are items by how they ended and where, the largest group first. */
function groupsOf(items) {
  const groups = new Map();
  for (const item of items) {
    const key = `${endOf(item)} ${item.host ?? ""}`,
      group = groups.get(key) ?? { key, exit: endOf(item), host: item.host ?? "", items: [] };
    group.items.push(item);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.items.length - a.items.length);
}

/** Last are the last lines of the output of an attempt. */
function Last({ id, item, attempt }) {
  const [lines, setLines] = useState(null);
  useEffect(() => {
    const stop = new AbortController(),
      { signal } = stop,
      of = { job: id, item, attempt, stream: "both" };
    open("item-log", { ...of, tail: end }, { signal })
      .then(async answer => {
        const begin = Math.max(0, Number(answer.headers.get("Qb-Log-Size") ?? 0) - end),
          all = new Uint8Array(await answer.arrayBuffer());
        const log = { bytes: all, ...linesOf(all, begin, begin ? await codingOfLog(of, signal) : codingOf(all)) };
        const texts = log.list.map(span => plainOf(textOf(log, span))).filter(text => text.trim());
        setLines(
          texts.length || !all.length ? texts.slice(-lastLines) : [`${bytes(all.length)} of output without text`],
        );
      })
      .catch(error => {
        if (!signal.aborted) setLines([error.message]);
      });
    return () => stop.abort();
  }, [id, item, attempt]);
  if (!lines) return html`<${Reading} />`;
  return lines.length
    ? html`<pre class="found" tabindex="0">${lines.map(line => plain(line.slice(-500))).join("\n")}</pre>`
    : html`<p class="muted">It wrote nothing.</p>`;
}

export function Failures({ id, job }) {
  const { value, error } = useAnswer("list-items", { job: id, status: "failed", limit: most }, [id, job.failed]);
  if (error) return html`<p class="bad-text">${plain(error.message)}</p>`;
  if (!value) return html`<${Reading} />`;
  if (!value.length) return null;
  const [first, second] = value,
    view = (item, text) => html`<a href=${to(["jobs", id, "items", item.name])}>${text}</a>`;
  return html`<div class="scroll"><table><thead><tr><th>Ended with</th><th>Host</th><th class="right">Items</th>
    <th class="grow">First</th><th></th></tr></thead>
      <tbody>${groupsOf(value)
        .slice(0, 8)
        .map(
          g => html`<tr key=${g.key}><td>
            <button type="button" class="quiet" title="Show these items"
            onClick=${() => refine({ state: "failed", exit: g.exit, on: g.host, items: "", tab: "" })}>${plain(g.exit)}
            </button></td>
        <td>${g.host && html`<a href=${to(["hosts", g.host])}><${Name} text=${g.host} /></a>`}</td><td class="right">
          ${count(g.items.length)}</td><td>
          ${view(g.items[0], html`<${Name} text=${g.items[0].name} />`)} <span class="muted">${plain(g.items[0].reason)}
          </span></td>
        <td class="right"><${Change} class="quiet"
          onClick=${() =>
            order(
              "retry",
              [Number(id)],
              g.items.map(i => i.name).join(","),
            )}>Retry the ${count(g.items.length)}${g.host && ` on ${plain(g.host)}`}…<//></td></tr>`,
        )}</tbody></table></div>
    ${value.length === most && html`<p class="note">The first ${count(most)} failed items.</p>`}
    ${
      first.attempt > 0 &&
      html`<p>The last lines of ${view(first, html`item <${Name} text=${first.name} />`)}${
        first.host && html` on ${plain(first.host)}`
      }${second && html`; next failure: ${view(second, html`item <${Name} text=${second.name} />`)}`}</p>
      <${Last} id=${id} item=${first.name} attempt=${first.attempt} />`
    }`;
}

const Other = ({ id, name = "", status = "" }) =>
  html`<a href=${to(["jobs", String(id)])}>${id} <${Name} text=${name} /></a>
    ${status && html` <${State} of=${status} />`} `;

/**
 * namesOf are the jobs that a dependency names, by number or label: 900, link-done-job-900,
 * link-complete-work-beauty:7, link-done-subjob-900.0.
 */
const namesOf = dependency => [
  ...new Set(
    dependency
      .split(",")
      .map(link => link.trim())
      .filter(Boolean)
      .map(link => {
        const [, job, work, instance] =
          /^link-\w+-(?:job-(.+)|work-(.+?)(?::[^:]*)?|subjob-(.+?)(?:\.\d+)?)$/.exec(link) ?? [];
        return job ?? work ?? instance ?? link;
      }),
  ),
];
const text = word => JSON.stringify(word);

/**
 * Meant are the jobs that a number or a label means: of a submission that became several jobs the last has both,
 * and they mean all.
 */
function Meant({ pgrp, name }) {
  const number = /^\d+$/.test(name),
    known = id => jobs.value.get(Number(id)) ?? { id };
  const { value } = useAnswer(
    "list-jobs",
    {
      expression: number ? `id = ${name}` : `pgrp = ${pgrp} and label = ${text(name)}`,
      limit: 1,
      fields: "id,name,status,before",
    },
    [pgrp, name],
  );
  if (value?.length)
    return [...(value[0].before ?? []).map(known), value[0]].map(j => html`<${Other} key=${j.id} ...${j} />`);
  return number ? html`<${Other} ...${known(name)} />` : html`<${Name} text=${name} /> `;
}

/** Links are the jobs that a job waits for, and those that wait for it. */
export function Links({ job }) {
  const { id, pgrp, label, dependency } = job,
    above = namesOf(dependency),
    most = 50;
  const named = [`${id}*`, `*-${id}*`, `*,${id}*`, `* ${id}*`].map(like => `dependency = ${text(like)}`);
  const expression = [...named, label && `(pgrp = ${pgrp} and dependency = ${text(`*-${label}*`)})`]
    .filter(Boolean)
    .join(" or ");
  const { value } = useAnswer(
    "list-jobs",
    { expression, status: "active", limit: most, fields: "id,name,status,pgrp,dependency" },
    [id, job.version, job.status],
  );
  const below = (value ?? []).filter(
    j => j.id !== id && namesOf(j.dependency).some(name => name === String(id) || (name === label && j.pgrp === pgrp)),
  );
  return html`${
    above.length > 0 &&
    html`<p class="facts-line">Waits for ${above.map(name => html`<${Meant} key=${name} pgrp=${pgrp} name=${name} />`)}
    </p>`
  }
    ${
      below.length > 0 &&
      html`<p class="facts-line">Waiting for it: ${below.map(
        j => html`<${Other} key=${j.id} ...${j} />`,
      )}${value.length === most && "and others"}</p>`
    }`;
}
