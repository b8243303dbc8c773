// A flame graph of paths: each box is as wide as what its path and those below it take.
import { h } from "./dom.ts";
import { short } from "./table.ts";
import { duration } from "./units.ts";

interface Frame {
  name: string;
  total: number;
  below: Map<string, Frame>;
}

const ROW = 22;
const NARROWEST = 0.002;
// Of a narrower box one would read a letter or two.
const NAMED = 0.03;

/** Frames of paths, from the outermost on. */
export function frames(paths: string[][], values: number[]): Frame {
  const root: Frame = { name: "all", total: 0, below: new Map() };
  paths.forEach((path, at) => {
    const value = values[at]!;
    if (!(value > 0)) return;
    root.total += value;
    let here = root;
    for (const name of path) {
      let next = here.below.get(name);
      if (!next) here.below.set(name, (next = { name, total: 0, below: new Map() }));
      next.total += value;
      here = next;
    }
  });
  return root;
}

/** Boxes are buttons: pressing one makes it the widest, and Tab goes through them. */
export function flame(paths: string[][], values: number[], what: string): HTMLElement | null {
  const root = frames(paths, values);
  if (!root.total) return null;
  const boxes = h("div", { class: "flame", role: "group", "aria-label": `Flame graph of ${what}: ${duration(root.total)} in all` });
  const said = h("p", { class: "says", "aria-live": "polite" });
  const trail: Frame[] = [root];

  function draw(): void {
    const top = trail.at(-1)!;
    let deepest = 0;
    const drawn: HTMLElement[] = [];
    const add = (frame: Frame, from: number, width: number, depth: number, step: () => void) => {
      deepest = Math.max(deepest, depth);
      const words = `${short(frame.name)}: ${duration(frame.total)}, ${((100 * frame.total) / root.total).toFixed(1)} %`;
      const box = h("button", { type: "button", class: `box hue${hue(frame.name)}`, title: words, "aria-label": words, click: step }, width < NAMED ? "" : short(frame.name, 120));
      box.style.left = `${100 * from}%`;
      box.style.width = `${100 * width}%`;
      box.style.top = `${depth * ROW}px`;
      drawn.push(box);
    };
    const walk = (frame: Frame, from: number, width: number, depth: number, way: Frame[]) => {
      let at = from;
      for (const next of [...frame.below.values()].sort((a, b) => b.total - a.total)) {
        const share = (width * next.total) / frame.total;
        if (share < NARROWEST) break;
        const here = [...way, next];
        add(next, at, share, depth, () => go(here));
        walk(next, at, share, depth + 1, here);
        at += share;
      }
    };
    trail.forEach((frame, depth) => add(frame, 0, 1, depth, () => go(trail.slice(0, depth + 1))));
    walk(top, 0, 1, trail.length, [...trail]);
    boxes.replaceChildren(...drawn);
    boxes.style.height = `${(deepest + 1) * ROW}px`;
    said.textContent = trail.length > 1 ? `${short(top.name)}: ${duration(top.total)} of ${duration(root.total)}` : "";
  }
  function go(way: Frame[]): void {
    trail.splice(0, trail.length, ...way);
    draw();
    boxes.querySelectorAll("button")[trail.length - 1]?.focus();
  }
  draw();
  return h("div", { class: "scroll" }, boxes, said);
}

function hue(name: string): number {
  let sum = 0;
  for (let at = 0; at < Math.min(name.length, 200); at++) sum = (sum * 31 + name.charCodeAt(at)) >>> 0;
  return sum % 6;
}
