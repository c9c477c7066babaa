// Frames that were fetched, and those that will be wanted next.
import { bytes } from "./api.js";
import { parse } from "./packet.js";

const MOST_BYTES = 400e6;
const AT_ONCE = 3;

/** The frames of one run, as they were asked for. */
export class Store {
  constructor(run) {
    this.run = run;
    this.generation = null;
    this.wish = "";
    this.frames = new Map();
    this.waiting = new Map();
    this.failed = new Map();
    this.size = 0;
  }

  /** Forgets everything when the run, or what is wanted of its frames, is no longer the same. */
  update(generation, wish) {
    if (generation === this.generation && wish === this.wish) return false;
    const other = generation !== this.generation;
    this.generation = generation;
    this.wish = wish;
    for (const { abort } of this.waiting.values()) abort.abort();
    this.frames.clear();
    this.waiting.clear();
    this.failed.clear();
    this.size = 0;
    return other;
  }

  has(index) {
    return this.frames.has(index);
  }

  /** A frame; the newest asked for are kept. */
  async get(index) {
    const kept = this.frames.get(index);
    if (kept) {
      this.frames.delete(index);
      this.frames.set(index, kept);
      return kept;
    }
    const waiting = this.waiting.get(index);
    if (waiting) return waiting.promise;
    const abort = new AbortController();
    const key = `${this.generation} ${this.wish}`;
    const promise = bytes(`api/run/${this.run}/frame/${index}?${this.wish}`, abort.signal)
      .then(parse)
      .then((frame) => {
        if (key === `${this.generation} ${this.wish}`) this.keep(index, frame);
        return frame;
      })
      .catch((error) => {
        if (error.name !== "AbortError" && error.status !== 204 && key === `${this.generation} ${this.wish}`) this.failed.set(index, error.message);
        throw error;
      })
      .finally(() => {
        if (this.waiting.get(index)?.promise === promise) this.waiting.delete(index);
      });
    this.waiting.set(index, { promise, abort });
    return promise;
  }

  keep(index, frame) {
    this.frames.set(index, frame);
    this.size += frame.bytes;
    for (const [old, { bytes }] of this.frames) {
      if (this.size <= MOST_BYTES || old === index) break;
      this.frames.delete(old);
      this.size -= bytes;
    }
  }

  /** Fetches frames that will be wanted, nearest first, a few at a time, and not more than can be kept. */
  prefetch(indices) {
    const each = this.size / Math.max(this.frames.size, 1);
    const room = Math.max(1, Math.floor((0.6 * MOST_BYTES) / Math.max(each, 1)));
    for (const index of indices.slice(0, room)) {
      if (this.waiting.size >= AT_ONCE) return;
      if (!this.has(index) && !this.failed.has(index)) this.get(index).catch(() => {});
    }
  }
}
