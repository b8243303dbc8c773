import assert from "node:assert/strict";
import { test } from "node:test";
import { EtlError } from "../src/client.ts";
import { throughMessages, type Model } from "../src/messages.ts";
import { traitsOf } from "../src/traits.ts";

class Made implements Model {
  sent: Record<string, unknown>[] = [];
  saved = 0;
  listeners = new Map<string, ((...words: unknown[]) => void)[]>();
  constructor(readonly values: Record<string, unknown> = { range: null, window: null, selection: null }) {}
  get = (name: string) => this.values[name];
  set(name: string, value: unknown): void {
    this.values[name] = value;
    this.tell(`change:${name}`);
  }
  save_changes = () => void this.saved++;
  on = (event: string, listener: (...words: never[]) => void) => void this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener as () => void]);
  off = (event: string, listener: unknown) => void this.listeners.set(event, (this.listeners.get(event) ?? []).filter((each) => each !== listener));
  send = (content: unknown) => void this.sent.push(content as Record<string, unknown>);
  tell = (event: string, ...words: unknown[]) => (this.listeners.get(event) ?? []).forEach((each) => each(...words));
  answer = (id: unknown, rest: object, ...buffers: DataView[]) => this.tell("msg:custom", { id, ...rest }, buffers);
}

const refused = { error: { title: "Not Found", detail: "there is none", hint: "another", status: 404 } };

test("an error arrives as it was told, and only with its question", async () => {
  const model = new Made();
  const source = throughMessages(model, new AbortController().signal);
  const [one, other] = [source.rows("kernl", { a: "1" }), source.sql("SELECT")];
  assert.deepEqual(model.sent.map(({ id, ...rest }) => (assert.equal(typeof id, "string"), rest)), [{ name: "kernl", params: { a: "1" } }, { sql: "SELECT" }]);
  model.tell("msg:custom", null, []);
  model.answer("somebody else's", refused);
  model.answer(model.sent[1]!.id, { error: { ...refused.error, detail: "syntax" } });
  model.answer(model.sent[0]!.id, refused);
  await assert.rejects(one, (error: EtlError) => error instanceof EtlError && error.detail === "there is none" && error.hint === "another" && error.status === 404);
  await assert.rejects(other, { detail: "syntax" });
});

test("what nobody waits for is taken back, and its answer is left alone", async () => {
  const model = new Made();
  const source = throughMessages(model, new AbortController().signal);
  const stop = new AbortController();
  const rows = source.rows("kernel", {}, stop.signal);
  stop.abort();
  await assert.rejects(rows, { name: "AbortError" });
  const { id } = model.sent[0]!;
  assert.deepEqual(model.sent[1], { id, stop: true });
  model.answer(id, refused);
  await assert.rejects(source.rows("kernel", {}, stop.signal), { name: "AbortError" });
  assert.equal(model.sent.length, 2);
});

test("closing takes all back", async () => {
  const model = new Made();
  const closed = new AbortController();
  const rows = throughMessages(model, closed.signal).rows("kernel");
  closed.abort();
  await assert.rejects(rows, { name: "AbortError" });
  assert.equal(model.sent.length, 2);
  assert.deepEqual(model.listeners.get("msg:custom"), []);
});

test("an answer that is no Arrow is an error", async () => {
  const model = new Made();
  const source = throughMessages(model, new AbortController().signal);
  const [none, wrong] = [source.rows("a"), source.rows("b")];
  model.answer(model.sent[0]!.id, {});
  model.answer(model.sent[1]!.id, {}, new DataView(new Uint8Array(64).fill(7).buffer));
  await assert.rejects(none, { detail: "the answer was empty" });
  await assert.rejects(wrong);
});

test("the state follows Python, and says what is new once", () => {
  const model = new Made({ range: [5, 9], window: null, selection: null });
  const store = traitsOf(model, new AbortController().signal);
  assert.deepEqual([store.get().from, store.get().to], [5, 9]);
  const seen: unknown[] = [];
  store.subscribe(({ from, to, window, selected }) => seen.push([from, to, window, selected]));
  model.set("range", [1, 2]);
  model.set("range", [1, 2]);
  model.set("window", [0, 7]);
  model.set("selection", { lane: 1, depth: 2, start_ns: 3 });
  model.set("range", null);
  const selected = { lane: 1, depth: 2, start: 3 };
  assert.deepEqual(seen, [[1, 2, undefined, undefined], [1, 2, "0-7", undefined], [1, 2, "0-7", selected], [undefined, undefined, "0-7", selected]]);
  assert.equal(model.saved, 0);
});

test("Python follows the state, all of it at once", () => {
  const model = new Made();
  const closed = new AbortController();
  const store = traitsOf(model, closed.signal);
  const seen: unknown[] = [];
  store.subscribe((state) => seen.push(state.from));
  store.set({ from: 5, to: 9, selected: { lane: 1, start: 3, depth: 0 }, window: "1-20" });
  assert.deepEqual(model.values, { range: [5, 9], window: [1, 20], selection: { lane: 1, depth: 0, start_ns: 3 } });
  store.set({ from: 5, to: 9 });
  store.set({ search: "gemm" });
  store.set({ from: 7, to: 7 });
  assert.deepEqual(model.values.range, null);
  assert.deepEqual(seen, [5, 5, 7]);
  closed.abort();
  assert.equal([...model.listeners.values()].flat().length, 0);
});
