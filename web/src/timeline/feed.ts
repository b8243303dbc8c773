// Asks for the marks of a window: at once from the cache, else when the window has been the same
// for one frame; what was asked before is given up.
import type { Source } from "../client.ts";
import { asked, Cache, type Asked, type Loaded } from "./cache.ts";
import { byLane, readMarks } from "./model.ts";
import { merged } from "./hits.ts";
import type { Span } from "./scale.ts";

export class Feed {
  #cache = new Cache();
  #running?: { want: Asked; stop: AbortController };
  #frame = 0;
  /** What failed is not asked for again at each picture. */
  #failed = "";

  constructor(
    readonly client: Source,
    readonly end: number,
    /** Called when more can be drawn, or with what went wrong. */
    readonly told: (error?: unknown) => void,
  ) {}

  get isLoading(): boolean {
    return this.#running !== undefined || this.#frame !== 0;
  }

  /** What can be drawn of a window now; what is missing is on its way. */
  marks(span: Span, width: number): Loaded | undefined {
    const want = asked(span, width, this.end);
    const found = this.#cache.find(want);
    if (found) {
      this.stop();
      return found;
    }
    const now = this.#running?.want;
    if (this.#failed === JSON.stringify(want)) return this.#cache.standIn(want);
    if (!now || now.bucket !== want.bucket || now.from > want.from || now.to < want.to) {
      this.stop();
      this.#frame = requestAnimationFrame(() => {
        // A picture of another window in this frame comes after this, and takes the second one back.
        this.#frame = requestAnimationFrame(() => {
          this.#frame = 0;
          void this.#ask(want);
        });
      });
    }
    return this.#cache.standIn(want);
  }

  /** Lets what failed be asked for again. */
  again(): void {
    this.#failed = "";
    this.told();
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#running?.stop.abort();
    this.#running = undefined;
  }

  async #ask(want: Asked): Promise<void> {
    const stop = new AbortController();
    this.#running = { want, stop };
    const params = { from_ns: String(want.from), to_ns: String(want.to), bucket_ns: String(want.bucket) };
    try {
      const table = await this.client.rows("timeline_mark", params, stop.signal);
      if (stop.signal.aborted) return;
      const marks = byLane(readMarks(table));
      for (const [lane, list] of marks) marks.set(lane, merged(list));
      this.#cache.put({ ...want, marks });
      this.#running = undefined;
      this.told();
    } catch (error) {
      if (stop.signal.aborted) return;
      this.#running = undefined;
      this.#failed = JSON.stringify(want);
      this.told(error);
    }
  }
}
