// Kernels over time and by duration, each a filter of the other and of the table: Mosaic asks the
// server for the bins, and never for all executions.
import * as vg from "@uwdata/vgplot";
import { makeClient } from "@uwdata/mosaic-core";
import { count, Query, sql as text, sum, desc, median } from "@uwdata/mosaic-sql";
import { h } from "../dom.ts";
import { complaint } from "../complaint.ts";
import { origin, section, type Context } from "../panel.ts";
import type { Column, Shown } from "../shown.ts";
import { table } from "../table.ts";
import { measured, tick } from "../units.ts";

const SOURCE = "executions";
const ROWS = 200;

/** Finished executions, with times as doubles: nanoseconds since 1970 are none in a browser. */
function source(context: Context): string {
  const begin = BigInt(context.catalogue.begin_ns);
  const { from, to } = context.store.get();
  const edges = [
    from === undefined ? "" : ` AND start_ns >= ${begin + BigInt(Math.round(from))}`,
    to === undefined ? "" : ` AND start_ns < ${begin + BigInt(Math.round(to))}`,
  ];
  return (
    `SELECT (start_ns - ${begin}) / 1e6 AS at_ms, (end_ns - start_ns) / 1e3 AS duration_us,\n` +
    "       log10(greatest(end_ns - start_ns, 1)) AS magnitude, coalesce(shown, name) AS name\n" +
    `FROM kernel\nLEFT JOIN kernel_rule ON mangled = name\nWHERE end_ns IS NOT NULL${edges.join("")}`
  );
}

export function brushed(context: Context): HTMLElement {
  return section(
    "When do kernels run, and how long do they take?",
    "Drag over a chart: the other one and the table then show what lies in it. A click takes it away.",
    async (into) => {
      const from = source(context);
      const rows = h("div", { "aria-live": "polite" });
      // At first it is the panel that failed, and later the part that was chosen.
      let stop = (_: unknown): void => undefined;
      const failed = new Promise<never>((_, reject) => (stop = reject));
      const fail = (error: unknown) => {
        rows.replaceChildren(complaint(error));
        stop(error);
      };
      const coordinator = new vg.Coordinator(connector(context, from, fail), { logger: null as never, preagg: { enabled: false }, cache: true });
      const api = vg.createAPIContext({ coordinator });
      const brush = vg.Selection.crossfilter();
      // As wide as its place, of which there are two beside each other if they have room: drawn
      // smaller than it was made, its words could not be read.
      const room = document.documentElement.clientWidth - 80;
      const width = Math.min(620, room < 856 ? room : (room - 16) / 2);
      const draw = (column: string, label: string, y: unknown, yLabel: string, extra: unknown[]) =>
        api.plot(
          api.rectY(api.from(SOURCE, { filterBy: brush }), { x: api.bin(column, { steps: 60 }), y, fill: "var(--bar)", inset: 0.5 } as never),
          api.intervalX({ as: brush }),
          api.xLabel(label),
          api.yLabel(yLabel),
          api.xDomain(vg.Fixed),
          api.width(width),
          api.height(212),
          api.marginLeft(64),
          api.marginRight(32),
          api.marginBottom(42),
          ...(extra as never[]),
        );
      const time = draw("at_ms", "time since the trace's beginning", api.sum("duration_us"), "GPU time", [api.xTickFormat(times(1e6)), api.yTickFormat(times(1e3))]);
      const lengths = draw("magnitude", "duration", api.count(), "executions", [api.xTickFormat(power), api.xTicks(Math.round(width / 130)), api.yTickFormat(whole)]);
      const client = makeClient({
        coordinator,
        selection: brush,
        query: (filter) =>
          Query.from(SOURCE)
            .select({ name: "name", calls: text`${count()}::INTEGER`, total_us: sum("duration_us"), median_us: median("duration_us"), of_all: text`sum(count(*)) OVER ()` })
            .where(filter ?? [])
            .groupby("name")
            .orderby(desc("total_us"))
            .limit(ROWS),
        queryResult: (data) => rows.replaceChildren(summary(data)),
        queryError: fail,
      });
      context.signal.addEventListener("abort", () => client.destroy());
      into.append(
        h("div", { class: "beside" }, frame("GPU time of kernels over time", time), frame("Executions by duration", lengths)),
        rows,
        origin(`cupti-etl sql ${context.catalogue.traces.join(" ")} "FROM kernel"`, from),
      );
      await Promise.race([client.pending, failed]);
    },
    context.signal,
  );
}

const frame = (words: string, plot: unknown): HTMLElement =>
  h("figure", { class: "scroll" }, h("figcaption", {}, words), h("div", { role: "img", "aria-label": `${words}; the table below has the numbers.` }, h("div", { "aria-hidden": "true" }, plot as HTMLElement)));

/** Write ticks: times of which each unit is so many nanoseconds, counts, powers of ten of nanoseconds. */
const times = (ns: number) => (value: number, _: number, all: number[]) => tick(value * ns, "ns", all.map((each) => each * ns));
const whole = (value: number): string => (Number.isInteger(value) ? value.toLocaleString("en") : "");
const power = (exponent: number, _: number, all: number[]) => tick(10 ** exponent, "ns", all.map((each) => 10 ** each));

/**
 * Gives Mosaic's statements the source that they name. What failed or was given up has no answer:
 * Mosaic would leave some of the errors to nobody.
 */
function connector(context: Context, from: string, fail: (error: unknown) => void) {
  return {
    async query({ sql, type }: { sql: string; type?: string }): Promise<unknown> {
      if (type === "exec") return undefined;
      const [, describe = "", rest = ""] = /^(DESCRIBE )?([\s\S]*)$/i.exec(sql) ?? [];
      try {
        const bytes = await context.client.arrow(`${describe}WITH ${SOURCE} AS (${from}) SELECT * FROM (${rest})`, context.signal);
        return bytes.buffer;
      } catch (error) {
        if (!context.signal.aborted) fail(error);
        return new Promise(() => undefined);
      }
    },
  } as never;
}

function summary(data: unknown): HTMLElement {
  const found = data as { toArray(): Record<string, unknown>[] };
  const rows = found.toArray();
  const column = (name: string, heading: string, unit: string, factor: number): Column => {
    const values = rows.map((row) => (typeof row[name] === "number" ? (row[name] as number) * factor : row[name]));
    const cells = values.map((value) => (unit === "ns" ? measured(value as number) : typeof value === "number" ? value.toLocaleString("en") : String(value)));
    return { name, heading, unit, is_number: name !== "name", is_label: name === "name", is_chosen: true, cells, values };
  };
  const shown: Shown = {
    part: "",
    command: "",
    notes: ["No kernel ran there."],
    columns: [column("name", "kernel", "1", 1), column("calls", "calls", "executions", 1), column("total_us", "total", "ns", 1e3), column("median_us", "median", "ns", 1e3)],
    more: 0,
  };
  const calls = rows.length ? Number(rows[0]!.of_all) : 0;
  return h("div", {}, h("p", { class: "says selected" }, `${calls.toLocaleString("en")} execution${calls === 1 ? "" : "s"}`), table(shown, "Kernels of the executions that are chosen"));
}
