// What runs in the slots of every host, read again and again while the page is live and the view is seen.
import { useEffect, useState } from "preact/hooks";
import { call } from "./session.js";
import { link } from "./store.js";

const kinds = { p: "primary", s: "secondary", d: "stopping" };

/** read turns columns into rows: of each host its parts, in slots. */
export function read(map) {
  let at = 0;
  return map.hosts.map((name, n) => {
    const parts = [];
    let job = 0;
    for (let left = map.runs[n]; left > 0; left--, at++) {
      job += map.jobs[at];
      parts.push({ job, kind: kinds[map.kinds[at]], each: map.each[at], count: map.count[at] });
    }
    return {
      name,
      slots: map.slots[n],
      foreign: map.foreign[n],
      state: { u: "up", k: "locked", n: "unreachable", l: "lost" }[map.states[n]],
      parts,
    };
  });
}

/** useSlots is the map, asked for every so many milliseconds. */
export function useSlots(every) {
  const [answer, setAnswer] = useState({});
  const seen = link.value.state === "live";
  useEffect(() => {
    if (!seen) return; // the stream is cut, or the tab is hidden
    const stop = new AbortController();
    let timer = 0;
    const look = () =>
      call("slot-map", {}, { signal: stop.signal })
        .then(
          map => setAnswer({ rows: read(map) }),
          error => {
            if (!stop.signal.aborted) setAnswer(was => ({ ...was, error }));
          },
        )
        .finally(() => {
          if (!stop.signal.aborted) timer = setTimeout(look, every);
        });
    look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [seen]);
  return answer;
}
