// A trace that still grows: says how far it is, and shows the newer rows when somebody asks for them.
// Nothing changes by itself, since people would lose what they are looking at.
import { askCatalogue, type Catalogue } from "./catalogue.ts";
import type { Client } from "./client.ts";
import { h } from "./dom.ts";
import { duration } from "./units.ts";

const WAIT_MS = 3000;

export function growing(client: Client, first: Catalogue, show: (now: Catalogue) => void): HTMLElement {
  const status = h("div", { class: "chosen", role: "status" });
  let shown = first;
  let known = first;

  function say(): void {
    if (!known.is_recording && known.duration_ns === shown.duration_ns) return status.replaceChildren();
    const says = known.is_recording ? `Recording: ${duration(known.duration_ns)} so far. ` : `The capture has ended after ${duration(known.duration_ns)}. `;
    const button = h("button", { type: "button", click: renew }, "Show newer rows");
    status.replaceChildren(says, ...(known.duration_ns === shown.duration_ns ? [] : [button]));
  }
  function renew(): void {
    shown = known;
    say();
    show(known);
  }
  async function look(): Promise<void> {
    try {
      known = await askCatalogue(client);
    } catch {
      // The server ends with a capture that it serves: what is shown stays.
      return status.replaceChildren("The capture, or its server, has ended: cupti-etl serve shows all of the trace.");
    }
    say();
    if (known.is_recording) setTimeout(() => void look(), WAIT_MS);
  }
  say();
  if (first.is_recording) setTimeout(() => void look(), WAIT_MS);
  return status;
}
