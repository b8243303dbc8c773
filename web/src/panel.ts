// A panel: a query's question, its chart, its rows, the command that gives them, and its SQL.
import type { Catalogue, Chart, Query } from "./catalogue.ts";
import { chart, type Form } from "./chart.ts";
import { address, type Client, type Words } from "./client.ts";
import { complaint } from "./complaint.ts";
import { h } from "./dom.ts";
import { loading } from "./loading.ts";
import { rowsOf, type Shown } from "./shown.ts";
import type { State, StateStore } from "./state.ts";
import { table } from "./table.ts";

export interface Context {
  client: Client;
  catalogue: Catalogue;
  store: StateStore;
  /** The part of the trace that is looked at, as parameters of the server. */
  part: Words;
  /** In which view a query is shown, if in any. */
  viewOf(query: string): string | undefined;
  /** Says once of which part all answers of the view are, if that is not said elsewhere. */
  says(part: string): void;
  signal: AbortSignal;
}

let panels = 0;

/** The part of the trace that the state chooses, as parameters of the server. */
export function partOf(state: State): Words {
  const part: Words = {};
  if (state.from !== undefined) part.from = `${Math.round(state.from)}ns`;
  if (state.to !== undefined) part.to = `${Math.round(state.to)}ns`;
  return part;
}

/** Of which part an answer is, where that is not that of its view. */
export function told(context: Context, shown: Shown): HTMLElement | null {
  if (!Object.keys(context.part).length) return shown.part ? h("p", { class: "part" }, `Part of the trace: ${shown.part}.`) : null;
  context.says(shown.part);
  return null;
}

/** Takes a question without an answer from the others: below them it stands with its reason. */
export function leave(whole: HTMLElement, reason: string): void {
  whole.hidden = true;
  whole.dataset.absent = reason;
  if (whole.parentElement) gather(whole.parentElement);
}

function gather(view: HTMLElement): void {
  const of = new Map<string, string[]>();
  for (const each of view.querySelectorAll<HTMLElement>("[data-absent]")) {
    const reason = each.dataset.absent!;
    of.set(reason, [...(of.get(reason) ?? []), each.querySelector("h2")!.textContent!]);
  }
  const items = [...of].map(([reason, questions]) => h("li", {}, reason, h("ul", { class: "says" }, ...questions.map((each) => h("li", {}, each)))));
  view.querySelector(".absent")?.remove();
  view.append(h("section", { class: "panel absent", "aria-labelledby": "absent" }, h("h2", { id: "absent" }, "Without rows"), h("ul", {}, ...items)));
}

/** A section with a heading, which says when it is loading and what went wrong. */
export function section(title: string, says: string, fill: (into: HTMLElement) => Promise<void>, signal: AbortSignal): HTMLElement {
  const id = `panel-${++panels}`;
  const inside = h("div");
  // What keeps one panel from its answer does so for the others: they are asked again together.
  const again = () => whole.parentElement?.querySelectorAll(".panel").forEach((each) => each.dispatchEvent(new Event("again")));
  const whole = h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, title), says && h("p", { class: "says" }, says), inside);
  function load(): void {
    const filled = h("div");
    inside.replaceChildren(loading());
    whole.setAttribute("aria-busy", "true");
    fill(filled)
      .then(() => inside.replaceChildren(filled))
      .catch((error: unknown) => {
        if (signal.aborted) return;
        inside.replaceChildren(complaint(error, again));
        whole.addEventListener("again", load, { once: true });
      })
      .finally(() => whole.setAttribute("aria-busy", "false"));
  }
  load();
  return whole;
}

/** How a panel's rows were asked for. */
export function origin(command: string, sql = ""): HTMLElement {
  return h(
    "details",
    { class: "origin" },
    h("summary", {}, sql ? "Command and SQL" : "Command"),
    h("pre", { tabindex: 0, "aria-label": "Command" }, h("code", {}, command)),
    sql && h("pre", { tabindex: 0, "aria-label": "SQL" }, h("code", {}, sql)),
  );
}

export function notesOf(shown: Shown): HTMLElement[] {
  return shown.notes.map((note) => h("p", { class: "note" }, note));
}

export function queryOf(catalogue: Catalogue, name: string): Query {
  const query = catalogue.queries.find((each) => each.name === name);
  if (!query) throw new Error(`there is no query ${name}`);
  return query;
}

export function ask(context: Context, name: string, params: Words = {}, part: Words = {}): Promise<Shown> {
  const where = address(name, params, { ...context.part, ...part, format: "shown" });
  return context.client.json<Shown>(where, context.signal);
}

export interface Options {
  title?: string;
  params?: Words;
  /** What is drawn above the table, where the header of the query does not say it. */
  chart?: Form | ((query: Query, context: Context, shown: Shown) => Promise<Node | null>);
}

async function drawing(context: Context, query: Query, shown: Shown, by: Options["chart"] | Chart | null): Promise<Node | null> {
  if (!by || !rowsOf(shown)) return null;
  if (typeof by === "function") return by(query, context, shown);
  return by.kind === "flame" ? null : chart(shown, by as Form, context.catalogue.begin_ns);
}

export function panel(context: Context, name: string, options: Options = {}): HTMLElement {
  const query = queryOf(context.catalogue, name);
  const title = options.title ?? (query.front || query.doc);
  const whole = section(
    title,
    query.front ? query.doc : "",
    async (into) => {
      const shown = await ask(context, name, options.params);
      if (!rowsOf(shown)) return leave(whole, (shown.notes[0] ?? "nothing of the kind was found.").replace(`${name}: `, ""));
      const doc = (column: string) => query.columns.find((each) => each.name === column)?.doc ?? "";
      const drawn = await drawing(context, query, shown, options.chart ?? query.chart);
      into.append(
        ...[told(context, shown), drawn].filter((each) => each !== null),
        table(shown, title, doc),
        ...notesOf(shown),
        origin(shown.command, query.sql),
      );
    },
    context.signal,
  );
  whole.dataset.query = name;
  return whole;
}
