// Buffers of the graphics card that are used again from frame to frame.
import * as THREE from "three";

/** Puts an array into a buffer; into one that `make` makes, with some room to spare, if there is none or it is too small. */
export function refill(buffer, array, width, make) {
  if (!buffer || buffer.array.length < array.length || buffer.array.constructor !== array.constructor) {
    buffer = make(new array.constructor(Math.ceil((array.length * 1.2) / width) * width));
    buffer.setUsage(THREE.DynamicDrawUsage);
  }
  buffer.array.set(array);
  buffer.clearUpdateRanges();
  buffer.addUpdateRange(0, array.length);
  buffer.needsUpdate = true;
  return buffer;
}

/** Gives a geometry the values of a frame; those of an instanced one may belong to instances. */
export function setValues(geometry, name, array, width, { normalised = false, Attribute = THREE.BufferAttribute } = {}) {
  const before = geometry.getAttribute(name);
  const now = refill(before, array, width, (room) => new Attribute(room, width, normalised));
  if (now !== before) geometry.setAttribute(name, now);
}
