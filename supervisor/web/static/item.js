// An item: every attempt, and the output of one.
import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { open } from "./session.js";
import { jobs } from "./store.js";
import { order } from "./actions.js";
import { refine, route, to } from "./route.js";
import { useAnswer } from "./answer.js";
import { AttemptTable } from "./job.js";
import { Change, Command, Empty, Name, State } from "./parts.js";
import { bytes, count, plain, quoted } from "./text.js";

const most = 400_000; // characters of a log that are held
const tail = 262_144; // bytes that are asked for

/** useLog reads the end of a log and, if wanted, what comes. */
function useLog(job, item, attempt, stream, follow) {
  const [log, setLog] = useState({ text: "", size: 0, state: "reading", error: "" });
  useEffect(() => {
    if (!attempt) { setLog({ text: "", size: 0, state: "none", error: "" }); return; }
    const stop = new AbortController();
    let text = "", drawn = 0, size = 0;
    const draw = state => { // the first line is a part of one
      drawn = 0;
      setLog({ text: size > tail ? text.slice(text.indexOf("\n") + 1) : text, size, state, error: "" });
    };
    (async () => {
      try {
        const answer = await open("item-log", { job, item, attempt, stream, tail, follow: follow || undefined }, { signal: stop.signal });
        size = Number(answer.headers.get("Qb-Log-Size") ?? 0);
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          text = (text + value).slice(-most);
          drawn ||= setTimeout(() => draw("reading"), 100);
        }
        clearTimeout(drawn);
        draw("whole");
      } catch (error) {
        clearTimeout(drawn);
        if (!stop.signal.aborted) setLog({ text, size, state: "cut", error: error.status ? error.message : "the connection was closed" });
      }
    })();
    return () => { stop.abort(); clearTimeout(drawn); };
  }, [job, item, attempt, stream, follow]);
  return log;
}

// Colours of a terminal become classes; other escapes are shown.
const escape = /\u001b\[([\d;]*)m/;
function coloured(line) {
  const pieces = line.split(escape);
  if (pieces.length === 1) return plain(line);
  const out = [];
  let colour = "";
  pieces.forEach((piece, n) => {
    if (n % 2) {
      const codes = piece.split(";").map(Number);
      const found = codes.find(c => (c >= 30 && c <= 37) || (c >= 90 && c <= 97));
      colour = found ? `ansi-${found % 10}` : codes.includes(0) || piece === "" ? "" : colour;
    } else if (piece) out.push(colour ? html`<span class=${colour}>${plain(piece)}</span>` : plain(piece));
  });
  return out;
}

const lineHeight = 18, longest = 2000;

/** Lines draws the lines that are seen. Those of a log that is cut have no numbers: nobody counted what is before them. */
function Lines({ text, find, at, follow, cut }) {
  const box = useRef(null);
  const [view, setView] = useState({ top: 0, height: 480 });
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  const look = () => box.current && setView({ top: box.current.scrollTop, height: box.current.clientHeight });
  useEffect(() => { if ((follow || cut) && box.current) box.current.scrollTop = box.current.scrollHeight; look(); }, [text, follow]);
  useEffect(() => { if (at >= 0 && box.current) box.current.scrollTop = Math.max(0, at * lineHeight - view.height / 2); }, [at]);
  const first = Math.max(0, Math.floor(view.top / lineHeight) - 20), end = Math.min(lines.length, first + Math.ceil(view.height / lineHeight) + 40);
  return html`<div class="log" ref=${box} onScroll=${look} tabindex="0" role="region" aria-label="Output"><div style=${{ height: `${lines.length * lineHeight}px` }}>
    <div class="log-lines" style=${{ transform: `translateY(${first * lineHeight}px)` }}>${lines.slice(first, end).map((line, i) => html`
      <div key=${first + i} class="log-line ${at === first + i ? "found" : find && line.includes(find) ? "match" : ""}"><span class="line-number">${cut ? "" : first + i + 1}</span><span>${coloured(line.slice(0, longest))}${line.length > longest && html`<em class="muted"> … ${count(line.length - longest)} more characters; download the log</em>`}</span></div>`)}</div></div></div>`;
}

export function Item({ id, item }) {
  const query = route.value.query, row = jobs.value.get(Number(id));
  const found = useAnswer("get-item", { job: id, item }, [id, item, row?.complete, row?.failed, row?.running, row?.killed]);
  const list = found.value?.attempts ?? [];
  const attempt = Number(query.get("attempt")) || list.at(-1)?.attempt || 0;
  const stream = query.get("stream") ?? "both", follow = query.get("follow") === "1", find = query.get("find") ?? "";
  const log = useLog(id, item, attempt, stream, follow);
  const [hit, setHit] = useState(0);
  const hits = useMemo(() => (find ? log.text.split("\n").flatMap((line, n) => (line.includes(find) ? [n] : [])) : []), [log.text, find]);
  if (found.error && !found.value) return html`<${Empty} title=${found.error.message}><a href=${to(["jobs"])}>All jobs</a><//>`;
  const latest = list.at(-1), at = hits.length ? hits[Math.min(hit, hits.length - 1)] : -1;
  const download = async () => {
    const answer = await open("item-log", { job: id, item, attempt, stream });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `job-${id}-item-${item.replace(/[^\w.-]/g, "_")}-attempt-${attempt}.log`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };
  return html`<div class="page">
    <header class="bar-top"><h1><a class="muted" href=${to(["jobs", id])}>${id} ${row && html`<${Name} text=${row.name} />`}</a> / <${Name} text=${item} /></h1>${latest && html`<${State} of=${latest.state} />`}<span class="spring"></span>
      <${Change} class="quiet" onClick=${() => order("retry", [Number(id)], item)}>Retry…<//><${Change} class="danger quiet" onClick=${() => order("kill", [Number(id)], item)}>Kill…<//></header>
    <section class="card flush"><h2 class="padded">Attempts</h2>${list.length ? html`<${AttemptTable} job=${id} list=${list} chosen=${attempt} />` : html`<${Empty} title=${found.value ? "This item has not started yet" : "…"} />`}</section>
    <section class="card flush"><div class="row padded"><h2>Output${attempt ? ` of attempt ${attempt}` : ""}</h2>
      <div class="chips">${["stdout", "stderr", "both"].map(s => html`<button class="chip" aria-pressed=${stream === s} onClick=${() => refine({ stream: s === "both" ? "" : s })}>${s}</button>`)}</div>
      <label class="filter small"><span class="sr">Find in the output</span><input type="search" placeholder="Find" value=${find} onInput=${e => { setHit(0); refine({ find: e.currentTarget.value }); }}
        onKeyDown=${e => { if (e.key === "Enter") setHit(h => (h + (e.shiftKey ? hits.length - 1 : 1)) % Math.max(1, hits.length)); }} /></label>
      ${find && html`<span class="muted">${hits.length ? `${Math.min(hit, hits.length - 1) + 1} of ${count(hits.length)}` : "not found in what is shown"}</span>`}
      <span class="spring"></span>
      <button class="quiet" aria-pressed=${follow} onClick=${() => refine({ follow: follow ? "" : "1" })}>${follow ? "Following" : "Follow"}</button>
      <button class="quiet" disabled=${!attempt} onClick=${download}>Download${log.size ? ` ${bytes(log.size)}` : ""}</button></div>
      ${log.error ? html`<p class="bad-text padded">${log.error}</p>` : !log.text ? html`<${Empty} title=${log.state === "reading" ? "Reading…" : attempt ? "No output" : "Nothing has run yet"} />` : null}
      ${log.size > tail && html`<p class="muted padded">The last ${bytes(tail)} of ${bytes(log.size)}; download the log for all.</p>`}
      ${log.text && html`<${Lines} text=${log.text} find=${find} at=${at} follow=${follow} cut=${log.size > tail} />`}
      <p class="padded"><${Command} text=${`qbout ${quoted(`${id}:${item}`)}`} /></p></section>
  </div>`;
}
