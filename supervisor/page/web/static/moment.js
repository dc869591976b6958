// Times as people write them, in the zone of this browser, as qbsub reads them in that of its machine.
const absolute = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d?):(\d\d)(?::(\d\d))?)?$/;
const zoned = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const clock = /^(\d\d?):(\d\d)(?::(\d\d))?$/;
const two = number => String(Math.abs(number)).padStart(2, "0");
const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** instants are those at which clocks here show a wall time, given as if it were UTC. */
function instants(wall) {
  const found = [];
  for (const near of [wall - 864e5, wall + 864e5]) {
    const offset = new Date(near).getTimezoneOffset() * 6e4,
      at = wall + offset;
    if (new Date(at).getTimezoneOffset() * 6e4 === offset && !found.includes(at)) found.push(at);
  }
  return found.sort((a, b) => a - b);
}

/** iso is an instant with the offset of this zone. */
function iso(at) {
  const offset = -new Date(at).getTimezoneOffset(),
    text = new Date(at + offset * 6e4).toISOString().slice(0, 19);
  return offset ? `${text}${offset < 0 ? "-" : "+"}${two(Math.trunc(offset / 60))}:${two(offset % 60)}` : `${text}Z`;
}

/** local is a time as a request has it: absolute, +SPAN, or "" for at once. A time of day is the next one. */
export function local(text, now = Date.now()) {
  if (text === "" || text === "now") return "";
  if (text[0] === "+" || zoned.test(text)) return text;
  const found = absolute.exec(text),
    time = clock.exec(text),
    here = new Date(now);
  const wallOf = (year, month, day, [hours, minutes, seconds]) => {
    const wall = Date.UTC(year, month - 1, day, hours ?? 0, minutes ?? 0, seconds ?? 0),
      back = new Date(wall);
    if (back.getUTCDate() !== Number(day) || hours > 23 || minutes > 59 || seconds > 59)
      throw new Error(`${text} is no time`);
    return wall;
  };
  if (found) {
    const wall = wallOf(found[1], found[2], found[3], found.slice(4)),
      at = instants(wall);
    if (!at.length)
      throw new Error(`${text} does not exist in the zone ${zone()}: clocks are put forward then; write a later time`);
    if (at.length > 1)
      throw new Error(
        `${text} comes twice in the zone ${zone()}: clocks are put back then; write ${at.map(iso).join(" or ")}`,
      );
    return iso(at[0]);
  }
  for (let day = 0; time && day < 3; day++) {
    const date = new Date(Date.UTC(here.getFullYear(), here.getMonth(), here.getDate() + day));
    const at = instants(wallOf(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate(), time.slice(1))).find(
      at => at > now,
    );
    if (at !== undefined) return iso(at);
  }
  throw new Error(`${text} is not a time; write 18:30, 2026-12-24 18:30, 2026-12-24T18:30:00Z or +2h`);
}
