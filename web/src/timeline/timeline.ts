// The timeline: lanes on a canvas, with search, details and a table of the same for screen readers.
import type { Source } from "../client.ts";
import { h } from "../dom.ts";
import { complaint } from "../complaint.ts";
import { loading } from "../loading.ts";
import type { Selected, State, StateStore } from "../state.ts";
import { duration, withUnit } from "../units.ts";
import { details, summary } from "./details.ts";
import { AXIS, draw, type Arrow } from "./draw.ts";
import { Feed } from "./feed.ts";
import { hit, neighbour } from "./hits.ts";
import { listen } from "./input.ts";
import { HELP, type Action } from "./keys.ts";
import { depthAt, layOut, placedAt, ROW, rowTop, visible } from "./layout.ts";
import { isArea, readLanes, rowOf, type Lane, type Mark, type Marks } from "./model.ts";
import { colourOf, inks } from "./palette.ts";
import { around, moment, pan, toTime, within, zoom, type Span } from "./scale.ts";
import { search, type Found } from "./search.ts";

export function mountTimeline(root: HTMLElement, client: Source, state: StateStore): { destroy(): void } {
  const stop = new AbortController();
  function load(): void {
    root.replaceChildren(loading());
    client.rows("timeline_lane", {}, stop.signal).then(
      (table) => {
        const lanes = readLanes(table);
        if (stop.signal.aborted) return;
        if (lanes.length === 0) root.replaceChildren(h("p", { class: "empty" }, "The trace has nothing to show over time."));
        else show(root, client, state, lanes, stop.signal);
      },
      (error) => stop.signal.aborted || root.replaceChildren(complaint(error, load)),
    );
  }
  load();
  return { destroy: () => stop.abort() };
}

const isSame = (one: Selected, other?: Selected): boolean => one.lane === other?.lane && one.start === other.start && one.depth === other.depth;

function show(root: HTMLElement, client: Source, state: StateStore, lanes: Lane[], signal: AbortSignal): void {
  const end = Math.max(1, ...lanes.map((lane) => lane.end));
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "timeline", "aria-label": `Timeline of ${lanes.length} lanes; press question mark for the keys, or use the button Table` });
  const spacer = h("div", { class: "spacer" });
  const scroller = h("div", { class: "lanes" }, canvas, spacer);
  const tip = h("div", { class: "tip", hidden: true });
  const live = h("p", { class: "unseen", "aria-live": "polite" });
  const wrong = h("div", {});
  const range = h("span", { class: "range", role: "status" });
  const legend = h("ul", { class: "legend", "aria-label": "Colours" });
  const panel = h("section", { class: "panel details", "aria-label": "Selected", hidden: true });
  const help = h("dl", { class: "panel keys", hidden: true }, ...HELP.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)]));
  const alternative = h("div", { class: "scroll", hidden: true });
  const finder = search(client, (text) => state.set({ search: text || undefined }), (all) => ((found = all), later()), go);
  const button = (text: string, label: string, action: Action) => h("button", { type: "button", "aria-label": label, title: label, click: () => act(action) }, text);
  const bar = h(
    "div",
    { class: "tools" },
    button("+", "Zoom in", { kind: "zoom", factor: 0.5 }),
    button("−", "Zoom out", { kind: "zoom", factor: 2 }),
    button("←", "Move left", { kind: "pan", share: -0.4 }),
    button("→", "Move right", { kind: "pan", share: 0.4 }),
    button("Fit", "Fit the whole trace", { kind: "reset" }),
    h("button", { type: "button", "aria-expanded": "false", click: tabled }, "Table"),
    button("?", "Keys", { kind: "help" }),
    ...finder.elements,
  );
  root.replaceChildren(bar, help, wrong, range, h("div", { class: "timeline" }, scroller, tip), legend, live, panel, alternative);

  const pen = canvas.getContext("2d")!;
  const folded = new Set<string>();
  const feed = new Feed(client, end, (error) => {
    wrong.replaceChildren(...(error === undefined ? [] : [complaint(error, () => feed.again())]));
    later();
  });
  let layout = layOut(lanes, folded);
  let colours = inks(root);
  let told = state.get();
  let span = windowOf(state.get().window) ?? chosenSpan() ?? { from: 0, to: end };
  let marks: Marks = new Map();
  let found: Found[] = [];
  let arrows: Arrow[] = [];
  let chosen: Mark | undefined;
  let dragged: Span | undefined;
  let asking = new AbortController();
  let [frame, settled, width, height] = [0, 0, 0, 0];

  const side = () => (width < 600 ? 116 : 190);
  const wide = () => Math.max(width - side(), 1);
  const laneOf = (lane: number) => lanes.find((each) => each.lane === lane);
  const time = (x: number) => toTime(span, wide(), x - side());

  function windowOf(text: unknown): Span | undefined {
    const [from, to] = String(text ?? "").split("-").map(Number);
    return Number.isFinite(from) && Number.isFinite(to) && to! > from! ? within({ from: from!, to: to! }, end) : undefined;
  }
  /** The range that is chosen for all views, with room on both sides. */
  function chosenSpan(): Span | undefined {
    const { from, to } = state.get();
    return from === undefined && to === undefined ? undefined : around(Math.min(from ?? 0, end), Math.min(to ?? end, end), end);
  }
  /** Changes the state; what others change is to be followed. */
  function tell(change: Partial<State>): void {
    told = { ...told, ...change };
    state.set(change);
  }
  function later(): void {
    frame ||= requestAnimationFrame(paint);
  }
  function paint(): void {
    frame = 0;
    if (signal.aborted || width === 0) return;
    const loaded = feed.marks(span, wide());
    marks = loaded?.marks ?? new Map();
    const { selected, from, to } = state.get();
    const brush = dragged ?? (from !== undefined || to !== undefined ? { from: from ?? 0, to: to ?? end } : undefined);
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    draw(pen, { span, width, height, side: side(), scroll: scroller.scrollTop, layout, marks, selected, brush, found, arrows, inks: colours });
    range.textContent = `${duration(span.to - span.from)} from ${moment(Math.round(span.from))}${brush ? `; chosen: ${duration(brush.to - brush.from)}` : ""}${loaded || !feed.isLoading ? "" : "; loading …"}`;
    canvas.dataset.state = feed.isLoading ? "loading" : "ready";
    if (!feed.isLoading) explain();
  }
  /** The legend of what is to be seen. */
  function explain(): void {
    const seen = new Set<string>();
    for (const { lane } of layout.placed) if (lane && !isArea(lane)) for (const mark of marks.get(lane.lane) ?? []) seen.add(mark.category);
    const key = [...seen].sort().join("\n");
    if (legend.dataset.of === key) return;
    legend.dataset.of = key;
    legend.replaceChildren(
      ...[...seen].sort().map((each) => {
        const patch = h("span", { class: "patch" });
        patch.style.background = colourOf(each);
        return h("li", {}, patch, each || "other");
      }),
    );
  }
  function move(to: Span): void {
    span = to;
    tip.hidden = true;
    clearTimeout(settled);
    settled = window.setTimeout(() => {
      const isWhole = span.from <= 0 && span.to >= end;
      tell({ window: isWhole ? undefined : `${Math.round(span.from)}-${Math.round(span.to)}` });
    }, 250);
    later();
  }
  function act(action: Action): void {
    const row = chosen && marks.get(chosen.lane);
    if (action.kind === "zoom") move(zoom(span, action.factor, (span.from + span.to) / 2, end));
    else if (action.kind === "pan") move(pan(span, action.share, end));
    else if (action.kind === "scroll") scroller.scrollTop += action.by;
    else if (action.kind === "reset") move({ from: 0, to: end });
    else if (action.kind === "help") help.hidden = !help.hidden;
    else if (action.kind === "search") finder.box.focus();
    else if (action.kind === "fit") move(chosen ? around(chosen.start, chosen.end, end) : (chosenSpan() ?? span));
    else if (action.kind === "clear" && !help.hidden) help.hidden = true;
    else if (action.kind === "clear") tell({ selected: undefined, from: undefined, to: undefined });
    else if (chosen && row) {
      const next = neighbour(row, chosen.depth, chosen.start, action.by);
      if (next) pick(next, true);
      else live.textContent = `Nothing ${action.by > 0 ? "after" : "before"} it is loaded`;
    }
  }
  function pick(mark: Mark, isToShow = false): void {
    if (isToShow) reveal(mark);
    chosen = mark;
    tell({ selected: { lane: mark.lane, start: mark.start, depth: mark.depth } });
    const lane = laneOf(mark.lane)!;
    live.textContent = summary(lane, mark);
    asking.abort();
    asking = new AbortController();
    arrows = [];
    panel.hidden = false;
    if (mark.label === null || isArea(lane)) {
      const text = isArea(lane) ? `${lane.label}: ${withUnit(mark.value, lane.unit)}` : summary(lane, mark);
      panel.replaceChildren(h("p", {}, text), h("button", { type: "button", click: () => act({ kind: "fit" }) }, "Zoom in to it"));
    } else {
      const labelOf = (of: number) => laneOf(of)?.label ?? "";
      void details(panel, lane, mark, { client, signal: asking.signal, labelOf, go: (of, depth, start) => void resolve({ lane: of, depth, start }, true) }).then((all) => ((arrows = all), later()));
    }
    later();
  }
  function reveal(of: { lane: number; depth: number; start: number; end: number }): void {
    const lane = laneOf(of.lane);
    if (lane && folded.delete(lane.section)) refold();
    const placed = layout.placed.find((each) => each.lane?.lane === of.lane);
    if (!placed) return;
    const top = rowTop(placed, of.depth);
    if (top < scroller.scrollTop || top > scroller.scrollTop + height - AXIS - 30) scroller.scrollTop = top - height / 3;
    const share = (of.end - of.start) / (span.to - span.from);
    if (share * wide() < 2) move(zoom({ from: 0, to: end }, Math.min(1, ((of.end - of.start) * 40) / end), 0, end));
    if (of.end < span.from || of.start > span.to || share * wide() < 2) {
      const half = (span.to - span.from) / 2;
      const middle = (of.start + of.end) / 2;
      move(within({ from: middle - half, to: middle + half }, end));
    }
  }
  function go(one: Found): void {
    pick({ ...one, category: "", items: 1, busy: one.end - one.start, value: 0 }, true);
  }
  /** Selects what an address or an arrow names: its length and name are in its row. */
  async function resolve(at: Selected, isToShow: boolean): Promise<void> {
    const lane = laneOf(at.lane);
    if (!lane) return;
    const known = marks.get(at.lane)?.find((mark) => mark.start === at.start && mark.depth === at.depth && mark.label !== null);
    if (known) return pick(known, isToShow);
    try {
      const row = (await client.sql(rowOf(lane, at.start), signal)).toArray()[0];
      if (!row) return;
      const long = Number(BigInt(String(row.end_ns ?? row.start_ns)) - BigInt(String(row.start_ns)));
      go({ ...at, end: at.start + long, label: String(row.short ?? row.name ?? lane.label) });
    } catch (error) {
      if (!signal.aborted) wrong.replaceChildren(complaint(error));
    }
  }
  function refold(): void {
    layout = layOut(lanes, folded);
    scroller.style.maxHeight = `${Math.max(layout.height, 3 * ROW) + AXIS + ROW}px`;
    spacer.style.height = `${Math.max(0, layout.height + AXIS - height)}px`;
    later();
  }
  function under(x: number, y: number): { lane: Lane; mark: Mark } | undefined {
    const top = y - AXIS + scroller.scrollTop;
    const placed = y > AXIS ? placedAt(layout, top) : undefined;
    if (!placed?.lane || x < side()) return undefined;
    const mark = hit(marks.get(placed.lane.lane) ?? [], depthAt(placed, top), time(x), ((span.to - span.from) / wide()) * 3);
    return mark && { lane: placed.lane, mark };
  }
  function tabled(event: Event): void {
    alternative.hidden = !alternative.hidden;
    (event.currentTarget as HTMLElement).setAttribute("aria-expanded", String(!alternative.hidden));
    const rows = visible(layout, scroller.scrollTop, height - AXIS).flatMap(({ lane }) => (lane ? [lane] : []));
    const cells = rows.map((lane) => {
      const inside = (marks.get(lane.lane) ?? []).filter((mark) => mark.depth === 0 && mark.end > span.from && mark.start < span.to);
      const sum = (of: (mark: Mark) => number) => inside.reduce((total, mark) => total + of(mark), 0);
      const texts = [sum((mark) => mark.items).toLocaleString("en"), isArea(lane) ? "" : duration(sum((mark) => mark.busy))];
      return h("tr", {}, h("th", { scope: "row" }, `${lane.section}, ${lane.label}`), ...texts.map((text) => h("td", { class: "number" }, text)));
    });
    const heads = ["Lane", "Count", "Busy"].map((text, at) => h("th", { scope: "col", class: at ? "plain number" : "plain" }, text));
    alternative.replaceChildren(h("table", {}, h("caption", {}, "Visible lanes"), h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...cells)));
  }

  listen(
    canvas,
    {
      act,
      zoomAt: (factor, x) => move(zoom(span, factor, time(x), end)),
      pan: (pixels) => move(pan(span, pixels / wide(), end)),
      brush(from, to, isDone) {
        const [a, b] = [from, to].sort((one, other) => one - other).map((x) => Math.min(Math.max(time(x), 0), end));
        tip.hidden = true;
        dragged = isDone ? undefined : { from: a!, to: b! };
        if (isDone) tell({ from: Math.round(a!), to: Math.round(b!) });
        later();
      },
      click(x, y) {
        const header = y > AXIS ? placedAt(layout, y - AXIS + scroller.scrollTop) : undefined;
        if (header && !header.lane) {
          if (!folded.delete(header.section)) folded.add(header.section);
          return refold();
        }
        const at = under(x, y);
        if (at) pick(at.mark);
      },
      hover(x, y) {
        const at = under(x, y);
        tip.hidden = !at;
        if (!at) return;
        tip.textContent = isArea(at.lane) ? `${at.lane.label}: ${withUnit(at.mark.value, at.lane.unit)}` : summary(at.lane, at.mark);
        tip.style.left = `${Math.min(x + 12, Math.max(0, width - 320))}px`;
        tip.style.top = `${y + 16}px`;
      },
      leave: () => (tip.hidden = true),
    },
    signal,
  );
  scroller.addEventListener("scroll", later, { signal, passive: true });
  const resized = new ResizeObserver(() => {
    [width, height] = [scroller.clientWidth, scroller.clientHeight];
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    refold();
  });
  resized.observe(scroller);
  const themed = new MutationObserver(() => ((colours = inks(root)), later()));
  themed.observe((root.getRootNode() as Partial<ShadowRoot>).host ?? document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const unsubscribe = state.subscribe((now) => {
    const before = told;
    told = now;
    if (now.window !== before.window) move(windowOf(now.window) ?? { from: 0, to: end });
    else if (now.from !== before.from || now.to !== before.to) move(chosenSpan() ?? span);
    if (now.selected && !isSame(now.selected, before.selected)) void resolve(now.selected, true);
    if (!now.selected && chosen) {
      asking.abort();
      chosen = undefined;
      arrows = [];
      panel.hidden = true;
    }
    later();
  });
  signal.addEventListener("abort", () => {
    unsubscribe();
    resized.disconnect();
    themed.disconnect();
    cancelAnimationFrame(frame);
    clearTimeout(settled);
    feed.stop();
    finder.stop();
    asking.abort();
  });
  const { search: text, selected } = state.get();
  if (text) finder.set(text);
  if (selected) void resolve(selected, false);
}
