// The form of a template of Open Job Description, or of a job type, which has one: its text or which type it is, its
// parameters as fields, what its steps are, and a few attributes of its jobs.
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "./answer.js";
import { placed, useAsked } from "./check.js";
import { Field, Head, known, Labelled, useDraft, Width } from "./fields.js";
import { Change, Command, Name, say } from "./parts.js";
import { go, to } from "./route.js";
import { call, may } from "./session.js";
import { part, templateCommand, typeCommand } from "./submission.js";
import { count, plain } from "./text.js";

const largest = 1 << 20, // bytes of a template
  shown = 100; // entries of a list
const ofJob = ["priority", "cpus", "max_cpus", "cluster", "account"];
const shapes = { MULTILINE_EDIT: "long", DROPDOWN_LIST: "choice", CHECK_BOX: "switch", SPIN_BOX: "number" };
const isOn = value => /^(true|yes|on|1)$/i.test(value);

/** start is the value of a parameter before somebody types one; undefined: none. */
const start = p => p.default ?? (p.control === "CHECK_BOX" ? p.allowed.find(value => !isOn(value)) : undefined);
const given = (p, values = {}) => (Object.hasOwn(values, p.name) ? values[p.name] : start(p));
const seen = p => p.control !== "HIDDEN";
const isJSON = text => {
  try {
    return Boolean(JSON.parse(text));
  } catch {
    return false;
  }
};

/** request is the body of the submission of a template or a type, of which these parameters are known. */
function request({ text = "", type, values, ...draft }, parameters) {
  const { body: job, wrong } = part(draft, name => ofJob.includes(name)),
    typed = parameters
      .filter(p => seen(p) && given(p, values) !== p.default)
      .map(p => [p.name, given(p, values)])
      .filter(([, value]) => value !== undefined);
  const what = type ? { type } : { template: { text, syntax: isJSON(text) ? "json" : "yaml" } };
  return { body: { ...what, values: Object.fromEntries(typed), job }, wrong };
}

/** chosen says whether a draft has a template or a type. */
const chosen = ({ type, text = "" }) => Boolean(type ?? text.trim());

/** useForm asks what submitting a draft would say, and what its parameters are. */
function useForm(draft) {
  const [parameters, setParameters] = useState([]);
  const { body, wrong } = request(draft, chosen(draft) ? parameters : []),
    on = may("check-openjd") && chosen(draft);
  const ask = async () => {
    try {
      const reply = await call("check-openjd", {}, { body });
      setParameters(reply.parameters);
      return reply;
    } catch (error) {
      return { parameters, problems: [], steps: [], remarks: [], refusals: refusals(error) };
    }
  };
  const { answer, now } = useAsked(ask, body, on);
  return { body, wrong, answer: on ? answer : undefined, now };
}

/** refusals are those of an error, each of a field or of none. */
function refusals(error) {
  const at = Object.entries(placed(error)).filter(([member]) => ofJob.includes(member));
  return at.length ? at.map(([member, message]) => ({ member, message })) : [{ message: error.message }];
}

/** range says between which numbers a value is, or how many characters it has. */
function range({ min, max, min_length: least, max_length: most }) {
  const between = (low, high) =>
    low === undefined
      ? high !== undefined && `at most ${high}`
      : high === undefined
        ? `at least ${low}`
        : `${low} to ${high}`;
  const length = between(least, most);
  return between(min, max) || (length && `${length} character${(most ?? least) === 1 ? "" : "s"}`);
}

/** Parameter is the field of a parameter. */
function Parameter({ of, value, set, error }) {
  const { name, type, control, allowed = [], description = "", min, max } = of,
    shape = shapes[control] ?? (control.startsWith("CHOOSE_") ? "path" : "text"),
    same = { name: `parameter-${name}`, spellcheck: false, "aria-invalid": error ? "true" : undefined },
    typing = e => set(name, e.currentTarget.value);
  const help = description.split("\n").map(plain).join("\n");
  const note = html`${help && html`<span class="note lines">${help}</span>`}<span class="note">${[
    shape === "path" && "an absolute path, as hosts see it",
    range(of),
    of.site && "of an environment of the site",
  ]
    .filter(Boolean)
    .join("; ")}</span>`;
  return html`<${Labelled} label=${plain(of.label || name)} wide=${shape === "long"} error=${error} note=${note}>${
    shape === "long"
      ? html`<textarea rows="4" ...${same} value=${value ?? ""} onInput=${typing}></textarea>`
      : shape === "choice"
        ? html`<select ...${same} value=${value ?? ""} onChange=${typing}>
          ${(allowed.includes(value) ? allowed : [value ?? "", ...allowed]).map(
            one => html`<option key=${one} value=${one}>${plain(one) || "choose…"}</option>`,
          )}</select>`
        : shape === "switch"
          ? html`<span class="choice"><input type="checkbox" ...${same} checked=${isOn(value)}
            onChange=${e =>
              set(
                name,
                allowed.find(one => isOn(one) === e.currentTarget.checked),
              )} /> ${plain(value)}
            </span>`
          : shape === "number"
            ? html`<input type="number" ...${same} min=${min} max=${max} step=${type === "INT" ? "1" : "any"}
              value=${value ?? ""} onInput=${typing} />`
            : html`<input ...${same} autocomplete="off" placeholder=${shape === "path" ? "/proj/sh010/scene" : ""}
              value=${value ?? ""} onInput=${typing} />`
  }<//>`;
}

/** Text is the text of the template, with what is wrong with it. */
function Text({ text, file, problems, set }) {
  const box = useRef(null);
  const read = async chosen => {
    if (!chosen) return;
    if (chosen.size > largest) return say(`${chosen.name} is larger than 1 MiB, which no template is`, { bad: true });
    const text = (await chosen.text()).replaceAll("\r\n", "\n"),
      other = chosen.name !== file && { values: {} };
    set({ text, file: chosen.name, ...other });
  };
  const drop = event => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault(); // the browser would leave the page for the file
    if (event.type === "drop") read(event.dataTransfer.files[0]);
  };
  const show = ({ line, column }) => {
    const lines = text.split("\n"),
      at = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + Math.max(0, column - 1);
    box.current.focus();
    box.current.setSelectionRange(at, at);
    box.current.scrollTop = (box.current.scrollHeight * (line - 4)) / lines.length;
  };
  return html`<section class="card"><div class="row"><h2 id="template-text">Template</h2>
      <label class="button quiet">Choose a file…<input class="sr" type="file" accept=".yaml,.yml,.json"
      onChange=${e => {
        read(e.currentTarget.files[0]);
        e.currentTarget.value = ""; // so that the same file can be chosen again
      }} /></label>
      ${file ? html`<${Name} text=${file} />` : html`<span class="muted">or paste it, or drop a file below</span>`}
      </div>
    <div><textarea ref=${box} class="code" name="template" rows="14" wrap="off" spellcheck="false"
      aria-labelledby="template-text"
      aria-describedby="template-problems" aria-invalid=${problems.length ? "true" : undefined} value=${text}
      placeholder="specificationVersion: jobtemplate-2023-09"
      onInput=${e => set({ text: e.currentTarget.value, file: "" })}
      onDragOver=${drop} onDrop=${drop}></textarea>
    <div id="template-problems" role="status"><${Problems} of=${problems} show=${show} /></div>
    </div></section>`;
}

/** Type is the choice of a job type. What was given to another one is not of this one, unless it has the same name. */
function Type({ type, set, problems }) {
  const { value: types, error } = useAnswer("list-job-types", {}, []),
    now = types?.find(one => one.name === type);
  if (error) return html`<section class="card"><p class="bad-text">${error.message}</p></section>`;
  return html`<section class="card"><div class="fields">
    <${Labelled} label="Job type" note=${html`<span class="note">${plain(
      now ? `${now.description}; version ${now.version}` : "the form of an application",
    )}</span>`}>
      <select name="type" value=${type ?? ""} onChange=${e => set({ type: e.currentTarget.value || undefined })}>
        <option value="">choose…</option>
        ${types?.map(({ name }) => html`<option key=${name} value=${name}>${plain(name)}</option>`)}</select><//>
    </div><div role="status"><${Problems} of=${problems} /></div></section>`;
}

const Problems = ({ of, show }) =>
  html`<${Lines} of=${of} bad>${p =>
    html`${
      show &&
      p.line > 0 &&
      html`<button type="button" class="plain" onClick=${() => show(p)}>line ${p.line}, column ${p.column}</button> `
    }${[p.document === "template" ? "" : p.document, p.path, p.reason].filter(Boolean).map(plain).join(": ")}`}<//>`;

/** Lines is a list of which not too much is shown. */
const Lines = ({ of, bad, children }) =>
  of.length > 0 &&
  html`<ul class="facts ${bad ? "bad-text" : ""}">${of.slice(0, shown).map(one => html`<li>${children(one)}</li>`)}
    ${of.length > shown && html`<li>and ${count(of.length - shown)} more</li>`}</ul>`;

/** Steps are those of the job: what their items are, and what is before them. */
function Steps({ name, steps }) {
  const all = steps.reduce((sum, step) => sum + step.items, 0);
  return html`<section class="card flush"><div class="padded"><h2><${Name} text=${name} /></h2>
    <span class="note" role="status">
      ${count(steps.length)} step${steps.length === 1 ? "" : "s"}, ${count(all)} item${
        all === 1 ? "" : "s"
      }; each step is a job</span></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Steps"><table><thead><tr><th>Step</th>
      <th class="right">Items</th><th class="grow">First and last</th><th>After</th><th>Environments</th></tr></thead>
    <tbody>${steps.slice(0, shown).map(step => {
      const { name, items, first, dependencies = [], environments = [] } = step;
      const last = step.last ?? first.at(-1),
        ends = items > 4 ? [...first.slice(0, 3), "…", last] : first;
      return html`<tr key=${name}><td><${Name} text=${name} /></td><td class="right">${count(items)}</td>
        <td class="wrap"><bdi>${plain(ends.join(" "))}</bdi></td><td><${Name} text=${dependencies.join(", ")} /></td>
        <td><${Name} text=${environments.join(", ")} /></td></tr>`;
    })}</tbody></table></div>
    ${steps.length > shown && html`<p class="muted padded">and ${count(steps.length - shown)} more</p>`}</section>`;
}

/** Made are the jobs that were submitted. */
function Made({ path, jobs, more }) {
  const head = useRef(null);
  useEffect(() => head.current.focus(), []);
  return html`<div class="page form"><${Head} path=${path} />
    <section class="card flush">
    <h2 class="padded" tabindex="-1" ref=${head}>${count(jobs.length)} jobs are submitted</h2>
    <div class="scroll"><table><thead><tr><th>Job</th><th class="grow">Step</th></tr></thead><tbody>${jobs.map(
      ({ job, step }) => html`<tr key=${job}><td><a href=${to(["jobs", String(job)])}>${job}</a></td>
      <td><a href=${to(["jobs", String(job)])}><${Name} text=${step} /></a></td></tr>`,
    )}</tbody></table></div></section>
    <div><button type="button" class="quiet" onClick=${more}>Submit another</button></div></div>`;
}

/** grouped are the parameters that are seen, by group, in the order of the first of each. */
const grouped = parameters => Map.groupBy(parameters.filter(seen), p => p.group || "Parameters");

export function Template({ path }) {
  const ofType = path[1] === "type",
    [draft, setDraft] = useDraft(ofType ? "qb-type" : "qb-template");
  const [refused, setRefused] = useState([]);
  const [sending, setSending] = useState(false);
  const [made, setMade] = useState(null);
  const last = useRef({}); // what was sent and not answered, and its key
  const { body, wrong, answer, now } = useForm(draft);
  const change = changes => {
    setDraft(d => ({ ...d, ...changes }));
    setRefused([]);
  };
  const set = (name, value) => change({ [name]: value });
  const value = (name, value) => change({ values: { ...draft.values, [name]: value } });
  const { parameters, problems, steps, remarks } = answer ?? { parameters: [], problems: [], steps: [], remarks: [] },
    all = [...(answer?.refusals ?? []), ...refused],
    places = new Set(parameters.filter(seen).map(p => p.name)),
    beside = p => p.document === "values" && places.has(p.path),
    wrongs = { ...Object.fromEntries(all.map(r => [r.member, r.message])), ...wrong };
  const field = name =>
    html`<${Field} key=${name} attribute=${known.get(name)} draft=${draft} set=${set} error=${wrongs[name]} />`;
  const submit = async event => {
    event.preventDefault();
    if (Object.keys(wrong).length || (now && problems.length))
      return event.currentTarget.querySelector("[aria-invalid]").focus();
    setSending(true);
    const text = JSON.stringify(body);
    if (last.current.text !== text) last.current = { text, header: { "Idempotency-Key": crypto.randomUUID() } };
    try {
      const reply = await call("submit-openjd", {}, { body, header: last.current.header });
      last.current = {};
      for (const remark of reply.remarks) say(remark);
      if (reply.jobs.length > 1) setMade(reply.jobs);
      else {
        say(`job ${reply.jobs[0].job} is submitted`);
        go(["jobs", String(reply.jobs[0].job)]);
      }
    } catch (error) {
      if (error.status < 500) last.current = {}; // else the same again goes on with it
      setRefused(refusals(error));
    }
    setSending(false);
  };
  if (made) return html`<${Made} path=${path} jobs=${made} more=${() => setMade(null)} />`;
  const good = now && answer && !problems.length && !all.length && !Object.keys(wrong).length;
  return html`<form class="page form" onSubmit=${submit} noValidate>
    <${Head} path=${path} clear=${() => {
      setDraft({});
      setRefused([]);
    }} />
    ${
      ofType
        ? html`<${Type} type=${draft.type} problems=${problems.filter(p => !beside(p))} set=${change} />`
        : html`<${Text} text=${draft.text ?? ""} file=${draft.file} problems=${problems.filter(p => !beside(p))}
          set=${change} />`
    }
    ${[...grouped(parameters)].map(
      ([group, list]) => html`<section class="card" key=${group}><h2>${plain(group)}</h2><div class="fields">
      ${list.map(
        p => html`<${Parameter} key=${p.name} of=${p} value=${given(p, draft.values)} set=${value}
        error=${problems.find(q => beside(q) && q.path === p.name)?.reason} />`,
      )}</div></section>`,
    )}
    ${steps.length > 0 && html`<${Steps} name=${answer.name} steps=${steps} />`}
    <section class="card"><h2>Each job</h2>
      <div class="fields">${ofJob.filter(name => name !== "max_cpus").map(field)}</div></section>
    <${Width} draft=${draft} set=${set} error=${wrongs.max_cpus} />
    <div role="alert"><${Lines} of=${all.filter(r => !ofJob.includes(r.member))} bad>${r => plain(r.message)}<//>
    </div>
    <${Lines} of=${remarks}>${plain}<//>
    <div class="dock"><div class="row sticky">
      <${Command} text=${
        good ? (ofType ? typeCommand(body) : templateCommand(body, draft.file || "template.yaml")) : ""
      } />
      <span class="spring"></span>
      <${Change} type="submit" class="primary" disabled=${sending || !chosen(draft)}>
        ${sending ? "Submitting…" : "Submit"}<//></div></div>
  </form>`;
}
