// What changes the farm. Each is asked for first, with what it costs, and can be typed as a command as well.
import { call, may, me } from "./session.js";
import { jobs, now } from "./store.js";
import { confirm, dismiss, say } from "./parts.js";
import { count, plain, quoted, span } from "./text.js";
import { modified, ordered, record } from "./undo.js";

/** wait is how long an action that destroys can be taken back before it is sent. */
const wait = 5000;
const unsent = new Set();
addEventListener("pagehide", () => { for (const send of unsent) send(); }); // what was decided is done at once

/** later sends after a while, unless it is undone. */
function later(text, send) {
  let timer = 0, notice = 0;
  const go = () => { clearTimeout(timer); unsent.delete(go); dismiss(notice); send(); };
  unsent.add(go);
  timer = setTimeout(go, wait);
  notice = say(`${text} in ${wait / 1000} s`, { label: "Undo", action: () => { clearTimeout(timer); unsent.delete(go); say("undone: nothing was sent"); } });
}

const lost = list => list.reduce((sum, j) => sum + j.running * Math.min(j.mean || 60, j.started ? now() - j.started : 0) / 2, 0);
const named = list => list.map(j => `${j.id} ${plain(j.name)} (${plain(j.user)})`);

/** orders are those of the buttons: what the dialog says, and the command. */
export const orders = {
  kill: { label: "Kill", bad: true, command: "qbkill", text: list => cost(list, "stops") },
  retry: { label: "Retry failed", command: "qbretry", text: list => `${count(list.reduce((n, j) => n + j.failed, 0))} failed items run again.` },
  block: { label: "Block", command: "qbblock", text: () => "Items that run go on; no other starts until the job is unblocked." },
  unblock: { label: "Unblock", command: "qbunblock", text: () => "Its items may start." },
  suspend: { label: "Suspend", command: "qbsuspend", text: () => "Processes that run stand still with their slots and memory; nothing else starts until the job is resumed." },
  resume: { label: "Resume", command: "qbresume", text: () => "Its processes go on from where they are." },
  preempt: { label: "Preempt", bad: true, command: "qbpreempt", text: list => cost(list, "stops and puts back") },
};

function cost(list, what) {
  const items = list.reduce((n, j) => n + j.running, 0), seconds = lost(list);
  return items ? `This ${what} ${count(items)} running item${items > 1 ? "s" : ""}, about ${span(seconds) || "0 s"} of work.` : "No item runs now.";
}

/** settled sends and says what came of it; what can be undone is noted. */
async function settled(text, action, list, send) {
  try {
    const reply = await send(), results = reply.results ?? [{ ...reply, code: "ok" }];
    const refused = results.filter(r => r.code !== "ok");
    record(`${text}: ${count(reply.affected)} affected`, results.map(r => ordered(action, r)).filter(Boolean));
    for (const r of results) for (const remark of list.length === 1 && !r.affected ? r.remarks : []) say(remark);
    if (refused.length) say(`${refused.length} of ${list.length} refused: ${refused[0].detail}`, { bad: true });
  } catch (error) {
    say(`${text}: ${error.message}`, { bad: true });
  }
}

/** order gives an order to jobs, or to some items of one. */
export async function order(action, ids, items = "") {
  const known = orders[action], list = ids.map(id => jobs.value.get(id) ?? { id, name: "", user: "", running: 0, failed: 0 });
  const command = `${known.command} ${items ? quoted(`${ids[0]}:${items}`) : ids.join(" ")}`;
  const what = items ? `items ${items} of job ${ids[0]}` : ids.length === 1 ? `job ${ids[0]}` : `${ids.length} jobs`;
  const yes = await confirm({ title: `${known.label}: ${what}?`, text: items ? "" : known.text(list), list: ids.length > 1 ? named(list) : [], label: known.label, bad: known.bad, command });
  if (!yes) return;
  const send = () => settled(`${known.label} ${what}`, action, list, () => (items
    ? call("order-job", { job: ids[0], action }, { body: { items } })
    : call("order-jobs", { action }, { body: { jobs: ids } })));
  if (known.bad) later(`${known.label} ${what}`, send);
  else await send();
}

const changes = {
  priority: { label: "Priority", hint: "1 is the best", read: text => Number(text) },
  cpus: { label: "cpus", hint: "primary instances", read: text => Number(text) },
  max_cpus: { label: "max_cpus", hint: "a number, 0 for none, * for the site's limit", read: text => (text === "*" ? "*" : Number(text)) },
};
const before = (job, name) => (name !== "max_cpus" ? job[name] : job.max_cpus === null ? job.max_cpus_effective : job.max_cpus < 0 ? "*" : job.max_cpus);

/** change changes jobs, each only if it still has the version that was shown; what it returns has changed meanwhile. */
async function change(name, value, list) {
  const steps = [], stale = [];
  for (const { id, version, [name]: shown } of list) {
    try {
      const job = await call("get-job", { job: id });
      const same = !version || job.version === version || (name === "max_cpus" ? job.max_cpus_effective : job[name]) === shown; // others may have changed other things
      if (!same) stale.push({ ...job, now: before(job, name) });
      else steps.push(await modified(id, name, value, before(job, name), job.version));
    } catch (error) {
      if (error.kind === "stale") stale.push({ id, version: 0, name: "" }); // between the two calls
      else say(`job ${id}: ${error.message}`, { bad: true });
    }
  }
  if (steps.length) record(`${name} ${value} for ${list.length === 1 ? `job ${list[0].id}` : `${count(steps.length)} jobs`}`, steps);
  return stale;
}

/** modify changes an attribute of jobs. Of those that somebody changed since they were shown it shows both values, and asks again. */
export async function modify(name, ids) {
  const how = changes[name], shown = ids.map(id => jobs.value.get(id) ?? { id, name: "", user: "" });
  const text = await confirm({
    title: `${how.label} of ${ids.length === 1 ? `job ${ids[0]}` : `${ids.length} jobs`}`, label: "Change", command: `qbmodify -m${name} VALUE ${ids.join(" ")}`,
    field: { label: `new ${name}`, value: String(shown[0][name] ?? ""), hint: how.hint }, list: ids.length > 1 ? named(shown) : [],
  });
  if (text === null) return;
  const value = how.read(text.trim());
  if (value !== "*" && !Number.isInteger(value)) return say(`${name}: ${text} is no whole number`, { bad: true });
  let list = shown;
  while ((list = await change(name, value, list)).length) {
    const was = new Map(shown.map(j => [j.id, j[name]]));
    const yes = await confirm({
      title: `${list.length === 1 ? `Job ${list[0].id} was` : `${list.length} jobs were`} changed meanwhile`, label: `Change to ${value}`, command: `qbmodify -m${name} ${value} ${list.map(j => j.id).join(" ")}`,
      text: `Somebody changed ${list.length === 1 ? "it" : "them"} after ${list.length === 1 ? "it was" : "they were"} shown. Change anyway?`, list: list.map(j => `${j.id} ${plain(j.name)}: ${name} was shown as ${was.get(j.id)}, is now ${j.now ?? "being changed"}`),
    });
    if (!yes) return;
  }
}

/** lock keeps hosts from new work, or lets them take it again. */
export async function lock(names, on) {
  const id = on ? "lock-host" : "unlock-host";
  if (!may(id)) return say("locking hosts needs the role operator", { bad: true });
  const word = on ? "Lock" : "Unlock";
  const yes = await confirm({
    title: `${word} ${names.length === 1 ? names[0] : `${names.length} hosts`}?`, text: on ? "What runs there goes on; nothing new starts." : "", list: names.length > 1 ? names : [],
    label: word, command: `${on ? "qblock" : "qbunlock"} ${names.map(quoted).join(" ")}`,
  });
  if (!yes) return;
  const changed = [], refused = [];
  for (const host of names) {
    try {
      if ((await call(id, { host })).affected) changed.push(host);
    } catch (error) {
      refused.push(error);
    }
  }
  const inverse = host => (on ? { call: "unlock-host", params: { host, locked_by: me.value.user }, what: host, command: `qbunlock ${quoted(host)}` } : { call: "lock-host", params: { host }, what: host, command: `qblock ${quoted(host)}` });
  record(`${word.toLowerCase()}ed ${names.length === 1 && changed.length ? names[0] : `${changed.length} of ${names.length}`}`, changed.map(inverse));
  if (refused.length) say(refused[0].message, { bad: true });
}
