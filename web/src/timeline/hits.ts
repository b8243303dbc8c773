// Which mark is at a point, which is next, and marks too narrow to be told apart drawn as one.
import { isThing, type Mark } from "./model.ts";

/** The mark at a time in a row; `slack` ns on each side, for marks narrower than a pointer. */
export function hit(marks: readonly Mark[], depth: number, time: number, slack: number): Mark | undefined {
  let found: Mark | undefined;
  let best = Infinity;
  for (const mark of marks) {
    if (mark.start > time + slack) break;
    if (mark.depth !== depth || mark.end < time - slack) continue;
    const away = Math.max(mark.start - time, time - mark.end, 0);
    if (away < best || (away === best && found && mark.end - mark.start < found.end - found.start)) [found, best] = [mark, away];
  }
  return found;
}

/** The next or previous thing of the same row; marks of density are not things. */
export function neighbour(marks: readonly Mark[], depth: number, start: number, by: 1 | -1): Mark | undefined {
  const row = marks.filter((mark) => mark.depth === depth && isThing(mark));
  return by > 0 ? row.find((mark) => mark.start > start) : row.findLast((mark) => mark.start < start);
}

/** Marks of density that touch, have one colour and are about as busy, as one. */
export function merged(marks: readonly Mark[]): Mark[] {
  const found: Mark[] = [];
  const last = new Map<number, number>();
  for (const mark of marks) {
    const at = last.get(mark.depth);
    const before = at === undefined ? undefined : found[at];
    if (before && mark.label === null && before.label === null && before.category === mark.category && before.value === mark.value && mark.start <= before.end + 1 && Math.abs(share(before) - share(mark)) < 0.02) {
      found[at!] = { ...before, end: Math.max(before.end, mark.end), items: before.items + mark.items, busy: before.busy + mark.busy };
    } else {
      last.set(mark.depth, found.length);
      found.push(mark);
    }
  }
  return found;
}

export const share = (mark: Mark): number => Math.min(1, mark.busy / Math.max(mark.end - mark.start, 1));
