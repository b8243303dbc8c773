// SQL: an editor that knows the tables and queries of the trace, the rows, and a chart of them.
import { sql as language, StandardSQL } from "@codemirror/lang-sql";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { chart, type Form } from "../chart.ts";
import { h } from "../dom.ts";
import { complaint } from "../complaint.ts";
import { origin, section, type Context } from "../panel.ts";
import type { Shown } from "../shown.ts";
import { table } from "../table.ts";

const FIRST = "SELECT name, demangled, calls, total_ns, mean_ns\nFROM kernel_summary\nORDER BY total_ns DESC\nLIMIT 20";
const KINDS: Record<string, string> = { none: "no chart", bars: "bars", lines: "line", points: "points" };

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.number], color: "var(--warn)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
]);

const looks = EditorView.theme({
  "&": { border: "1px solid var(--line)", borderRadius: "5px", background: "var(--ground)", color: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-content": { minHeight: "7em", caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { background: "var(--raised)", color: "var(--quiet)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { background: "transparent" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground, ::selection": { background: "color-mix(in srgb, var(--accent) 30%, transparent) !important" },
  ".cm-tooltip": { background: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
});

export function sql(context: Context): HTMLElement {
  return section(
    "Ask with SQL",
    "One SELECT of DuckDB over the tables and queries of the trace. Ctrl-Enter runs it; Esc and then Tab leaves the editor.",
    async (into) => {
      const asked = context.store.get().sql;
      const result = h("div", { class: "result", "aria-live": "polite" });
      const run = () => void answer(context, editor.state.doc.toString(), result);
      // Its styles are sheets of a shadow root, which the policy of the page lets in.
      const host = h("div", { class: "editor" });
      const root = host.attachShadow({ mode: "open" });
      const editor = new EditorView({
        root,
        parent: root as unknown as Element,
        state: EditorState.create({
          doc: typeof asked === "string" ? asked : FIRST,
          extensions: [
            Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }])),
            basicSetup,
            language({ dialect: StandardSQL, schema: names(context), upperCaseKeywords: true }),
            syntaxHighlighting(colours),
            looks,
            EditorView.lineWrapping,
            EditorView.contentAttributes.of({ "aria-label": "SQL statement" }),
          ],
        }),
      });
      context.signal.addEventListener("abort", () => editor.destroy());
      into.append(host, h("p", {}, h("button", { type: "button", class: "run", click: run }, "Run")), result);
      await answer(context, editor.state.doc.toString(), result);
    },
    context.signal,
  );
}

/** What completion offers. */
function names(context: Context): Record<string, string[]> {
  const { tables, queries } = context.catalogue;
  return Object.fromEntries([
    ...tables.map(({ name, columns }) => [name, columns] as const),
    ...queries.map(({ name, columns }) => [name, columns.map((column) => column.name)] as const),
  ]);
}

async function answer(context: Context, statement: string, into: HTMLElement): Promise<void> {
  context.store.set({ sql: statement });
  into.replaceChildren(h("p", { class: "loading", role: "status" }, "Running …"));
  into.setAttribute("aria-busy", "true");
  try {
    const words = new URLSearchParams({ ...context.part, format: "shown" });
    const shown = await context.client.json<Shown>(`/sql?${words}`, context.signal, statement);
    into.replaceChildren(plotted(context, shown), table(shown, "Rows of the statement"), origin(shown.command, statement));
  } catch (error) {
    if (!context.signal.aborted) into.replaceChildren(complaint(error));
  }
  into.setAttribute("aria-busy", "false");
}

/** A chart of the columns that somebody chooses. */
function plotted(context: Context, shown: Shown): HTMLElement {
  const all = shown.columns.map((column) => column.name);
  const heights = shown.columns.filter((column) => column.is_number).map((column) => column.name);
  if (!heights.length) return h("div");
  const state = context.store.get();
  const drawn = h("div");
  const choose = (label: string, name: string, values: string[], first: string, says = (value: string) => value) => {
    const said = String(state[name] ?? "");
    const chosen = values.includes(said) ? said : first;
    const select = h("select", { change: () => draw() }, ...values.map((value) => h("option", { value, selected: value === chosen }, says(value))));
    return [h("label", {}, `${label} `, select), select] as const;
  };
  const label = shown.columns.find((column) => !column.is_number)?.name;
  const [kindLabel, kind] = choose("Chart", "chart", Object.keys(KINDS), label ? "bars" : "none", (value) => KINDS[value]!);
  const [xLabel, x] = choose("across", "x", all, label ?? all[0]!);
  const [yLabel, y] = choose("of", "y", heights, heights.find((name) => name.endsWith("_ns")) ?? heights[0]!);
  const draw = () => {
    context.store.set({ chart: kind.value, x: x.value, y: y.value });
    if (kind.value === "none") return drawn.replaceChildren();
    const found = chart(shown, { kind: kind.value as Form["kind"], x: x.value, y: y.value }, context.catalogue.begin_ns);
    drawn.replaceChildren(found ?? h("p", { class: "empty" }, "These columns have nothing to draw."));
  };
  draw();
  return h("div", {}, h("p", { class: "choices" }, kindLabel, yLabel, xLabel), drawn);
}
