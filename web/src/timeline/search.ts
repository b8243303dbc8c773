// The search box: what was found, and the next of it.
import type { Source } from "../client.ts";
import { h } from "../dom.ts";
import { complaint } from "../complaint.ts";
import { duration } from "../units.ts";
import { moment } from "./scale.ts";

export interface Found {
  lane: number;
  depth: number;
  start: number;
  end: number;
  label: string;
}

const LISTED = 50;
const WAIT_MS = 200;

export interface Search {
  box: HTMLInputElement;
  elements: HTMLElement[];
  set(text: string): void;
  stop(): void;
}

export function search(client: Source, changed: (text: string) => void, found: (all: Found[]) => void, go: (one: Found) => void): Search {
  const box = h("input", { type: "search", placeholder: "Search names", "aria-label": "Search the timeline", input: later, keydown: key });
  const says = h("span", { class: "found", role: "status" });
  const list = h("ol", { class: "results", "aria-label": "Found", hidden: true });
  let all: Found[] = [];
  let at = -1;
  let total = 0;
  let asked = "";
  let timer = 0;
  let running = new AbortController();

  function later(): void {
    clearTimeout(timer);
    timer = window.setTimeout(() => void ask(), WAIT_MS);
  }
  async function ask(): Promise<void> {
    clearTimeout(timer);
    running.abort();
    const mine = (running = new AbortController());
    asked = box.value.trim();
    changed(asked);
    at = -1;
    if (asked === "") return show([], 0);
    try {
      const rows = (await client.rows("timeline_search", { text: asked }, mine.signal)).toArray();
      if (mine.signal.aborted) return;
      const read = (row: Record<string, unknown>): Found => ({ lane: Number(row.lane), depth: Number(row.depth), start: Number(row.start_ns), end: Number(row.end_ns), label: String(row.label) });
      show(rows.map(read), Number(rows[0]?.found ?? 0));
    } catch (error) {
      if (mine.signal.aborted) return;
      show([], 0);
      says.replaceChildren(complaint(error));
    }
  }
  function show(now: Found[], count: number): void {
    [all, total] = [now, count];
    found(all);
    says.textContent = asked === "" ? "" : `${count.toLocaleString("en")} found${count > all.length ? `, the longest ${all.length.toLocaleString("en")} marked` : ""}`;
    list.hidden = all.length === 0;
    list.replaceChildren(
      ...all.slice(0, LISTED).map((one, nth) => h("li", {}, h("button", { type: "button", click: () => step(nth) }, `${one.label} – ${duration(one.end - one.start)} at ${moment(one.start)}`))),
    );
  }
  function step(to: number): void {
    at = to;
    const one = all[at];
    if (!one) return;
    [...list.children].forEach((each, nth) => each.classList.toggle("current", nth === at));
    const rest = total > all.length ? ` (${total.toLocaleString("en")} found)` : "";
    says.textContent = `${at + 1} of ${all.length.toLocaleString("en")}${rest}`;
    go(one);
  }
  function key(event: KeyboardEvent): void {
    event.stopPropagation();
    if (event.key === "Escape") box.blur();
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (box.value.trim() !== asked) void ask().then(() => step(0));
    else if (all.length > 0) step((at + (event.shiftKey ? all.length - 1 : 1)) % all.length);
  }
  return {
    box,
    elements: [box, says, list],
    set(text) {
      if (text === asked) return;
      box.value = text;
      void ask();
    },
    stop() {
      clearTimeout(timer);
      running.abort();
    },
  };
}
