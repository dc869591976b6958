// Lists as one text, as Attribute.Split of supervisor/job/facts reads them.

const around = /\s*(?:"((?:[^"]|"")+)"([^,]*)|'((?:[^']|'')+)'([^,]*)|((?!\s*["'])[^,]*))(?:,|$)/suy;
const shell = /((?:[^,'"\\]|\\.|\\$|'[^']*'|"(?:[^"\\]|\\.)*")*)(?:,|$)/suy;

/**
 * entries reads a list. With quotes "around", an entry with a comma stands between quotes; of lines for a "shell"
 * the quotes stay.
 */
export function entries(text, quotes) {
  if (!quotes)
    return text
      .split(",")
      .map(entry => entry.trim())
      .filter(Boolean);
  const form = quotes === "shell" ? shell : around,
    all = [];
  text = text.trim();
  for (let at = 0; at < text.length; at = form.lastIndex) {
    form.lastIndex = at;
    const found = form.exec(text);
    if (!found) throw new Error(`${text} has a quote that is not closed`);
    const [, one, two, three, four, five] = found;
    if (quotes === "shell" || five !== undefined) all.push((five ?? one).trim());
    else all.push((one?.replaceAll('""', '"') ?? three.replaceAll("''", "'")) + (two ?? four).trimEnd());
  }
  return all.filter(Boolean);
}

/**
 * listed writes a list as entries reads it: a comma outside of quotes in a line for a shell gets a backslash, which
 * means the same there.
 */
export function listed(list, quotes) {
  if (quotes === "around")
    return list.map(entry => (/^["']|^\s|\s$|,/.test(entry) ? `"${entry.replaceAll('"', '""')}"` : entry)).join(",");
  if (quotes !== "shell") return list.join(",");
  return list
    .map(line => line.replace(/\\.|'[^']*'|"(?:[^"\\]|\\.)*"|,/gsu, part => (part === "," ? "\\," : part)))
    .join(",");
}
