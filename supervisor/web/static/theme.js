// Dark or light: as the system has it, or as chosen here.
import { effect, signal } from "@preact/signals";

const key = "qb-theme", system = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal(localStorage.getItem(key) ?? "");
const dark = signal(system.matches);
system.onchange = () => { dark.value = system.matches; };

/** theme is dark or light. */
export const theme = signal("light");
effect(() => {
  theme.value = chosen.value || (dark.value ? "dark" : "light");
  document.documentElement.dataset.theme = theme.value;
});

export function turn() {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(key, chosen.value);
}
