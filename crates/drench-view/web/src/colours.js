// Colour maps and the legend.
import * as THREE from "three";
import { byId, make, quantity, short } from "./dom.js";

const MAPS = {
  sequence: ["#4b2a8f", "#3f6ad0", "#22a6a3", "#7ed05e", "#fbe83a"],
  wet: ["#c7b08a", "#a7b8a8", "#62b3c9", "#2d8fe0", "#1b5ff0"],
  heat: ["#3b3f78", "#8a3f93", "#dc5068", "#fb9b53", "#fcf3a2"],
  parted: ["#3f8cff", "#86b6ee", "#e3e3e3", "#f0a27a", "#f04a2f"],
};
const OF_CHANNEL = { wetness: "wet", fibre_water: "wet", film: "wet", speed: "heat", strain: "parted", twist: "parted", tension: "heat" };

/** Colours of water in fibres, films and free drops, as the shaders have them. */
export const KINDS = { fibre: "#ff9d3c", film: "#38d0ff", free: "#3f7bff", dry: "#6d675f" };

/** How colours are chosen in the shaders. */
export const MODE = { natural: 0, map: 1, id: 2, kinds: 3 };

const textures = new Map();

function texture(name) {
  if (!textures.has(name)) {
    const stops = MAPS[name].map((stop) => new THREE.Color(stop));
    const data = new Uint8Array(256 * 4);
    const colour = new THREE.Color();
    for (let i = 0; i < 256; i++) {
      const at = (i / 255) * (stops.length - 1);
      const low = Math.min(Math.floor(at), stops.length - 2);
      colour.copy(stops[low]).lerp(stops[low + 1], at - low);
      data.set([colour.r * 255, colour.g * 255, colour.b * 255, 255], 4 * i);
    }
    const made = new THREE.DataTexture(data, 256, 1);
    made.minFilter = made.magFilter = THREE.LinearFilter;
    made.needsUpdate = true;
    textures.set(name, made);
  }
  return textures.get(name);
}

/** What colours show: the channel, its range so far, and what the shaders need of both. */
export class Colouring {
  constructor() {
    this.channel = null;
    this.seen = new Map();
    this.fixed = new Map();
    this.uniforms = {
      mode: { value: MODE.natural },
      low: { value: 0 },
      high: { value: 1 },
      film: { value: 1e-4 },
      map: { value: texture("sequence") },
    };
  }

  choose(channel) {
    this.channel = channel;
    const name = channel?.name;
    this.uniforms.mode.value = !name ? MODE.natural : name === "id" ? MODE.id : name === "water" ? MODE.kinds : MODE.map;
    this.uniforms.map.value = texture(OF_CHANNEL[name] ?? "sequence");
    this.apply();
  }

  /** Widens the range by that of a frame; it never shrinks, so that colours mean the same in all frames. */
  see(frame) {
    if (!this.channel) return;
    const seen = this.seen.get(this.channel.name) ?? { low: Infinity, high: -Infinity, film: 0 };
    for (const body of [...frame.strands, ...frame.particles]) {
      const [first, second] = body.ranges;
      if (first) {
        seen.low = Math.min(seen.low, first[0]);
        seen.high = Math.max(seen.high, first[1]);
      }
      if (second) seen.film = Math.max(seen.film, second[1]);
    }
    this.seen.set(this.channel.name, seen);
    this.apply();
  }

  range() {
    const { name, range } = this.channel;
    const fixed = this.fixed.get(name);
    if (fixed) return fixed;
    if (range) return range;
    const { low, high } = this.seen.get(name) ?? { low: 0, high: 1 };
    if (!(low <= high)) return [0, 1];
    if (name === "strain" || name === "twist") {
      const most = Math.max(Math.abs(low), Math.abs(high), 1e-9);
      return [-most, most];
    }
    const from = low >= 0 && low < 0.5 * high ? 0 : low;
    return [from, high > from ? high : from + 1];
  }

  apply() {
    if (this.channel) {
      const [low, high] = this.range();
      this.uniforms.low.value = low;
      this.uniforms.high.value = high;
      this.uniforms.film.value = Math.max(this.seen.get(this.channel.name)?.film ?? 0, 1e-7);
    }
    this.legend();
  }

  legend() {
    const box = byId("legend");
    const { channel } = this;
    box.hidden = !channel;
    if (!channel) return;
    const key = JSON.stringify([channel, channel.name === "id" ? 0 : this.range(), this.uniforms.film.value]);
    if (box.dataset.key === key || box.contains(document.activeElement)) return;
    box.dataset.key = key;
    const title = make("b", {}, channel.unit ? `${channel.label} [${channel.unit}]` : channel.label);
    if (channel.name === "id") {
      box.replaceChildren(title, make("div", { className: "keys" }, "every strand and particle in a colour of its own"));
    } else if (channel.name === "water") {
      const film = quantity(this.uniforms.film.value, "m");
      const keys = [["fibre", "inside fibres and grains"], ["film", `film around them, up to ${film}`], ["free", "free liquid"], ["dry", "dry"]];
      const rows = keys.map(([kind, text]) => make("span", {}, make("i", { style: `background:${KINDS[kind]}` }), text));
      box.replaceChildren(title, make("div", { className: "keys" }, ...rows));
    } else {
      const [low, high] = this.range();
      const stops = MAPS[OF_CHANNEL[channel.name] ?? "sequence"].join(", ");
      const end = (at, value) =>
        make("input", {
          type: "text", value: short(value), title: "Change this end of the range; empty it to go back", "aria-label": at ? "highest" : "lowest",
          onchange: (event) => this.fix(at, event.target.value),
        });
      box.replaceChildren(title, make("div", { className: "bar", style: `background:linear-gradient(90deg, ${stops})` }), make("div", { className: "ends" }, end(0, low), end(1, high)));
    }
  }

  fix(at, text) {
    const range = [...this.range()];
    const { name } = this.channel;
    const value = text.trim() === "" ? NaN : Number(text);
    if (Number.isFinite(value)) {
      range[at] = value;
      if (range[0] < range[1]) this.fixed.set(name, range);
    } else {
      this.fixed.delete(name);
    }
    byId("legend").dataset.key = "";
    document.activeElement?.blur();
    this.apply();
    this.changed?.();
  }
}
