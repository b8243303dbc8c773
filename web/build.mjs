// Builds the page, and the widget of notebooks, into a folder: node build.mjs [FOLDER].
import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../cupti_etl/serve/web"));

// Mosaic can run DuckDB in the browser; this page asks a server, so that part is left out.
const withoutWasm = {
  name: "without-wasm",
  setup(bundle) {
    bundle.onResolve({ filter: /^@duckdb\/duckdb-wasm$/ }, () => ({
      path: join(here, "src/without-wasm.ts"),
    }));
  },
};

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.ts", widget: "src/widget.ts" },
  outdir: out,
  bundle: true,
  charset: "utf8",
  format: "esm",
  legalComments: "none",
  loader: { ".css": "text" },
  metafile: true,
  minify: true,
  plugins: [withoutWasm],
  target: "es2022",
  write: false,
});
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
for (const file of result.outputFiles) await writeFile(file.path, file.contents);
for (const name of ["index.html", "style.css", "icon.svg"]) await copyFile(join(here, "src", name), join(out, name));
await writeFile(join(out, "LICENSES.txt"), await licences(Object.keys(result.metafile.inputs)));

/** The licences of the packages whose files are in the bundle. */
async function licences(inputs) {
  const folders = new Set();
  for (const input of inputs) {
    const at = input.lastIndexOf("node_modules/");
    if (at < 0) continue;
    const [first, second] = input.slice(at + "node_modules/".length).split("/");
    folders.add(input.slice(0, at) + "node_modules/" + (first.startsWith("@") ? `${first}/${second}` : first));
  }
  const parts = [];
  for (const folder of [...folders].sort()) {
    const about = JSON.parse(await readFile(join(here, folder, "package.json"), "utf8"));
    const names = (await readdir(join(here, folder))).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
    const texts = await Promise.all(names.sort().map((name) => readFile(join(here, folder, name), "utf8")));
    if (!about.license) throw new Error(`${folder} says nothing of its licence`);
    parts.push([`${about.name} ${about.version} (${about.license})`, ...texts.map((text) => text.trim())].join("\n\n"));
  }
  return parts.join(`\n\n${"-".repeat(80)}\n\n`) + "\n";
}
