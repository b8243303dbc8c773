// The state of a timeline in a notebook: Python's traits of the widget, and what is only here.
import type { Model } from "./messages.ts";
import type { Selected, State, StateStore } from "./state.ts";

type Pair = [number, number] | null;
interface Chosen {
  lane: number;
  depth: number;
  start_ns: number;
}

const NAMES = ["range", "window", "selection"] as const;

function read(model: Model): Partial<State> {
  const range = model.get("range") as Pair;
  const window = model.get("window") as Pair;
  const chosen = model.get("selection") as Chosen | null;
  return {
    from: range?.[0],
    to: range?.[1],
    window: window ? window.join("-") : undefined,
    selected: chosen ? { lane: chosen.lane, start: chosen.start_ns, depth: chosen.depth } : undefined,
  };
}

function traits(state: State): Record<(typeof NAMES)[number], unknown> {
  const { from, to, selected } = state;
  return {
    range: from === undefined || to === undefined || to <= from ? null : [from, to],
    window: state.window ? String(state.window).split("-").map(Number) : null,
    selection: selected ? { lane: selected.lane, depth: selected.depth, start_ns: Math.round((selected as Selected).start) } : null,
  };
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Until the signal, the state follows the model, and the model the state. */
export function traitsOf(model: Model, closed: AbortSignal): StateStore {
  let state: State = { view: "timeline", ...read(model) };
  let isOwn = false;
  const listeners = new Set<(state: State) => void>();
  const tell = () => listeners.forEach((listener) => listener(state));
  const follow = () => {
    const next = { ...state, ...read(model) };
    if (isOwn || same(traits(next), traits(state))) return;
    state = next;
    tell();
  };
  for (const name of NAMES) model.on(`change:${name}`, follow);
  closed.addEventListener("abort", () => NAMES.forEach((name) => model.off(`change:${name}`, follow)), { once: true });
  return {
    get: () => state,
    set(change) {
      const next: State = { ...state, ...change };
      if (same(next, state)) return;
      state = next;
      // A model tells of each trait as it is set, while the others are still the former ones.
      isOwn = true;
      for (const [name, value] of Object.entries(traits(state))) if (!same(value, model.get(name))) model.set(name, value);
      isOwn = false;
      model.save_changes();
      tell();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
