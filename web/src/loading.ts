// Says that an answer is on its way, and for how long: the first one about a large trace takes a while.
import { h } from "./dom.ts";

export function loading(): HTMLElement {
  // Who hears the page is told once.
  const since = h("span", { "aria-hidden": "true" });
  const whole = h("p", { class: "loading", role: "status" }, "Loading …", since);
  let seconds = 0;
  const timer = setInterval(() => {
    if (!whole.isConnected) return clearInterval(timer);
    since.textContent = ` ${++seconds} s`;
  }, 1000);
  return whole;
}
