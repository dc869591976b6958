// The form of a submission. Five fields; Expert Mode has all that qbsub takes, made from the table of the
// attributes of a job.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import attributes from "./attributes.js";
import { placed, useCheck } from "./check.js";
import { Field, Head, known, useDraft, Width } from "./fields.js";
import { Change, Command, confirm, Later, Reading, say } from "./parts.js";
import { go, route } from "./route.js";
import { call, me } from "./session.js";
import { basic, command, given, request } from "./submission.js";
import { plain } from "./text.js";

const groups = [
  [
    "Items",
    [
      "chunk",
      "partitions",
      "order",
      "padding",
      "p_agenda",
      "p_agenda_priority",
      "p_agenda_cpus",
      "regex_progress",
      "regex_errors",
      "regex_highlights",
      "regex_outputpaths",
      "retrywork",
      "retrywork_delay",
      "preflights",
      "postflights",
      "agenda_preflights",
      "agenda_postflights",
      "validate",
      "retrysubjob",
      "timeout",
      "agenda_timeout",
      "timelimit",
      "agendatimelimit",
    ],
  ],
  [
    "Where it runs",
    ["cluster", "hosts", "omithosts", "groups", "omitgroups", "requirements", "restrictions", "hostorder"],
  ],
  ["When and how", ["shell", "env", "umask", "pathmap", "start", "dependency", "flags", "mailaddress"]],
  ["Together with others", ["pgrp", "label", "kind", "pid", "notes"]],
];

/** stands says whether a submission may go on: it does now what was shown, or somebody was asked. */
async function stands(shown, now) {
  const was = shown.submission.start,
    is = now.submission.start;
  if (was === is && now.stopped <= shown.stopped) return true;
  return confirm({
    title: "The answer has changed since it was shown",
    text: "Nothing was submitted yet.",
    label: "Submit anyway",
    list: [`start: shown ${was}, now ${is}`, `items that stop: shown ${shown.stopped}, now ${now.stopped}`],
  });
}

const trials = () => import("./whatif.js").then(module => module.Trial);

const template = () => import("./template.js").then(module => module.Template);

export const Submit = ({ path }) =>
  path[1] === "template" || path[1] === "type"
    ? html`<${Later} key=${path[1]} load=${template} path=${path} />`
    : html`<${Form} path=${path} />`;

function Form({ path }) {
  const from = route.value.query.get("from");
  const [draft, setDraft] = useDraft("qb-draft");
  const [errors, setErrors] = useState({});
  const [sending, setSending] = useState(false);
  const [trial, setTrial] = useState(null); // the answer, and the body that it is of
  const [filled, setFilled] = useState(null); // the job of which the form is
  const expert = Boolean(draft.expert);
  useEffect(() => {
    if (!from) return;
    call("archive-job", { job: from })
      .then(
        ({ submission }) => {
          if (submission.user !== me.value.user)
            say(`the environment of ${submission.user}'s job is not shown; what it has by name is missing here`, {
              bad: true,
            });
          setDraft(d => {
            const draft = given(submission, me.value.user);
            return { ...draft, expert: d.expert || draft.expert };
          });
        },
        error => say(error.message, { bad: true }),
      )
      .finally(() => setFilled(from));
  }, [from]);
  const set = (name, value) => {
    setDraft(d => ({ ...d, [name]: value }));
    setErrors(e => ({ ...e, [name]: undefined, "": undefined }));
  };
  const { body, wrong } = request(draft, expert);
  const checked = useCheck(body, draft);
  const wrongs = { ...checked.errors };
  // Nothing is said of what was not typed yet
  for (const [name, text] of Object.entries(wrong)) if (draft[name]) wrongs[name] = text;
  for (const [name, text] of Object.entries(errors)) if (text) wrongs[name] = text;
  // A command that leaves out what is wrong is another one
  const good = !Object.keys(wrong).length && !Object.keys(wrongs).length;
  const refused = error => {
    const at = placed(error);
    setErrors(Object.keys(at).some(name => known.has(name)) ? at : { "": error.message });
  };
  const submit = async event => {
    event.preventDefault();
    if (Object.keys(wrong).length) return setErrors(wrong);
    setSending(true);
    try {
      if (tried && !(await stands(trial.reply, await tryIt()))) return setSending(false);
      const reply = await call("submit", {}, { body });
      for (const remark of reply.remarks) say(remark);
      say(
        reply.before
          ? `jobs ${[...reply.before, reply.job].join(", ")} are submitted`
          : `job ${reply.job} is submitted`,
      );
      go(["jobs", String(reply.job)]);
    } catch (error) {
      refused(error);
    }
    setSending(false);
  };
  const text = JSON.stringify(body),
    tried = trial?.text === text;
  const tryIt = async () => {
    const reply = await call("try-submission", {}, { body });
    setTrial({ text, reply });
    return reply;
  };
  const ask = async () => {
    if (Object.keys(wrong).length) return setErrors(wrong);
    try {
      await tryIt();
    } catch (error) {
      setTrial(null);
      refused(error);
    }
  };
  const field = name =>
    html`<${Field} key=${name} attribute=${known.get(name)} draft=${draft} set=${set} error=${wrongs[name]}
      items=${name === "range" && checked.items} />`;
  const others = attributes.filter(
    a =>
      a.help &&
      !basic.includes(a.name) &&
      !groups.some(([, names]) => names.includes(a.name)) &&
      !["env", "command", "shell", "max_cpus"].includes(a.name),
  );
  if (from && filled !== from) return html`<div class="page"><${Head} path=${path} /><${Reading} /></div>`;
  return html`<form class="page form" onSubmit=${submit} noValidate>
    <${Head} path=${path} clear=${() => {
      setDraft({ expert: draft.expert });
      setErrors({});
    }} />
    <section class="card"><div class="fields">${basic.map(field)}</div></section>
    <label class="choice">
      <input type="checkbox" checked=${expert} onChange=${e => set("expert", e.currentTarget.checked)}
      /> <strong>Expert Mode</strong> <span class="muted">max_cpus, hosts, limits, dependencies, tags</span></label>
    ${
      expert &&
      html`
      <${Width} draft=${draft} set=${set} error=${wrongs.max_cpus} first="the site's default" />
      ${groups.map(
        ([title, names]) => html`<section class="card"><h2>${title}</h2><div class="fields">${names.map(field)}</div>
        ${
          names.includes("dependency") &&
          html`<label class="choice">
          <input type="checkbox" checked=${Boolean(draft.blocked)}
          onChange=${e => set("blocked", e.currentTarget.checked)} /> submit it blocked</label>`
        }</section>`,
      )}
      <section class="card"><h2>Account and tags</h2><div class="fields">${others.map(a => field(a.name))}
        <${Field} attribute=${{ name: "user", kind: "text", help: "submit for this user; operators and admins only" }}
        draft=${draft} set=${set} error=${wrongs.user} /></div></section>`
    }
    ${checked.remarks.map(remark => html`<p class="note" key=${remark}>${plain(remark)}</p>`)}
    <div class="dock">${
      (wrongs[""] || tried) &&
      html`<div class="answer" tabindex="0" role="region" aria-label="Answer">
      ${wrongs[""] && html`<p class="field-error" role="alert">${plain(wrongs[""])}</p>`}${
        tried && html`<${Later} load=${trials} reply=${trial.reply} />`
      }</div>`
    }
    <div class="row sticky"><${Command} text=${good ? command(body) : ""} /><span class="spring"></span>
      <button type="button" class="quiet" disabled=${!body.command}
      title="Who would gain and lose, and when it would start; nothing is submitted" onClick=${ask}>What if…</button>
      <${Change} type="submit" class="primary" disabled=${sending}>${sending ? "Submitting…" : "Submit"}<//></div></div>
  </form>`;
}
