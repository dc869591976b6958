// What submitting would say, asked while somebody types.
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, may } from "./session.js";
import { count, plain } from "./text.js";

const ofItems = ["range", "chunk", "partitions", "order", "padding"];
const itemsOf = body => JSON.stringify(ofItems.map(name => body[name]));

/** placed are the messages of a refusal by field; "" is that of none. */
export function placed(refusal) {
  const at = {};
  for (const { location, message } of refusal.places ?? []) at[location?.split(".").at(-1) ?? ""] ??= message;
  return at;
}

/** ask checks a body; a field in which nothing was typed yet is not blamed. */
async function ask(body, draft) {
  const errors = {},
    rest = { ...body, command: body.command ?? [], tags: { ...body.tags } };
  if (!body.tags) delete rest.tags;
  try {
    for (let first = null, left = 12; ; left--) {
      // what is refused is left out, so that what else is wrong is found
      const reply = await call("check-submission", {}, { body: rest }),
        wrong = reply.refusals
          .map(r => r.member ?? "")
          .filter(
            member =>
              member && member !== "command" && (rest[member] !== undefined || rest.tags?.[member] !== undefined),
          );
      first ??= reply;
      for (const { member = "", message } of reply.refusals)
        if (member ? draft[member] : reply === first) errors[member] ??= message;
      if (!wrong.length || !left) return { errors, items: first.items, remarks: first.remarks };
      for (const member of wrong) {
        delete rest[member];
        delete rest.tags?.[member];
      }
    }
  } catch (error) {
    return { errors: placed(error), remarks: [] }; // what is no word on a field is said when the job is submitted
  }
}

/** useAsked is the last answer to a question about a body, and of which; it is asked once typing has rested. */
export function useAsked(ask, body, on) {
  const [said, setSaid] = useState({});
  const last = useRef({});
  const text = JSON.stringify(body);
  const run = async () => {
    const state = last.current;
    if (state.asking || state.gone) return; // once at a time
    const { ask, text } = state;
    state.asking = true;
    const answer = await ask();
    state.asking = false;
    if (state.gone) return;
    setSaid({ answer, text });
    if (state.text !== text) run();
  };
  useEffect(() => {
    Object.assign(last.current, { ask, text });
    if (!on) {
      setSaid({});
      return;
    }
    const timer = setTimeout(run, 300);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(
    () => () => {
      last.current.gone = true;
    },
    [],
  );
  return { answer: said.answer, now: said.text === text };
}

/** useCheck is what submitting a body would say. */
export function useCheck(body, draft) {
  const of = itemsOf(body),
    on = may("check-submission") && Boolean(body.command || body.range),
    { answer, now } = useAsked(async () => ({ ...(await ask(body, draft)), of }), body, on);
  return {
    errors: (now && answer?.errors) || {},
    remarks: (now && answer?.remarks) || [],
    items: (answer?.of === of && answer.items) || null,
  };
}

/** Items are those of a range: how many, the first and the last. */
export function Items({ of }) {
  const names = [...of.first, ...(of.last.length ? ["…"] : []), ...of.last].map(plain).join(" ");
  return html`<span class="note" role="status">→ ${count(of.count)} item${of.count === 1 ? "" : "s"}: <bdi>${names}
    </bdi>${of.order !== "ascend" && html`, in ${of.order} order`}</span>`;
}
