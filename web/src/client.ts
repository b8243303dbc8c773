// Asks the server. The token is in the address once, then in the storage of this tab: unlike a
// cookie, that reaches no other port of this machine.
import { decode, type Table } from "./arrow.ts";

export type { Table } from "./arrow.ts";

/** What went wrong, as the server says it. */
export class EtlError extends Error {
  constructor(
    readonly title: string,
    readonly detail: string,
    readonly hint: string,
    readonly status: number,
  ) {
    super(detail);
    this.name = "EtlError";
  }
}

export type Words = Record<string, string>;

/** What gives rows, be it a server or a notebook's kernel. */
export interface Source {
  /** The rows of a query or a table; `params` are the query's. */
  rows(name: string, params?: Words, signal?: AbortSignal): Promise<Table>;
  /** The rows of a SELECT. */
  sql(statement: string, signal?: AbortSignal): Promise<Table>;
}

export interface Client extends Source {
  /** The rows of a query or a table; `params` are the query's, `part` is of the trace, limit, sort. */
  rows(name: string, params?: Words, signal?: AbortSignal, part?: Words): Promise<Table>;
  /** The same as an Arrow stream. */
  arrow(statement: string, signal?: AbortSignal): Promise<Uint8Array>;
  /** What an address answers as JSON; a body makes it a POST. */
  json<T>(address: string, signal?: AbortSignal, body?: string): Promise<T>;
}

const KEY = "cupti-etl token";

/** Takes the token out of the address, where people would copy and screens would show it. */
export function takeToken(): string {
  const words = new URLSearchParams(location.search);
  const token = words.get("token");
  if (token === null) return sessionStorage.getItem(KEY) ?? "";
  sessionStorage.setItem(KEY, token);
  words.delete("token");
  const rest = words.toString();
  history.replaceState(null, "", location.pathname + (rest && `?${rest}`) + location.hash);
  return token;
}

/** The address of a query or a table with its parameters. */
export function address(name: string, params: Words = {}, part: Words = {}): string {
  const words = new URLSearchParams(part);
  for (const [key, value] of Object.entries(params)) words.append("param", `${key}=${value}`);
  return `/arrow/${encodeURIComponent(name)}?${words}`;
}

export function connect(token: string): Client {
  async function ask(where: string, signal?: AbortSignal, body?: string): Promise<Response> {
    const headers = { Authorization: `Bearer ${token}` };
    const method = body === undefined ? "GET" : "POST";
    let answer: Response;
    try {
      answer = await fetch(where, { method, headers, body, signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new EtlError("No answer", "the server does not answer", "is cupti-etl serve still running?", 0);
    }
    if (!answer.ok) throw await refused(answer);
    return answer;
  }
  const bytes = async (where: string, signal?: AbortSignal, body?: string): Promise<Uint8Array> =>
    whole(await ask(where, signal, body), signal);
  const arrow = (statement: string, signal?: AbortSignal) => bytes("/sql?compression=none", signal, statement);
  return {
    arrow,
    rows: async (name, params, signal, part) => decode(await bytes(address(name, params, { ...part, compression: "none" }), signal)),
    sql: async (statement, signal) => decode(await arrow(statement, signal)),
    json: async (where, signal, body) => JSON.parse(new TextDecoder().decode(await bytes(where, signal, body))),
  };
}

async function whole(answer: Response, signal?: AbortSignal): Promise<Uint8Array> {
  try {
    return new Uint8Array(await answer.arrayBuffer());
  } catch (error) {
    if (signal?.aborted) throw error;
    // That is how the server says that rows were missing behind those that it had sent.
    throw new EtlError("Broken off", "the answer was broken off", "it took too long or failed: ask for a part of the trace", 0);
  }
}

async function refused(answer: Response): Promise<EtlError> {
  try {
    const { title, detail, hint, status } = (await answer.json()).error;
    return new EtlError(title, detail, hint, status);
  } catch {
    return new EtlError(answer.statusText, `the server answered ${answer.status}`, "", answer.status);
  }
}
