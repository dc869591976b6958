// What the form of a submission says, as a request and as a command. How each attribute is written comes from the
// table that qbsub's options come from.
import attributes from "./attributes.js";
import { entries, listed } from "./lists.js";
import { local } from "./moment.js";
import { quoted } from "./text.js";

export const basic = ["command", "name", "range", "cwd", "priority", "cpus", "reservations"];
const known = new Map(attributes.map(a => [a.name, a]));
const apart = ["command", "shell", "env", "max_cpus"]; // they are read in ways of their own
const space = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/; // as qbsub sees it
const guessed = words => words.length === 1 && space.test(words[0]);
const empty = value => value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length);

/** words are those of a text as a shell reads them, with quotes and backslashes and nothing else. */
export function words(text) {
  const found = [];
  let word = null,
    quote = "";
  for (let n = 0; n < text.length; n++) {
    const c = text[n];
    if (c === quote) quote = "";
    else if (c === "\\" && quote !== "'" && n + 1 < text.length && (!quote || /["\\$`]/.test(text[n + 1])))
      word = (word ?? "") + text[++n];
    else if (quote) word += c;
    else if (c === "'" || c === '"') {
      quote = c;
      word ??= "";
    } else if (!/\s/.test(c)) word = (word ?? "") + c;
    else if (word !== null) {
      found.push(word);
      word = null;
    }
  }
  if (quote) throw new Error(`a ${quote} is not closed`);
  return word === null ? found : [...found, word];
}

function seconds(text) {
  const found = /^(?:(\d+)d)?((?:\d+(?:\.\d+)?[hms])*)$/.exec(/^[\d.]+$/.test(text) ? `${text}s` : text);
  let sum = found ? Number(found[1] ?? 0) * 86400 : NaN;
  for (const [, number, unit] of found?.[2].matchAll(/([\d.]+)([hms])/g) ?? [])
    sum += Number(number) * { h: 3600, m: 60, s: 1 }[unit];
  if (!Number.isInteger(sum))
    throw new Error(`${text} is not a time span; write seconds such as 90, or 5m, 1h30m or 7d`);
  return sum;
}

/** read makes the member of a request of what was typed, or of a list as another job has it; undefined: not given. */
function read({ kind, octal, seconds: span, moment, quotes }, typed) {
  if (empty(typed)) return undefined;
  if (kind === "list") return Array.isArray(typed) ? typed : entries(typed, quotes);
  if (kind !== "number" && !moment) return typed;
  const text = typed.trim();
  if (moment) return local(text) || undefined;
  if (text === "") return undefined;
  if (span) return seconds(text);
  if (!(octal ? /^[0-7]+$/ : /^-?\d+$/).test(text))
    throw new Error(`${text} is no ${octal ? "mode; write one in octal, such as 022" : "whole number"}`);
  return parseInt(text, octal ? 8 : 10);
}

/** written is a member of a request as qbsub takes it. */
function written({ octal, quotes }, value) {
  if (!Array.isArray(value)) return octal ? value.toString(8).padStart(3, "0") : String(value);
  return listed(value, quotes);
}

/** typed is what a field of a draft shows. */
export const typed = (draft, name) =>
  Array.isArray(draft[name]) ? written(known.get(name), draft[name]) : (draft[name] ?? "");

/** says whether qbsub reads what is written as it was meant: a list that REST took may have no text. */
function says(attribute, value) {
  try {
    return (
      !Array.isArray(value) ||
      JSON.stringify(entries(written(attribute, value), attribute.quotes)) === JSON.stringify(value)
    );
  } catch {
    return false;
  }
}

function variables(text) {
  const env = {};
  for (const pair of words(text)) {
    const at = pair.indexOf("=");
    if (at < 1) throw new Error(`${pair} is not NAME=VALUE`);
    env[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return env;
}

/**
 * run is the command of a draft: a program with its arguments, or a line for a shell, as qbsub guesses unless it is
 * said.
 */
function run({ command, shell }) {
  if (!command?.trim()) throw new Error("write the command that each item runs");
  if (shell === "words") return { command: words(command), shell: false };
  return { command: [command], shell: shell === "line" || guessed([command]) };
}

/** taking has what cannot be read written down under the name of its field. */
const taking = wrong => (name, of) => {
  try {
    of();
  } catch (error) {
    wrong[name] = error.message;
  }
};

/** part is that part of a submission which the fields of some attributes make, and the fields that cannot be read. */
export function part(draft, has) {
  const body = {},
    wrong = {},
    take = taking(wrong);
  for (const attribute of attributes) {
    const { name } = attribute;
    if (apart.includes(name) || !has(name)) continue;
    take(name, () => {
      const value = read(attribute, draft[name]);
      if (value === undefined) return;
      if (attribute.in) {
        body[attribute.in] ??= {};
        body[attribute.in][name] = value;
      } else body[name] = value;
    });
  }
  if (!has("max_cpus")) return { body, wrong };
  if (draft.width === "none") body.max_cpus = 0;
  if (draft.width === "all") body.max_cpus = "*";
  if (draft.width === "most") {
    if (/^\d+$/.test(draft.max_cpus ?? "")) body.max_cpus = Number(draft.max_cpus);
    else wrong.max_cpus = "write a whole number";
  }
  return { body, wrong };
}

/** request is the body of a submission, and the fields that cannot be read. */
export function request(draft, expert) {
  const { body, wrong } = part(draft, name => expert || basic.includes(name)),
    take = taking(wrong);
  take("command", () => Object.assign(body, run(expert ? draft : { command: draft.command })));
  if (!expert) return { body, wrong };
  take("env", () => {
    if (draft.env?.trim()) body.env = variables(draft.env);
  });
  if (draft.blocked) body.status = "blocked";
  if (draft.user) body.user = draft.user;
  return { body, wrong };
}

/** options are those of qbsub that say the same as attributes in a body; null if there are none that do. */
function options(body) {
  const list = [];
  for (const attribute of attributes) {
    const { name, flag, words: forms } = attribute,
      value = attribute.in ? body[attribute.in]?.[name] : body[name];
    if (value === undefined || name === "command" || name === "shell") continue;
    if (!says(attribute, value)) return null;
    if (name === "env")
      for (const [variable, to] of Object.entries(value)) list.push(option("env", `${variable}=${to}`));
    else if (!forms) list.push(option(flag, written(attribute, value)));
    else if (forms[value]) list.push(forms[value]);
  }
  return list;
}

const option = (flag, value) => (value.startsWith("-") ? `-${flag}=${quoted(value)}` : `-${flag} ${quoted(value)}`);

/** command is what qbsub does the same with; "" if there is no such command. */
export function command(body) {
  const list = options(body),
    given = body.command ?? [];
  if (!list) return "";
  for (const name of ["status", "user"]) if (body[name]) list.push(option(name, body[name]));
  if (given.length && Boolean(body.shell) !== guessed(given)) list.push(`-shell=${Boolean(body.shell)}`);
  if (given[0]?.startsWith("-")) list.push("--");
  return ["qbsub", ...list, ...(given.length ? given.map(quoted) : ["…"])].join(" ");
}

/** templateCommand is what submits the template of a file with the same values. */
export const templateCommand = ({ values, job }, file) =>
  [
    "qb openjd submit",
    ...Object.entries(values).map(([name, value]) => option("p", `${name}=${value}`)),
    ...(options(job) ?? []),
    quoted(file),
  ].join(" ");

/** typeCommand is what submits a job of a type with the same values. */
export const typeCommand = ({ type, values, job }) =>
  [
    "qbsub",
    option("type", type),
    ...Object.entries(values).map(([name, value]) => option("param", `${name}=${value}`)),
    ...(options(job) ?? []),
  ].join(" ");

/**
 * given is the draft that submits a job again: of its archive. What preview items left is the job; they were
 * another.
 */
export function given(submission, user) {
  const draft = {},
    { command: line, shell, max_cpus: width } = submission;
  for (const attribute of attributes) {
    const { name, in: of } = attribute,
      value = of ? submission[of]?.[name] : submission[name];
    if (empty(value) || apart.includes(name) || name.startsWith("p_agenda")) continue;
    draft[name] = Array.isArray(value)
      ? value.filter(entry => name !== "flags" || entry !== "p_agenda")
      : written(attribute, value);
  }
  draft.command = shell || (line.length === 1 && !guessed(line)) ? line[0] : line.map(quoted).join(" ");
  draft.shell = shell ? (guessed(line) ? "" : "line") : line.length === 1 && !guessed(line) ? "" : "words";
  draft.env = Object.entries(submission.env ?? {})
    .map(([name, value]) => quoted(`${name}=${value}`))
    .join("\n");
  draft.width = width === undefined ? "" : width < 0 ? "all" : width === 0 ? "none" : "most";
  if (width > 0) draft.max_cpus = String(width);
  draft.blocked = submission.status === "blocked";
  if (submission.user !== user) draft.user = submission.user;
  draft.expert = Object.keys(draft).some(name => !basic.includes(name) && !empty(draft[name]) && draft[name] !== false);
  return draft;
}
