import assert from "node:assert/strict";
import { test } from "node:test";
import { chart, namesOf, wholeTicks } from "../src/chart.ts";
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

test("bars of one name are told apart", () => {
  const text = (name: string, values: string[]) => column(name, values, { is_number: false });
  const [kind, total] = [text("collective", ["AllReduce", "AllReduce", "Broadcast"]), column("total_ns", [3, 2, 1])];
  const size = column("bytes", [2 ** 24, 2 ** 20, 2 ** 20], { cells: ["16 MiB", "1 MiB", "1 MiB"] });
  const names = ["AllReduce, 16 MiB", "AllReduce, 1 MiB", "Broadcast, 1 MiB"];
  assert.deepEqual(namesOf(shown(kind, total, size), kind, total, [0, 1, 2]), names);
  const gpu = column("gpu", [0, 1, 1]);
  assert.equal(namesOf(shown(kind, total, size, gpu), kind, total, [0, 1])![1], "AllReduce, gpu 1");
  assert.equal(namesOf(shown(kind, total), kind, total, [0, 1]), null);
});
