// Dark or light: as the system has it, or as chosen here.
import { effect, signal } from "@preact/signals";
import { kept } from "./kept.js";

const key = "qb-theme",
  system = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal(kept.getItem(key) ?? "");
const dark = signal(system.matches);
system.onchange = () => {
  dark.value = system.matches;
};

/** theme is dark or light. */
export const theme = signal("light");
effect(() => {
  theme.value = chosen.value || (dark.value ? "dark" : "light");
  document.documentElement.dataset.theme = theme.value;
});

export function turn() {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  kept.setItem(key, chosen.value);
}

const hues = [212, 28, 152, 330, 48, 266, 186, 4];
/** named is how many jobs, users or hosts have a colour of their own. */
export const named = hues.length;
/** tone is the colour of the nth of them, grey of the others: hue says which, and the legend has its name. */
export const tone = (n, dark) =>
  n < 0 || n >= named ? (dark ? "#5b6370" : "#a7aeb9") : `hsl(${hues[n]} ${dark ? "62% 62%" : "64% 44%"})`;
