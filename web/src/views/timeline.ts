// The timeline as a view: it lives until another view is shown.
import { h } from "../dom.ts";
import type { Context } from "../panel.ts";
import { mountTimeline } from "../timeline/timeline.ts";
import { duration } from "../units.ts";

export function timeline(context: Context): HTMLElement {
  const root = h("div", {});
  const choice = captures(context);
  const { destroy } = mountTimeline(root, context.client, context.store);
  context.signal.addEventListener("abort", destroy);
  return choice ? h("div", {}, choice, root) : root;
}

/** Of captures that lie far apart, as those of two runs do, one is seen at a time. */
function captures({ catalogue, store }: Context): HTMLElement | null {
  const { recorded, duration_ns: whole } = catalogue;
  const long = recorded.reduce((sum, [from, to]) => sum + to - from, 0);
  if (recorded.length < 2 || long > whole / 2) return null;
  const show = ([from, to]: [number, number]) => store.set({ window: `${from}-${to}` });
  const { window, from, to, selected } = store.get();
  if ([window, from, to, selected].every((each) => each === undefined)) show(recorded[0]!);
  const buttons = recorded.map((each) => h("button", { type: "button", click: () => show(each) }, `${duration(each[1] - each[0])} from ${duration(each[0])}`));
  return h("p", { class: "tools" }, "Captures: ", ...buttons);
}
