// Numbers, times and sizes as text, and text of users made safe to look at.
import { now } from "./store.js";

const number = new Intl.NumberFormat("en");
export const count = value => number.format(value);

/** span is a duration in its two largest units. */
export function span(seconds) {
  if (!(seconds >= 0)) return "";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const age = seconds => (seconds ? span(Math.max(0, now() - seconds)) : "");

/** bytes are as the commands write them (units.Size): 1.5 GiB. */
const units = ["B", "KiB", "MiB", "GiB", "TiB"];
export function bytes(value) {
  if (!value) return "–";
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)} ${units[unit]}`;
}

/**
 * outcomes is what became of ended attempts, as qb stats divides them: its member, the state whose colour it has,
 * and its name. The first has what the others leave.
 */
export const outcomes = [
  ["primary", "running", "Primary"],
  ["secondary", "secondary", "Secondary"],
  ["preempted", "stopping", "Preempted"],
  ["killed", "killed", "Killed"],
  ["failed", "failed", "Failed or lost"],
];

/** divided is a row of statistics by outcomes: the slot-hours of each. */
export const divided = row => {
  const rest = outcomes.slice(1).map(([end]) => row.slot_hours * row[end]);
  return [
    Math.max(
      0,
      rest.reduce((left, hours) => left - hours, row.slot_hours),
    ),
    ...rest,
  ];
};

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
export const moment = value => {
  if (!value) return "";
  const at = new Date(typeof value === "number" ? value * 1000 : value);
  return Math.abs(at / 1000 - now()) < 20 * 3600 ? clock.format(at) : day.format(at);
};

// Control characters, and those that turn the direction of text, break its lines or are not seen, are shown by
// their pictures or codes.
const odd = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
export const plain = text =>
  String(text ?? "").replace(odd, c => {
    const code = c.codePointAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `‹${code.toString(16).padStart(4, "0")}›`;
  });

/** quoted is a word as a shell takes it. */
export const quoted = word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${String(word).replaceAll("'", `'\\''`)}'`);

/** remaining is when a job ends, as a range, if it keeps what runs now; null: nothing is known. */
export function remaining(job) {
  const width = job.primary + job.secondary + job.draining;
  const left = job.pending + job.running;
  if (!width || !left || !job.mean) return null;
  const early = Math.max(job.mean / 2, (((left - job.running / 2) * job.mean) / width) * 0.9);
  const late = Math.max(early, Math.ceil(left / width) * Math.max(job.mean, job.estimated));
  return { early: now() + early, late: now() + late, width };
}

/** ends is that range as text. */
export function ends(job) {
  const range = remaining(job);
  if (!range) return "";
  const from = moment(range.early),
    to = moment(range.late);
  return from === to ? from : `${from}–${to}`;
}

/** sentence begins with a capital letter. */
export const sentence = text => text.charAt(0).toUpperCase() + text.slice(1);
