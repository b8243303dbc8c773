// Panels of what is more than a query: what could be saved, and what differs in two traces.
import { chart } from "../chart.ts";
import type { Words } from "../client.ts";
import { h } from "../dom.ts";
import { origin, section, told, type Context } from "../panel.ts";
import { rowsOf, type Shown } from "../shown.ts";
import { format } from "../state.ts";
import { table } from "../table.ts";

async function asked(context: Context, address: string, part: Words): Promise<Shown> {
  return context.client.json<Shown>(`${address}?${new URLSearchParams({ ...part, format: "shown" })}`, context.signal);
}

export function findings(context: Context): HTMLElement {
  return section(
    "What could be saved?",
    "At most; findings can be of the same time, so they do not add up.",
    async (into) => {
      const shown = await asked(context, "/findings", context.part);
      const of = (name: string, at: number) => shown.columns.find((column) => column.name === name)?.cells[at] ?? "";
      const items = Array.from({ length: rowsOf(shown) }, (_, at) => {
        const query = of("query", at);
        const { from, to } = context.store.get();
        const view = context.viewOf(query);
        const link = view ? h("a", { href: format({ view, from, to, panel: query }) }, query) : h("code", {}, query);
        return h(
          "li",
          {},
          h("p", {}, h("strong", {}, `${of("saved_ns", at)} (${of("percent", at)}, ${of("sure", at)})`), ` ${of("finding", at)}`),
          h("p", { class: "says" }, `${of("advice", at)}: `, link),
        );
      });
      into.append(
        told(context, shown) ?? "",
        items.length ? h("ol", { class: "findings" }, ...items) : h("p", { class: "empty" }, shown.notes[0] ?? "None."),
        origin(shown.command),
      );
    },
    context.signal,
  );
}

export function compared(context: Context): HTMLElement {
  const [before, after, ...others] = context.catalogue.traces;
  const title = "What became slower or faster?";
  if (!before || !after || others.length) {
    return section(
      title,
      "",
      async (into) => {
        into.append(
          h("p", {}, "To compare two traces, serve them together:"),
          h("pre", { tabindex: 0, "aria-label": "Command" }, h("code", {}, "cupti-etl serve BEFORE AFTER")),
        );
      },
      context.signal,
    );
  }
  return section(
    title,
    `From ${before} to ${after}: steps and their parts, modules, operators, and kernels by launch shape.`,
    async (into) => {
      const shown = await asked(context, "/compare", {});
      const drawn = chart(shown, { kind: "bars", x: "name", y: "change_ns" }, context.catalogue.begin_ns);
      // The part that is looked at is of the two as one trace, and not of each.
      const part = shown.part && h("p", { class: "part" }, `Parts of the traces: ${shown.part}.`);
      into.append(part, ...shown.notes.map((note) => h("p", { class: note.startsWith("note: ") ? "says" : "note" }, note)), ...(drawn ? [drawn] : []), table(shown, title), origin(shown.command));
    },
    context.signal,
  );
}
