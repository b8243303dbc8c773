import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, Cache } from "../src/timeline/cache.ts";
import { hit, merged, neighbour } from "../src/timeline/hits.ts";
import { actionOf } from "../src/timeline/keys.ts";
import { depthAt, HEADER, layOut, placedAt } from "../src/timeline/layout.ts";
import { byLane, rowOf, type Lane, type Mark } from "../src/timeline/model.ts";
import { around, moment, pan, ticks, toTime, toX, zoom } from "../src/timeline/scale.ts";

const lane = (change: Partial<Lane> = {}): Lane => ({
  lane: 0, section: "GPU 0", label: "stream 7", content: "stream", depths: 1, source: "kernel", filter: "stream_id = 7",
  unit: "", most: 0, begin: 1_700_000_000_000_000_001n, items: 1, end: 1e9, ...change,
});
const mark = (start: number, end: number, change: Partial<Mark> = {}): Mark => ({
  lane: 0, depth: 0, start, end, label: "k", category: "gemm", items: 1, busy: end - start, value: 0, ...change,
});

test("a time goes to its pixel and back", () => {
  const span = { from: 100, to: 300 };
  assert.equal(toX(span, 1000, 200), 500);
  assert.equal(toTime(span, 1000, 500), 200);
});

test("zooming keeps the time under the pointer, and stays within the trace", () => {
  const zoomed = zoom({ from: 0, to: 1000 }, 0.5, 250, 1000);
  assert.deepEqual(zoomed, { from: 125, to: 625 });
  assert.deepEqual(zoom(zoomed, 100, 250, 1000), { from: 0, to: 1000 });
  assert.equal(zoom({ from: 0, to: 1000 }, 1e-9, 250, 1000).to - zoom({ from: 0, to: 1000 }, 1e-9, 250, 1000).from, 50);
  assert.deepEqual(pan({ from: 0, to: 100 }, -1, 1000), { from: 0, to: 100 });
  assert.deepEqual(pan({ from: 800, to: 900 }, 5, 1000), { from: 900, to: 1000 });
  assert.deepEqual(around(400, 600, 1000), { from: 300, to: 700 });
});

test("ticks are round, apart, and in a unit that can be read", () => {
  assert.deepEqual(ticks({ from: 0, to: 1e9 }, 500).map((each) => each.label), ["0", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s"]);
  assert.deepEqual(ticks({ from: 1_000_000, to: 1_001_000 }, 300).map((each) => each.label), ["1,000.0 us", "1,000.5 us", "1,001.0 us"]);
});

test("a moment is told apart from the one next to it", () => {
  assert.equal(moment(19_998_001), "19.998001 ms");
  assert.equal(moment(0), "0");
});

test("folding takes the lanes of a section away, and bisection finds what is where", () => {
  const lanes = [lane(), lane({ lane: 1, depths: 3 }), lane({ lane: 2, section: "process 1" })];
  const open = layOut(lanes, new Set());
  assert.equal(open.placed.length, 5);
  assert.equal(layOut(lanes, new Set(["GPU 0"])).placed.length, 3);
  assert.equal(placedAt(open, 0)?.lane, undefined);
  assert.equal(placedAt(open, HEADER + 1)?.lane?.lane, 0);
  const nested = open.placed[2]!;
  assert.equal(depthAt(nested, nested.top + 40), 2);
  assert.equal(placedAt(open, open.height), undefined);
});

test("the innermost and nearest mark is hit; a narrow one within the slack", () => {
  const marks = [mark(0, 100), mark(10, 20, { depth: 1 }), mark(110, 111)];
  assert.equal(hit(marks, 1, 15, 0), marks[1]);
  assert.equal(hit(marks, 0, 15, 0), marks[0]);
  assert.equal(hit(marks, 0, 107, 5), marks[2]);
  assert.equal(hit(marks, 0, 105, 1), undefined);
});

test("the arrow keys step over marks of density", () => {
  const marks = [mark(0, 1), mark(2, 3, { label: null, items: 9 }), mark(4, 5)];
  assert.equal(neighbour(marks, 0, 0, 1), marks[2]);
  assert.equal(neighbour(marks, 0, 4, -1), marks[0]);
  assert.equal(neighbour(marks, 0, 4, 1), undefined);
});

test("merging keeps the number of things and leaves single ones alone", () => {
  const dense = (start: number, items: number) => mark(start, start + 10, { label: null, items, busy: 10 });
  const all = merged([dense(0, 3), dense(10, 4), mark(20, 30), dense(30, 5)]);
  assert.deepEqual(all.map((each) => each.items), [7, 1, 5]);
  const metric = [{ ...dense(0, 1), value: 20 }, { ...dense(10, 1), value: 80 }];
  assert.deepEqual(merged(metric), metric);
});

test("small moves ask for the same window; what has not come is stood in for by what covers it", () => {
  assert.deepEqual(asked({ from: 10, to: 1000 }, 1000, 1e6), asked({ from: 12, to: 1002 }, 1000, 1e6));
  const cache = new Cache(2);
  const whole = { from: 0, to: 1e6, bucket: 1024, marks: new Map() };
  cache.put(whole);
  cache.put({ from: 0, to: 512, bucket: 1, marks: new Map() });
  cache.put({ from: 512, to: 1024, bucket: 1, marks: new Map() });
  assert.equal(cache.find({ from: 0, to: 512, bucket: 1 }), undefined);
  assert.equal(cache.find({ from: 600, to: 700, bucket: 1 })?.from, 512);
  assert.equal(cache.standIn({ from: 5000, to: 6000, bucket: 1 }), whole);
});

test("keys do what the help says, and those of the browser stay its own", () => {
  assert.deepEqual(actionOf({ key: "W" }), { kind: "zoom", factor: 0.7 });
  assert.deepEqual(actionOf({ key: "ArrowLeft" }), { kind: "step", by: -1 });
  assert.equal(actionOf({ key: "a", ctrlKey: true }), undefined);
  assert.equal(actionOf({ key: "x" }), undefined);
});

test("the row of a thing is asked for by its exact time, which a double does not hold", () => {
  assert.equal(rowOf(lane(), 5), "SELECT * FROM kernel WHERE (stream_id = 7) AND start_ns = 1700000000000000006");
  assert.deepEqual([...byLane([mark(5, 6), mark(1, 2)]).get(0)!].map((each) => each.start), [1, 5]);
});
