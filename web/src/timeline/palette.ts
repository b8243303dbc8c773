// Colours of categories: tints of Okabe and Ito's, which colour-blind people tell apart, the same in
// every trace. All of them carry dark text, on light and dark ground.

const KNOWN: Record<string, string> = {
  // Kernels: what computes is bright, what only moves is green.
  gemm: "#56b4e9",
  attention: "#e69f00",
  convolution: "#e8794a",
  recurrent: "#d9a441",
  routing: "#c2a35a",
  normalization: "#c2b280",
  softmax: "#f0c987",
  sampling: "#e3cf57",
  embedding: "#e8dc8c",
  optimizer: "#b9a0e0",
  quantization: "#9fb4ff",
  sort: "#d0b49f",
  reduction: "#7fcdbb",
  fft: "#8bb8a8",
  random: "#e7b6cf",
  elementwise: "#a9c7e8",
  fused: "#8fa8e0",
  communication: "#e56db1",
  copy: "#8fd3a0",
  graph: "#b7c4cf",
  memset: "#bfe3b4",
  "copy HtoD": "#2fb58a",
  "copy DtoH": "#62c46a",
  "copy DtoD": "#9ed18b",
  // Calls.
  "launching call": "#7db9de",
  "memory call": "#6cc3a0",
  "waiting call": "#e08a6d",
  "loading call": "#d3a3bb",
  "other call": "#c3cad1",
  // Idle times stay behind what runs.
  "idle: outside CUDA": "#d9dde2",
  "idle: input": "#e6c7a1",
  "idle: launching": "#c9dbe8",
  "idle: memory": "#c5e0d3",
  "idle: waiting": "#ecc9bc",
  "idle: queued": "#ddd0e8",
  "idle: loading": "#e4c9d6",
  "idle: profiler": "#e2d5c3",
  "idle: other CUDA": "#d3d9cf",
  "idle: unknown": "#cfcfcf",
  // Ranges.
  NVTX: "#b6d4a8",
  user_annotation: "#b6d4a8",
  cpu_op: "#a8c8dc",
  python_function: "#f2d79b",
  python: "#f2d79b",
  "not recorded": "#d98880",
};

const OTHERS = ["#c7b0d9", "#9fc9c1", "#d9b38c", "#b8c78f", "#d8a7b1", "#94b8d1", "#cbbf8a", "#a9b3dd"];
const NONE = "#b8bec6";

export const ON_MARK = "#15181c";

/** The colour of a category; of one that nobody knows here, by its letters. */
export function colourOf(category: string): string {
  const known = KNOWN[category];
  if (known !== undefined) return known;
  if (category === "" || category === "other") return NONE;
  let sum = 0;
  for (const letter of category) sum = (sum * 31 + letter.codePointAt(0)!) >>> 0;
  return OTHERS[sum % OTHERS.length]!;
}

export interface Inks {
  ground: string;
  raised: string;
  ink: string;
  quiet: string;
  line: string;
  accent: string;
  warn: string;
  /** How opaque idle times are: on dark ground their colours would be the brightest. */
  idle: number;
}

export function inks(of: Element): Inks {
  const style = getComputedStyle(of);
  const get = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return { ground: get("ground"), raised: get("raised"), ink: get("ink"), quiet: get("quiet"), line: get("line"), accent: get("accent"), warn: get("warn"), idle: Number(get("idle")) };
}
