// Stands for @duckdb/duckdb-wasm, which Mosaic imports and this page never runs.
const absent = (): never => {
  throw new Error("this page has no DuckDB of its own");
};
export const getJsDelivrBundles = absent;
export const selectBundle = absent;
export class AsyncDuckDB {}
export class ConsoleLogger {}
