// The report of one traced run. page.html holds the texts and the elements; this script fills in the data. All times are
// µs since the start of the trace. Lists are flat to keep the file small: intervals are [start, length, state, start, …].

// ---------- 1. Elements ----------
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  // append() turns strings into text nodes, so the browser never reads a text of the data as HTML.
  element.append(...children.flat(Infinity).filter(child => child !== null));
  return element;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const text = (x, y, content, anchor = "start", kind = "") =>
  svg("text", { x, y, "text-anchor": anchor, class: kind }, String(content));
const path = (kind, d) => svg("path", { class: kind, d });
const line = (kind, x1, y1, x2, y2) => path(kind, `M${x1} ${y1}L${x2} ${y2}`);
const box = (x, y, width, height) =>
  `M${x.toFixed(2)} ${y.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
const slots = root => Object.fromEntries([...root.querySelectorAll("[data-slot]")].map(element => [element.dataset.slot, element]));
const put = (slot, texts) => Object.entries(texts).forEach(([name, content]) => { slot[name].textContent = content; });
const putOrRemove = (element, slot, texts) => texts ? put(slot, texts) : element.remove();

// ---------- 2. Numbers ----------
const SPACE = "\u202f"; // a narrow space that does not break, between a number and its unit
const UNITS = [["s", 1e6], ["ms", 1e3], ["µs", 1], ["ns", 1e-3]];
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const sum = list => list.reduce((a, b) => a + b, 0);
const largest = list => list.reduce((a, b) => Math.max(a, b), 0);
const range = length => Array.from({ length }, (_, i) => i);
const fixed = (value, decimals) => value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
const count = value => value.toLocaleString("en-US");
const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
// Whole numbers in full, others with at least three significant digits.
const short = value =>
  Number.isInteger(value) ? count(value) : fixed(value, clamp(2 - Math.floor(Math.log10(Math.abs(value))), 0, 3));
const unitOf = us => us === 0 ? UNITS[2] : UNITS.find(([, size]) => Math.abs(us) >= size * 0.9995) || UNITS[3];
const time = (us, [name, size] = unitOf(us)) => short(us / size) + SPACE + name;
// A moment needs more digits than a length: enough to tell moments apart that differ by `precision` µs.
const moment = (us, precision, [name, size] = unitOf(us)) =>
  fixed(us / size, clamp(Math.ceil(-Math.log10(precision / size) - 1e-9), 0, 9)) + SPACE + name;
const percent = share => !Number.isFinite(share) ? "–" : share > 0 && share < 0.0005 ? "<0.1%"
  : fixed(share * 100, share === 0 || share >= 0.9995 ? 0 : 1) + "%";
// Round values (1, 2 or 5 times a power of ten) from low to high, about `most` of them.
function ticks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough * 0.999), first = Math.ceil(low / step);
  return { step, values: range(Math.floor(high / step) - first + 1).map(i => (first + i) * step) };
}
// Positions and labels of a time axis; all its labels have one unit.
function timeTicks([from, to], width) {
  const { step, values } = ticks(from, to, Math.floor(width / 90)), unit = unitOf(Math.max(to, step));
  return values.map(value => ({ x: (value - from) / (to - from) * width, label: moment(value, step, unit) }));
}

// ---------- 3. Pictures, tables, legends ----------
const PRINT_WIDTH = 720; // CSS pixels: about the width of A4 paper inside its margins
let printing = false;
const redraws = [], folds = [];
const watcher = new ResizeObserver(entries => requestAnimationFrame(() => entries.forEach(entry => entry.target.redraw())));
// Draws now and whenever the width of the host changes, also when a <details> around it opens.
function onWidth(host, draw) {
  let last = 0;
  host.redraw = force => {
    const width = printing ? Math.min(host.clientWidth, PRINT_WIDTH) : host.clientWidth;
    if (width === 0 || (width === last && !force)) return;
    last = width;
    draw(width);
  };
  redraws.push(() => host.redraw(true));
  watcher.observe(host);
}
// `draw` gives the height and the content of an SVG picture for a width.
function picture(host, draw) {
  onWidth(host, width => {
    const { height, content, wide = width } = draw(width);
    host.replaceChildren(svg("svg", { width: wide, height, viewBox: `0 0 ${wide} ${height}` }, content));
  });
}
const gridLines = (most, left, right, y) => ticks(0, most, 4).values.filter(Number.isInteger).map(value =>
  [line("grid", left, y(value), right, y(value)), text(left - 8, y(value) + 4, count(value), "end")]);
const gutterFor = width => width < 520 ? 36 : 84; // room for the names of the workers
// Caption and columns are in page.html, but for columns that depend on the data. The first cell of each row heads it.
function table({ caption, columns }, rows, more = []) {
  const row = ([first, ...rest]) => html("tr", {}, html("th", { scope: "row" }, first), rest.map(cell => html("td", {}, cell)));
  const head = [...columns.split("|"), ...more].map(cell => html("th", { scope: "col" }, cell));
  return html("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption }, html("table", {},
    html("caption", {}, caption), html("thead", {}, html("tr", {}, head)), html("tbody", {}, rows.map(row))));
}
// Builds the content of a <details> when it first opens. Print opens it too, unless it has many rows.
function fold(element, build, long = false) {
  element.complete = () => { if (element.children.length === 1) element.append(...build()); };
  element.classList.toggle("long", long);
  element.addEventListener("toggle", () => element.open && element.complete());
  folds.push(element);
  return element;
}
const foldTable = (element, size, rows, more) => fold(element, () => [table(element.dataset, rows(), more)], size > 64);
const legendItem = (name, ...shapes) => html("li", {}, svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, shapes), name);

// ---------- 4. Workers and their states ----------
// Height and stripes tell the states apart as well as the colour does.
const HEIGHTS = [1, 1, 0.8, 0.55, 0.7, 0.14, 0.3];
const STRIPED = [false, true, false, false, true, false, false];
const NONE = 255; // no state: the worker did not exist
const statePath = (state, d) => [path("s" + state, d), STRIPED[state] ? path("stripes", d) : null];
const stateItem = (state, name, high = 14) => legendItem(name, statePath(state, box(0, 14 - high, 22, high)));
const runningOf = track => track.totals[0] + track.totals[1]; // “running” and “running while blocked”
const poolRunning = pool => sum(pool.tracks.map(runningOf));
const usedStates = pool => HEIGHTS.flatMap((_, state) => pool.tracks.some(track => track.totals[state] > 0) ? state : []);
const shortName = ({ name }, gutter) => gutter >= 50 ? name.replace("spare worker", "spare").slice(0, 12)
  : name.replace("thread ", "").replace("spare worker ", "s").replace("worker ", "w").slice(0, 5);
// Index of the last entry of a flat list (three numbers an entry) that starts at or before `at`, or -3.
function lastStart(list, at) {
  let low = 0, high = list.length / 3;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle * 3] <= at) low = middle + 1; else high = middle;
  }
  return (low - 1) * 3;
}
// Running time of a worker before a moment: sums over its intervals, then a binary search.
function runningClock({ intervals: list }) {
  const sums = new Float64Array(list.length / 3 + 1), ran = i => list[i + 2] < 2 ? list[i + 1] : 0;
  for (let i = 0; i < list.length; i += 3) sums[i / 3 + 1] = sums[i / 3] + ran(i);
  return (at, i = lastStart(list, at)) => i < 0 ? 0 : sums[i / 3] + Math.min(ran(i), at - list[i]);
}
// For each pixel column, the state that fills most of it. Gaps do not count: a short interval alone in a column shows.
function dominantStates(list, from, scale, columns) {
  const shares = new Float64Array(HEIGHTS.length), width = columns.length, to = from + width / scale;
  let current = -1, best = 0;
  columns.fill(NONE);
  const weigh = (column, state, amount) => {
    if (column !== current) { for (let i = 0; i < shares.length; i++) shares[i] = 0; best = 0; current = column; }
    shares[state] += amount;
    if (shares[state] > best) { best = shares[state]; columns[column] = state; }
  };
  for (let i = Math.max(lastStart(list, from), 0); i < list.length && list[i] < to; i += 3) {
    const left = Math.max((list[i] - from) * scale, 0), right = Math.min((list[i] + list[i + 1] - from) * scale, width);
    const first = Math.floor(left), last = Math.min(Math.floor(right), width - 1), state = list[i + 2];
    if (right <= left) continue;
    weigh(first, state, Math.min(right, first + 1) - left);
    if (last > first) { columns.fill(state, first + 1, last); weigh(last, state, right - last); }
  }
}

// ---------- 5. Timeline ----------
const FONT = "12px system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif";
const AXIS = 24, LEVEL = 17; // heights in px: the time axis, a row of spans
const LEVELS = 4; // rows of spans of one worker; deeper spans are in the table of spans only
const SHORTEST = 0.05; // µs: the shortest range that the reader can zoom to
const STEALS = ["Steal", "Forced steal", "Leapfrog steal"], DASHES = [[], [6, 3], [2, 3]];
function readColors() {
  const style = getComputedStyle(document.documentElement), read = name => style.getPropertyValue(name).trim();
  // A pixel of the canvas in 32 bits, with the lowest byte first as in all machines that run browsers.
  const pixel = hex => Number("0xff" + hex.slice(5, 7) + hex.slice(3, 5) + hex.slice(1, 3));
  return { ink: read("--ink"), muted: read("--muted"), rule: read("--rule"), paper: read("--paper"),
    accent: read("--accent"), names: range(6).map(i => read("--n" + i)), stripe: pixel(read("--paper")),
    states: Uint32Array.from(HEIGHTS, (_, state) => pixel(read("--s" + state))) };
}
// The rows of a worker: one for each level of its spans, then its states. One form, so pointing and keys treat all alike.
function readRows(track, worker) {
  const levels = [];
  for (let i = 0; i < track.spans.length; i += 4) {
    const [start, length, level, name] = track.spans.slice(i, i + 4);
    while (levels.length <= level) levels.push([]);
    levels[level].push(start, length, name);
  }
  return [...levels.slice(0, LEVELS).map(list => ({ worker, list, span: true })), { worker, list: track.intervals, span: false }];
}
// The steals with the longest tasks first: the picture draws only the first that fit. One flat list is fast to search.
const sortSteals = (list = []) =>
  Float64Array.from(range(list.length / 7).map(i => list.slice(i * 7, i * 7 + 7)).sort((a, b) => b[4] - a[4]).flat());
const readSteal = (list, at, [end, to, from, cost, run, depth, kind] = list.slice(at, at + 7)) =>
  ({ at, begin: end - cost, end, from, to, cost, run, depth, kind });
class Timeline {
  constructor(data, pool, slot) {
    // Threads outside of the pool have spans only.
    const tracks = [...pool.tracks, ...data.threads], { canvas } = slot, whole = [pool.begin, Math.max(pool.end, pool.begin + 1)];
    Object.assign(this, { data, pool, slot, tracks, canvas, whole, range: whole, steals: sortSteals(pool.steals) });
    this.allRows = tracks.flatMap(readRows);
    this.context = canvas.getContext("2d", { willReadFrequently: true }); // most of the picture comes from the processor
    [this.chosen, this.pinned] = [null, false]; // chosen: or { row, index } or { steal }; pinned: pointing changes nothing
    slot.timelineLegend.prepend(...usedStates(pool).map(state =>
      stateItem(state, data.states[state], Math.max(14 * HEIGHTS[state], 2))));
    this.layOut(tracks.length <= 32);
    this.listen();
    this.choose(null);
    onWidth(slot.scroller, () => { this.colors = readColors(); this.draw(); });
  }
  layOut(tall) {
    const n = this.tracks.length;
    this.tall = tall;
    [this.bar, this.gap] = tall ? [n <= 8 ? 26 : 14, n <= 4 ? 32 : 9] : n > 64 ? [5, 1] : [8, 2];
    this.rows = this.allRows.filter(row => tall || !row.span);
    this.bars = this.rows.filter(row => !row.span); // one for each worker
    this.total = AXIS + Math.max(this.gap / 2, 5);
    for (const row of this.rows) {
      Object.assign(row, { top: this.total, bottom: this.total + (row.span ? LEVEL - 2 : this.bar) });
      this.total = row.bottom + (row.span ? 2 : this.gap);
    }
  }
  // ----- Range -----
  setRange(from, to) {
    const [begin, end] = this.whole, length = clamp(to - from, Math.min(SHORTEST, end - begin), end - begin);
    const start = clamp((from + to - length) / 2, begin, end - length);
    this.range = [start, start + length];
    this.later();
  }
  // Changes the length of the range; the moment at `place` (0 left, 1 right) stays where it is.
  scale(factor, place = 0.5) {
    const [from, to] = this.range, pivot = from + (to - from) * place;
    this.setRange(pivot - (pivot - from) * factor, pivot + (to - pivot) * factor);
  }
  pan(share) {
    const [from, to] = this.range, shift = (to - from) * share;
    this.setRange(from + shift, to + shift);
  }
  // Many events can come in one frame; one drawing is enough.
  later() { this.pending = this.pending || requestAnimationFrame(() => this.draw()); }
  get pixelTime() { return (this.range[1] - this.range[0]) / this.plot; }
  timeAt(x) { return this.range[0] + (x - this.gutter) * this.pixelTime; }
  xAt(at) { return this.gutter + (at - this.range[0]) / this.pixelTime; }
  // ----- Drawing -----
  // The canvas covers the visible part only and sticks to it; the spacer around it makes the scroll bar.
  fit() {
    const { canvas, total, slot: { scroller, spacer } } = this, room = clamp(innerHeight * 0.72, 200, 640);
    this.height = Math.ceil(printing ? total : Math.min(total, room));
    scroller.style.height = this.height + 2 + "px";
    spacer.style.height = total + "px";
    [this.width, this.ratio] = printing ? [PRINT_WIDTH, 2] : [scroller.clientWidth, Math.min(devicePixelRatio, 2)];
    [this.gutter, this.scroll] = [gutterFor(this.width), printing ? 0 : scroller.scrollTop];
    this.plot = this.width - this.gutter;
    const width = Math.round(this.width * this.ratio), height = Math.round(this.height * this.ratio);
    if (this.image && canvas.width === width && canvas.height === height) return;
    Object.assign(canvas, { width, height });
    Object.assign(canvas.style, { width: this.width + "px", height: this.height + "px" });
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }
  inView(row) { return row.bottom - this.scroll > AXIS && row.top - this.scroll < this.height; }
  draw() {
    this.pending = cancelAnimationFrame(this.pending); // undefined: no drawing is pending
    if (this.slot.scroller.clientWidth === 0) return; // inside a closed <details>
    this.colors = this.colors || readColors();
    this.fit();
    this.drawn = { intervals: 0, arcs: 0, spans: 0 };
    const { ratio, scroll, gutter, plot, height, context } = this;
    this.drawBars();
    context.setTransform(ratio, 0, 0, ratio, 0, -scroll * ratio);
    Object.assign(context, { font: FONT, textBaseline: "middle" });
    context.save();
    context.clip(new Path2D(box(gutter, scroll, plot, height)));
    this.drawSpans(); this.drawArcs(); this.drawChosen();
    context.restore();
    this.drawNames();
    context.translate(0, scroll);
    this.drawAxis(); this.tell();
  }
  block(fillStyle, ...place) { Object.assign(this.context, { fillStyle }).fillRect(...place); }
  write(fillStyle, ...place) { Object.assign(this.context, { fillStyle }).fillText(...place); }
  // Bars are written as pixels, not as shapes: the cost depends on the size of the picture only.
  drawBars() {
    const left = Math.round(this.gutter * this.ratio), columns = new Uint8Array(this.canvas.width - left);
    this.pixels.fill(0);
    for (const row of this.bars.filter(row => this.inView(row))) {
      dominantStates(row.list, this.range[0], columns.length / (this.range[1] - this.range[0]), columns);
      for (let end, x = 0; x < columns.length; x = end) {
        for (end = x + 1; end < columns.length && columns[end] === columns[x]; end++);
        if (columns[x] !== NONE) this.paint(left + x, left + end, Math.round((row.bottom - this.scroll) * this.ratio), columns[x]);
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }
  paint(left, right, bottom, state) {
    const { pixels, canvas: { width, height }, colors: { states, stripe } } = this, high = this.bar * this.ratio * HEIGHTS[state];
    const color = states[state], striped = STRIPED[state] && this.bar >= 8, period = 6 * this.ratio;
    for (let y = Math.max(bottom - Math.max(Math.round(high), 1), 0); y < Math.min(bottom, height); y++)
      for (let x = left; x < right; x++) pixels[y * width + x] = striped && (x + y) % period < period / 3 ? stripe : color;
    this.drawn.intervals++;
  }
  drawSpans() {
    const [from, to] = this.range;
    for (const { list, top } of this.rows.filter(row => row.span && this.inView(row))) {
      let done = -1; // where the last box of this row ends
      for (let i = Math.max(lastStart(list, from), 0); i < list.length && list[i] < to; i += 3) {
        const left = Math.max(this.xAt(list[i]), this.gutter), right = Math.min(this.xAt(list[i] + list[i + 1]), this.width);
        if (right < this.gutter || (right - left < 1 && left < done + 1)) continue; // its pixel has a box already
        done = right;
        this.drawSpan(left, top, Math.max(right - left - 1, 1), list[i + 2]);
        this.drawn.spans++;
      }
    }
  }
  drawSpan(left, top, width, name) {
    const letters = Math.floor((width - 8) / 6.4), label = String(this.data.names[name]);
    this.block(width < 3 ? this.colors.muted : this.colors.names[name % 6], left, top, width, LEVEL - 2);
    const shown = label.length > letters ? label.slice(0, letters - 1) + "…" : label;
    if (letters >= 3) this.write(this.colors.ink, shown, left + 4, top + 8, width - 6);
  }
  // At most one arc for a few pixels of width: more would hide each other.
  drawArcs() {
    const seen = this.bars.map(row => this.inView(row)), [from, to] = this.range, list = this.steals;
    const most = Math.max(Math.round(this.plot / (this.tall ? 3 : 6)), 60);
    [this.arcs, this.found] = [[], 0]; // found: how many steals are in view
    for (let i = 0; i < list.length; i += 7) {
      if (list[i] < from || list[i] - list[i + 3] > to || !(seen[list[i + 1]] || seen[list[i + 2]])) continue;
      if (this.found++ < most) this.drawn.arcs = this.arcs.push(this.arcOf(readSteal(list, i)));
    }
    this.arcs.forEach(arc => this.strokeArc(arc, 1, this.colors.ink + (this.found > 100 ? "8c" : "cc")));
  }
  // The curve starts at the victim when the steal began; its arrow head is at the thief when it had the task.
  arcOf(steal, { begin, end, from, to } = steal) {
    const victim = this.bars[from], thief = this.bars[to], down = thief.top > victim.top, size = this.bar < 8 ? 3 : 5;
    const x0 = this.xAt(begin), y0 = down ? victim.bottom : victim.top;
    const x1 = this.xAt(end), y1 = down ? thief.top : thief.bottom;
    const bend = Math.max(Math.min(6 + Math.abs(y1 - y0) * 0.15, 30) - (x1 - x0) / 2, 0);
    const cx = (x0 + x1) / 2 - bend, cy = (y0 + y1) / 2, angle = Math.atan2(y1 - cy, x1 - cx);
    const barb = turn => `${x1 - size * Math.cos(angle + turn)} ${y1 - size * Math.sin(angle + turn)}`;
    return { steal, path: new Path2D(`M${x0} ${y0}Q${cx} ${cy} ${x1} ${y1}M${barb(0.5)}L${x1} ${y1}L${barb(-0.5)}`) };
  }
  strokeArc({ steal, path }, lineWidth, strokeStyle) {
    Object.assign(this.context, { lineWidth, strokeStyle });
    this.context.setLineDash(DASHES[steal.kind]);
    this.context.stroke(path);
    this.context.setLineDash([]);
  }
  drawChosen() {
    const { context, drag, colors: { accent } } = this, { steal, row, index } = this.chosen || {};
    if (steal) this.strokeArc(this.arcOf(steal), 2.5, accent);
    if (row) {
      const edge = at => clamp(this.xAt(at), this.gutter - 4, this.width + 4), left = edge(row.list[index]);
      const right = Math.max(edge(row.list[index] + row.list[index + 1]), left + 1);
      Object.assign(context, { lineWidth: 2, strokeStyle: accent });
      context.strokeRect(left - 1, row.top - 1, right - left + 2, row.bottom - row.top + 2);
    }
    if (drag && !drag.pans) this.block(accent + "33", drag.start, this.scroll, drag.x - drag.start, this.height);
  }
  drawNames() {
    const every = Math.ceil(15 / (this.bar + this.gap)), { gutter, colors } = this;
    for (const { worker, top, bottom } of this.bars.filter(row => this.inView(row))) {
      if (this.tall) this.block(colors.rule, gutter, bottom, this.plot, 1);
      if (worker % every === 0) this.write(colors.ink, shortName(this.tracks[worker], gutter), 0, (top + bottom) / 2, gutter - 6);
    }
  }
  drawAxis() {
    const { context, gutter, width, plot, colors } = this;
    this.block(colors.paper, 0, 0, width, AXIS);
    this.block(colors.muted, gutter, AXIS - 1, plot, 1);
    for (const { x, label } of timeTicks(this.range, plot)) {
      const half = context.measureText(label).width / 2;
      this.block(colors.muted, gutter + x, AXIS - 5, 1, 4);
      this.write(colors.muted, label, Math.min(gutter + x, width - half - 1) - half, 9);
    }
  }
  // The texts and pictures that follow the range.
  tell() {
    const { slot, found, drawn: { arcs }, steals, range: [from, to] } = this;
    const listed = steals.length / 7, total = this.pool.steals_total || listed;
    let message = total === 0 ? "The trace holds no steal." : `All ${count(found)} steals in view are drawn.`;
    if (arcs < found) message = `${count(arcs)} of ${count(found)} steals in view are drawn: those with the longest tasks. Zoom in to see all.`;
    if (listed < total) message += ` This file lists ${count(listed)} of ${count(total)} steals.`;
    if (this.rows.length < this.allRows.length) message += " Choose “Taller lanes” to see the named spans.";
    put(slot, { status: message, range: `${moment(from, this.pixelTime)} to ${moment(to, this.pixelTime)}` });
    if (this.told !== this.range) this.follow?.();
    this.told = this.range;
  }
  // ----- Choosing -----
  // The entry of a row at a moment, or one so near that the reader sees it there.
  entryAt(row, at, near) {
    const { list } = row, last = lastStart(list, at);
    const index = [last, last + 3].find(i => i >= 0 && list[i] <= at + near && list[i] + list[i + 1] >= at - near);
    return index === undefined ? null : { row, index };
  }
  itemAt(x, y) {
    const { context, ratio } = this, down = y + this.scroll;
    context.lineWidth = 9; // a line of this width is easy to hit
    const arc = this.arcs.find(({ path }) => context.isPointInStroke(path, x * ratio, y * ratio));
    if (arc) return { steal: arc.steal };
    const row = this.rows.find(each => down >= each.top && down <= each.bottom);
    return row && x >= this.gutter && y >= AXIS ? this.entryAt(row, this.timeAt(x), this.pixelTime) : null;
  }
  describe({ row, index, steal }) {
    const at = value => moment(value, this.pixelTime / 10), name = worker => this.tracks[worker].name;
    if (steal) return `${STEALS[steal.kind]} at ${at(steal.end)}: ${name(steal.to)} took a task of depth ${steal.depth} ` +
      `from ${name(steal.from)}. The steal took ${time(steal.cost)}; the task ran ${time(steal.run)}.`;
    const [start, length, value] = row.list.slice(index, index + 3);
    const what = row.span ? `span “${this.data.names[value]}”` : this.data.states[value];
    return `${name(row.worker)}, ${what}: from ${at(start)} to ${at(start + length)}, ${time(length)} long.`;
  }
  choose(item) {
    const details = item ? this.describe(item)
      : "Point at a bar, a span or a steal, or choose one with the keys, to read its details here.";
    this.chosen = item;
    if (this.slot.details.textContent === details) return; // the same item: a screen reader need not read it again
    put(this.slot, { details });
    this.later();
  }
  // Chooses an item and brings it into view.
  goTo(item) {
    const { steal, row, index } = item, [from, to] = this.range, { scroller } = this.slot;
    const begin = steal ? steal.begin : row.list[index], end = steal ? steal.end : begin + row.list[index + 1];
    const shift = (begin + end - from - to) / 2;
    if (end < from || begin > to) this.setRange(from + shift, to + shift);
    const { top, bottom } = this.row = row || this.bars[steal.to];
    scroller.scrollTop = clamp(scroller.scrollTop, bottom + this.gap - this.height, top - AXIS - this.gap);
    this.choose(item);
  }
  // To another row, there to the entry at the chosen moment or at the centre of the range.
  goToRow(step) {
    const place = this.rows.indexOf(this.row), { row: old, index } = this.chosen || {};
    const row = this.row = this.rows[clamp(place < 0 ? 0 : place + step, 0, this.rows.length - 1)];
    const centre = (this.range[0] + this.range[1]) / 2;
    const at = old ? clamp(centre, old.list[index], old.list[index] + old.list[index + 1]) : centre;
    if (row.list.length) this.goTo({ row, index: Math.max(lastStart(row.list, at), 0) });
  }
  goToBar(step) {
    const { row, index } = this.chosen || {};
    if (!row) this.goToRow(0);
    else if (row.list[index + step * 3] !== undefined) this.goTo({ row, index: index + step * 3 });
  }
  goToSteal(step) {
    const { steal: old } = this.chosen || {}, from = old ? old.end : this.range[step > 0 ? 0 : 1], list = this.steals;
    let nearest = -1;
    for (let i = 0; i < list.length; i += 7)
      if ((list[i] - from) * step > 0 && (nearest < 0 || (list[nearest] - list[i]) * step > 0)) nearest = i;
    if (nearest >= 0) this.goTo({ steal: readSteal(list, nearest) });
  }
  // ----- Input -----
  listen() {
    const { canvas, slot } = this, on = (name, act) => canvas.addEventListener(name, act, { passive: false });
    for (const button of canvas.closest("figure").querySelectorAll("[data-key]"))
      button.addEventListener("click", () => this.act(button.dataset.key));
    if (this.tall) slot.tall.remove();
    slot.tall.addEventListener("change", event => { this.layOut(event.target.checked); this.choose(null); this.later(); });
    slot.scroller.addEventListener("scroll", () => this.later());
    on("wheel", event => this.wheel(event));
    on("keydown", event => this.act(event.key, event));
    on("pointerdown", ({ button, pointerId, offsetX: x, shiftKey, pointerType }) => {
      if (button !== 0) return;
      canvas.setPointerCapture(pointerId);
      this.drag = { start: x, x, pans: shiftKey || pointerType === "touch" };
    });
    on("pointermove", event => this.pointerMoved(event));
    on("pointerup", event => this.pointerUp(event));
    on("pointercancel", () => { this.drag = null; });
    on("pointerleave", () => { if (!this.pinned) this.choose(null); });
  }
  act(key, event = {}) {
    const keys = { "+": () => this.scale(0.5), "=": () => this.scale(0.5), "-": () => this.scale(2),
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), Home: () => this.setRange(...this.whole),
      ArrowUp: () => this.goToRow(-1), ArrowDown: () => this.goToRow(1), n: () => this.goToBar(1), p: () => this.goToBar(-1),
      s: () => this.goToSteal(1), S: () => this.goToSteal(-1), Escape: () => this.choose(null) };
    if (!Object.hasOwn(keys, key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault?.();
    keys[key]();
    this.pinned = this.chosen !== null;
  }
  // The wheel scrolls the page until the reader clicks the picture, so that nobody gets stuck in it.
  wheel(event) {
    if (document.activeElement !== this.canvas && !event.ctrlKey) return;
    event.preventDefault();
    const step = clamp(event.deltaY * (event.deltaMode === 1 ? 16 : 1) / 200, -1, 1); // mode 1 counts lines of text
    this.scale(2 ** step, clamp((event.offsetX - this.gutter) / this.plot, 0, 1));
  }
  pointerMoved({ offsetX, offsetY }) {
    const { drag } = this;
    if (!drag) return this.pinned || this.choose(this.itemAt(offsetX, offsetY));
    if (drag.pans) this.pan((drag.x - offsetX) / this.plot);
    drag.x = clamp(offsetX, this.gutter, this.width);
    this.later();
  }
  pointerUp({ offsetX, offsetY }) {
    const { start, x, pans } = this.drag || {}, item = this.itemAt(offsetX, offsetY);
    this.drag = null;
    if (Math.abs(x - start) > 4) return pans || this.setRange(this.timeAt(Math.min(start, x)), this.timeAt(Math.max(start, x)));
    this.pinned = item !== null; // a click keeps the details until the next click or Escape
    if (item) this.row = item.row || this.bars[item.steal.to];
    this.choose(item);
  }
}

// ---------- 6. Charts ----------
const LAYERS = { running: [0, "running"], searching: [3, "stealing or searching"], blocked: [4, "blocked"], asleep: [5, "asleep"] };
function fillParallelism({ parallelism: series, workers, begin }, timeline, slot) {
  const keys = Object.keys(LAYERS), steps = series.running.length, floor = 166, start = i => begin + i * series.step;
  const most = largest([workers, ...range(steps).map(i => sum(keys.map(key => series[key][i])))]); // with spare workers
  picture(slot.parallelismPicture, width => {
    const left = gutterFor(width), [from, to] = timeline.range, scale = (width - left) / (to - from);
    const x = i => left + clamp((start(i) - from) * scale, 0, width - left), y = value => floor - value / most * (floor - 10);
    const base = new Float64Array(steps), seen = range(steps).filter(i => start(i) < to && start(i + 1) > from);
    const layers = keys.map(key => statePath(LAYERS[key][0], seen.filter(i => series[key][i] > 0).map(i => {
      const low = y(base[i]), high = y(base[i] += series[key][i]);
      return box(x(i), high, x(i + 1) - x(i), low - high);
    }).join("")));
    const axis = timeTicks(timeline.range, width - left).map(tick =>
      text(clamp(left + tick.x, left + 16, width - 26), floor + 18, tick.label, "middle"));
    return { height: 190, content: [layers, gridLines(workers, left, width, y), axis] };
  });
  timeline.follow = () => slot.parallelismPicture.redraw(true);
  slot.parallelismLegend.append(...keys.map(key => stateItem(...LAYERS[key])));
  const group = Math.ceil(steps / 40), mean = list => short(+(sum(list) / list.length).toPrecision(3));
  foldTable(slot.parallelismTable, 40, () => range(Math.ceil(steps / group)).map(i => i * group).map(i =>
    [time(start(i)), ...keys.map(key => mean(series[key].slice(i, i + group)))]));
}
function fillShares(data, pool, slot) {
  const states = usedStates(pool), whole = pool.end - pool.begin, n = pool.tracks.length;
  const pitch = clamp(Math.floor(760 / n), 3, 26), bar = pitch - (pitch > 8 ? 5 : 1), every = Math.ceil(15 / pitch);
  picture(slot.sharePicture, width => {
    const left = gutterFor(width), x = share => left + share * (width - left - 1);
    const before = (track, state) => sum(track.totals.slice(0, state)) / whole;
    const bars = states.map(state => statePath(state, pool.tracks.map((track, i) =>
      box(x(before(track, state)), i * pitch + 2, x(track.totals[state] / whole) - left, bar)).join("")));
    const names = pool.tracks.filter((_, i) => i % every === 0).map((track, i) =>
      text(0, i * every * pitch + 6 + bar / 2, shortName(track, left), "start", "strong"));
    const axis = [0, 0.25, 0.5, 0.75, 1].map(share => [line("grid", x(share), 0, x(share), n * pitch + 4),
      text(x(share), n * pitch + 18, share * 100 + "%", share === 1 ? "end" : share ? "middle" : "start")]);
    return { height: n * pitch + 24, content: [bars, axis, names] };
  });
  slot.shareLegend.append(...states.map(state => stateItem(state, data.states[state])));
  const row = (name, totals, all) => [name, ...states.map(state =>
    [fixed(totals[state] / 1e6, whole < 1e6 ? 4 : 2), " ", html("small", {}, percent(totals[state] / all))])];
  const totals = HEIGHTS.map((_, state) => sum(pool.tracks.map(track => track.totals[state])));
  const rows = () => [row("all workers", totals, whole * n), ...pool.tracks.map(track => row(track.name, track.totals, whole))];
  foldTable(slot.shareTable, n, rows, states.map(state => data.states[state]));
  slot.shareTable.open = n <= 8;
}
function fillSizes({ lowest, counts }, slot) {
  const edge = i => time(lowest * 2 ** i / 1000), floor = 166, left = 56, most = largest(counts);
  picture(slot.sizesPicture, width => {
    const step = (width - left - 28) / counts.length, every = Math.ceil(62 / step), y = value => floor - value / most * (floor - 10);
    const bars = counts.map((value, i) => box(left + i * step + 1, y(value), Math.max(step - 2, 1), floor - y(value)));
    const labels = range(counts.length + 1).filter(i => i % every === 0).map(i => text(left + i * step, floor + 18, edge(i), "middle"));
    const axis = line("axis", left, floor, width - 28, floor);
    return { height: 190, content: [gridLines(most, left, width - 28, y), path("s0", bars.join("")), labels, axis] };
  });
  foldTable(slot.sizesTable, counts.length, () => counts.map((value, i) => [edge(i), edge(i + 1), count(value)]));
}
function fillMatrix({ matrix, tracks }, slot) {
  const n = matrix.length, most = Math.max(largest(matrix.flat()), 1), SHADES = 8, left = 60, top = 40;
  const shade = value => Math.ceil(Math.sqrt(value / most) * SHADES), name = i => tracks[i] ? tracks[i].name : String(i);
  picture(slot.matrixPicture, width => {
    const cell = Math.min(Math.floor((Math.min(width, 560) - left) / n), 48), size = cell > 6 ? cell - 1 : cell;
    const paths = new Array(SHADES + 1).fill(""), every = Math.ceil(20 / cell), middle = i => (i + 0.5) * cell;
    matrix.forEach((row, i) => row.forEach((value, j) => { paths[shade(value)] += box(left + j * cell, top + i * cell, size, size); }));
    const labels = range(n).filter(i => i % every === 0).map(i =>
      [text(left + middle(i), top - 7, i, "middle"), text(left - 8, top + middle(i) + 4, i, "end")]);
    const cells = paths.map((d, i) => svg("path", { class: "s0", "fill-opacity": 0.05 + 0.95 * i / SHADES, d }));
    return { wide: left + n * cell + 8, height: top + n * cell + 4,
      content: [cells, labels, text(left, 12, "victim →"), text(0, top + 12, "thief ↓")] };
  });
  put(slot, { most: counted(most, "steal") });
  foldTable(slot.matrixTable, n * n / 4, () => matrix.map((row, i) => [name(i), ...row.map(count)]), range(n).map(name));
}
function fillSpeedup({ work, span, measured = [], predicted = [] }, slot) {
  const limit = work / span, high = p => Math.min(p, limit), low = p => work / (work / p + span), points = [...measured, ...predicted];
  const power = value => Math.ceil(Math.log2(value) - 1e-9), speeds = points.map(point => point[1]), counts = points.map(point => point[0]);
  const right = power(largest([2, Math.min(2 * limit, 256), ...counts])), top = power(largest([2, high(2 ** right), ...speeds]));
  const bottom = Math.log2(Math.min(low(1), ...speeds));
  picture(slot.speedupPicture, width => {
    const height = Math.round(width * 0.62), left = 40, end = width - 12, floor = height - 40;
    const x = p => left + Math.log2(p) / right * (end - left), y = s => floor - (Math.log2(s) - bottom) / (top - bottom) * (floor - 24);
    const stops = [...range(61).map(i => 2 ** (right * i / 60)), clamp(limit, 1, 2 ** right)].sort((a, b) => a - b);
    const join = list => list.map(([p, s]) => `${x(p).toFixed(1)} ${y(s).toFixed(1)}`).join("L");
    const over = stops.map(p => [p, high(p)]), under = stops.map(p => [p, low(p)]);
    const grid = [range(right + 1).map(i => 2 ** i).map(p => [line("grid", x(p), 24, x(p), floor), text(x(p), floor + 17, count(p), "middle")]),
      range(top + 1).map(i => 2 ** i).map(s => [line("grid", left, y(s), end, y(s)), text(left - 8, y(s) + 4, count(s), "end")])];
    return { height, content: [path("band", `M${join(over)}L${join([...under].reverse())}z`), grid, path("limit", "M" + join(over)),
      path("limit low", "M" + join(under)), measured.length ? path("trend", "M" + join(measured)) : null,
      predicted.map(([p, s]) => path("predicted", `M${x(p)} ${y(s) - 5}l5 5l-5 5l-5 -5z`)),
      measured.map(([p, s]) => path("measured", `M${x(p)} ${y(s) - 5}a5 5 0 1 0 .01 0z`)),
      text((left + end) / 2, height - 5, "workers", "middle"), text(0, 12, "speed-up")] };
  });
  put(slot, { work: time(work * 1e6), span: time(span * 1e6), limit: short(limit) });
  const at = (list, p) => list.filter(point => point[0] === p).map(point => short(point[1]))[0] || "–";
  foldTable(slot.speedupTable, counts.length, () => [...new Set(counts)].sort((a, b) => a - b).map(p =>
    [count(p), at(measured, p), at(predicted, p), short(high(p)), short(low(p))]));
}
// A bar shows the share of each place.
function fillPath(rows, slot) {
  const all = rows[0]?.[2];
  if (!(all > 0)) return slot.path.remove();
  slot.pathTable.append(table(slot.pathTable.dataset, rows.map(([name, depth, inside, work]) =>
    [html("span", { class: "nest", style: `--depth: ${depth}; --share: ${clamp(inside / all, 0, 1)}` }, name), percent(inside / all),
      time(inside), work > 0 ? time(work) : "–", work > 0 ? short(work / inside) : "–"])));
}

// ---------- 7. Sections ----------
let mainTimeline = null; // that of the pool that ran most
function fillTimelineTables(pool, steals, slot) {
  const { tracks } = pool, [by, from] = [0, 1].map(() => new Uint32Array(tracks.length));
  for (let i = 0; i < steals.length; i += 7) { by[steals[i + 1]]++; from[steals[i + 2]]++; }
  foldTable(slot.workersTable, tracks.length, () => tracks.map((track, i) => {
    const list = track.intervals, ends = list.length ? [time(list[0]), time(list.at(-3) + list.at(-2))] : ["–", "–"];
    const share = runningOf(track) / (pool.end - pool.begin);
    return [track.name, ...ends, count(list.length / 3), percent(share), count(by[i]), count(from[i])];
  }));
  foldTable(slot.stealsTable, 20, () => range(Math.min(20, steals.length / 7)).map(i => readSteal(steals, i * 7)).map(steal =>
    [moment(steal.end, 1), tracks[steal.to].name, tracks[steal.from].name, time(steal.cost), time(steal.run)]));
}
function fillSentences({ costly_steals: costly, counts, delays, steals_total: total }, slot) {
  if (total) slot.noSteal.remove();
  putOrRemove(slot.costlyText, slot, costly?.of > 0 &&
    { costly: `${count(costly.count)} of ${counted(costly.of, "steal")} (${percent(costly.count / costly.of)})` });
  putOrRemove(slot.countsText, slot, counts && { published: counted(counts.publications, "time"), forced: counted(counts.forced, "steal"),
    sleeps: counted(counts.sleeps, "time"), wakeups: counted(counts.wakeups, "time") });
  putOrRemove(slot.delaysText, slot, delays && { delay: time(delays.median), slowest: time(delays.slowest) });
}
function fillPool(data, pool) {
  const part = document.getElementById("pool").content.cloneNode(true), slot = slots(part);
  put(slot, { lead: `${counted(pool.workers, "worker")}, from ${time(pool.begin)} to ${time(pool.end)}.` });
  const idle = poolRunning(pool) === 0;
  slot[idle ? "busy" : "idle"].remove();
  if (idle) return [part];
  const timeline = new Timeline(data, pool, slot);
  mainTimeline = mainTimeline || timeline;
  fillTimelineTables(pool, timeline.steals, slot);
  fillShares(data, pool, slot);
  fillSentences(pool, slot);
  if (pool.parallelism) fillParallelism(pool, timeline, slot); else slot.parallelism.remove();
  if (pool.steal_sizes && largest(pool.steal_sizes.counts) > 0) fillSizes(pool.steal_sizes, slot); else slot.sizes.remove();
  if (pool.matrix && pool.matrix.length <= 64 && pool.steals_total) fillMatrix(pool, slot); else slot.matrix.remove();
  return [part];
}
function poolSection(data, pool, folded) {
  if (!folded) return html("section", {}, html("h2", {}, pool.name), fillPool(data, pool));
  return fold(html("details", { class: "pool" }, html("summary", {}, html("h2", {}, pool.name))), () => fillPool(data, pool));
}
function spanParts(data) {
  const parts = data.names.map(name => ({ name, count: 0, total: 0, longest: 0, running: 0 }));
  for (const track of [...data.pools.flatMap(pool => pool.tracks), ...data.threads]) {
    const clock = runningClock(track), ends = []; // for each name, the end of its outermost span
    for (let i = 0; i < track.spans.length; i += 4) {
      const [begin, length, , name] = track.spans.slice(i, i + 4), part = parts[name];
      Object.assign(part, { count: part.count + 1, total: part.total + length, longest: Math.max(part.longest, length) });
      if (begin < ends[name]) continue; // inside a span of the same name: its time counts once
      ends[name] = begin + length;
      part.running += clock(begin + length) - clock(begin);
    }
  }
  return parts.filter(part => part.count > 0).sort((a, b) => b.running - a.running);
}
function fillSpans(data, slot) {
  const parts = spanParts(data), all = sum(data.pools.map(poolRunning));
  slot[parts.length ? "unnamed" : "spans"].remove();
  slot.spans.append(table(slot.spans.dataset, parts.map(({ name, count: n, total, longest, running }) =>
    [name, count(n), time(total), time(total / n), time(longest), percent(running / all)])));
}
// The longest row of steps in which at most one worker ran (5% of tolerance, as each step is a mean).
function longestSerial({ step, running }) {
  let best = 0, now = 0;
  for (const value of running) best = Math.max(best, now = value <= 1.05 ? now + 1 : 0);
  return best * step;
}
function keyFigures({ pools, duration }) {
  const total = of => sum(pools.map(of)), workers = total(pool => pool.workers), running = total(poolRunning);
  const whole = total(pool => pool.workers * (pool.end - pool.begin)), series = pools[0]?.parallelism;
  return [[time(duration), "duration of the run"], [count(workers), pools.length > 1 ? `workers in ${pools.length} pools` : "workers"],
    running > 0 && [percent(running / whole), "of the workers’ time ran tasks"],
    running > 0 && [short(running / duration), "workers ran tasks on average"],
    pools.length > 0 && [count(total(pool => pool.steals_total || 0)), "steals"],
    series && [time(longestSerial(series)), "longest time with at most one worker running"]].filter(Boolean);
}
function build(data) {
  const root = document.getElementById("report"), slot = slots(root), { program, verdict, held, speedup } = data;
  const pools = data.pools = (data.pools || []).sort((a, b) => poolRunning(b) - poolRunning(a));
  const each = (tag, list) => list.filter(Boolean).map(content => html(tag, {}, content));
  data.threads = (data.threads || []).filter(thread => thread.spans.length > 0).map(thread => ({ ...thread, intervals: [] }));
  for (const track of [...pools.flatMap(pool => pool.tracks), ...data.threads]) track.intervals = Float64Array.from(track.intervals); // faster to search
  root.hidden = false;
  document.title = `${program} – Purloin report`;
  slot.origin.append(...each("span", [data.command && html("code", {}, data.command), data.date, data.machine]));
  slot.verdictDetails.append(...each("li", verdict.details || []));
  slot.figures.append(...keyFigures(data).map(([value, name]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
  if (speedup) fillSpeedup(speedup, slot); else slot.speedup.remove();
  fillPath(data.path || [], slot);
  slot.pools.append(...pools.map((pool, i) => poolSection(data, pool, pools.length > 3 && i > 0)));
  if (pools.length) slot.nopool.remove();
  if (pools.length || data.threads.length) fillSpans(data, slot); else slot.named.remove();
  put(slot, { program, verdict: verdict.title, held: !held ? "" : held.share >= 1 && !held.lost ? "The trace holds the whole run."
    : `The trace holds ${percent(held.share)} of the run. It lost ${counted(held.lost, "event")}.` });
  slot.notes.append(...each("li", data.notes || []));
}

// ---------- 8. Start and print ----------
// Paper shows all sections and light colours. Afterwards the reader's open and closed parts come back.
function print(on) {
  printing = on;
  document.documentElement.toggleAttribute("data-print", on);
  for (const element of folds) { // the list grows meanwhile: a folded pool has folds inside
    if (on) element.wasOpen = element.open; else element.open = element.wasOpen;
    if (on && !element.classList.contains("long")) { element.complete(); element.open = true; }
  }
  redraws.forEach(redraw => redraw());
}
try {
  build(JSON.parse(document.getElementById("data").textContent));
} catch (error) {
  document.body.prepend(html("div", { class: "message", role: "alert" }, html("h1", {}, "Purloin report"),
    html("p", {}, `This page cannot show its data: ${error.message}.`)));
  throw error;
}
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach(redraw => redraw()));
window.report = { // for tests
  get drawn() { return mainTimeline?.drawn ?? { intervals: 0, arcs: 0, spans: 0 }; },
  get range() { return mainTimeline?.range ?? [0, 0]; },
  zoom(from, to) { mainTimeline?.setRange(from, to); mainTimeline?.draw(); },
};
