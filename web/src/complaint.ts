// What went wrong, and what to do about it.
import { EtlError } from "./client.ts";
import { h } from "./dom.ts";

/** Nobody answered, or not in time: what was computed by then is kept, so another try can do. */
const PASSING = [0, 503, 504];

/** `again` asks once more, where that can help. */
export function complaint(error: unknown, again?: () => void): HTMLElement {
  const known = error instanceof EtlError ? error : undefined;
  if (!known) console.error(error);
  const detail = error instanceof Error ? error.message : String(error);
  const button = again && known && PASSING.includes(known.status) && h("button", { type: "button", click: again }, "Try again");
  return h("p", { class: "complaint", role: "alert" }, h("strong", {}, detail), known?.hint && ` ${known.hint}`, button && " ", button);
}
