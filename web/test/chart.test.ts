import assert from "node:assert/strict";
import { test } from "node:test";
import { chart, wholeTicks } from "../src/chart.ts";
import type { Column, Shown } from "../src/shown.ts";

const column = (name: string, values: unknown[], change: Partial<Column> = {}): Column => ({
  name, heading: name, unit: "ns", is_number: true, is_label: false, is_chosen: true, cells: values.map(String), values, ...change,
});
const shown = (...columns: Column[]): Shown => ({ part: "", command: "", notes: [], columns, more: 0 });

test("bars of nothing are not drawn", () => {
  const names = column("name", ["aten::mm", "aten::add"], { is_number: false, is_label: true });
  const form = { kind: "bars", x: "name", y: "self_gpu_ns" } as const;
  assert.equal(chart(shown(names, column("self_gpu_ns", [0, 0])), form, "0"), null);
  assert.equal(chart(shown(names, column("self_gpu_ns", [null, null])), form, "0"), null);
});

test("there is no tick between a step and the next", () => {
  assert.deepEqual(wholeTicks([2, 0, 1], 10), [0, 1, 2]);
  assert.deepEqual(wholeTicks([0, 0], 10), [0]);
  assert.equal(wholeTicks([0, 100], 10), 10);
  assert.equal(wholeTicks([0, 0.5], 10), 10);
});
