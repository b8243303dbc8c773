"use strict";
// Tables are sorted by their headings and filtered by their inputs.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const sort = (at) => {
    const down = heads[at].getAttribute("aria-sort") !== "descending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[at].setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => {
      const cell = row.cells[at];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    const order = (one, other) => {
      const [a, b] = [value(one), value(other)];
      const is = typeof a === "number" && typeof b === "number" ? a - b
        : String(a).localeCompare(String(b), undefined, { numeric: true });
      return down ? -is : is;
    };
    body.append(...[...body.rows].sort(order));
  };
  heads.forEach((head, at) => {
    head.tabIndex = 0;
    head.addEventListener("click", () => sort(at));
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(at); }
    });
  });
  const input = table.closest("section").querySelector("input");
  if (input) input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}

// The timeline: of the levels of detail the one that has a column for every few pixels.
const canvas = document.querySelector("canvas");
if (canvas) {
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const said = document.getElementById("timeline-said");
  const fills = [...document.querySelectorAll(".legend i")]
    .map((each) => getComputedStyle(each).backgroundColor);
  const [top, lane, gap, left] = [18, 54, 22, 56];
  let [from, to] = [0, data.span];
  const nice = (ns) => {
    if (Math.round(ns) === 0) return "0";
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
      if (Math.abs(ns) >= size) return `${+(ns / size).toPrecision(4)} ${unit}`;
    }
    return `${Math.round(ns)} ns`;
  };
  const colours = () => getComputedStyle(canvas).color;
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = data.gpus.length * (lane + gap) + top;
    canvas.style.height = `${height}px`;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const at = canvas.getContext("2d");
    at.scale(ratio, ratio);
    at.font = "12px system-ui, sans-serif";
    const x = (ns) => left + (ns - from) / (to - from) * (width - left);
    const level = data.levels.find((one) => one.bucket <= (to - from) / (width - left) * 3)
      || data.levels[data.levels.length - 1];
    const finest = data.levels.reduce((a, b) => (a.bucket < b.bucket ? a : b));
    const chosen = level.bucket > (to - from) / 100 ? finest : level;
    data.gpus.forEach((gpu, row) => {
      const y = top + row * (lane + gap);
      at.fillStyle = colours();
      at.fillText(`GPU ${gpu}`, 0, y + lane / 2 + 4);
      const busy = chosen.gpus[row];
      const first = Math.max(0, Math.floor((from - busy.start) / chosen.bucket));
      const last = Math.min(busy.parts[0].length, Math.ceil((to - busy.start) / chosen.bucket));
      at.save();
      at.beginPath(); at.rect(left, 0, width - left, height); at.clip();
      for (let bucket = first; bucket < last; bucket += 1) {
        let base = y + lane;
        const [begin, end] = [bucket, bucket + 1].map((edge) =>
          Math.round(x(busy.start + edge * chosen.bucket) * ratio) / ratio);
        busy.parts.forEach((part, which) => {
          const tall = part[bucket] / 1000 * lane;
          at.fillStyle = fills[which];
          at.fillRect(begin, base - tall, Math.max(end - begin, 0.6), tall);
          base -= tall;
        });
      }
      at.strokeStyle = at.fillStyle = colours();
      at.globalAlpha = 0.5;
      at.strokeRect(left, y + lane, width - left, 0);
      for (const [start, end, name] of data.steps[row]) {
        if (end < from || start > to) continue;
        const [begin, until] = [x(start), x(end)];
        if (until - begin < 3) continue;
        at.strokeRect(begin, y + lane + 3, until - begin - 1, 13);
        const seen = Math.max(begin, left);
        if (until - seen > 30) {
          at.save();
          at.beginPath(); at.rect(seen, y + lane + 3, until - seen, 13); at.clip();
          at.fillText(name, seen + 3, y + lane + 12.5);
          at.restore();
        }
      }
      at.restore();
    });
    at.fillStyle = colours();
    at.fillText(nice(from), left, 12);
    const end = nice(to);
    at.fillText(end, width - at.measureText(end).width, 12);
    said.textContent = `${nice(to - from)} of ${nice(data.span)}; a column is ${nice(chosen.bucket)}`;
  };
  const zoom = (factor, where) => {
    const least = 20 * Math.min(...data.levels.map((level) => level.bucket));
    const centre = from + (to - from) * where;
    const span = Math.min(data.span, Math.max(least, (to - from) * factor));
    from = Math.max(0, Math.min(data.span - span, centre - span * where));
    to = from + span;
    draw();
  };
  const share = (event) => Math.min(1, Math.max(0,
    (event.offsetX - left) / (canvas.clientWidth - left)));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    zoom((event.deltaY || event.deltaX) > 0 ? 1.3 : 1 / 1.3, share(event));
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoom(1 / 3, share(event)));
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    held = event.offsetX;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const moved = (held - event.offsetX) / (canvas.clientWidth - left) * (to - from);
    held = event.offsetX;
    const by = Math.max(-from, Math.min(data.span - to, moved));
    from += by;
    to += by;
    draw();
  });
  document.getElementById("zoom-in").addEventListener("click", () => zoom(0.5, 0.5));
  document.getElementById("zoom-out").addEventListener("click", () => zoom(2, 0.5));
  document.getElementById("zoom-all").addEventListener("click", () => zoom(Infinity, 0));
  window.addEventListener("resize", draw);
  draw();
}
