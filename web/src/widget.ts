// The timeline in a notebook, for anywidget. A shadow root keeps the styles of both apart.
import { h } from "./dom.ts";
import { isOnDark } from "./ground.ts";
import { throughMessages, type Model } from "./messages.ts";
import styles from "./style.css";
import { mountTimeline } from "./timeline/timeline.ts";
import { traitsOf } from "./traits.ts";
import own from "./widget.css";

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const closed = new AbortController();
  // Keys that are pressed here are not for the cells: D, D would delete one.
  const host = h("div", { "data-lm-suppress-shortcuts": "true" });
  const root = h("div", { class: "widget" });
  const shadow = host.attachShadow({ mode: "open" });
  shadow.append(h("style", {}, own + styles), root);
  const size = () => host.style.setProperty("--height", `${model.get("height")}px`);
  const tint = () => {
    // Our own ground would be found first.
    if (host.isConnected) host.dataset.theme = isOnDark(el) ? "dark" : "light";
  };
  size();
  model.on("change:height", size);
  el.append(host);
  const shown = new ResizeObserver(tint);
  shown.observe(host);
  const themed = new MutationObserver(tint);
  for (const each of [document.documentElement, document.body]) themed.observe(each, { attributes: true });
  const { destroy } = mountTimeline(root, throughMessages(model, closed.signal), traitsOf(model, closed.signal));
  return () => {
    destroy();
    closed.abort();
    model.off("change:height", size);
    shown.disconnect();
    themed.disconnect();
    host.remove();
  };
}

export default { render };
