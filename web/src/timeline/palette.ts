// Colours of categories: Okabe and Ito's, which colour-blind people tell apart, and tints of them.
// All of them carry dark text, on light and dark ground.

const COLOURS = ["#56b4e9", "#e69f00", "#2fb58a", "#f0e442", "#d98cb8", "#e8794a", "#a9c7e8", "#c2b280", "#8fd3c0", "#cfa7e0"];
const OTHER = "#b8bec6";

export const ON_MARK = "#15181c";
const given = new Map<string, string>();

/** The colour of a category: the next free one at its first use; beyond those all share one. */
export function colourOf(category: string): string {
  let colour = given.get(category);
  if (colour === undefined) {
    colour = category === "" || given.size >= COLOURS.length ? OTHER : COLOURS[given.size]!;
    if (category !== "") given.set(category, colour);
  }
  return colour;
}

export interface Inks {
  ground: string;
  raised: string;
  ink: string;
  quiet: string;
  line: string;
  accent: string;
  warn: string;
}

export function inks(of: Element): Inks {
  const style = getComputedStyle(of);
  const get = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return { ground: get("ground"), raised: get("raised"), ink: get("ink"), quiet: get("quiet"), line: get("line"), accent: get("accent"), warn: get("warn") };
}
