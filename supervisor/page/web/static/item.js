// An item: every attempt, and the output of one.
import { html } from "htm/preact";
import { useAnswer } from "./answer.js";
import { isSession } from "./headings.js";
import { AttemptTable } from "./job.js";
import { Log } from "./log.js";
import { Change, Empty, Name, order, Reading, State } from "./parts.js";
import { Picture } from "./pictures.js";
import { route, to } from "./route.js";
import { jobs } from "./store.js";
import { plain } from "./text.js";

export function Item({ id, item }) {
  const row = jobs.value.get(Number(id)),
    found = useAnswer("get-item", { job: id, item }, [
      id,
      item,
      row?.version,
      row?.complete,
      row?.failed,
      row?.running,
      row?.killed,
    ]);
  const list = found.value?.attempts ?? [],
    latest = list.at(-1),
    attempt = Number(route.value.query.get("attempt")) || latest?.attempt || 0;
  const full = useAnswer("get-job", { job: id }, [id]),
    status = found.value?.item.status,
    shown = list.find(a => a.attempt === attempt);
  if (found.error && !found.value)
    return html`<${Empty} title=${found.error.message}><a href=${to(["jobs"])}>All jobs</a><//>`;
  return html`<div class="page">
    <header class="bar-top"><h1><a class="muted" href=${to(["jobs", id])}>
      ${id} ${row && html`<${Name} text=${row.name} />`}</a> / <${Name} text=${item} /></h1>
      ${latest && html`<${State} of=${latest.state} />`}<span class="spring"></span>
      ${
        shown &&
        full.value?.type === "loadonce" &&
        html`<a href=${to(["jobs", id, "instances", shown.instance.split(".")[1]])}>Instance ${shown.instance}</a>`
      }
      ${
        ["failed", "killed", "complete"].includes(status) &&
        html`<${Change} class="quiet" onClick=${() => order("retry", [Number(id)], item)}>Retry…<//>`
      }${
        ["pending", "blocked", "running"].includes(status) &&
        html`<${Change} class="danger quiet" onClick=${() => order("kill", [Number(id)], item)}>Kill…<//>`
      }</header>
    <section class="card flush"><h2 class="padded">Attempts</h2>
      ${
        list.length
          ? html`<${AttemptTable} job=${id} list=${list} chosen=${attempt} />`
          : found.value
            ? html`<${Empty} title="This item has not started yet" />`
            : html`<${Reading} />`
      }</section>
    ${
      full.value?.validate?.length > 0 &&
      list.some(a => a.attempt === attempt && a.state === "done") &&
      html`<section class="card pictures one"><${Picture} key=${attempt} job=${id} item=${item} attempt=${attempt} />
      </section>`
    }
    ${list
      .filter(a => a.attempt === attempt && (a.highlights || a.outputpaths))
      .map(
        a => html`<section key=${attempt} class="card">
      ${
        a.highlights &&
        html`<h2>Highlights</h2><pre class="found" tabindex="0">${a.highlights.map(plain).join("\n")}
        </pre>`
      }${
        a.outputpaths &&
        html`<h2>Output files</h2><pre class="found" tabindex="0">${a.outputpaths.map(plain).join("\n")}</pre>`
      }
        </section>`,
      )}
    ${
      attempt > 0 &&
      html`<${Log} key=${attempt} id=${id} item=${item} attempt=${attempt} session=${isSession(full.value)} />`
    }
  </div>`;
}
