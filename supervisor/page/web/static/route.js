// Addresses: everything after # says what is seen, so that no server and no log hears of it.
// #/jobs/12/items/17?attempt=2
import { signal } from "@preact/signals";

/** decoded is a part of an address; one with a broken escape, as people type and cut them, is taken as it is. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path ? path.split("/").map(decoded) : [], query: new URLSearchParams(query ?? "") };
}

export const route = signal(read());
addEventListener("hashchange", () => {
  route.value = read();
});

/** to is the address of a view. */
export function to(path, query = {}) {
  const q = new URLSearchParams(
    Object.entries(query).filter(
      ([, value]) => value !== "" && value !== undefined && value !== null && value !== false,
    ),
  );
  return `#/${path.map(encodeURIComponent).join("/")}${q.size ? `?${q}` : ""}`;
}

export const go = (path, query) => {
  location.hash = to(path, query);
};

/** refine changes the query of the present view without a step in the history. */
export function refine(changes) {
  const query = { ...Object.fromEntries(route.value.query), ...changes };
  history.replaceState(null, "", to(route.value.path, query));
  route.value = read();
}
