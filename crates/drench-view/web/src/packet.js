// A frame from the server: a JSON header, then arrays that are used where they lie. See packet.rs for the layout.

const TYPES = { f32: Float32Array, u32: Uint32Array, u8: Uint8Array };

/** The header, with each array's description replaced by the array itself. */
export function parse(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, false) !== 0x44524631) throw new Error("the server sent no frame");
  const length = view.getUint32(4, true);
  const frame = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const bodies = [...frame.strands, ...frame.particles, ...frame.solids, ...(frame.surface ? [frame.surface] : []), ...(frame.porous ? [frame.porous] : [])];
  for (const body of bodies) {
    for (const [name, [at, count, type]] of Object.entries(body.arrays)) {
      body.arrays[name] = new TYPES[type](buffer, 8 + length + at, count);
    }
  }
  frame.bytes = buffer.byteLength;
  return frame;
}
