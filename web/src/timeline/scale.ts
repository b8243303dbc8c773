// Times to pixels and back, zooming and panning, and the ticks of the axis. Times are ns since the
// trace's beginning.

export interface Span {
  from: number;
  to: number;
}

/** Narrower than this nothing new would be seen. */
const LEAST_NS = 50;
const UNITS: [string, number][] = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];

export const toX = (span: Span, width: number, time: number): number => ((time - span.from) / (span.to - span.from)) * width;
export const toTime = (span: Span, width: number, x: number): number => span.from + (x / width) * (span.to - span.from);

/** The span within the trace, as wide as it was if that is possible. */
export function within(span: Span, end: number): Span {
  const wide = Math.min(Math.max(span.to - span.from, Math.min(LEAST_NS, end)), end);
  const from = Math.min(Math.max(span.from, 0), end - wide);
  return { from, to: from + wide };
}

/** Zooms about a time, which stays where it is; a factor below 1 shows less. */
export function zoom(span: Span, factor: number, about: number, end: number): Span {
  const wide = Math.min(Math.max((span.to - span.from) * factor, LEAST_NS), end);
  const share = (about - span.from) / (span.to - span.from);
  return within({ from: about - share * wide, to: about + (1 - share) * wide }, end);
}

export function pan(span: Span, share: number, end: number): Span {
  const by = (span.to - span.from) * share;
  return within({ from: span.from + by, to: span.to + by }, end);
}

/** A thing with room on both sides. */
export function around(start: number, end: number, last: number): Span {
  const room = Math.max((end - start) * 0.5, LEAST_NS / 2);
  return within({ from: start - room, to: end + room }, last);
}

export interface Tick {
  at: number;
  label: string;
}

/** Round times at least `apart` pixels from each other. */
export function ticks(span: Span, width: number, apart = 90): Tick[] {
  const rough = Math.max(((span.to - span.from) / Math.max(width, 1)) * apart, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999999) ?? 10 * power;
  const [unit, size] = UNITS.find(([, each]) => span.to >= each && step * 1000 >= each) ?? UNITS.at(-1)!;
  const places = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const found: Tick[] = [];
  for (let nth = Math.ceil(span.from / step); nth * step <= span.to; nth++) {
    const at = nth * step;
    const text = (at / size).toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
    found.push({ at, label: at === 0 ? "0" : `${text} ${unit}` });
  }
  return found;
}

/** A time to the nanosecond where its unit lets it: things next to each other differ in that. */
export function moment(ns: number): string {
  if (ns === 0) return "0";
  const [unit, size] = UNITS.find(([, each]) => Math.abs(ns) >= each) ?? UNITS.at(-1)!;
  return `${(ns / size).toLocaleString("en", { maximumFractionDigits: 9 })} ${unit}`;
}
