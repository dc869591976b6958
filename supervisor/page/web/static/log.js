// The output of an attempt: its end, or a part of it around a place, and the lines that have a text, which the
// server finds in all of it.
import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Headings, headingsOf } from "./headings.js";
import { codingOf, codingOfLog, cutOf, lineAt, linesOf, piecesOf, plainOf, textOf } from "./lines.js";
import { Command, Empty, Reading } from "./parts.js";
import { refine, route } from "./route.js";
import { call, open } from "./session.js";
import { bytes, count, plain, quoted } from "./text.js";

const most = 400_000; // bytes of a log that are held
const tail = 262_144; // bytes that are asked for at its end
const block = 65_536; // bytes; a part of a log is four, and begins at one
const hitsMost = 2000;

const nothing = { key: "", bytes: new Uint8Array(0), list: [], begin: 0, size: 0, error: "" };

/**
 * useLog reads the end of a log and, if wanted, what comes; or the part of it that begins at a byte, for another
 * that is looked for.
 */
function useLog(job, item, attempt, stream, follow, from, at) {
  const key = JSON.stringify([job, item, attempt, stream, from]),
    [log, setLog] = useState(nothing),
    known = useRef(0);
  useEffect(() => {
    const stop = new AbortController();
    let held = new Uint8Array(0),
      pieces = [],
      drawn = 0,
      begin = from ?? 0,
      coding = "";
    const draw = (state, error = "") => {
      drawn = 0;
      const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, held.length));
      let at = 0;
      for (const piece of [held, ...pieces]) {
        all.set(piece, at);
        at += piece.length;
      }
      if (begin === 0) coding = codingOf(all);
      held = all.subarray(Math.max(0, all.length - most));
      begin += all.length - held.length;
      pieces = [];
      setLog({ key, bytes: held, coding, begin, size: known.current, state, error });
    };
    (async () => {
      try {
        const part = from === null ? { tail, follow: follow || undefined } : { offset: from, limit: 4 * block };
        const answer = await open("item-log", { job, item, attempt, stream, ...part }, { signal: stop.signal });
        if (from === null) {
          known.current = Number(answer.headers.get("Qb-Log-Size") ?? 0);
          begin = Math.max(0, known.current - tail);
        }
        if (begin > 0) coding = await codingOfLog({ job, item, attempt, stream }, stop.signal);
        const reader = answer.body.getReader();
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          pieces.push(value);
          drawn ||= setTimeout(() => draw("reading"), 100);
        }
        clearTimeout(drawn);
        draw("whole");
      } catch (error) {
        clearTimeout(drawn);
        if (!stop.signal.aborted) draw("cut", error.status ? error.message : "the connection was closed");
      }
    })();
    return () => {
      stop.abort();
      clearTimeout(drawn);
    };
  }, [key, follow]);
  const lines = useMemo(() => linesOf(log.bytes, log.begin, log.coding, at ?? 0), [log, at]);
  return log.key === key ? { ...log, ...lines } : { ...nothing, size: known.current, state: "reading" };
}

/** useHits has the lines that have a text found, a part of the log at a time. */
function useHits(job, item, attempt, stream, find, state) {
  const none = { of: "", list: [], busy: false, complete: true, searched: 0, error: "" };
  const [hits, setHits] = useState(none);
  useEffect(() => {
    if (!find || !attempt) {
      setHits(none);
      return;
    }
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      const list = [];
      let next = 0,
        complete = false,
        error = "";
      setHits(h => ({ ...h, busy: true }));
      try {
        while (!complete && list.length < hitsMost) {
          const found = await call(
            "find-in-log",
            { job, item, attempt, stream, text: find, offset: next || undefined, limit: 500 },
            { signal: stop.signal },
          );
          list.push(...found.matches);
          ({ next, complete } = found);
          setHits({ of: find, list: list.slice(), busy: !complete, complete, searched: next, error });
        }
      } catch (e) {
        if (stop.signal.aborted) return;
        error = e.message;
      }
      setHits({ of: find, list, busy: false, complete, searched: next, error });
    }, 350);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [job, item, attempt, stream, find, state === "whole"]);
  return hits;
}

const coloured = pieces =>
  pieces.map(({ colour, text }) => (colour ? html`<span class=${colour}>${plain(text)}</span>` : plain(text)));

const lineHeight = 18,
  longest = 2000,
  part = 500; // pixels; characters of a line that are all shown, or in a part of it

/**
 * Text is a line; of a long one its begin, what is found in it, and its end, where an error or the newest progress
 * stands.
 */
function Text({ line, find }) {
  const pieces = piecesOf(line),
    text = plainOf(line),
    { length } = text;
  if (length <= longest) return html`<span>${coloured(pieces)}</span>`;
  const around = Math.max(0, (find ? text.indexOf(find) : 0) - part / 2);
  let end = 0;
  return html`<span>${[
    [0, 3 * part],
    [around, around + part],
    [length - part, length],
  ].map(([from, to]) => {
    const begin = Math.max(end, from),
      left = begin - end;
    end = Math.max(end, to);
    return html`${
      left > 0 && html`<em class="muted"> … ${count(left)} more characters; download the log … </em>`
    }${coloured(cutOf(pieces, begin, end))}`;
  })}</span>`;
}

/** Lines draws the lines that are seen; first is the number of the first, 0 if nobody counted what is before it. */
function Lines({ log, first: number, find, at, end, headings }) {
  const lines = log.list;
  const box = useRef(null);
  const [view, setView] = useState({ top: 0, height: 480 });
  const heads = useMemo(() => new Set(headings.map(h => h.line)), [headings]);
  const look = () => box.current && setView({ top: box.current.scrollTop, height: box.current.clientHeight });
  useEffect(() => {
    if (end && box.current) box.current.scrollTop = box.current.scrollHeight;
    look();
  }, [lines, end]);
  useEffect(() => {
    if (at >= 0 && box.current) box.current.scrollTop = Math.max(0, at * lineHeight - view.height / 2);
  }, [at, lines]);
  const first = Math.max(0, Math.floor(view.top / lineHeight) - 20),
    last = Math.min(lines.length, first + Math.ceil(view.height / lineHeight) + 40);
  return html`<div class="log" ref=${box} onScroll=${look} tabindex="0" role="region" aria-label="Output">
    <div style=${{ height: `${lines.length * lineHeight}px` }}>
    <div class="log-lines" style=${{ transform: `translateY(${first * lineHeight}px)` }}>${lines
      .slice(first, last)
      .map((span, i) => {
        const line = textOf(log, span);
        return html`<div key=${first + i}
          class="log-line ${at === first + i ? "found" : find && plainOf(line).includes(find) ? "match" : ""} ${
            heads.has(first + i) ? "heading" : ""
          }">
          <span class="line-number">${number ? count(number + first + i) : ""}</span>
          <${Text} line=${line} find=${find} /></div>`;
      })}</div></div></div>`;
}

export function Log({ id, item, attempt, session }) {
  const query = route.value.query,
    stream = query.get("stream") ?? "both",
    follow = query.get("follow") === "1",
    find = query.get("find") ?? "";
  const at = /^\d+$/.test(query.get("at") ?? "") ? Number(query.get("at")) : null;
  const ends = useRef(0); // where the end that is asked for begins, once it is known
  const from =
    at === null || (ends.current && at >= ends.current) ? null : Math.max(0, Math.floor(at / block) * block - block);
  const log = useLog(id, item, attempt, stream, follow, from, at),
    hits = useHits(id, item, attempt, stream, find, log.state);
  if (from === null && log.size > tail) ends.current = log.begin;
  else if (from === null && log.state === "whole") ends.current = 0;
  const line = useMemo(() => (at === null ? -1 : lineAt(log.list, log.begin, at)), [log.list, log.begin, at]);
  const headings = useMemo(() => (session ? headingsOf(log) : []), [session, log.list, log.begin]);
  const list = hits.of === find ? hits.list : [],
    shown = at === null ? -1 : list.findLastIndex(h => h.line_offset <= at && h.offset >= at),
    hit = list[shown];
  const number = log.begin === 0 ? 1 : hit && line >= 0 ? hit.line - line : 0;
  const jump = step => {
    if (!list.length) return;
    const next = shown >= 0 ? (shown + step + list.length) % list.length : step > 0 ? 0 : list.length - 1;
    const { offset, line_offset: begin } = list[next];
    refine({ at: String(offset - begin < block ? begin : offset), follow: "" }); // the part around it has as much
  };
  const move = by =>
    refine({ at: String(Math.max(0, (from ?? Math.max(0, log.size - tail)) + by * 3 * block + block)), follow: "" });
  const download = async () => {
    const answer = await open("item-log", { job: id, item, attempt, stream });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `job-${id}-item-${item.replace(/[^\w.-]/g, "_")}-attempt-${attempt}.log`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };
  const found =
    hits.error ||
    (!find
      ? ""
      : hits.of !== find || (hits.busy && !list.length)
        ? `searching${hits.searched ? `, ${bytes(hits.searched)} done` : ""}…`
        : !list.length
          ? "not found"
          : `${shown >= 0 ? `${count(shown + 1)} of ` : ""}${count(list.length)}${
              hits.complete ? "" : "+"
            } line${list.length === 1 ? "" : "s"}`);
  const cut = log.begin > 0 || from !== null;
  return html`<section class="card flush"><div class="row padded"><h2>Output${attempt ? ` of attempt ${attempt}` : ""}
    </h2>
      <div class="chips">${["stdout", "stderr", "both"].map(
        s =>
          html`<button type="button" class="chip" aria-pressed=${stream === s}
        onClick=${() => refine({ stream: s === "both" ? "" : s, at: "" })}>${s}</button>`,
      )}</div>
      <label class="filter small"><span class="sr">Find in the whole output</span>
        <input type="search" placeholder="Find in the whole output" value=${find}
        onInput=${e => refine({ find: e.currentTarget.value })}
        onKeyDown=${e => {
          if (e.key === "Enter") {
            e.preventDefault();
            jump(e.shiftKey ? -1 : 1);
          }
        }} /></label>
      ${
        find &&
        html`<button type="button" class="quiet" aria-label="Previous line that has it" title="Shift Enter"
        disabled=${!list.length} onClick=${() => jump(-1)}>↑</button>
        <button type="button" class="quiet" aria-label="Next line that has it" title="Enter" disabled=${!list.length}
        onClick=${() => jump(1)}>↓</button><span class="muted" role="status">${found}</span>`
      }
      <span class="spring"></span>
      <button type="button" class="quiet" aria-pressed=${follow}
        onClick=${() => refine({ follow: follow ? "" : "1", at: "" })}>${follow ? "Following" : "Follow"}</button>
      <button type="button" class="quiet" disabled=${!attempt} onClick=${download}>Download${
        log.size ? ` ${bytes(log.size)}` : ""
      }</button></div>
    ${
      log.error
        ? html`<p class="bad-text padded">${log.error}</p>`
        : log.list.length
          ? null
          : log.state === "reading"
            ? html`<${Reading} />`
            : html`<${Empty} title=${
                log.bytes.length
                  ? `${bytes(log.bytes.length)} of output without text`
                  : from === null
                    ? "No output"
                    : `No output from byte ${count(from)} on`
              } />`
    }
    ${
      cut &&
      log.bytes.length > 0 &&
      html`<div class="row padded"><span class="muted">
        ${
          from === null
            ? `The last ${bytes(tail)} of ${bytes(log.size)}; download the log for all.`
            : `${bytes(log.bytes.length)} from byte ${count(log.begin)} on${log.size ? ` of ${bytes(log.size)}` : ""}`
        }
        </span><span class="spring"></span>
      <button type="button" class="quiet" disabled=${log.begin === 0} onClick=${() => move(-1)}>Earlier</button>
        ${
          from !== null &&
          html`<button type="button" class="quiet" onClick=${() => move(1)}>Later</button>
        <button type="button" class="quiet" onClick=${() => refine({ at: "" })}>The end</button>`
        }</div>`
    }
    ${headings.length > 0 && html`<${Headings} of=${headings} cut=${cut} />`}
    ${
      log.list.length > 0 &&
      html`<${Lines} log=${log} first=${number} find=${find} at=${line} end=${at === null && (follow || cut)}
        headings=${headings} />`
    }
    <p class="padded"><${Command}
      text=${`${
        stream === "stderr" ? "qberr" : "qbout"
      } ${quoted(`${id}:${item}`)} -attempt ${attempt}${stream === "both" ? " -both" : ""}${
        find ? ` | grep -aF -e ${quoted(find)}` : ""
      }`} /></p></section>`;
}
