// What is shown, in the hash of the address: a link shows the same again, and Back goes back.

export interface Selected {
  lane: number;
  start: number;
  depth: number;
}

/** `from` and `to` are ns since the trace's beginning. */
export interface State {
  view: string;
  from?: number;
  to?: number;
  selected?: Selected;
  search?: string;
  [param: string]: unknown;
}

export interface StateStore {
  get(): State;
  /** Changes what is given; undefined takes something away. A new view is a new entry of Back. */
  set(change: Partial<State>): void;
  /** Calls the listener after each change, until the function that it gives is called. */
  subscribe(listener: (state: State) => void): () => void;
}

const FIRST = "overview";
const NUMBERS = new Set(["from", "to"]);

export function parse(hash: string): State {
  const state: State = { view: FIRST };
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (NUMBERS.has(name)) {
      const value = Number(text);
      if (text !== "" && Number.isFinite(value)) state[name] = value;
    } else if (name === "selected") {
      const [lane, start, depth] = text.split(",").map(Number);
      if ([lane, start, depth].every(Number.isFinite)) state.selected = { lane, start, depth } as Selected;
    } else {
      state[name] = text;
    }
  }
  return state;
}

export function format(state: State): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value === undefined || value === null || value === "") continue;
    if (name === "selected") {
      const { lane, start, depth } = value as Selected;
      words.set(name, `${lane},${start},${depth}`);
    } else {
      words.set(name, String(value));
    }
  }
  return `#${words.toString().replaceAll("%2C", ",")}`;
}

export function openState(): StateStore {
  let state = parse(location.hash);
  const listeners = new Set<(state: State) => void>();
  const tell = () => listeners.forEach((listener) => listener(state));
  const moved = () => {
    state = parse(location.hash);
    tell();
  };
  addEventListener("popstate", moved);
  return {
    get: () => state,
    set(change) {
      const next: State = { ...state, ...change };
      for (const name of Object.keys(next)) if (next[name] === undefined) delete next[name];
      if (format(next) === format(state)) return;
      const isView = next.view !== state.view;
      state = next;
      history[isView ? "pushState" : "replaceState"](null, "", format(state));
      tell();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
