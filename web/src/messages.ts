// Asks a notebook's kernel, by messages of the widget's model.
import { decode, type Table } from "./arrow.ts";
import { EtlError, type Source, type Words } from "./client.ts";

/** What anywidget gives of a model. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: (...words: never[]) => void): void;
  off(event: string, listener: (...words: never[]) => void): void;
  send(content: unknown): void;
}

interface Answer {
  id?: string;
  error?: { title: string; detail: string; hint: string; status: number };
}

type Question = { name: string; params: Words } | { sql: string };

/** What a kernel is asked, until the signal. */
export function throughMessages(model: Model, closed: AbortSignal): Source {
  const waiting = new Map<string, (answer: Answer, buffers: DataView[]) => void>();
  // Whoever looks at the same notebook hears all answers.
  const whose = crypto.getRandomValues(new Uint32Array(2)).join("-");
  let asked = 0;

  const heard = (answer: Answer, buffers: DataView[]) => waiting.get(answer?.id ?? "")?.(answer, buffers);
  model.on("msg:custom", heard);
  closed.addEventListener("abort", () => model.off("msg:custom", heard), { once: true });

  function ask(question: Question, signal: AbortSignal = closed): Promise<Table> {
    const either = AbortSignal.any([signal, closed]);
    return new Promise((resolve, reject) => {
      if (either.aborted) return reject(either.reason);
      const id = `${whose}-${++asked}`;
      const stop = () => {
        waiting.delete(id);
        model.send({ id, stop: true });
        reject(either.reason);
      };
      either.addEventListener("abort", stop, { once: true });
      waiting.set(id, ({ error }, [view]) => {
        waiting.delete(id);
        either.removeEventListener("abort", stop);
        try {
          if (error) throw new EtlError(error.title, error.detail, error.hint, error.status);
          if (!view) throw new EtlError("No answer", "the answer was empty", "", 0);
          resolve(decode(aligned(view)));
        } catch (wrong) {
          reject(wrong);
        }
      });
      model.send({ id, ...question });
    });
  }
  return {
    rows: (name, params = {}, signal) => ask({ name, params }, signal),
    sql: (statement, signal) => ask({ sql: statement }, signal),
  };
}

/** The bytes, at an address that columns of 64 bits can have. */
function aligned(view: DataView): Uint8Array {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return view.byteOffset % 8 === 0 ? bytes : bytes.slice();
}
