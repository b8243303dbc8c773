// What a key does.

export type Action =
  | { kind: "zoom"; factor: number }
  | { kind: "pan"; share: number }
  | { kind: "step"; by: 1 | -1 }
  | { kind: "scroll"; by: number }
  | { kind: "fit" }
  | { kind: "reset" }
  | { kind: "clear" }
  | { kind: "help" }
  | { kind: "search" };

export interface Key {
  key: string;
  ctrlKey?: boolean;
  metaKey?: boolean;
  altKey?: boolean;
}

const ACTIONS: Record<string, Action> = {
  w: { kind: "zoom", factor: 0.7 },
  s: { kind: "zoom", factor: 1 / 0.7 },
  a: { kind: "pan", share: -0.2 },
  d: { kind: "pan", share: 0.2 },
  f: { kind: "fit" },
  arrowright: { kind: "step", by: 1 },
  arrowleft: { kind: "step", by: -1 },
  arrowdown: { kind: "scroll", by: 60 },
  arrowup: { kind: "scroll", by: -60 },
  escape: { kind: "clear" },
  "0": { kind: "reset" },
  "/": { kind: "search" },
  "?": { kind: "help" },
};

export const HELP: [string, string][] = [
  ["W, S", "zoom in, out (also Ctrl and the wheel)"],
  ["A, D", "move left, right (also Shift and the wheel)"],
  ["←, →", "select the one before, after it in the lane"],
  ["↑, ↓", "scroll the lanes"],
  ["F", "zoom in to what is selected, or to the chosen range"],
  ["drag", "choose a range"],
  ["double click, 0", "show the whole trace"],
  ["/", "search; Enter goes to the next"],
  ["Esc", "close this help, else clear selection and range"],
  ["?", "show or hide this help"],
];

/** A key with Ctrl, Alt or Meta belongs to the browser. */
export function actionOf(key: Key): Action | undefined {
  if (key.ctrlKey || key.metaKey || key.altKey) return undefined;
  return ACTIONS[key.key.toLowerCase()];
}
