// Windows that were asked for, and which of them can be drawn. A window is aligned to its bucket,
// which is a power of two, so that small moves ask for the same one.
import type { Marks } from "./model.ts";
import type { Span } from "./scale.ts";

export interface Asked extends Span {
  bucket: number;
}

export interface Loaded extends Asked {
  marks: Marks;
}

const TILE = 512;

/** What to ask for so that a window can be drawn at a width. */
export function asked(span: Span, width: number, end: number): Asked {
  const bucket = 2 ** Math.max(0, Math.floor(Math.log2((span.to - span.from) / Math.max(width, 1))));
  const tile = bucket * TILE;
  return { from: Math.floor(span.from / tile) * tile, to: Math.min(Math.ceil(span.to / tile) * tile, Math.ceil(end)), bucket };
}

const covers = (each: Span, span: Span) => each.from <= span.from && each.to >= span.to;

export class Cache {
  #kept: Loaded[] = [];
  constructor(readonly most = 16) {}

  put(loaded: Loaded): void {
    this.#kept.push(loaded);
    // The widest stays: it can stand in for any window until that has come.
    if (this.#kept.length > this.most) {
      const widest = this.#kept.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
      this.#kept.splice(this.#kept[0] === widest ? 1 : 0, 1);
    }
  }

  find(want: Asked): Loaded | undefined {
    const at = this.#kept.findIndex((each) => each.bucket === want.bucket && covers(each, want));
    if (at < 0) return undefined;
    const [found] = this.#kept.splice(at, 1);
    this.#kept.push(found!);
    return found;
  }

  /** The nearest in detail that covers a window, else the one that covers most of it. */
  standIn(want: Asked): Loaded | undefined {
    const far = (each: Loaded) => Math.abs(Math.log2(each.bucket / want.bucket));
    const part = (each: Loaded) => Math.max(0, Math.min(each.to, want.to) - Math.max(each.from, want.from));
    return this.#kept.toSorted((a, b) => part(b) - part(a) || far(a) - far(b))[0];
  }
}
