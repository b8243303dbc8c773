// The frame of the page: its name, the views, the part of the trace that is looked at.
import type { Catalogue } from "./catalogue.ts";
import type { Client, Words } from "./client.ts";
import { h } from "./dom.ts";
import { growing } from "./growing.ts";
import { complaint } from "./complaint.ts";
import { partOf } from "./panel.ts";
import { format, type State, type StateStore } from "./state.ts";
import { theme, toggleTheme } from "./theme.ts";
import { duration } from "./units.ts";
import { panels, viewOf, VIEWS, type View } from "./views/views.ts";

export function shell(root: HTMLElement, client: Client, first: Catalogue, state: StateStore): void {
  const links = VIEWS.map((view) => h("a", {}, view.title));
  const toggle = h("button", { type: "button", class: "theme", click: change });
  const part = h("div", { class: "chosen", role: "status" });
  const main = h("main", { id: "main", tabindex: -1 });
  let catalogue = first;
  let running = new AbortController();
  let drawn = "";
  let pointed: unknown;

  function change(): void {
    toggleTheme();
    name();
  }
  function name(): void {
    toggle.textContent = theme() === "dark" ? "Light theme" : "Dark theme";
  }
  function draw(now: State): void {
    const view = VIEWS.find((each) => each.id === now.view) ?? VIEWS[0]!;
    links.forEach((link, at) => {
      const { from, to } = now;
      link.href = format({ view: VIEWS[at]!.id, from, to });
      if (VIEWS[at] === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
    part.replaceChildren(...chosen(now));
    const key = JSON.stringify([view.id, view.isSteady ? {} : partOf(now)]);
    const isNew = key !== drawn;
    if (isNew) make(view, now, key);
    if (typeof now.panel === "string" && (isNew || now.panel !== pointed)) pointTo(main, now.panel, running.signal);
    pointed = now.panel;
  }
  function make(view: View, now: State, key: string): void {
    const isMove = drawn !== "" && JSON.parse(drawn)[0] !== view.id;
    drawn = key;
    running.abort();
    running = new AbortController();
    document.title = `${view.title} – ${catalogue.traces.join(", ")} – cupti-etl`;
    const about = h("p", { class: "part", role: "status" });
    main.replaceChildren(h("h1", {}, view.title), about);
    // The header says what somebody chose.
    const says = (text: string): void => void (about.textContent = text && !isChosen(now) ? `Part of the trace: ${text}.` : "");
    // On a narrow screen, the navigation has its own scrolling.
    links[VIEWS.indexOf(view)]?.scrollIntoView({ block: "nearest", inline: "nearest" });
    try {
      const signal = running.signal;
      main.append(...panels(view, { client, catalogue, store: state, part: usual(view, now), viewOf: (query) => viewOf(query)?.id, says, signal }));
    } catch (error) {
      main.append(complaint(error));
    }
    if (isMove) main.focus({ preventScroll: true });
  }
  /** What a view is about: as the report, the overview leaves out the warm-up unless a part is chosen. */
  function usual(view: View, now: State): Words {
    return view.isReport && !isChosen(now) && catalogue.has_steady_state ? { steps: "steady" } : partOf(now);
  }
  function chosen(now: State): (Node | string)[] {
    if (!isChosen(now)) return [];
    const from = now.from === undefined ? "the beginning" : duration(now.from);
    const to = now.to === undefined ? "the end" : duration(now.to);
    const all = h("button", { type: "button", click: () => state.set({ from: undefined, to: undefined }) }, "Whole trace");
    return [`From ${from} to ${to} `, all];
  }

  name();
  root.replaceChildren(
    h("a", { class: "skip", href: "#main", click: (event: Event) => (event.preventDefault(), main.focus()) }, "Skip to the view"),
    h(
      "header",
      {},
      h("p", { class: "name" }, h("strong", {}, "cupti-etl"), " ", h("span", { class: "traces" }, catalogue.traces.join(", "))),
      toggle,
      h("nav", { "aria-label": "Views" }, h("ul", {}, ...links.map((link) => h("li", {}, link)))),
      growing(client, first, (now) => {
        catalogue = now;
        drawn = "";
        draw(state.get());
      }),
      part,
    ),
    main,
  );
  state.subscribe(draw);
  draw(state.get());
}

const isChosen = (now: State): boolean => now.from !== undefined || now.to !== undefined;

/** Scrolls to the panel of a query, and again while those above it grow, until somebody scrolls. */
function pointTo(main: HTMLElement, query: string, signal: AbortSignal): void {
  const panel = main.querySelector(`[data-query="${CSS.escape(query)}"]`);
  if (!panel) return;
  const stop = new AbortController();
  const grown = new ResizeObserver(() => {
    panel.scrollIntoView();
    if (!main.querySelector("[aria-busy=true]")) stop.abort();
  });
  for (const moved of ["wheel", "keydown", "pointerdown"]) addEventListener(moved, () => stop.abort(), { signal: stop.signal, passive: true });
  signal.addEventListener("abort", () => stop.abort(), { signal: stop.signal });
  stop.signal.addEventListener("abort", () => grown.disconnect());
  grown.observe(main);
}
