// Draws the lanes on a canvas: what it is given, and nothing else.
import { withUnit } from "../units.ts";
import { share } from "./hits.ts";
import { HEADER, ROW, rowTop, visible, type Layout, type Placed } from "./layout.ts";
import { isArea, type Mark, type Marks } from "./model.ts";
import { colourOf, ON_MARK, type Inks } from "./palette.ts";
import { ticks, toX, type Span } from "./scale.ts";

export const AXIS = 24;
const FONT = "12px system-ui, sans-serif";

export interface Arrow {
  from_lane: number;
  from_depth: number;
  from_ns: number;
  to_lane: number;
  to_depth: number;
  to_ns: number;
}

export interface Picture {
  span: Span;
  width: number;
  height: number;
  /** The width of the labels on the left. */
  side: number;
  scroll: number;
  layout: Layout;
  marks: Marks;
  selected?: { lane: number; depth: number; start: number };
  brush?: Span;
  found: { lane: number; depth: number; start: number; end: number }[];
  arrows: Arrow[];
  inks: Inks;
}

type Pen = CanvasRenderingContext2D;

export function draw(pen: Pen, picture: Picture): void {
  const { width, height, side, inks, span, layout, scroll } = picture;
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.fillStyle = inks.ground;
  pen.fillRect(0, 0, width, height);
  const shown = visible(layout, scroll, height - AXIS);
  const wide = width - side;
  const at = ticks(span, wide).map((each) => ({ ...each, x: side + toX(span, wide, each.at) }));

  clipped(pen, side, AXIS, wide, height - AXIS, () => {
    pen.fillStyle = inks.line;
    for (const tick of at) pen.fillRect(Math.round(tick.x), AXIS, 1, height);
    pen.translate(side, AXIS - scroll);
    for (const each of shown) {
      if (each.lane) lane(pen, picture, each, wide);
      else {
        pen.fillStyle = inks.raised;
        pen.fillRect(0, each.top, wide, each.height - 2);
      }
    }
    losses(pen, picture, shown, wide);
    for (const each of picture.found) outline(pen, picture, wide, each, inks.accent, 2);
    const chosen = picture.selected && markOf(picture, picture.selected);
    if (chosen) outline(pen, picture, wide, chosen, inks.ink, 3);
    for (const each of picture.arrows) arrow(pen, picture, wide, each);
  });
  if (picture.brush) brushed(pen, picture, picture.brush, wide);
  sides(pen, picture, shown);
  axis(pen, picture, at);
}

function clipped(pen: Pen, x: number, y: number, width: number, height: number, body: () => void): void {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  body();
  pen.restore();
}

function axis(pen: Pen, { side, width, inks }: Picture, at: { x: number; label: string }[]): void {
  pen.fillStyle = inks.raised;
  pen.fillRect(0, 0, width, AXIS);
  pen.fillStyle = inks.line;
  pen.fillRect(0, AXIS - 1, width, 1);
  clipped(pen, side, 0, width - side, AXIS, () => {
    for (const { x, label } of at) {
      pen.fillStyle = inks.line;
      pen.fillRect(Math.round(x), AXIS - 7, 1, 7);
      pen.fillStyle = inks.quiet;
      pen.fillText(label, x + 4, AXIS / 2);
    }
  });
}

function sides(pen: Pen, { side, width, height, scroll, inks }: Picture, shown: Placed[]): void {
  const left = side < 150 ? 8 : 16;
  clipped(pen, 0, AXIS, width, height - AXIS, () => {
    pen.fillStyle = inks.ground;
    pen.fillRect(0, AXIS, side, height);
    pen.fillStyle = inks.line;
    pen.fillRect(side - 1, AXIS, 1, height);
    for (const each of shown) {
      const y = each.top - scroll + AXIS;
      if (!each.lane) {
        pen.fillStyle = inks.raised;
        pen.fillRect(0, y, side, each.height - 2);
        pen.fillStyle = inks.ink;
        pen.font = `600 ${FONT}`;
        pen.fillText(cut(pen, `${each.isFolded ? "▸" : "▾"} ${each.section}`, width - 16), 8, y + HEADER / 2 - 1);
        pen.font = FONT;
        continue;
      }
      pen.fillStyle = inks.line;
      pen.fillRect(0, y + each.height - 1, width, 1);
      pen.fillStyle = inks.quiet;
      // Lanes of a thread differ at the ends of their labels.
      pen.fillText(cut(pen, each.lane.label, side - left - 8, ended), left, y + Math.min(each.height, ROW + 5) / 2);
      if (isArea(each.lane)) pen.fillText(cut(pen, `0 – ${withUnit(each.lane.most, each.lane.unit)}`, side - left - 8), left, y + 32);
    }
  });
}

function lane(pen: Pen, picture: Picture, placed: Placed, wide: number): void {
  const marks = picture.marks.get(placed.lane!.lane) ?? [];
  if (isArea(placed.lane!)) return area(pen, picture, placed, marks, wide);
  for (const mark of marks) {
    if (mark.end < picture.span.from) continue;
    if (mark.start > picture.span.to) break;
    const from = Math.max(toX(picture.span, wide, mark.start), -1);
    const to = Math.min(toX(picture.span, wide, mark.end), wide + 1);
    const top = rowTop(placed, mark.depth);
    const long = Math.max(to - from, 1);
    // What did not run stays behind what did.
    const isIdle = placed.lane!.content === "idle";
    pen.fillStyle = colourOf(mark.category);
    if (mark.label === null) {
      // A busy bucket is high and solid, one with little in it low and faint, but always there.
      const high = Math.max(3, share(mark) * (ROW - 2));
      pen.globalAlpha = (0.45 + 0.5 * share(mark)) * (isIdle ? picture.inks.idle : 1);
      pen.fillRect(from, top + ROW - 1 - high, long, high);
      pen.globalAlpha = 1;
      continue;
    }
    if (isIdle) pen.globalAlpha = picture.inks.idle;
    pen.fillRect(from, top + 1, Math.max(long - (long > 3 ? 1 : 0), 1), ROW - 2);
    pen.globalAlpha = 1;
    if (long < 28) continue;
    const text = cut(pen, mark.label, long - 8);
    pen.fillStyle = isIdle ? picture.inks.ink : ON_MARK;
    if (text.length > 1) pen.fillText(text, from + 4, top + ROW / 2);
  }
}

function area(pen: Pen, picture: Picture, placed: Placed, marks: Mark[], wide: number): void {
  const most = placed.lane!.most || Math.max(...marks.map((mark) => mark.value), 1);
  const [bottom, high] = [placed.top + placed.height - 3, placed.height - 8];
  pen.fillStyle = colourOf(placed.lane!.content);
  for (const mark of marks) {
    if (mark.end < picture.span.from || mark.start > picture.span.to) continue;
    const from = toX(picture.span, wide, mark.start);
    const value = Math.min(1, Math.max(0, mark.value / most)) * high;
    pen.fillRect(from, bottom - value, Math.max(toX(picture.span, wide, mark.end) - from, 1), Math.max(value, 1));
  }
}

/** Hatched over all lanes of the section: what is missing there was not recorded. */
function losses(pen: Pen, picture: Picture, shown: Placed[], wide: number): void {
  for (const { lane: of, section } of picture.layout.placed) {
    if (of?.content !== "loss") continue;
    const over = shown.filter((each) => each.section === section && each.lane && each.lane !== of);
    const [first, last] = [over[0], over.at(-1)];
    if (!first || !last) continue;
    const [top, bottom] = [first.top, last.top + last.height];
    for (const mark of picture.marks.get(of.lane) ?? []) {
      const from = Math.max(toX(picture.span, wide, mark.start), 0);
      const to = Math.min(toX(picture.span, wide, mark.end), wide);
      if (to <= from) continue;
      pen.save();
      pen.beginPath();
      pen.rect(from, top, Math.max(to - from, 2), bottom - top);
      pen.clip();
      pen.strokeStyle = pen.fillStyle = picture.inks.warn;
      pen.globalAlpha = 0.45;
      pen.beginPath();
      for (let x = from - (bottom - top) - (from % 9); x < to; x += 9) {
        pen.moveTo(x, bottom);
        pen.lineTo(x + (bottom - top), top);
      }
      pen.stroke();
      pen.globalAlpha = 1;
      const text = cut(pen, mark.label ?? "not recorded", to - from - 12);
      if (text.length > 1) {
        pen.fillStyle = picture.inks.ground;
        pen.fillRect(from + 3, top + 3, pen.measureText(text).width + 6, ROW);
        pen.fillStyle = picture.inks.warn;
        pen.fillText(text, from + 6, top + 3 + ROW / 2);
      }
      pen.restore();
    }
  }
}

const placedOf = (picture: Picture, lane: number) => picture.layout.placed.find((each) => each.lane?.lane === lane);

const markOf = (picture: Picture, at: { lane: number; depth: number; start: number }) =>
  picture.marks.get(at.lane)?.find((mark) => mark.start === at.start && mark.depth === at.depth);

function outline(pen: Pen, picture: Picture, wide: number, of: { lane: number; depth: number; start: number; end: number }, colour: string, line: number): void {
  const placed = placedOf(picture, of.lane);
  if (!placed || of.end < picture.span.from || of.start > picture.span.to) return;
  const from = Math.max(toX(picture.span, wide, of.start), -4);
  const to = Math.min(toX(picture.span, wide, of.end), wide + 4);
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  pen.strokeRect(from, rowTop(placed, of.depth), Math.max(to - from, 2), ROW);
}

function arrow(pen: Pen, picture: Picture, wide: number, of: Arrow): void {
  const [a, b] = [placedOf(picture, of.from_lane), placedOf(picture, of.to_lane)];
  if (!a || !b) return;
  const [x1, y1] = [toX(picture.span, wide, of.from_ns), rowTop(a, of.from_depth) + ROW / 2];
  const [x2, y2] = [toX(picture.span, wide, of.to_ns), rowTop(b, of.to_depth) + ROW / 2];
  const bend = Math.max(20, Math.min(Math.abs(x2 - x1) / 2, 120));
  pen.strokeStyle = pen.fillStyle = picture.inks.ink;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x2, y2);
  pen.lineTo(x2 - 8, y2 - 4);
  pen.lineTo(x2 - 8, y2 + 4);
  pen.fill();
}

function brushed(pen: Pen, { side, height, span, inks }: Picture, brush: Span, wide: number): void {
  const from = Math.max(0, toX(span, wide, brush.from));
  const to = Math.min(wide, toX(span, wide, brush.to));
  if (to < from) return;
  pen.fillStyle = inks.accent;
  pen.globalAlpha = 0.16;
  pen.fillRect(side + from, AXIS, to - from, height);
  pen.globalAlpha = 1;
  pen.fillRect(side + from, AXIS, 1, height);
  pen.fillRect(side + to, AXIS, 1, height);
}

const begun = (text: string, letters: number): string => `${text.slice(0, letters)}…`;
const ended = (text: string, letters: number): string => `…${text.slice(-letters)}`;

/** The text, or its beginning (or end) with an ellipsis, by the width of its letters. */
function cut(pen: Pen, text: string, width: number, part = begun): string {
  if (width < 8) return "";
  // No letter is narrower than 2 px: a name of thousands of letters is not measured whole.
  const most = Math.ceil(width / 2);
  if (text.length <= most && pen.measureText(text).width <= width) return text;
  let [low, high] = [0, Math.min(text.length, most)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(part(text, middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : part(text, low);
}
