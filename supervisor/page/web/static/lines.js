// What a line of output is: it ends with a line feed, a carriage return of a progress bar, or a backspace of one
// that takes back what it wrote, as for a job's expressions (internal/patterns/text.go) and for Find. Lines know
// their bytes, so that places of the server and of the page are the same.
import { open } from "./session.js";

const sure = 8; // bytes that tell the coding

/**
 * codingOf is how output is text, by its first bytes: UTF-16 has a mark at its begin, or zeros in every second
 * byte.
 */
export function codingOf(bytes) {
  const [a, b] = bytes,
    some = bytes.subarray(0, sure),
    zeros = odd => some.length >= sure / 2 && some.every((byte, n) => (byte === 0) === (n % 2 === odd));
  if ((a === 0xff && b === 0xfe) || zeros(1)) return "utf-16le";
  return (a === 0xfe && b === 0xff) || zeros(0) ? "utf-16be" : "utf-8";
}

/** codingOfLog is that of the output of an attempt, of which a part does not tell it. */
export const codingOfLog = async (attempt, signal) =>
  codingOf(new Uint8Array(await (await open("item-log", { ...attempt, limit: sure }, { signal })).arrayBuffer()));

/**
 * linesOf are the lines of bytes that begin at a place of the output, in its coding: of each, between which of the
 * bytes it stands. Nothing between two ends is a line if both are line feeds. The first is a part of one if there
 * is output before it: it is left out if others follow, for something is always shown, unless it has the byte that
 * is looked for. */
export function linesOf(bytes, begin, coding, wanted = 0) {
  const step = coding === "utf-8" ? 1 : 2,
    [low, high] = coding === "utf-16be" ? [1, 0] : [0, 1],
    list = [];
  let from = begin
      ? (step - 1) & begin
      : step === 2 && bytes[0] >= 0xfe && bytes[1] >= 0xfe
        ? 2
        : bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
          ? 3
          : 0,
    before = begin ? 0 : 10;
  for (let n = from; n < bytes.length; n += step) {
    const end = bytes[n + (step === 2 ? low : 0)];
    if ((end !== 10 && end !== 13 && end !== 8) || (step === 2 && bytes[n + high])) continue;
    if (n > from || (end === 10 && before === 10)) list.push([from, n]);
    from = n + step;
    before = end;
  }
  if (from < bytes.length) list.push([from, bytes.length]);
  if (begin > 0 && list.length > 1 && !(wanted >= begin && wanted - begin < list[0][1])) list.shift();
  return { coding, list };
}

/** textOf is a line as text. Byte order marks and zeros are no text, and what is no UTF-8 has marks in its place. */
export const textOf = ({ bytes, coding }, [from, to]) =>
  new TextDecoder(coding).decode(bytes.subarray(from, to)).replaceAll("\0", "");

/** lineAt is which line has a byte of the output; -1: none of these. */
export function lineAt(lines, begin, offset) {
  const at = offset - begin,
    n = lines.findLastIndex(([from]) => from <= at);
  return n >= 0 && (n < lines.length - 1 || at <= lines[n][1]) ? n : -1;
}

// What tells a terminal something is no text: colours become classes, the rest is left out. A sequence that is cut
// off ends with its line.
const told = /\u001b[ -/]*(?:\[[ -?]*[@-~]?|[\]PX^_][^\u0007\u001b]*\u0007?|[0-~])?/g,
  colours = /\u001b\[([\d;]*)m/;

/** plainOf is a line as expressions and Find see it. */
export const plainOf = line => line.replace(told, "");

/** piecesOf are the parts of that, each with its colour. */
export function piecesOf(line) {
  let colour = "";
  return line.split(/(\u001b\[[\d;]*m)/).flatMap((piece, n) => {
    const text = plainOf(piece);
    if (n % 2 === 0) return text ? [{ colour, text }] : [];
    const [, given] = colours.exec(piece),
      codes = given.split(";").map(Number),
      found = codes.find(c => (c >= 30 && c <= 37) || (c >= 90 && c <= 97));
    colour = found ? `ansi-${found % 10}` : codes.includes(0) ? "" : colour;
    return [];
  });
}

/** cutOf are the characters of pieces from one on and before another. */
export function cutOf(pieces, from, to) {
  let at = 0;
  return pieces.flatMap(({ colour, text }) => {
    const cut = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    at += text.length;
    return cut ? [{ colour, text: cut }] : [];
  });
}
