// What a line of output is: it ends with a line feed, a carriage return of a progress bar, or a backspace of one that takes back what it wrote, as
// for a job's expressions (patterns/doc.go) and for Find. Lines know their bytes, so that places of the server and of the page are the same.

/** codingOf is how bytes that begin at a place of the output are text: UTF-16 has a mark at its begin, and zeros in every second byte. */
function codingOf(bytes, begin) {
  const [a, b] = bytes, some = bytes.subarray(0, 4096), zeros = [0, 0];
  if (begin === 0 && (a === 0xff && b === 0xfe || a === 0xfe && b === 0xff)) return a === 0xff ? "utf-16le" : "utf-16be";
  some.forEach((byte, n) => { if (!byte) zeros[(begin + n) & 1]++; });
  const [even, odd] = zeros.map(n => n / some.length);
  return odd > 0.25 && even < 0.03 ? "utf-16le" : even > 0.25 && odd < 0.03 ? "utf-16be" : "utf-8";
}

/** linesOf are the lines of bytes that begin at a place of the output: of each, between which of the bytes it stands. Nothing between two ends is a line if both
 * are line feeds. The first is a part of one if there is output before it: it is left out if others follow, for something is always shown. */
export function linesOf(bytes, begin) {
  const coding = codingOf(bytes, begin), step = coding === "utf-8" ? 1 : 2, [low, high] = coding === "utf-16be" ? [1, 0] : [0, 1], list = [];
  let from = begin ? (step - 1) & begin : step === 2 && bytes[0] >= 0xfe ? 2 : bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0, before = begin ? 0 : 10;
  for (let n = from; n < bytes.length; n += step) {
    const end = bytes[n + (step === 2 ? low : 0)];
    if (end !== 10 && end !== 13 && end !== 8 || step === 2 && bytes[n + high]) continue;
    if (n > from || end === 10 && before === 10) list.push([from, n]);
    from = n + step;
    before = end;
  }
  if (from < bytes.length) list.push([from, bytes.length]);
  if (begin > 0 && list.length > 1) list.shift();
  return { coding, list };
}

/** textOf is a line as text. Byte order marks and zeros are no text, and what is no UTF-8 has marks in its place. */
export const textOf = ({ bytes, coding }, [from, to]) => new TextDecoder(coding).decode(bytes.subarray(from, to)).replaceAll("\0", "");

/** lineAt is which line has a byte of the output; -1: none of these. */
export function lineAt(lines, begin, offset) {
  const at = offset - begin, n = lines.findLastIndex(([from]) => from <= at);
  return n >= 0 && (n < lines.length - 1 || at <= lines[n][1]) ? n : -1;
}

// What tells a terminal something is no text: colours become classes, the rest is left out.
const told = /\u001b\[[ -?]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]/g, colours = /\u001b\[([\d;]*)m/;

/** piecesOf are the parts of a line, each with its colour. */
export function piecesOf(line) {
  let colour = "";
  return line.split(/(\u001b\[[\d;]*m)/).flatMap((piece, n) => {
    if (n % 2 === 0) return piece ? [{ colour, text: piece.replace(told, "") }] : [];
    const [, given] = colours.exec(piece), codes = given.split(";").map(Number), found = codes.find(c => (c >= 30 && c <= 37) || (c >= 90 && c <= 97));
    colour = found ? `ansi-${found % 10}` : codes.includes(0) ? "" : colour;
    return [];
  });
}
