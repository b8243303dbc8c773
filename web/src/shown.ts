// An answer as the server shows it to people: cells with units and labels, and their values.

export interface Column {
  name: string;
  heading: string;
  unit: string;
  is_number: boolean;
  is_label: boolean;
  /** Whether it is shown unless all are asked for. */
  is_chosen: boolean;
  cells: string[];
  values: unknown[];
}

export interface Shown {
  part: string;
  command: string;
  notes: string[];
  columns: Column[];
  more: number;
}

export const rowsOf = (shown: Shown): number => shown.columns[0]?.cells.length ?? 0;

/** The numbers of a column; NaN where there is none. */
export const numbersOf = (column: Column): number[] =>
  column.values.map((value) => (typeof value === "number" ? value : typeof value === "string" && value !== "" ? Number(value) : NaN));
