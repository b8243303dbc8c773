// The one chart module: bars, lines and points by Plot, each with its words for those who hear it.
import * as Plot from "@observablehq/plot";
import { h } from "./dom.ts";
import { flame } from "./flame.ts";
import { numbersOf, type Column, type Shown } from "./shown.ts";
import { short } from "./table.ts";
import { inUnit, tick } from "./units.ts";

const BARS = 12;
const HEIGHT = 240;
// Of the parts of bars, those with most in all; the others have the last.
export const PARTS = ["#3d6fb6", "#edae49", "#d1495b", "#2a7f62", "#8e5ba6", "#5fb4c9", "#c47a3d", "#b0b0b0"];
const OTHERS = "others";
// Columns that say whose a row is.
const WHOSE = ["gpu", "rank", "process_id", "device_id", "memory_kind"];

export interface Form {
  kind: "bars" | "lines" | "points";
  x: string;
  y: string;
  /** Of bars: what their parts are, each a row. */
  by?: string;
  isLog?: boolean;
}

/** A chart of columns of an answer; null where they have nothing to draw. Moments are since `begin`, in ns since 1970. */
export function chart(shown: Shown, form: Form, begin: string): HTMLElement | null {
  const of = (name: string) => shown.columns.find((column) => column.name === name);
  const x = of(form.x);
  const y = of(form.y);
  if (!x || !y) return null;
  const heights = numbersOf(y);
  const rows = heights.map((_, at) => at).filter((at) => Number.isFinite(heights[at]));
  if (rows.length < (form.kind === "lines" ? 2 : 1)) return null;
  const by = form.by && of(form.by);
  if (by) return parted(x, y, by, heights, rows);
  if (form.kind === "bars") {
    // Plot gives a scale without a width all of the room, so that bars of 0 would fill it.
    if (rows.every((at) => heights[at] === 0)) return null;
    rows.sort((a, b) => Math.abs(heights[b]!) - Math.abs(heights[a]!));
    const drawn = rows.slice(0, BARS);
    const names = namesOf(shown, x, y, drawn);
    return names && bars({ ...x, cells: names }, y, heights, drawn);
  }
  return form.kind === "lines" ? lines(shown, x, y, heights, rows, Number(begin)) : points(shown, x, y, heights, rows, form.isLog ?? false);
}

/** A name for each row, with what else it is of where names are alike; null where that is in no column. */
export function namesOf(shown: Shown, x: Column, y: Column, rows: number[]): string[] | null {
  const isTold = (cells: string[]) => new Set(rows.map((at) => cells[at])).size === rows.length;
  if (isTold(x.cells)) return x.cells;
  const others = shown.columns.filter((column) => column !== x && column !== y && (column.is_chosen || WHOSE.includes(column.name)));
  for (const other of others.sort((a, b) => Number(WHOSE.includes(b.name)) - Number(WHOSE.includes(a.name)))) {
    const word = WHOSE.includes(other.name) ? `${other.heading} ` : "";
    const cells = x.cells.map((cell, at) => `${cell}, ${word}${other.cells[at]}`);
    if (isTold(cells)) return cells;
  }
  // Bars without names would say nothing.
  return new Set(rows.map((at) => x.cells[at])).size === 1 ? null : x.cells;
}

/** A figure that is drawn for the width that it has, and again when that changes. */
export function figure(words: string, draw: (width: number) => Element): HTMLElement {
  // What is inside has labels for its parts, without roles that could have them.
  const inside = h("div", { "aria-hidden": "true", class: "drawn" });
  const whole = h("figure", {}, h("div", { role: "img", "aria-label": words }, inside));
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(inside.clientWidth);
    if (!width || width === last) return;
    last = width;
    inside.replaceChildren(draw(width));
  }).observe(inside);
  return whole;
}

function bars(x: Column, y: Column, heights: number[], rows: number[]): HTMLElement {
  const listed = rows.slice(0, 5).map((at) => `${short(x.cells[at]!, 80)} ${y.cells[at]}`);
  const words = `Bars of ${y.heading} by ${x.heading}, the longest first: ${listed.join("; ")}${rows.length > 5 ? "; and so on" : ""}.`;
  return figure(words, (width) => {
    const left = roomFor(rows.map((at) => x.cells[at]!), width);
    const data = rows.map((at) => ({ row: at, value: heights[at]!, text: y.cells[at]! }));
    return Plot.plot({
      width,
      height: rows.length * 24 + 44,
      marginLeft: left,
      marginRight: 76,
      marginTop: 4,
      marginBottom: 40,
      x: { grid: true, label: y.heading, ticks: ticks(data.map((each) => each.value), y.unit, Math.max(2, Math.round(width / 160))), tickFormat: ticked(y.unit) },
      y: { domain: rows },
      marks: [
        names(left, (at) => x.cells[at as number] ?? ""),
        Plot.barX(data, { x: "value", y: "row", fill: "var(--bar)" }),
        Plot.text(data, { x: (each) => Math.max(0, each.value), y: "row", text: "text", textAnchor: "start", dx: 4, fill: "currentColor" }),
        Plot.ruleX([0]),
      ],
    });
  });
}

const ticked = (unit: string) => (value: number, _: number, all?: number[]) => tick(value, unit, all ?? [value]);

/** The room on the left of bars: what their names take, by about the width of a letter. */
const roomFor = (all: string[], width: number): number =>
  Math.round(Math.min(340, width * 0.42, 24 + 7.4 * Math.max(...all.map((each) => each.length))));

/** The names of bars, in so much room; where they are alike, they differ at their ends. */
const names = (room: number, of: (bar: unknown) => string): Plot.CompoundMark =>
  Plot.axisY({ label: null, tickSize: 0, tickFormat: (bar: unknown) => short(of(bar)), lineWidth: (room - 20) / 12, textOverflow: "ellipsis-middle" });

/** Bars of parts, in the order of the rows; the parts in one order, so that bars can be compared. */
function parted(x: Column, y: Column, by: Column, heights: number[], rows: number[], order?: string[]): HTMLElement | null {
  const bars = [...new Set(rows.map((at) => x.cells[at]!))].slice(0, BARS);
  const sums = new Map<string, number>();
  for (const at of rows) sums.set(by.cells[at]!, (sums.get(by.cells[at]!) ?? 0) + heights[at]!);
  const told = order ?? [...sums.keys()].sort((a, b) => sums.get(b)! - sums.get(a)!).slice(0, PARTS.length - 1);
  const parts = sums.size > told.length ? [...told, OTHERS] : told;
  const longest = bars.map((name) => rows.reduce((sum, at) => sum + (x.cells[at] === name ? Math.max(0, heights[at]!) : 0), 0));
  const colours = [...PARTS.slice(0, order ? order.length - 1 : told.length), PARTS.at(-1)!];
  const data = rows
    .filter((at) => heights[at]! > 0 && bars.includes(x.cells[at]!))
    .map((at) => ({ bar: x.cells[at]!, part: told.includes(by.cells[at]!) ? by.cells[at]! : OTHERS, value: heights[at]!, title: `${short(x.cells[at]!, 60)}: ${by.cells[at]} ${y.cells[at]}` }));
  if (!data.length) return null;
  const listed = data.slice(0, 5).map((each) => `${each.title}`);
  return figure(`Bars of ${y.heading} by ${x.heading}, in parts by ${by.heading}: ${listed.join("; ")}.`, (width) => {
    const left = roomFor(bars, width);
    return Plot.plot({
      width,
      height: bars.length * 24 + 44,
      marginLeft: left,
      marginTop: 4,
      marginBottom: 40,
      color: { domain: parts, range: colours, legend: true },
      x: { grid: true, label: y.heading, ticks: ticks(longest, y.unit, Math.max(2, Math.round(width / 160))), tickFormat: ticked(y.unit) },
      y: { domain: bars },
      marks: [names(left, String), Plot.barX(data, { x: "value", y: "bar", fill: "part", order: parts, title: "title" }), Plot.ruleX([0])],
    });
  });
}

/** Bars of rows whose parts are columns, of which the last is what is left: grey. */
export function stacked(shown: Shown, name: string, parts: string[]): HTMLElement | null {
  const bar = shown.columns.find((column) => column.name === name);
  const found = parts.flatMap((part) => shown.columns.find((column) => column.name === part) ?? []);
  if (!bar || !found.length) return null;
  const each = <T>(pick: (part: Column, at: number) => T): T[] => found.flatMap((part) => bar.cells.map((_, at) => pick(part, at)));
  const x = { ...bar, cells: each((_, at) => `${bar.heading} ${bar.cells[at]}`) };
  const by = { ...bar, heading: "part", cells: each((part) => part.heading) };
  const y = { ...found[0]!, heading: "time", cells: each((part, at) => part.cells[at]!), values: each((part, at) => part.values[at]) };
  return parted(x, y, by, numbersOf(y), y.cells.map((_, at) => at), found.map((part) => part.heading));
}

function lines(shown: Shown, x: Column, y: Column, heights: number[], rows: number[], begin: number): HTMLElement {
  const across = x.is_number ? numbersOf(x) : rows;
  const at = [...rows].sort((a, b) => across[a]! - across[b]!);
  const values = at.map((row) => heights[row]!);
  const words = `A line of ${y.heading} by ${x.heading}, ${at.length} points, from ${inUnit(Math.min(...values), y.unit)} to ${inUnit(Math.max(...values), y.unit)}.`;
  const first = x.unit === "epoch ns" ? begin : 0;
  const whose = shown.columns.find((column) => WHOSE.includes(column.name) && new Set(column.cells).size > 1);
  const data = at.map((row) => ({ x: across[row]! - first, y: heights[row]!, of: whose ? `${whose.heading} ${whose.cells[row]}` : "" }));
  return figure(words, (width) => line(width, data, { x: x.heading, y: y.heading, xUnit: x.unit, yUnit: y.unit, isOfSeveral: Boolean(whose) }));
}

/** About so many ticks from 0 on; of bytes, at multiples of a power of two. */
function ticks(values: number[], unit: string, about: number): number | number[] {
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  if (unit !== "bytes" || !(most > 0) || values.some((value) => value < 0)) return about;
  const step = 2 ** Math.ceil(Math.log2(most / about));
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}

/** About so many ticks; of a few whole numbers, such as steps, these. */
export function wholeTicks(values: number[], about: number): number | number[] {
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!values.every(Number.isInteger) || !(most - least < about)) return about;
  return Array.from({ length: most - least + 1 }, (_, at) => least + at);
}

interface Axes {
  x: string;
  y: string;
  xUnit: string;
  yUnit: string;
  /** Whether there is a line for each `of` of the points. */
  isOfSeveral: boolean;
}

function line(width: number, data: { x: number; y: number; of: string }[], axes: Axes): Element {
  const stroke = axes.isOfSeveral ? "of" : "var(--bar)";
  return Plot.plot({
    width,
    height: HEIGHT,
    marginLeft: 64,
    marginBottom: 40,
    color: { scheme: "Observable10", legend: axes.isOfSeveral },
    x: { label: axes.x, ticks: wholeTicks(data.map((each) => each.x), Math.max(3, Math.round(width / 120))), tickFormat: ticked(axes.xUnit) },
    y: { label: axes.y, grid: true, ticks: ticks(data.map((each) => each.y), axes.yUnit, 5), zero: true, tickFormat: ticked(axes.yUnit) },
    marks: [
      // Memory in use stays what it is until it changes.
      Plot.lineY(data, { x: "x", y: "y", stroke, z: "of", curve: axes.xUnit === "epoch ns" && axes.yUnit === "bytes" ? "step-after" : "linear" }),
      data.length < 60 ? Plot.dot(data, { x: "x", y: "y", r: 2, fill: stroke }) : null,
      Plot.ruleY([0]),
    ],
  });
}

function points(shown: Shown, x: Column, y: Column, heights: number[], rows: number[], isLog: boolean): HTMLElement | null {
  const label = shown.columns.find((column) => column.is_label);
  const across = numbersOf(x);
  const drawn = rows.filter((at) => Number.isFinite(across[at]) && (!isLog || (across[at]! > 0 && heights[at]! > 0)));
  if (!drawn.length) return null;
  const data = drawn.map((at) => ({ x: across[at]!, y: heights[at]!, name: short(label?.cells[at] ?? "", 60) }));
  const words = `Points of ${y.heading} by ${x.heading}: ${data.slice(0, 5).map((each) => `${each.name} ${inUnit(each.x, x.unit)}, ${inUnit(each.y, y.unit)}`).join("; ")}.`;
  const type = isLog ? "log" : "linear";
  return figure(words, (width) =>
    Plot.plot({
      width,
      height: HEIGHT * 1.3,
      marginLeft: 64,
      marginBottom: 40,
      grid: true,
      x: { type, label: x.heading, tickFormat: ticked(x.unit), ticks: 6 },
      y: { type, label: y.heading, tickFormat: ticked(y.unit), ticks: 5 },
      marks: [Plot.dot(data, { x: "x", y: "y", fill: "var(--bar)", r: 4, title: "name" }), Plot.tip(data, Plot.pointer({ x: "x", y: "y", title: "name", fill: "var(--raised)" }))],
    }),
  );
}

export { flame };
