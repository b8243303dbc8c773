// The views of the page, in the order of the navigation; each is a list of panels.
import type { Context } from "../panel.ts";
import { panel } from "../panel.ts";

export interface View {
  id: string;
  title: string;
  panels(context: Context): HTMLElement[];
}

export const VIEWS: View[] = [
  {
    id: "overview",
    title: "Overview",
    panels: (context) => [panel(context, "kernel_summary")],
  },
];
