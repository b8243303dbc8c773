// Numbers on axes and in words, as the server writes those in tables.

const TIMES: [string, number][] = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
const SIZES: [string, number][] = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]];

function digits(value: number, isFull = false): string {
  const most = Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: isFull ? most : 0, maximumFractionDigits: most });
}

const unitFor = (value: number, units: [string, number][]): [string, number] =>
  units.find(([, each]) => Math.abs(value) >= each) ?? units.at(-1)!;

function scaled(value: number, units: [string, number][], isFull = false): string {
  if (value === 0) return "0";
  const [name, size] = unitFor(value, units);
  return `${digits(value / size, isFull && size > 1)} ${name}`;
}

export const duration = (ns: number): string => scaled(ns, TIMES);
export const size = (bytes: number): string => scaled(bytes, SIZES);

/** Always with three digits, as cells of tables have them. */
export const measured = (ns: number): string => scaled(ns, TIMES, true);

/** Whether inUnit writes a unit, or there is none. */
export const isWritten = (unit: string): boolean => ["", "1", "ns", "epoch ns", "bytes", "%"].includes(unit);

/** A value with its unit, be that a noun. */
export const withUnit = (value: number, unit: string): string => `${inUnit(value, unit)}${isWritten(unit) ? "" : ` ${unit}`}`;

export function inUnit(value: number, unit: string): string {
  if (unit === "ns" || unit === "epoch ns") return duration(value);
  if (unit === "bytes") return size(value);
  if (unit === "%") return `${digits(value)} %`;
  return Math.abs(value) >= 1e6 ? value.toLocaleString("en", { notation: "compact" }) : digits(value);
}

/** A tick among others: as inUnit writes it, times with as many more digits as tell them apart. */
export function tick(value: number, unit: string, all: number[]): string {
  const isTime = unit === "ns" || unit === "epoch ns";
  const differ = (words: (value: number) => string) => new Set(all.map(words)).size === all.length;
  for (let digits = 3; isTime && digits < 12; digits++) {
    const words = (each: number) => (digits === 3 ? duration(each) : precise(each, digits));
    if (differ(words)) return words(value);
  }
  return inUnit(value, unit);
}

function precise(ns: number, digits: number): string {
  const [name, size] = unitFor(ns, TIMES);
  return `${Number((ns / size).toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: digits })} ${name}`;
}
