// Small helpers to build the page and to write numbers.

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

/** An element with properties and children; texts become text nodes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== "list" && key !== "style") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A number with about four significant digits. */
export function short(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace("e+", "e");
  return String(+value.toPrecision(4));
}

const PREFIXES = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

/** A quantity with a unit, small ones with a prefix: 3.2 mm. */
export function quantity(value, unit) {
  if (!unit || !/^(m|s|N|m\/s|kg|J)$/.test(unit) || value === 0) return unit ? `${short(value)} ${unit}` : short(value);
  if (unit === "kg") return Math.abs(value) >= 1 ? `${short(value)} kg` : quantityOf(value * 1e3, "g");
  return quantityOf(value, unit);
}

function quantityOf(value, unit) {
  const [factor, prefix] = PREFIXES.find(([factor]) => Math.abs(value) >= factor) ?? PREFIXES[3];
  return `${+(value / factor).toPrecision(3)} ${prefix}${unit}`;
}

/** A whole number with thin spaces. */
export const count = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u2009");

/** Says something in the middle of the stage, until it is told to be quiet. */
export function notice(text, bad = false) {
  const box = byId("notice");
  box.hidden = !text;
  box.textContent = text ?? "";
  box.classList.toggle("bad", bad);
}
