// The one table of the page: sorts by the values behind its cells, and grows when asked.
import { h } from "./dom.ts";
import { numbersOf, rowsOf, type Column, type Shown } from "./shown.ts";

const FEW = 12;
const MORE = 100;
// What is longer is cut in the middle, and whole in the title of its cell.
const LONGEST_LABEL = 160;
const LONGEST = 60;

export function table(answer: Shown, caption: string, doc: (name: string) => string = () => ""): HTMLElement {
  // What a row is of comes first: it stays in view where the rest is scrolled.
  const label = answer.columns.find((column) => column.is_label);
  const all = [...answer.columns].sort((a, b) => Number(b === label) - Number(a === label) || Number(b.is_chosen) - Number(a.is_chosen));
  const count = rowsOf(answer);
  if (!count) return h("p", { class: "empty" }, answer.notes[0] ?? "No rows.");
  const few = all.filter((column) => column.is_chosen);
  let columns = few;
  let order = Array.from({ length: count }, (_, at) => at);
  let sorted = "";
  let isUp = false;
  let limit = FEW;
  // A heading is in words; who asks with SQL needs the column's name.
  const told = (name: string) => `${name}${doc(name) && `: ${doc(name)}`}`;
  const body = h("tbody");
  const heads = all.map((column) => {
    const button = h("button", { type: "button", class: "sort", click: () => sortBy(column) }, column.heading);
    return h("th", { scope: "col", class: column === label ? "label" : column.is_number ? "number" : undefined, title: told(column.name) }, button);
  });
  const head = h("tr");
  const wide = h("button", { type: "button", "aria-pressed": "false", click: () => widen() }, `All ${all.length} columns`);
  wide.hidden = few.length === all.length;
  const more = h("button", { type: "button", class: "more", click: () => grow() });
  const rest = h("p", { class: "rest" });

  function sortBy(column: Column): void {
    isUp = sorted === column.name ? !isUp : !column.is_number;
    sorted = column.name;
    order = sortedRows(column, isUp);
    draw();
  }
  function grow(): void {
    limit += MORE;
    draw();
  }
  function widen(): void {
    columns = columns === few ? all : few;
    wide.setAttribute("aria-pressed", String(columns === all));
    draw();
  }
  function draw(): void {
    heads.forEach((each, at) => {
      const isThis = all[at]!.name === sorted;
      if (isThis) each.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      else each.removeAttribute("aria-sort");
    });
    head.replaceChildren(...heads.filter((_, at) => columns.includes(all[at]!)));
    body.replaceChildren(...order.slice(0, limit).map((row) => line(columns, row)));
    more.hidden = limit >= count;
    more.textContent = `Show ${Math.min(MORE, count - limit)} more`;
    rest.textContent = answer.more
      ? `${answer.more.toLocaleString("en")} more rows: the command below gives them.`
      : "";
  }
  draw();
  // Can be scrolled with the keyboard, and says what it is.
  const frame = h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${caption}` },
    h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, head), body),
  );
  return h("div", { class: "rows" }, frame, more, " ", wide, rest);
}

function line(columns: Column[], row: number): HTMLElement {
  const at = columns.findIndex((column) => column.is_label);
  return h(
    "tr",
    {},
    ...columns.map((column, index) => {
      const text = column.cells[row] ?? "";
      const kind = column.is_number ? "number" : column.is_label ? "label" : "text";
      const cell = h(index === at ? "th" : "td", { class: kind }, short(text, column.is_label ? LONGEST_LABEL : LONGEST));
      if (index === at) cell.setAttribute("scope", "row");
      if (text.length > LONGEST) cell.title = text.slice(0, 2000);
      return cell;
    }),
  );
}

/** A name can have 64 KiB; nobody reads so much in a cell. */
export const short = (text: string, most = 300): string =>
  text.length > most ? `${text.slice(0, most / 2)}…${text.slice(-most / 2)}` : text;

/** Numbers of rows by the values of a column; what has none is last. */
export function sortedRows(column: Column, isUp: boolean): number[] {
  const rows = column.cells.map((_, at) => at);
  const sign = isUp ? 1 : -1;
  if (column.is_number) {
    const values = numbersOf(column);
    const isNone = (at: number) => Number.isNaN(values[at]);
    return rows.sort((a, b) => Number(isNone(a)) - Number(isNone(b)) || (isNone(a) ? 0 : sign * (values[a]! - values[b]!)));
  }
  return rows.sort((a, b) => sign * column.cells[a]!.localeCompare(column.cells[b]!, "en", { numeric: true }));
}
