// The timeline as a view: it lives until another view is shown.
import { h } from "../dom.ts";
import type { Context } from "../panel.ts";
import { mountTimeline } from "../timeline/timeline.ts";

export function timeline(context: Context): HTMLElement {
  const root = h("div", {});
  const { destroy } = mountTimeline(root, context.client, context.store);
  context.signal.addEventListener("abort", destroy);
  return root;
}
