// What changes the farm. Each is asked for first, with what it costs, and can be typed as a command as well.
import { effect } from "@preact/signals";
import { confirm, dismiss, here, say } from "./parts.js";
import { call, may, me, prepare } from "./session.js";
import { hosts, jobs, now } from "./store.js";
import { count, plain, quoted, sentence, span } from "./text.js";
import { advanced, mine, modified, ordered, own, record } from "./undo.js";

/** wait is how long an action that destroys can be taken back before it is sent. */
const wait = 5000;
// Of {now}: a document that ends has no time left to sign, so that the request was signed before
const unsent = new Set();
addEventListener("pagehide", () => {
  for (const one of unsent) one.now?.();
}); // what was decided is done at once

/**
 * later sends after a while, or when the view is left, unless it is undone. request is the same as a call, for a
 * document that ends.
 */
function later(text, of, send, request) {
  const one = { now: null },
    view = here(),
    ends = [];
  const drop = () => {
    for (const end of ends) end();
    return unsent.delete(one);
  };
  const now = () => {
    if (drop()) send();
  };
  const sign = () => {
    const { id, params, options } = request();
    prepare(id, params, { ...options, keepalive: true }).then(
      now => {
        one.now = now;
      },
      () => {},
    ); // the call will say it
  };
  unsent.add(one);
  const timer = setTimeout(now, wait),
    notice = say(`${text} in ${wait / 1000} s`, {
      of,
      waits: true,
      label: "Undo",
      action: () => {
        drop();
        say(`undone: nothing was sent to ${of}`);
      },
    });
  ends.push(
    () => clearTimeout(timer),
    () => dismiss(notice),
    effect(() => {
      mine.value;
      sign();
    }),
    effect(() => {
      if (here() !== view) queueMicrotask(now);
    }),
  );
}

const lost = list =>
  list.reduce((sum, j) => sum + (j.running * Math.min(j.mean || 60, j.started ? now() - j.started : 0)) / 2, 0);
const named = list => list.map(j => `${j.id} ${plain(j.name)} (${plain(j.user)})`);

/** orders are those of the buttons: what the dialog says, and the command. */
export const orders = {
  kill: { label: "Kill", bad: true, command: "qbkill", text: list => cost(list, "stops") },
  retry: {
    label: "Retry failed",
    command: "qbretry",
    text: list => `${count(list.reduce((n, j) => n + j.failed, 0))} failed items run again.`,
  },
  block: {
    label: "Block",
    command: "qbblock",
    text: () => "Running items go on; no other item of the job starts until the job is unblocked.",
  },
  unblock: { label: "Unblock", command: "qbunblock", text: () => "The job's items may start." },
  suspend: {
    label: "Suspend",
    command: "qbsuspend",
    text: () =>
      "Processes that run stand still with their memory, and with their slots unless the site lets others have those (supervisor_suspend_slots); nothing else starts until the job is resumed.",
  },
  resume: { label: "Resume", command: "qbresume", text: () => "The job's processes go on from where they are." },
  preempt: { label: "Preempt", bad: true, command: "qbpreempt", text: list => cost(list, "stops and puts back") },
};

function cost(list, what) {
  const items = list.reduce((n, j) => n + j.running, 0),
    seconds = lost(list);
  return items
    ? `This ${what} ${count(items)} running item${items > 1 ? "s" : ""}, about ${span(seconds) || "0 s"} of work.`
    : "No item runs now.";
}

/** shown are the values by which a person decides; fresh are jobs as they are now, with these. */
const shown = ["name", "user", "status", "priority", "cpus", "max_cpus", "cluster"];
const fresh = async list =>
  new Map(
    (
      await call("list-jobs", {
        ids: list.map(j => j.id).join(),
        limit: 1000,
        fields: [...shown, "id", "version", "max_cpus_effective"].join(),
      })
    ).map(j => [j.id, { ...j, given: j.max_cpus, max_cpus: j.max_cpus_effective, running: 0, failed: 0 }]),
  );
const differences = (was, is, names) =>
  names
    .filter(n => was[n] !== undefined && String(was[n]) !== String(is[n]))
    .map(n => `${n} was shown as ${plain(String(was[n]))}, is now ${plain(String(is[n]))}`);

/**
 * insist changes jobs or hosts, each only while it is as it was shown. send returns the others as they are now; insist
 * shows both values of these and asks again. It returns false if the user declines.
 */
async function insist(list, what, names, question, send) {
  const view = here();
  for (;;) {
    const stale = await send(list);
    if (!stale.length) return true;
    const both = stale
      .map(is => [
        is,
        differences(
          list.find(was => was.id === is.id),
          is,
          names,
        ),
      ])
      .filter(([, texts]) => texts.length);
    const label = both.length === 1 ? `${what} ${both[0][0].id} was` : `${both.length} ${what}s were`,
      title = `${sentence(label)} changed meanwhile`,
      texts = both.map(([is, texts]) => `${is.id}: ${texts.join("; ")}`),
      q = question(stale);
    if (both.length && here() !== view) {
      // a question would be about what is not seen
      say(`${title}, so this was not done: ${q.label}. ${texts.slice(0, 3).join("; ")}`, { bad: true });
      return false;
    }
    if (
      both.length &&
      !(await confirm({
        ...q,
        title,
        text: `“${q.label}” is not done yet: another user or another command has changed the values below since this page showed them. Do it with the values of now?`,
        list: texts,
      }))
    )
      return false;
    list = stale;
  }
}

/**
 * settled sends an order and says what came of it; what can be undone is noted. It gives back the jobs that others
 * have changed.
 */
async function settled(text, action, list, send) {
  try {
    const reply = await send(list),
      results = reply.results ?? [{ ...reply, code: "ok" }];
    const stale = results.filter(r => r.code === "stale"),
      refused = results.filter(r => r.code !== "ok" && r.code !== "stale");
    if (stale.length < results.length)
      record(
        `${text}${stale.length ? ` (${stale.length} changed meanwhile)` : ""}: ${count(reply.affected)} affected`,
        results.map(r => ordered(action, r)).filter(Boolean),
      );
    for (const r of results) own(r.job, list.find(j => j.id === r.job)?.sent, r.code === "ok" ? r.version : 0);
    for (const r of results)
      for (const remark of list.length === 1 && !r.affected ? r.remarks : []) say(`${text}: ${remark}`);
    if (refused.length)
      say(`${text}: ${refused.length} of ${list.length} refused: ${refused[0].detail}`, { bad: true });
    return stale.length ? [...(await fresh(stale.map(r => ({ id: r.job })))).values()] : [];
  } catch (error) {
    if (error.kind === "stale") return [...(await fresh(list)).values()];
    say(`${text}: ${error.message}`, { bad: true });
    return [];
  }
}

/** order gives an order to jobs, or to some items of one. */
export async function order(action, ids, items = "") {
  const known = orders[action],
    list = ids.map(id => ({ id, name: "", user: "", running: 0, failed: 0, version: 0, ...jobs.value.get(id) }));
  const subject = list => (items ? what : list.length === 1 ? `job ${list[0].id}` : `${list.length} jobs`);
  const question = list => ({
    label: `${known.label} ${subject(list)}`,
    bad: known.bad,
    command: `${known.command} ${items ? quoted(`${ids[0]}:${items}`) : list.map(j => j.id).join(" ")}`,
  });
  const what = items
    ? `${items.length > 40 ? `${count(items.split(",").length)} items` : `items ${items}`} of job ${ids[0]}`
    : ids.length === 1
      ? `job ${ids[0]}`
      : `${ids.length} jobs`;
  const yes = await confirm({
    title: `${known.label}: ${what}?`,
    text: items ? "" : known.text(list),
    list: ids.length > 1 ? named(list) : [],
    ...question(list),
  });
  if (!yes) return;
  const request = list => {
    for (const j of list) j.sent = advanced(j.id, j.version);
    return items
      ? {
          id: "order-job",
          params: { job: ids[0], action },
          options: { body: { items }, header: list[0].sent ? { "If-Match": `"${list[0].sent}"` } : {} },
        }
      : {
          id: "order-jobs",
          params: { action },
          options: { body: { jobs: list.map(j => j.id), versions: list.map(j => j.sent) } },
        };
  };
  const send = () =>
    insist(list, "job", shown, question, list =>
      settled(`${known.label} ${what}`, action, list, list => {
        const r = request(list);
        return call(r.id, r.params, r.options);
      }),
    );
  if (known.bad) later(`${known.label} ${what}`, what, send, () => request(list));
  else await send();
}

/** whole reads digits alone: Number makes 0 of an empty field, and numbers of 0x10 and 1e3. */
const whole = text => (/^-?\d+$/.test(text) ? Number(text) : NaN);
const changes = {
  priority: { label: "Priority", hint: "1 is the best", read: whole },
  cpus: { label: "cpus", hint: "primary instances", read: whole },
  max_cpus: {
    label: "max_cpus",
    hint: "a number, 0 for none, * for the site's limit",
    read: text => (text === "*" ? "*" : whole(text)),
  },
};
const before = (job, name) =>
  name !== "max_cpus" ? job[name] : job.given === null ? job.max_cpus : job.given < 0 ? "*" : job.given;

/**
 * change changes an attribute of jobs, of each only if that still has the value that was shown; others may have
 * changed other things.
 */
async function change(name, value, list) {
  const steps = [],
    stale = [];
  try {
    for (const [id, is] of await fresh(list)) {
      const was = list.find(j => j.id === id);
      if (was.version && advanced(id, was.version) !== is.version && was[name] !== is[name]) stale.push(is);
      else {
        try {
          steps.push(await modified(id, name, value, before(is, name), is.version));
        } catch (error) {
          if (error.kind === "stale")
            stale.push({ ...is, version: 0 }); // between the two calls
          else say(`job ${id}: ${error.message}`, { bad: true });
        }
      }
    }
  } catch (error) {
    say(error.message, { bad: true });
  }
  if (steps.length)
    record(`${name} ${value} for ${steps.length === 1 ? steps[0].what : `${count(steps.length)} jobs`}`, steps);
  return stale;
}

/** modify changes an attribute of jobs. */
export async function modify(name, ids) {
  const how = changes[name],
    list = ids.map(id => jobs.value.get(id) ?? { id, name: "", user: "" });
  const command = (value, list) => `qbmodify -m${name} ${value} ${list.map(j => j.id).join(" ")}`;
  const text = await confirm({
    title: `${how.label} of ${ids.length === 1 ? `job ${ids[0]}` : `${ids.length} jobs`}`,
    label: `Change ${ids.length === 1 ? `job ${ids[0]}` : `${ids.length} jobs`}`,
    command: command("VALUE", list),
    field: { label: `new ${name}`, value: String(list[0][name] ?? ""), hint: how.hint },
    list: ids.length > 1 ? named(list) : [],
  });
  if (text === null) return;
  const value = how.read(text.trim());
  if (value !== "*" && !Number.isInteger(value))
    return say(`${name}: ${JSON.stringify(text)} is no whole number`, { bad: true });
  await insist(
    list,
    "job",
    [name],
    list => ({
      label: `Change to ${value}: ${list.length === 1 ? `job ${list[0].id}` : `${list.length} jobs`}`,
      command: command(value, list),
    }),
    list => change(name, value, list),
  );
}

/** lock keeps hosts from new work, or lets them take it again. */
export async function lock(names, on) {
  const id = on ? "lock-host" : "unlock-host";
  if (!may(id))
    return say(
      `${me.value.user} (role ${me.value.role}) lacks the right lock, which locking hosts needs; the role operator has it; an admin gives it with qbadmin user set ${me.value.user} -role operator`,
      { bad: true },
    );
  const word = on ? "Lock" : "Unlock",
    as = host => ({ ...hosts.value.get(host), id: host });
  const question = list => ({
    label: `${word} ${list.length === 1 ? list[0].id : `${list.length} hosts`}`,
    command: `${on ? "qblock" : "qbunlock"} ${list.map(h => quoted(h.id)).join(" ")}`,
  });
  const list = names.map(as);
  const yes = await confirm({
    title: `${word} ${names.length === 1 ? names[0] : `${names.length} hosts`}?`,
    text: on ? "Items that run there go on; no new item starts there." : "",
    list: names.length > 1 ? names : [],
    ...question(list),
  });
  if (!yes) return;
  const changed = [],
    refused = [];
  const all = await insist(list, "host", ["locked_by"], question, async list => {
    const stale = [];
    for (const was of list) {
      const host = was.id,
        is = as(host);
      if (was.locked_by !== is.locked_by) stale.push(is);
      else
        await call(id, { host }).then(
          reply => reply.affected && changed.push(host),
          error => refused.push(error),
        );
    }
    return stale;
  });
  const inverse = host =>
    on
      ? {
          call: "unlock-host",
          params: { host, locked_by: me.value.user },
          what: host,
          command: `qbunlock ${quoted(host)}`,
        }
      : { call: "lock-host", params: { host }, what: host, command: `qblock ${quoted(host)}` };
  if (all || changed.length)
    record(
      `${word.toLowerCase()}ed ${
        names.length === 1 && changed.length ? names[0] : `${changed.length} of ${names.length}`
      }`,
      changed.map(inverse),
    );
  if (refused.length) say(refused[0].message, { bad: true });
}
