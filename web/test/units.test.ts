import assert from "node:assert/strict";
import { test } from "node:test";
import { measured, tick, withUnit } from "../src/units.ts";

test("a unit is written once", () => {
  assert.equal(withUnit(45.91, "%"), "45.9 %");
  assert.equal(withUnit(15e6, "1"), "15M");
  assert.equal(withUnit(1980, "MHz"), "1,980 MHz");
});

test("a cell has three digits, as those of the server", () => {
  assert.deepEqual([11e6, 2e3, 7, 0].map(measured), ["11.0 ms", "2.00 us", "7 ns", "0"]);
});

test("ticks can be told apart", () => {
  const said = (values: number[], unit: string) => values.map((each) => tick(each, unit, values));
  assert.deepEqual(said([0, 5e8, 1e9], "epoch ns"), ["0", "500 ms", "1 s"]);
  assert.deepEqual(said([10.01e9, 10.02e9, 10.03e9], "epoch ns"), ["10.01 s", "10.02 s", "10.03 s"]);
  assert.deepEqual(said([20, 40], "%"), ["20 %", "40 %"]);
});
