// The timeline and the graphs below it: one axis of frames for all of them.
import { byId, make, quantity, short } from "./dom.js";

const SHADES = ["#4aa8e8", "#f2b56b", "#76d29b", "#c58af0", "#f07f86", "#5fd0c5", "#d9d26a", "#8f9bff", "#e89ac4", "#9aa7b5", "#b98a5e", "#6fb04f"];
const FIXED = { bulk: "#3f7bff", fibre: "#ff9d3c", film: "#38d0ff", capillary: "#8fd4c8", free_flow: "#9be0ff", grains: "#d8b36a", drained: "#5a6470", liquid: "#3f7bff", strands: "#c58af0" };

/** A canvas that is as sharp as the screen. */
function context(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

export class Timeline {
  constructor(onscrub) {
    this.onscrub = onscrub;
    this.last = 0;
    this.frame = 0;
    this.stats = [];
    this.other = null;
    this.graphs = [];
    this.watch(byId("track"));
    new ResizeObserver(() => this.draw()).observe(byId("track"));
  }

  /** Scrubs while a pointer is down on an element. */
  watch(element) {
    const scrub = (event) => {
      const box = element.getBoundingClientRect();
      const part = (event.clientX - box.left - 8) / Math.max(box.width - 16, 1);
      this.onscrub(Math.round(Math.min(Math.max(part, 0), 1) * this.last));
    };
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      scrub(event);
    });
    element.addEventListener("pointermove", (event) => {
      if (element.hasPointerCapture(event.pointerId)) scrub(event);
    });
  }

  x(frame, width) {
    return 8 + (this.last > 0 ? frame / this.last : 0) * (width - 16);
  }

  /** New figures: stacks of water and of times, or lines where there is no water. */
  figures(stats) {
    this.stats = stats;
    const names = (pick) => [...new Set(stats.flatMap((frame) => Object.keys(pick(frame) ?? {})))];
    const not = new Set(["emitted", "drained", "total", "error"]);
    const graphs = [];
    if (stats.some((frame) => frame.water)) {
      const keys = names((frame) => frame.water).filter((key) => !not.has(key));
      graphs.push({ title: "Water", note: (now) => `books off by ${short(now?.water?.error ?? 0)}`, unit: "kg", stacked: true, series: keys.map((key) => ({ key, of: (frame) => frame.water?.[key] ?? 0 })) });
    } else {
      const lines = [{ key: "largest speed", unit: "m/s", of: (frame) => frame.speed_max }];
      if (stats.some((frame) => frame.strain)) lines.push({ key: "largest strain", unit: "", of: (frame) => frame.strain?.max ?? 0 });
      graphs.push({ title: "Motion", note: () => "each to its own scale", unit: "", stacked: false, series: lines });
    }
    const used = (key) => stats.some((frame) => (frame.stages?.[key] ?? 0) > 0.05);
    const stages = names((frame) => frame.stages).filter(used);
    const mean = (key) => stats.reduce((sum, frame) => sum + (frame.stages?.[key] ?? 0), 0);
    stages.sort((a, b) => mean(b) - mean(a));
    graphs.push({ title: "Time per frame", note: (now) => (now ? `${short(now.wall_ms)} ms` : ""), unit: "ms", stacked: true, series: stages.map((key) => ({ key, of: (frame) => frame.stages?.[key] ?? 0 })) });
    for (const graph of graphs) graph.series.forEach((series, i) => (series.colour = FIXED[series.key] ?? SHADES[i % SHADES.length]));
    const shape = JSON.stringify(graphs.map((graph) => [graph.title, graph.series.map((series) => series.key)]));
    if (shape === this.shape) this.graphs.forEach((graph, i) => Object.assign(graph, graphs[i]));
    else {
      this.shape = shape;
      byId("graphs").replaceChildren(...graphs.map((graph) => this.lane(graph)));
      this.graphs = graphs;
    }
    this.draw();
  }

  lane(graph) {
    graph.canvas = make("canvas");
    graph.now = make("div", { className: "now" });
    graph.said = make("span");
    const plot = make("div", { className: "plot" }, graph.canvas);
    this.watch(plot);
    return make("div", { className: "lane graph" }, make("div", { className: "name" }, make("b", {}, graph.title), graph.said), plot, graph.now);
  }

  draw() {
    this.drawTrack();
    for (const graph of this.graphs) this.drawGraph(graph);
  }

  drawTrack() {
    const { pen, width, height } = context(byId("track").firstElementChild);
    const middle = height / 2;
    const bar = (from, to, colour, thick) => {
      pen.fillStyle = colour;
      pen.fillRect(this.x(from, width), middle - thick / 2, Math.max(this.x(to, width) - this.x(from, width), 1), thick);
    };
    bar(0, this.last, "#262d36", 6);
    bar(0, Math.min(this.available ?? 0, this.last), "#3d4856", 6);
    const per = (width - 16) / Math.max(this.last, 1);
    pen.fillStyle = "#4d7fa0";
    for (const frame of this.loaded?.() ?? []) pen.fillRect(this.x(frame, width) - per / 2, middle - 3, Math.max(per, 1), 6);
    pen.fillStyle = "#ff7d72";
    for (const frame of this.broken?.() ?? []) pen.fillRect(this.x(frame, width) - 1.5, middle - 7, 3, 14);
    pen.fillStyle = "#f2b56b";
    for (const { frame, warnings } of this.stats) if (warnings?.length) pen.fillRect(this.x(frame, width) - 0.75, middle + 6, 1.5, 5);
    const x = this.x(this.frame, width);
    pen.fillStyle = "#63c5f5";
    pen.fillRect(x - 1, 6, 2, height - 6);
    pen.beginPath();
    pen.arc(x, middle, 6.5, 0, 7);
    pen.fill();
  }

  drawGraph(graph) {
    const { pen, width, height } = context(graph.canvas);
    const frames = this.stats;
    const [top, bottom] = [7, height - 4];
    if (frames.length > 0) {
      const lower = new Float64Array(frames.length);
      const sums = frames.map((frame) => graph.series.reduce((sum, series) => sum + Math.max(series.of(frame), 0), 0));
      // Frame 0 holds the time of settling, which would make all others small.
      const usual = graph.unit === "ms" && sums.length > 1 ? sums.slice(1) : sums;
      const most = usual.reduce((most, sum) => Math.max(most, sum), 0);
      for (const series of graph.series) {
        const own = graph.stacked ? most : frames.reduce((most, frame) => Math.max(most, Math.abs(series.of(frame))), 0);
        const y = (value) => Math.max(bottom - (own > 0 ? value / own : 0) * (bottom - top), 2);
        pen.beginPath();
        frames.forEach((frame, i) => {
          const value = lower[i] + Math.max(series.of(frame), 0);
          pen[i ? "lineTo" : "moveTo"](this.x(frame.frame, width), y(value));
        });
        if (graph.stacked) {
          for (let i = frames.length - 1; i >= 0; i--) pen.lineTo(this.x(frames[i].frame, width), y(lower[i]));
          pen.closePath();
          pen.globalAlpha = 0.82;
          pen.fillStyle = series.colour;
          pen.fill();
          pen.globalAlpha = 1;
          frames.forEach((frame, i) => (lower[i] += Math.max(series.of(frame), 0)));
        } else {
          pen.strokeStyle = series.colour;
          pen.lineWidth = 1.5;
          pen.stroke();
        }
      }
      if (graph.stacked) {
        pen.shadowColor = "#000";
        pen.shadowBlur = 4;
        pen.fillStyle = "#d5dbe3";
        pen.font = "10.5px system-ui, sans-serif";
        pen.fillText(graph.unit === "ms" ? `${short(most)} ms` : quantity(most, graph.unit), 11, 14);
        pen.shadowBlur = 0;
      }
    }
    pen.fillStyle = "#63c5f5";
    pen.fillRect(this.x(this.frame, width) - 0.5, 0, 1, height);
    const now = frames.find((frame) => frame.frame === this.frame);
    graph.said.textContent = graph.note(now);
    const rows = graph.series.map((series) => ({ series, value: now ? series.of(now) : 0 })).sort((a, b) => b.value - a.value);
    graph.now.replaceChildren(
      ...rows.slice(0, 4).map(({ series, value }) => {
        const text = !now ? "" : graph.unit === "ms" ? `${short(value)} ms` : quantity(value, graph.unit || series.unit);
        return make("div", {}, make("span", {}, make("i", { className: "swatch", style: `background:${series.colour}` }), series.key.replace("_", " ")), make("span", {}, text));
      }),
    );
  }
}
