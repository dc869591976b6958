// What changes the farm. Each is asked for first, with what it costs, and can be typed as a command as well.
import { call, may } from "./session.js";
import { jobs, now } from "./store.js";
import { confirm, dismiss, say } from "./parts.js";
import { count, plain, quoted, span } from "./text.js";

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
  preempt: { label: "Preempt", bad: true, command: "qbpreempt", text: list => cost(list, "stops and puts back") },
};

function cost(list, what) {
  const items = list.reduce((n, j) => n + j.running, 0), seconds = lost(list);
  return items ? `This ${what} ${count(items)} running item${items > 1 ? "s" : ""}, about ${span(seconds) || "0 s"} of work.` : "No item runs now.";
}

async function settled(text, list, send) {
  try {
    const reply = await send();
    const refused = (reply.results ?? []).filter(r => r.code !== "ok");
    say(`${text}: ${count(reply.affected)} affected`);
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
  const send = () => settled(`${known.label} ${what}`, list, () => (items
    ? call("order-job", { job: ids[0], action }, { body: { items } })
    : call("order-jobs", { action }, { body: { jobs: ids } })));
  if (known.bad) later(`${known.label} ${what}`, send);
  else await send();
}

const changes = {
  priority: { label: "Priority", hint: "1 is the best", read: text => Number(text) },
  max_cpus: { label: "max_cpus", hint: "a number, 0 for none, * for the site's limit", read: text => (text === "*" ? "*" : Number(text)) },
};

/** modify changes an attribute of jobs, each only if nobody changed it since it was shown. */
export async function modify(name, ids) {
  const change = changes[name], first = jobs.value.get(ids[0]);
  const text = await confirm({
    title: `${change.label} of ${ids.length === 1 ? `job ${ids[0]}` : `${ids.length} jobs`}`, label: "Change", command: `qbmodify -m${name} VALUE ${ids.join(" ")}`,
    field: { label: `new ${name}`, value: first ? String(first[name]) : "", hint: change.hint }, list: ids.length > 1 ? named(ids.map(id => jobs.value.get(id)).filter(Boolean)) : [],
  });
  if (text === null) return;
  const value = change.read(text.trim());
  if (value !== "*" && !Number.isInteger(value)) return say(`${name}: ${text} is no whole number`, { bad: true });
  let done = 0;
  for (const id of ids) {
    try {
      const version = jobs.value.get(id)?.version;
      const reply = await call("modify-job", { job: id }, { body: { [name]: value }, header: version ? { "If-Match": `"${version}"` } : {} });
      for (const remark of reply.remarks ?? []) say(`job ${id}: ${remark}`);
      done++;
    } catch (error) {
      say(`job ${id}: ${error.message}`, { bad: true });
    }
  }
  if (done) say(`${name} changed for ${done} job${done > 1 ? "s" : ""}`);
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
  const results = await Promise.allSettled(names.map(host => call(id, { host })));
  const refused = results.filter(r => r.status === "rejected");
  say(`${word.toLowerCase()}ed ${names.length - refused.length} of ${names.length}`, { bad: refused.length > 0 });
  if (refused.length) say(refused[0].reason.message, { bad: true });
}
