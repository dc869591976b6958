// Pictures of what items wrote. Only those that are seen are asked for, a few at a time, the latest seen first.
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "./answer.js";
import { Empty, Name, Reading } from "./parts.js";
import { refine, route, to } from "./route.js";
import { open } from "./session.js";
import { plain } from "./text.js";

const atOnce = 4,
  page = 48,
  queue = [];
let busy = 0;

function next() {
  for (; busy < atOnce && queue.length; busy++)
    queue
      .pop()()
      .finally(() => {
        busy--;
        next();
      });
}
const ask = load => {
  queue.push(load);
  next();
};

/** Picture is that of an attempt; one that has just ended may not have it yet. */
export function Picture({ job, item, attempt }) {
  const box = useRef(null),
    [why, setWhy] = useState("…"),
    loading = why === "…";
  useEffect(() => {
    const stop = new AbortController(),
      { signal } = stop;
    let tries = 0;
    const load = async () => {
      try {
        const image =
          signal.aborted ||
          (await createImageBitmap(await (await open("item-picture", { job, item, attempt }, { signal })).blob()));
        if (signal.aborted) return;
        Object.assign(box.current, { width: image.width, height: image.height });
        box.current.getContext("2d").drawImage(image, 0, 0);
        setWhy("");
      } catch (error) {
        if (signal.aborted) return;
        if (error.code === "picture_none" && ++tries < 4) setTimeout(ask, 1500 * tries, load);
        else setWhy(error.message);
      }
    };
    const observer = new IntersectionObserver(seen => {
      if (seen.some(e => e.isIntersecting)) {
        observer.disconnect();
        ask(load);
      }
    });
    observer.observe(box.current);
    return () => {
      stop.abort();
      observer.disconnect();
    };
  }, [job, item, attempt]);
  return html`<canvas ref=${box} class=${loading ? "loading" : ""} width="160" height="90" role="img"
    aria-label=${why || `Picture of item ${plain(item)}`}></canvas>
    ${why && !loading && html`<span class="muted">${plain(why)}</span>`}`;
}

/** Pictures are those of the complete items of a job, from one on. */
export function Pictures({ id, job }) {
  const from = Number(route.value.query.get("from")) || 0;
  const { value, error } = useAnswer("list-items", { job: id, status: "complete", after: from - 1, limit: page }, [
    id,
    from,
    job.complete,
    job.version,
  ]);
  if (error) return html`<p class="bad-text">${error.message}</p>`;
  if (!value) return html`<${Reading} />`;
  return html`<section class="card">${
    value.length
      ? html`<div class="pictures">
        ${value.map(
          i => html`<a key=${`${i.number} ${i.attempt}`} href=${to(["jobs", id, "items", i.name])}>
        <${Picture} job=${id} item=${i.name} attempt=${i.attempt} /><${Name} text=${i.name} /></a>`,
        )}</div>`
      : html`<${Empty} title="No item is complete from here on" />`
  }
    <div class="row"><button type="button" class="quiet" disabled=${!from}
      onClick=${() => refine({ from: "" })}>First</button>
      <button type="button" class="quiet" disabled=${value.length < page}
        onClick=${() => refine({ from: String(value.at(-1).number + 1) })}>Next ${page}</button></div></section>`;
}
