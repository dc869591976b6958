// What views keep from one load of the page to the next: filters, columns, a draft. It is in the browser only where
// the certificate says who has served the page. Without TLS another program may have had the port for a moment and
// have written there, and what is read from it may be sent to the farm.
import { secure } from "./session.js";

const memory = new Map();

/** kept is as the browser's localStorage. */
export const kept = secure
  ? localStorage
  : {
      getItem: key => memory.get(key) ?? null,
      setItem: (key, text) => {
        memory.set(key, text);
      },
      removeItem: key => {
        memory.delete(key);
      },
    };
