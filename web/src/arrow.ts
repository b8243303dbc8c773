// Rows of an Arrow stream. An integer that a double cannot hold stays a BigInt.
import { tableFromIPC } from "@uwdata/flechette";

export interface Table {
  numRows: number;
  names: string[];
  column(name: string): ArrayLike<unknown>;
  toArray(): Record<string, unknown>[];
}

const MOST = BigInt(Number.MAX_SAFE_INTEGER);

export function decode(bytes: Uint8Array): Table {
  const table = tableFromIPC(bytes, { useBigInt: true });
  const columns = new Map<string, ArrayLike<unknown>>();
  const column = (name: string): ArrayLike<unknown> => {
    let found = columns.get(name);
    if (found === undefined) {
      const child = table.getChild(name);
      if (!child) throw new Error(`there is no column ${name}`);
      found = narrowed(child.toArray());
      columns.set(name, found);
    }
    return found;
  };
  return {
    numRows: table.numRows,
    names: table.names as string[],
    column,
    toArray: () => {
      const all = (table.names as string[]).map((name) => [name, column(name)] as const);
      return Array.from({ length: table.numRows }, (_, at) => Object.fromEntries(all.map(([name, values]) => [name, values[at]])));
    },
  };
}

/** The same values, as doubles where all of them can be. */
export function narrowed(values: ArrayLike<unknown>): ArrayLike<unknown> {
  let isBig = false;
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (typeof value !== "bigint") {
      if (value === null || value === undefined) continue;
      return values;
    }
    if (value > MOST || value < -MOST) return values;
    isBig = true;
  }
  return isBig ? Array.from(values, (value) => (typeof value === "bigint" ? Number(value) : value)) : values;
}
