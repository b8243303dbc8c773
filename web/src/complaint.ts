// What went wrong, and what to do about it.
import { EtlError } from "./client.ts";
import { h } from "./dom.ts";

export function complaint(error: unknown): HTMLElement {
  if (!(error instanceof EtlError)) console.error(error);
  const detail = error instanceof Error ? error.message : String(error);
  const hint = error instanceof EtlError ? error.hint : "";
  return h("p", { class: "complaint", role: "alert" }, h("strong", {}, detail), hint && h("span", {}, ` ${hint}`));
}
