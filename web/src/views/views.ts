// The views of the page, in the order of the navigation: each a list of queries, some with more.
import { flame, stacked } from "../chart.ts";
import { panel, type Context, type Options } from "../panel.ts";
import { compared, findings } from "./analysed.ts";
import { brushed } from "./brushed.ts";
import { source } from "./source.ts";
import { sql } from "./sql.ts";
import { timeline } from "./timeline.ts";

export interface View {
  id: string;
  title: string;
  /** What stands above the queries. */
  first?: (context: Context) => HTMLElement;
  queries: (string | [string, Options])[];
  /** Shows the chosen part itself, and is not made anew for another one. */
  isSteady?: boolean;
  /** Whether it is about the steady state, as `cupti-etl report`. */
  isReport?: boolean;
}

/** A flame graph of all rows: the first thousand would leave the small ones out. */
const flamed = (path: string, value: string, separator: string): Options => ({
  chart: async (query, context) => {
    const rows = await context.client.rows(query.name, {}, context.signal, context.part);
    const paths = Array.from(rows.column(path), (text) => String(text).split(separator));
    return flame(paths, Array.from(rows.column(value), Number), query.front);
  },
});

const ROOFLINE: Options = { chart: { kind: "points", x: "intensity", y: "achieved_gflops", isLog: true } };
const WENT: Options = { chart: async (_, __, shown) => stacked(shown, "gpu", ["compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns"]) };
const BUSY: Options = { chart: { kind: "lines", x: "start_ns", y: "busy_pct" } };
const IN_USE: Options = { chart: { kind: "lines", x: "timestamp_ns", y: "in_use_bytes" } };

export const VIEWS: View[] = [
  {
    id: "overview",
    title: "Overview",
    isReport: true,
    first: findings,
    queries: [["busy_breakdown", WENT], "step_breakdown", "idle_summary", ["utilization_timeline", BUSY], "gap_attribution", "run_summary", "capture_health"],
  },
  { id: "timeline", title: "Timeline", first: timeline, queries: [], isSteady: true },
  {
    id: "kernels",
    title: "Kernels",
    first: brushed,
    queries: ["kernel_summary", "kernel_category", "kernel_config_summary", ["kernel_roofline", ROOFLINE], "kernel_bottleneck", "kernel_occupancy", "kernel_waves", "kernel_tail", "kernel_pace", "triton_autotune"],
  },
  {
    id: "stalls",
    title: "Stalls",
    first: source,
    queries: ["stall_advice", "kernel_stall", "line_stall", "instruction_stall", "active_threads", "line_count"],
  },
  {
    id: "launches",
    title: "Launches",
    queries: ["launch_bound", "api_summary", "launch_latency", "sync_cost", "queue_depth", "kernel_sequences", "graph_replay", "jit_module_load", "callback_summary"],
  },
  { id: "copies", title: "Copies", queries: ["memcpy_summary", "memcpy_blocking", "memcpy_small", "unified_memory_migration"] },
  {
    id: "memory",
    title: "Memory",
    queries: [["memory_timeline", IN_USE], "memory_peak_holders", "memory_leaks", "range_memory", "allocation_site", "memory_pool_usage"],
  },
  {
    id: "ranges",
    title: "Ranges",
    queries: [
      ["python_flame_graph", flamed("stack", "gpu_ns", ";")],
      ["nvtx_projection", flamed("path", "exclusive_gpu_ns", " / ")],
      "nvtx_layer",
      "module_summary",
      "operator_summary",
      "operator_shape",
      "operator_flops",
      "hlo_summary",
      "python_function",
      "python_line",
      "step_summary",
      "range_metric",
    ],
  },
  {
    id: "ranks",
    title: "Ranks",
    queries: ["rank_stragglers", "collective_wait", "collective_bandwidth", "nccl_unfinished", "rank_clock"],
  },
  { id: "compare", title: "Compare", first: compared, queries: [] },
  { id: "sql", title: "SQL", first: sql, queries: [] },
];

export const viewOf = (query: string): View | undefined =>
  VIEWS.find((view) => view.queries.some((each) => (typeof each === "string" ? each : each[0]) === query));

export function panels(view: View, context: Context): HTMLElement[] {
  const listed = view.queries.map((each) => (typeof each === "string" ? panel(context, each) : panel(context, ...each)));
  return view.first ? [view.first(context), ...listed] : listed;
}
