// The lines of source that were sampled, in the order of their file, with what warps wait for
// there; a line opens to its instructions.
import { PARTS } from "../chart.ts";
import type { Table } from "../client.ts";
import { complaint } from "../complaint.ts";
import { h } from "../dom.ts";
import { loading } from "../loading.ts";
import { origin, section, type Context } from "../panel.ts";

interface Part {
  reason: string;
  samples: number;
}
interface Line {
  line: number;
  samples: number;
  parts: Part[];
}
interface Told {
  reasons: string[];
  all: number;
}

const RESTS = 0.004;

/** Of each file its lines, those of the file with most samples first. */
export function filesOf(rows: Table): Map<string, Line[]> {
  const files = new Map<string, Map<number, Line>>();
  const [names, numbers, reasons, samples] = ["file", "line", "reason", "samples"].map((name) => Array.from(rows.column(name)));
  names!.forEach((name, at) => {
    if (name == null || numbers![at] == null) return;
    const lines = files.get(String(name)) ?? new Map<number, Line>();
    files.set(String(name), lines);
    const number = Number(numbers![at]);
    const line = lines.get(number) ?? { line: number, samples: 0, parts: [] };
    lines.set(number, line);
    line.samples += Number(samples![at]);
    line.parts.push({ reason: String(reasons![at]), samples: Number(samples![at]) });
  });
  const sum = (lines: Map<number, Line>) => [...lines.values()].reduce((all, each) => all + each.samples, 0);
  return new Map(
    [...files].sort(([, a], [, b]) => sum(b) - sum(a)).map(([name, lines]) => [name, [...lines.values()].sort((a, b) => a.line - b.line)]),
  );
}

/** The reasons with most samples, as many as have a colour of their own, and the sum of all. */
function told(rows: Table): Told {
  const sums = new Map<string, number>();
  const samples = Array.from(rows.column("samples"), Number);
  Array.from(rows.column("reason"), String).forEach((reason, at) => sums.set(reason, (sums.get(reason) ?? 0) + samples[at]!));
  const reasons = [...sums.keys()].sort((a, b) => sums.get(b)! - sums.get(a)!).slice(0, PARTS.length - 1);
  return { reasons, all: samples.reduce((all, each) => all + each, 0) };
}

export function source(context: Context): HTMLElement {
  const whole = section(
    "Which lines are hot, and what do warps wait for there?",
    "The sampled lines of a file, in its order. Open one to see its instructions.",
    async (into) => {
      const rows = await context.client.rows("line_stall", {}, context.signal, context.part);
      const files = filesOf(rows);
      if (!files.size) {
        // The panel of the same rows says why.
        whole.hidden = true;
        return;
      }
      const all = told(rows);
      const shown = h("div", { class: "source" });
      const choice = h("select", { "aria-label": "File", change: () => show(choice.value) }, ...[...files.keys()].map((name) => h("option", { value: name }, name)));
      const instructions = once(() => context.client.rows("instruction_stall", {}, context.signal, context.part));
      function show(name: string): void {
        shown.replaceChildren(...listed(name, files.get(name)!, all, instructions));
      }
      show(choice.value);
      into.append(h("p", {}, choice), legend(all), shown, origin(`cupti-etl query line_stall ${context.catalogue.traces.join(" ")}`));
    },
    context.signal,
  );
  return whole;
}

function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => (asked ??= ask());
}

const colour = (reason: string, { reasons }: Told): string => PARTS[reasons.indexOf(reason)] ?? PARTS.at(-1)!;
const percent = (samples: number, { all }: Told): string => (samples > 0 && samples < all / 2000 ? "<0.1 %" : `${((100 * samples) / all).toFixed(1)} %`);

function legend(all: Told): HTMLElement {
  const named = [...all.reasons, "others"];
  return h("ul", { class: "legend" }, ...named.map((reason) => h("li", {}, swatch(colour(reason, all)), reason)));
}

function swatch(fill: string): HTMLElement {
  const box = h("span", { class: "swatch", "aria-hidden": "true" });
  box.style.background = fill;
  return box;
}

/** Lines with a mark where others lie between them. */
function* listed(file: string, lines: Line[], all: Told, instructions: () => Promise<Table>): Generator<HTMLElement> {
  const most = Math.max(...lines.map((each) => each.samples));
  let before: number | undefined;
  for (const line of lines) {
    if (before !== undefined && line.line > before + 1) yield h("p", { class: "between", "aria-hidden": "true" }, "⋮");
    before = line.line;
    yield opened(file, line, most, all, instructions);
  }
}

function opened(file: string, line: Line, most: number, all: Told, instructions: () => Promise<Table>): HTMLElement {
  const parts = [...line.parts].sort((a, b) => b.samples - a.samples);
  const words = parts.filter((each) => each.samples >= line.samples / 100).slice(0, 3);
  const inside = h("div", { class: "instructions" });
  const item = h(
    "details",
    { class: "line", toggle: () => item.open && !inside.childElementCount && fill() },
    h(
      "summary",
      {},
      h("span", { class: "number" }, String(line.line)),
      h("span", { class: "share" }, percent(line.samples, all)),
      bar(line, most, all),
      h("span", { class: "reasons" }, words.map((each) => `${each.reason} ${Math.round((100 * each.samples) / line.samples)} %`).join(", ")),
    ),
    inside,
  );
  async function fill(): Promise<void> {
    inside.replaceChildren(loading());
    try {
      inside.replaceChildren(instructionsOf(await instructions(), file, line.line, all));
    } catch (error) {
      inside.replaceChildren(complaint(error));
    }
  }
  return item;
}

function bar(line: Line, most: number, all: Told): HTMLElement {
  const place = (reason: string) => (all.reasons.includes(reason) ? all.reasons.indexOf(reason) : PARTS.length);
  const parts = [...line.parts].filter((each) => each.samples > most * RESTS).sort((a, b) => place(a.reason) - place(b.reason));
  const boxes = parts.map((each) => {
    const box = h("span", { title: `${each.reason}: ${each.samples.toLocaleString("en")} samples` });
    box.style.width = `${(100 * each.samples) / most}%`;
    box.style.background = colour(each.reason, all);
    return box;
  });
  return h("span", { class: "bar", "aria-hidden": "true" }, ...boxes);
}

function instructionsOf(rows: Table, file: string, line: number, all: Told): HTMLElement {
  const of = (name: string) => Array.from(rows.column(name));
  const [files, lines, texts, samples, reasons, offsets, names, inlined] = ["file", "line", "instruction", "samples", "reasons", "pc_offset", "name", "inlined_at"].map(of);
  const found = files!.map((_, at) => at).filter((at) => files![at] === file && Number(lines![at]) === line);
  found.sort((a, b) => String(names![a]).localeCompare(String(names![b]), "en") || Number(offsets![a]) - Number(offsets![b]));
  const head = ["function", "offset", "instruction", "samples", "waits for", "inlined at"];
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `Instructions of line ${line}` },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
      h(
        "tbody",
        {},
        ...found.map((at) =>
          h(
            "tr",
            {},
            h("td", { class: "label" }, String(names![at])),
            h("td", { class: "number" }, `0x${Number(offsets![at]).toString(16)}`),
            h("td", {}, h("code", {}, String(texts![at] ?? ""))),
            h("td", { class: "number" }, percent(Number(samples![at]), all)),
            h("td", { class: "text" }, String(reasons![at] ?? "")),
            h("td", { class: "text" }, String(inlined![at] ?? "")),
          ),
        ),
      ),
    ),
  );
}
