// Sliders for the keys of the scene behind the page, made from the schema of scene files.
import { make, short } from "./dom.js";

/** Keys that people turn first. */
const FIRST = ["simulation", "air", "wind", "liquid", "groom", "grains", "cord", "wetting", "interaction", "collision", "solid"];

/** The ends of a number's slider, and whether it is logarithmic. */
export function scale({ value, low, high, whole }) {
  const size = Math.abs(value);
  const bounded = low !== null && high !== null && low >= -1e6 && high <= 1e6;
  if (bounded && (high - low <= 20 * size || (!whole && high <= 1 && low >= 0))) return { from: low, to: high, log: false };
  if (size === 0) {
    const to = Math.min(high ?? 1, 1);
    return { from: Math.max(low ?? -to, low === null ? -to : low), to: to > (low ?? -1) ? to : 1, log: false };
  }
  if (value < 0) return { from: Math.max(3 * value, low ?? -Infinity), to: Math.min(-3 * value, high ?? Infinity), log: false };
  const from = Math.max(value / 10, low ?? 0, whole ? 1 : 0);
  const to = Math.min(value * 10, high ?? Infinity);
  return from > 0 && to > from ? { from, to, log: true } : { from: low ?? 0, to: Math.max(to, 1), log: false };
}

/** Position from 0 to 1 of a value, and back. */
const place = ({ from, to, log }, value) => (log ? Math.log(Math.max(value, 1e-300) / from) / Math.log(to / from) : (value - from) / (to - from));
const value = ({ from, to, log }, at) => (log ? from * (to / from) ** at : from + at * (to - from));

export class Parameters {
  /** `onrerun(set, from, keep)` is called when a button is pressed; `frame()` tells the frame that is shown. */
  constructor(onrerun, frame) {
    this.onrerun = onrerun;
    this.frame = frame;
    this.set = {};
    this.rows = new Map();
    this.box = make("section", { className: "box", id: "parameters" });
  }

  /** The keys as they are simulated now, and those that differ from the scene as it was given. */
  show(list, set) {
    this.set = { ...set };
    this.rows.clear();
    const groups = new Map();
    for (const parameter of list) {
      const steps = parameter.path.split(".");
      const name = steps.slice(0, -1).join(".") || "scene";
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(this.row(parameter, steps.at(-1)));
    }
    const rank = (name) => {
      const at = FIRST.indexOf(name.split(".")[0]);
      return at < 0 ? FIRST.length : at;
    };
    const names = [...groups.keys()].sort((a, b) => rank(a) - rank(b));
    const open = new Set([...this.box.querySelectorAll("details[open]")].map((details) => details.dataset.name));
    const search = make("input", { type: "search", placeholder: "Search keys", style: "width:100%", oninput: (event) => this.filter(event.target.value) });
    const lists = names.map((name, i) =>
      make("details", { "data-name": name, open: open.size ? open.has(name) : i === 0 }, make("summary", {}, name), ...groups.get(name)));
    const free = make("input", { type: "text", placeholder: "any.key = value", style: "width:100%;margin-top:8px", onchange: (event) => this.add(event.target) });
    this.box.replaceChildren(make("h2", {}, "Parameters"), search, ...lists, free, make("p", { className: "hint" }, "Lengths and all else in SI, or with a unit: 25 cm."));
    this.buttons();
  }

  row(parameter, name) {
    const { path, unit, words, doc, range } = parameter;
    const row = make("div", { className: "parameter", "data-path": path, title: `${doc}${range ? `\n(${range})` : ""}` });
    const label = make("label", {}, name.replaceAll("_", " "));
    const top = make("div", { className: "top" }, label);
    row.append(top);
    const change = (text) => {
      this.set[path] = text;
      this.mark(row, path);
    };
    const now = this.set[path];
    if (typeof parameter.value === "boolean") {
      top.append(make("input", { type: "checkbox", checked: parameter.value, "aria-label": path, onchange: (event) => change(String(event.target.checked)) }));
    } else if (words.length > 0) {
      const options = words.map((word) => make("option", { value: word, selected: word === parameter.value }, word));
      top.append(make("select", { "aria-label": path, onchange: (event) => change(JSON.stringify(event.target.value)) }, ...options));
    } else {
      const number = typeof parameter.value === "number";
      const shown = number ? short(parameter.value) : typeof parameter.value === "string" ? parameter.value : JSON.stringify(parameter.value);
      const input = make("input", { type: "text", value: now ?? shown, "aria-label": path });
      top.append(input, make("em", {}, unit));
      if (number) {
        const ends = scale(parameter);
        const slider = make("input", { type: "range", min: 0, max: 1000, value: 1000 * place(ends, parameter.value), "aria-label": `${path} slider` });
        slider.addEventListener("input", () => {
          const turned = value(ends, slider.value / 1000);
          input.value = parameter.whole ? Math.round(turned) : +turned.toPrecision(3);
          change(input.value);
        });
        row.append(slider);
        input.addEventListener("change", () => Number.isFinite(+input.value) && (slider.value = 1000 * place(ends, +input.value)));
      }
      input.addEventListener("change", () => change(input.value));
    }
    this.rows.set(path, row);
    if (now !== undefined) this.mark(row, path);
    return row;
  }

  mark(row, path) {
    row.classList.add("changed");
    if (!row.querySelector(".back")) {
      const back = make("button", { className: "back", title: "Back to what the scene says", style: "padding:0 6px" }, "↺");
      back.addEventListener("click", () => {
        delete this.set[path];
        row.classList.remove("changed");
        back.remove();
        this.buttons();
      });
      row.firstChild.append(back);
    }
    this.buttons();
  }

  add(input) {
    const [key, ...rest] = input.value.split("=");
    if (rest.length === 0 || !key.trim()) return;
    this.set[key.trim()] = rest.join("=").trim();
    input.value = "";
    this.buttons();
  }

  filter(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    for (const [path, row] of this.rows) row.hidden = !words.every((word) => `${path} ${row.title}`.toLowerCase().includes(word));
    for (const details of this.box.querySelectorAll("details")) {
      const any = [...details.querySelectorAll(".parameter")].some((row) => !row.hidden);
      details.hidden = !any;
      if (words.length) details.open = any;
    }
  }

  /** The buttons below the sliders. */
  buttons() {
    this.foot ??= make("div", { id: "rerun" });
    const changed = Object.keys(this.set).length;
    const keep = make("input", { type: "checkbox", id: "keep", checked: this.keep ?? false, onchange: (event) => (this.keep = event.target.checked) });
    const rerun = (from) => this.onrerun({ ...this.set }, from, from === null && keep.checked);
    this.foot.replaceChildren(
      make("div", { className: "inline" },
        make("button", { className: "main", id: "rerun-start", onclick: () => rerun(null) }, changed ? `Rerun (${changed} changed)` : "Rerun"),
        make("button", { id: "rerun-frame", title: "Go on from the last checkpoint at or before the frame that is shown", onclick: () => rerun(this.frame()) }, "from this frame"),
      ),
      make("div", { className: "inline" }, make("label", {}, keep, " keep the present run to compare")),
    );
  }
}

