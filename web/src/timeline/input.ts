// Pointer, wheel and keys on the canvas, as what they mean.
import { actionOf, type Action } from "./keys.ts";

export interface Meanings {
  act(action: Action): void;
  zoomAt(factor: number, x: number): void;
  pan(pixels: number): void;
  brush(from: number, to: number, isDone: boolean): void;
  click(x: number, y: number): void;
  hover(x: number, y: number): void;
  leave(): void;
}

/** Moved less than this a press is a click. */
const STILL = 4;

export function listen(canvas: HTMLCanvasElement, to: Meanings, signal: AbortSignal): void {
  let pressed: { x: number; isDrag: boolean } | undefined;
  const on = <K extends keyof HTMLElementEventMap>(name: K, listener: (event: HTMLElementEventMap[K]) => void, options = {}) =>
    canvas.addEventListener(name, listener, { signal, ...options });

  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    pressed = { x: event.offsetX, isDrag: false };
    canvas.setPointerCapture(event.pointerId);
  });
  on("pointermove", (event) => {
    if (!pressed) return to.hover(event.offsetX, event.offsetY);
    pressed.isDrag ||= Math.abs(event.offsetX - pressed.x) >= STILL;
    if (pressed.isDrag) to.brush(pressed.x, event.offsetX, false);
  });
  on("pointerup", (event) => {
    if (!pressed) return;
    if (pressed.isDrag) to.brush(pressed.x, event.offsetX, true);
    else to.click(event.offsetX, event.offsetY);
    pressed = undefined;
  });
  on("pointercancel", () => (pressed = undefined));
  on("pointerleave", () => to.leave());
  on("dblclick", () => to.act({ kind: "reset" }));
  on(
    "wheel",
    (event) => {
      if (event.ctrlKey) to.zoomAt(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 300), event.offsetX);
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) to.pan(event.deltaX || event.deltaY);
      else return;
      event.preventDefault();
    },
    { passive: false },
  );
  on("keydown", (event) => {
    const action = actionOf(event);
    if (!action) return;
    event.preventDefault();
    to.act(action);
  });
}
