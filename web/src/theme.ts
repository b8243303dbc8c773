// Light or dark: as the system says, until somebody chooses.
const KEY = "cupti-etl theme";

export type Theme = "light" | "dark";

const dark = matchMedia("(prefers-color-scheme: dark)");

export const theme = (): Theme => {
  const chosen = localStorage.getItem(KEY);
  return chosen === "light" || chosen === "dark" ? chosen : dark.matches ? "dark" : "light";
};

function apply(): void {
  document.documentElement.dataset.theme = theme();
}

export function startTheme(): void {
  apply();
  dark.addEventListener("change", apply);
}

export function toggleTheme(): void {
  localStorage.setItem(KEY, theme() === "dark" ? "light" : "dark");
  apply();
}
