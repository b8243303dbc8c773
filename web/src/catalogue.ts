// What the server says of the trace and of its queries: all of it from their headers.
import type { Client } from "./client.ts";

export interface Field {
  name: string;
  type: string;
  doc: string;
  unit: string;
  default: string | null;
}

export interface Chart {
  kind: "bars" | "lines" | "flame";
  x: string;
  y: string;
  by: string;
}

export interface Query {
  name: string;
  topic: string;
  front: string;
  doc: string;
  limits: string;
  label: string;
  chart: Chart | null;
  parameters: Field[];
  columns: Field[];
  sql: string;
}

export interface Catalogue {
  version: string;
  traces: string[];
  begin_ns: string;
  duration_ns: number;
  /** When something was recorded, as begin and end: captures can lie apart. */
  recorded: [number, number][];
  /** Whether the capture goes on. */
  is_recording: boolean;
  /** Whether there are steps, and warm-up can be told from them. */
  has_steady_state: boolean;
  tables: { name: string; doc: string; columns: string[] }[];
  queries: Query[];
}

export const askCatalogue = (client: Client): Promise<Catalogue> => client.json("/catalogue.json");
