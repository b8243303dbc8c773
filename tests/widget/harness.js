// Stands in for a notebook: a model whose messages go to Python by functions that the test gives.
import widget from "/widget.js";

const listeners = new Map();
const tell = (event, ...words) => [...(listeners.get(event) ?? [])].forEach((each) => each(...words));
let changed = {};
const state = await window.traits();
const model = {
  get: (name) => state[name],
  set(name, value) {
    state[name] = changed[name] = value;
    tell(`change:${name}`);
  },
  save_changes() {
    void window.save(changed);
    changed = {};
  },
  on: (event, listener) => listeners.set(event, [...(listeners.get(event) ?? []), listener]),
  off: (event, listener) => listeners.set(event, (listeners.get(event) ?? []).filter((each) => each !== listener)),
  async send(content) {
    const answer = await window.take(content);
    if (!answer) return;
    // At an odd address, as in a message that holds more.
    const views = answer.buffers.map((text) => {
      const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
      const whole = new Uint8Array(bytes.length + 3);
      whole.set(bytes, 3);
      return new DataView(whole.buffer, 3);
    });
    tell("msg:custom", answer.content, views);
  },
};
window.set = (changes) => {
  for (const [name, value] of Object.entries(changes)) {
    state[name] = value;
    tell(`change:${name}`);
  }
};
window.listening = () => [...listeners.values()].flat().length;
window.leave = await widget.render({ model, el: document.getElementById("output") });
