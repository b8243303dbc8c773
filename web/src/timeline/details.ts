// Everything about the selected thing: its row, its statement, what it launched or was launched by.
import type { Source } from "../client.ts";
import { h } from "../dom.ts";
import { complaint } from "../complaint.ts";
import { duration } from "../units.ts";
import type { Arrow } from "./draw.ts";
import { rowOf, type Lane, type Mark } from "./model.ts";
import { moment } from "./scale.ts";

export interface Asks {
  client: Source;
  signal: AbortSignal;
  go: (lane: number, depth: number, start: number) => void;
  labelOf: (lane: number) => string;
}

/** What a lane has, by its content. */
const WHAT: Record<string, string> = { stream: "activities", idle: "gaps", api: "calls", range: "ranges", python: "functions" };

const whenOf = (mark: Mark): string => `${duration(mark.end - mark.start)} from ${moment(mark.start)}`;
const whereOf = (lane: Lane): string => `${lane.section}, ${lane.label}`;

/** What is known without asking. */
export function summary(lane: Lane, mark: Mark): string {
  if (mark.label !== null) return `${mark.label}: ${whenOf(mark)}; ${whereOf(lane)}`;
  const of = mark.category && ` (${mark.category})`;
  return `${mark.items.toLocaleString("en")} ${WHAT[lane.content] ?? "rows"}${of}, busy ${duration(mark.busy)} of the ${whenOf(mark)}; ${whereOf(lane)}`;
}

/** Fills the panel and gives the arrows of the thing. */
export async function details(panel: HTMLElement, lane: Lane, mark: Mark, asks: Asks): Promise<Arrow[]> {
  const statement = rowOf(lane, mark.start);
  const copy = h("button", { type: "button", click: () => void navigator.clipboard.writeText(statement) }, "Copy SQL");
  const rows = h("div", { class: "scroll" }, h("p", { class: "loading" }, "Loading …"));
  const ways = h("p", { class: "ways" });
  panel.replaceChildren(
    h("h2", {}, mark.label ?? lane.label),
    h("p", { class: "says" }, `${whenOf(mark)}; ${whereOf(lane)}`),
    ways,
    rows,
    h("details", { class: "origin" }, h("summary", {}, "SQL"), h("pre", { tabindex: 0 }, statement), copy),
  );
  const params = { lane: String(mark.lane), at_ns: String(mark.start) };
  const [row, flow] = await Promise.allSettled([asks.client.sql(statement, asks.signal), asks.client.rows("timeline_flow", params, asks.signal)]);
  if (asks.signal.aborted) return [];
  rows.replaceChildren(row.status === "rejected" ? complaint(row.reason) : table(row.value.toArray()));
  if (flow.status === "rejected") {
    ways.append(complaint(flow.reason));
    return [];
  }
  const arrows = flow.value.toArray() as unknown as (Arrow & { kind: string })[];
  for (const each of arrows.slice(0, 20)) {
    const isFrom = each.from_lane === mark.lane && each.from_depth === mark.depth;
    const [to, depth, start] = isFrom ? [each.to_lane, each.to_depth, each.to_ns] : [each.from_lane, each.from_depth, each.from_ns];
    ways.append(h("button", { type: "button", click: () => asks.go(to, depth, start) }, `${isFrom ? "→" : "←"} ${each.kind}: ${asks.labelOf(to)}`), " ");
  }
  if (arrows.length > 20) ways.append(`and ${arrows.length - 20} more`);
  return arrows;
}

function table(rows: Record<string, unknown>[]): HTMLElement {
  if (rows.length === 0) return h("p", { class: "empty" }, "There is no row of this time in the lane's source.");
  const body = rows.flatMap((row) => Object.entries(row).filter(([, value]) => value !== null && value !== undefined));
  return h("table", {}, h("tbody", {}, ...body.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "whole" }, shown(name, value))))));
}

function shown(name: string, value: unknown): string {
  const isTime = name.endsWith("_ns") && !/(start|end|begin|timestamp|queued|submitted|completed)_ns$/.test(name);
  if (isTime && value && (typeof value === "number" || typeof value === "bigint")) return `${duration(Number(value))} (${value} ns)`;
  return typeof value === "object" ? JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each)) : String(value);
}
