// The filter language of the lists: words and field:value, all of which must hold. field:a,b is one of them, -word
// none of them; numbers and durations take < and >, as in age>2h.

/** fields of a list: how a row gives each, and whether it is text, number or age. */
export const jobFields = {
  id: { kind: "number", of: j => j.id },
  name: { kind: "text", of: j => j.name },
  user: { kind: "text", of: j => j.user },
  status: { kind: "text", of: j => j.status },
  cluster: { kind: "text", of: j => j.cluster },
  account: { kind: "text", of: j => j.account },
  reason: { kind: "text", of: j => `${j.code} ${j.reason}` },
  priority: { kind: "number", of: j => j.priority },
  items: { kind: "number", of: j => j.total },
  failed: { kind: "number", of: j => j.failed },
  running: { kind: "number", of: j => j.running },
  pending: { kind: "number", of: j => j.pending },
  cpus: { kind: "number", of: j => j.cpus },
  age: { kind: "age", of: j => j.submitted },
};
export const hostFields = {
  name: { kind: "text", of: h => h.name },
  state: { kind: "text", of: h => h.state },
  cluster: { kind: "text", of: h => h.cluster },
  group: { kind: "text", of: h => h.groups },
  job: { kind: "list", of: h => h.jobs },
  remark: { kind: "text", of: h => h.remark },
  avoided: { kind: "text", of: h => h.avoided },
  slots: { kind: "number", of: h => h.slots },
  used: { kind: "number", of: h => h.used },
  idle: { kind: "number", of: h => h.slots - h.used },
};

const unit = { s: 1, m: 60, h: 3600, d: 86400 };

/** A filter that cannot be read; column counts from 1. */
export class FilterError extends Error {
  constructor(message, column) {
    super(`column ${column}: ${message}`);
    this.column = column;
  }
}

function comparison(kind, text, column, _now) {
  const found = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(text);
  if (!found || (kind === "number" && found[2])) {
    throw new FilterError(
      kind === "age"
        ? `${text || "the value"} is not a duration; write 90s, 5m, 2h or 1d`
        : `${text || "the value"} is not a number`,
      column,
    );
  }
  return Number(found[1]) * (unit[found[2]] ?? 1);
}

function term(word, column, fields, now) {
  const not = word.startsWith("-") && word.length > 1;
  if (not) {
    word = word.slice(1);
    column++;
  }
  const found = /^([a-z_]+)([:<>])(.*)$/s.exec(word);
  let test;
  if (!found) {
    const wanted = word.toLowerCase();
    test = row =>
      Object.values(fields).some(f => f.kind === "text" && String(f.of(row)).toLowerCase().includes(wanted)) ||
      String(row.id ?? "") === wanted;
  } else {
    const [, name, sign, text] = found;
    const field = fields[name];
    if (!field) throw new FilterError(`there is no field ${name}; use ${Object.keys(fields).join(", ")}`, column);
    const at = column + name.length + 1;
    if (sign === ":") {
      if (!text) throw new FilterError(`${name}: needs a value`, at);
      const wanted = text.toLowerCase().split(",");
      const exact = name === "status" || name === "state" || field.kind === "number";
      test =
        field.kind === "list"
          ? row => field.of(row).some(one => wanted.includes(String(one)))
          : row => {
              const is = String(field.of(row)).toLowerCase();
              return wanted.some(w => (exact ? is === w : is.includes(w)));
            };
    } else {
      if (field.kind === "text" || field.kind === "list")
        throw new FilterError(`${name} is text; write ${name}:value`, at - 1);
      const limit = comparison(field.kind, text, at, now);
      const value = field.kind === "age" ? row => now() - field.of(row) : field.of;
      test = sign === ">" ? row => value(row) > limit : row => value(row) < limit;
    }
  }
  return not ? row => !test(row) : test;
}

/** parse makes a test of a row; it throws a FilterError. */
export function parse(text, fields, now) {
  const tests = [];
  for (const found of text.matchAll(/\S+/g)) tests.push(term(found[0], found.index + 1, fields, now));
  return row => tests.every(test => test(row));
}
