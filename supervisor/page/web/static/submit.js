// The form of a submission. Five fields; Expert Mode has all that qbsub takes, made from the table of the
// attributes of a job.
import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import attributes from "./attributes.js";
import { Items, placed, useCheck } from "./check.js";
import { kept } from "./kept.js";
import { Change, Command, confirm, Later, Reading, say } from "./parts.js";
import { go, route } from "./route.js";
import { call, me } from "./session.js";
import { basic, command, given, request, typed } from "./submission.js";
import { plain } from "./text.js";

const draftKey = "qb-draft";
const groups = [
  ["Width", ["max_cpus"]],
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
const labels = {
  name: "Name",
  command: "Command",
  range: "Range",
  cwd: "Folder",
  priority: "Priority",
  cpus: "Instances (cpus)",
  reservations: "Reservations",
};
const hints = {
  command: "render -s QB_FRAME_START -e QB_FRAME_END -j QB_FRAME_STEP scene.blend",
  range: "1-100, 1-100x5,200 or labels",
  cwd: "/proj/sh010",
  reservations: "host.processors=2,host.memory=8GiB",
};
// On the page there is no current directory, and N needs no name.
const notes = {
  name: "default: the first word of the command",
  range: "the items; empty: the command runs once in each instance",
  cwd: "working directory on the hosts",
  priority: "1 is the best; empty: the site's default",
  cpus: "primary instances, which no other job of equal priority takes; default 1",
  reservations: "of each instance; empty: one slot",
  shell: "how the command is read",
  env: "NAME=VALUE, separated by white space, in quotes where a value has blanks",
  command: "one line for a shell; QB_FRAME_NUMBER is the item",
};
const known = new Map(attributes.map(a => [a.name, a]));
const help = a => plain(a.help).replaceAll("`", "");
// They may have several
const lines = ["notes", "env", ...attributes.filter(a => a.name.startsWith("regex_")).map(a => a.name)];

function Field({ attribute, draft, set, error, label, items }) {
  const { name } = attribute;
  return html`<label class="field ${name === "command" ? "wide-field" : ""}"><span class="label">${label ?? name}</span>
    ${
      name === "shell"
        ? html`<select name="shell" value=${draft.shell ?? ""} onChange=${e => set("shell", e.currentTarget.value)}>
          <option value="">as it looks: a line for a shell if it has blanks</option>
          <option value="line">a line for /bin/sh</option>
          <option value="words">a program and its arguments, in quotes where they have blanks</option></select>`
        : name === "order"
          ? html`<select name="order" value=${draft.order === "ascend" ? "" : (draft.order ?? "")}
            onChange=${e => set("order", e.currentTarget.value)}><option value="">ascend</option>
            <option>reverse</option><option>binary</option></select>`
          : lines.includes(name)
            ? html`<textarea name=${name} rows="2" value=${typed(draft, name)} spellcheck="false"
              aria-invalid=${error ? "true" : undefined} onInput=${e => set(name, e.currentTarget.value)}></textarea>`
            : html`<input name=${name} value=${typed(draft, name)} placeholder=${hints[name] ?? ""} spellcheck="false"
              autocomplete="off" inputmode=${attribute.kind === "number" && !attribute.seconds ? "numeric" : undefined}
              aria-invalid=${error ? "true" : undefined} onInput=${e => set(name, e.currentTarget.value)} />`
    }
    ${
      error
        ? html`<span class="field-error" role="alert">${plain(error)}</span>`
        : items
          ? html`<${Items} of=${items} />`
          : html`<span class="note">${notes[name] ?? help(attribute)}</span>`
    }</label>`;
}

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

export function Submit() {
  const from = route.value.query.get("from");
  const [draft, setDraft] = useState(() => JSON.parse(kept.getItem(draftKey) ?? "{}"));
  const [errors, setErrors] = useState({});
  const [sending, setSending] = useState(false);
  const [trial, setTrial] = useState(null); // the answer, and the body that it is of
  const [filled, setFilled] = useState(null); // the job of which the form is
  const expert = Boolean(draft.expert);
  useEffect(() => {
    kept.setItem(draftKey, JSON.stringify(draft));
  }, [draft]);
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
  const field = (name, label) =>
    html`<${Field} key=${name} attribute=${known.get(name)} draft=${draft} set=${set} error=${wrongs[name]}
      label=${label} items=${name === "range" && checked.items} />`;
  const width = (value, label) =>
    html`<label class="choice">
      <input type="radio" name="width" checked=${(draft.width ?? "") === value} onChange=${() => set("width", value)}
      /> ${label}</label>`;
  const others = attributes.filter(
    a =>
      a.help &&
      !basic.includes(a.name) &&
      !groups.some(([, names]) => names.includes(a.name)) &&
      !["env", "command", "shell"].includes(a.name),
  );
  if (from && filled !== from)
    return html`<div class="page"><header class="bar-top"><h1>Submit a job</h1></header><${Reading} /></div>`;
  return html`<form class="page form" onSubmit=${submit} noValidate>
    <header class="bar-top"><h1>Submit a job</h1><span class="spring"></span>
      <button type="button" class="quiet" onClick=${() => {
        setDraft({ expert: draft.expert });
        setErrors({});
      }}>Clear</button></header>
    <section class="card"><div class="fields">${basic.map(name => field(name, labels[name]))}</div></section>
    <label class="choice">
      <input type="checkbox" checked=${expert} onChange=${e => set("expert", e.currentTarget.checked)}
      /> <strong>Expert Mode</strong> <span class="muted">max_cpus, hosts, limits, dependencies, tags</span></label>
    ${
      expert &&
      html`
      <section class="card"><h2>Width</h2><div class="choices">
        ${width("", "the site's default")}${width("all", "* : as many as the site allows")}${width(
          "none",
          "0 : no secondary instances",
        )}
        <span>${width(
          "most",
          "at most",
        )} <input class="short" aria-label="max_cpus" aria-invalid=${wrongs.max_cpus ? "true" : undefined}
          inputmode="numeric" value=${draft.max_cpus ?? ""} onInput=${e => {
            set("max_cpus", e.currentTarget.value);
            set("width", "most");
          }} /> instances</span></div>
        ${
          wrongs.max_cpus
            ? html`<p class="field-error" role="alert">${plain(wrongs.max_cpus)}</p>`
            : html`<p class="note">max_cpus: secondary instances fill slots that no other job needs, and leave when
          another job needs them. A number above the site's limit is reduced, and the answer says so.</p>`
        }</section>
      ${groups.slice(1).map(
        ([
          title,
          names,
        ]) => html`<section class="card"><h2>${title}</h2><div class="fields">${names.map(name => field(name))}</div>
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
