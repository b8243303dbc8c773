// Lanes and marks, as the queries timeline_lane and timeline_mark give them.
import type { Table } from "../arrow.ts";

export interface Lane {
  lane: number;
  section: string;
  label: string;
  content: string;
  depths: number;
  source: string;
  filter: string;
  unit: string;
  most: number;
  begin: bigint;
  items: number;
  end: number;
}

export interface Mark {
  lane: number;
  depth: number;
  start: number;
  end: number;
  /** null: not one thing but how busy a bucket is. */
  label: string | null;
  category: string;
  items: number;
  busy: number;
  value: number;
}

/** The marks of each lane, by their start. */
export type Marks = Map<number, Mark[]>;

export const isArea = (lane: Lane): boolean => lane.content === "metric" || lane.content === "clock";
export const isThing = (mark: Mark): boolean => mark.label !== null && mark.items === 1;

const words = (value: unknown): string => (value === null || value === undefined ? "" : String(value));

export function readLanes(table: Table): Lane[] {
  return table.toArray().map((row) => ({
    lane: Number(row.lane),
    section: words(row.section),
    label: words(row.label),
    content: words(row.content),
    depths: Math.max(1, Number(row.depths ?? 1)),
    source: words(row.source),
    filter: words(row.filter),
    unit: words(row.unit),
    most: Number(row.max_value ?? 0),
    begin: BigInt(words(row.begin_ns) || "0"),
    items: Number(row.items ?? 0),
    end: Number(row.end_ns ?? 0),
  }));
}

export function readMarks(table: Table): Mark[] {
  const get = (name: string) => table.column(name);
  const [lane, depth, start, end] = [get("lane"), get("depth"), get("start_ns"), get("end_ns")];
  const [label, category, items, busy, value] = [get("label"), get("category"), get("items"), get("busy_ns"), get("value")];
  return Array.from({ length: table.numRows }, (_, at) => ({
    lane: Number(lane[at]),
    depth: Number(depth[at]),
    start: Number(start[at]),
    end: Number(end[at]),
    label: label[at] === null || label[at] === undefined ? null : String(label[at]),
    category: words(category[at]),
    items: Number(items[at]),
    busy: Number(busy[at]),
    value: Number(value[at] ?? 0),
  }));
}

/** By lane, in the order of time; the outer before what it holds. */
export function byLane(marks: Mark[]): Marks {
  const found: Marks = new Map();
  for (const mark of marks) {
    const list = found.get(mark.lane);
    if (list) list.push(mark);
    else found.set(mark.lane, [mark]);
  }
  for (const list of found.values()) list.sort((a, b) => a.start - b.start || a.depth - b.depth);
  return found;
}

/** The statement that gives the row of one thing. */
export function rowOf(lane: Lane, start: number): string {
  const filter = lane.filter === "" ? "" : `(${lane.filter}) AND `;
  return `SELECT * FROM ${lane.source} WHERE ${filter}start_ns = ${lane.begin + BigInt(Math.round(start))}`;
}
