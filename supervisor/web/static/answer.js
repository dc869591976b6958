// An answer of the API that a view shows.
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "./session.js";

/** useAnswer asks the API, again when what it depends on changes, at most every pause milliseconds. */
export function useAnswer(id, params, depends, pause = 2000) {
  const [answer, setAnswer] = useState({ value: null, error: null });
  const last = useRef(0);
  useEffect(() => {
    let gone = false;
    const timer = setTimeout(async () => {
      last.current = Date.now();
      try {
        const value = await call(id, params);
        if (!gone) setAnswer({ value, error: null });
      } catch (error) {
        if (!gone) setAnswer(a => ({ ...a, error }));
      }
    }, Math.max(0, pause - (Date.now() - last.current)));
    return () => { gone = true; clearTimeout(timer); };
  }, depends);
  return answer;
}
