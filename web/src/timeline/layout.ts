// Where each lane is: sections with a header that folds, lanes below it.
import { isArea, type Lane } from "./model.ts";

export const HEADER = 26;
export const ROW = 18;
const AREA = 44;
const GAP = 5;

export interface Placed {
  top: number;
  height: number;
  section: string;
  /** undefined: the header of the section. */
  lane?: Lane;
  isFolded?: boolean;
}

export interface Layout {
  placed: Placed[];
  height: number;
}

export function layOut(lanes: Lane[], folded: ReadonlySet<string>): Layout {
  const placed: Placed[] = [];
  let top = 0;
  let section: string | undefined;
  const put = (height: number, more: Pick<Placed, "lane" | "isFolded">) => {
    placed.push({ top, height, section: section!, ...more });
    top += height;
  };
  for (const lane of lanes) {
    if (lane.section !== section) {
      section = lane.section;
      put(HEADER, { isFolded: folded.has(section) });
    }
    // Losses are drawn over the lanes of their section; a lane of their own says when, too.
    if (!folded.has(section)) put((isArea(lane) ? AREA : lane.depths * ROW) + GAP, { lane });
  }
  return { placed, height: top };
}

/** The header or lane at a height, by bisection: there can be thousands. */
export function placedAt(layout: Layout, y: number): Placed | undefined {
  let low = 0;
  let high = layout.placed.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const each = layout.placed[middle]!;
    if (y < each.top) high = middle;
    else if (y >= each.top + each.height) low = middle + 1;
    else return each;
  }
  return undefined;
}

/** The row of nesting at a height within a lane; -1 between lanes. */
export function depthAt(placed: Placed, y: number): number {
  if (!placed.lane) return -1;
  if (isArea(placed.lane)) return 0;
  const depth = Math.floor((y - placed.top - GAP / 2) / ROW);
  return depth >= 0 && depth < placed.lane.depths ? depth : -1;
}

export const rowTop = (placed: Placed, depth: number): number => placed.top + GAP / 2 + depth * ROW;

export function visible(layout: Layout, top: number, height: number): Placed[] {
  return layout.placed.filter((each) => each.top + each.height > top && each.top < top + height);
}
