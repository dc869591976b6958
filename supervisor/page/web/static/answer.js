// An answer of the API that a view shows.
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "./session.js";

/**
 * useOf is a state that belongs to a question: to another one it is none, and what comes late of an earlier one is
 * left.
 */
export function useOf(question, none) {
  const [held, set] = useState({ of: question, value: none }),
    now = useRef(question);
  now.current = question;
  const mine = value => (value.of === question ? value.value : none);
  return [
    mine(held),
    next => {
      if (now.current === question)
        set(was => ({ of: question, value: typeof next === "function" ? next(mine(was)) : next }));
    },
  ];
}

/**
 * useAnswer asks the API, again when what it depends on changes, at most every pause milliseconds. The answer to
 * another question is none.
 */
export function useAnswer(id, params, depends, pause = 2000) {
  const of = id + JSON.stringify(params),
    none = { of, value: null, error: null };
  const [answer, setAnswer] = useState(none);
  const last = useRef({ of, at: 0 });
  useEffect(() => {
    let gone = false;
    if (last.current.of !== of) last.current = { of, at: 0 };
    const timer = setTimeout(
      async () => {
        last.current.at = Date.now();
        try {
          const value = await call(id, params);
          if (!gone) setAnswer({ of, value, error: null });
        } catch (error) {
          if (!gone) setAnswer(a => ({ ...(a.of === of ? a : none), error }));
        }
      },
      Math.max(0, pause - (Date.now() - last.current.at)),
    );
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, depends);
  return answer.of === of ? answer : none;
}
