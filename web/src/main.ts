import { askCatalogue } from "./catalogue.ts";
import { connect, EtlError, takeToken } from "./client.ts";
import { h } from "./dom.ts";
import { complaint } from "./complaint.ts";
import { shell } from "./shell.ts";
import { openState } from "./state.ts";
import { startTheme } from "./theme.ts";

async function start(): Promise<void> {
  startTheme();
  const client = connect(takeToken());
  try {
    shell(document.body, client, await askCatalogue(client), openState());
  } catch (error) {
    document.body.replaceChildren(h("main", {}, h("h1", {}, "cupti-etl"), complaint(error)));
    // A capture that has written nothing yet.
    if (error instanceof EtlError && error.status === 503) setTimeout(() => void start(), 1000);
  }
}

void start();
