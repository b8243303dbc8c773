// Numbers on axes and in words, as the server writes those in tables.

const TIMES: [string, number][] = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
const SIZES: [string, number][] = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]];

function digits(value: number): string {
  const most = Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: most });
}

function scaled(value: number, units: [string, number][]): string {
  if (value === 0) return "0";
  const [name, size] = units.find(([, each]) => Math.abs(value) >= each) ?? units.at(-1)!;
  return `${digits(value / size)} ${name}`;
}

export const duration = (ns: number): string => scaled(ns, TIMES);
export const size = (bytes: number): string => scaled(bytes, SIZES);

export function inUnit(value: number, unit: string): string {
  if (unit === "ns" || unit === "epoch ns") return duration(value);
  if (unit === "bytes") return size(value);
  if (unit === "%") return `${digits(value)} %`;
  return Math.abs(value) >= 1e6 ? value.toLocaleString("en", { notation: "compact" }) : digits(value);
}
