// Strands: every segment is a ribbon that faces the camera, bent along the curve through four vertices in a row, and
// shaded around its tangent [Kajiya1989]. The vertices are used as the server sends them: the same buffer is bound four
// times, one vertex further each time.
import * as THREE from "three";
import { refill } from "./buffers.js";
import { COMMON, UNKNOWN } from "./shaders.js";

const VERTEX = /* glsl */ `
in vec2 corner;
in vec3 before, start, end, after;
in vec4 startMeta, endMeta;
in float startRadius, endRadius, startValue, endValue, startSecond, endSecond;
uniform float pixel, thinnest, widen;
uniform ivec2 chosen;
out vec3 tangent, place, side;
out float across, along, wet, light, lot, value, second, picked, thick;
void main() {
  int marks = int(startMeta.y * 255.0 + 0.5), ends = int(endMeta.y * 255.0 + 0.5);
  if ((marks & 2) != 0) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  vec3 a = (marks & 1) != 0 ? 2.0 * start - end : before, d = (ends & 2) != 0 ? 2.0 * end - start : after;
  float t = corner.x;
  vec3 p = 0.5 * (2.0 * start + t * (end - a + t * (2.0 * a - 5.0 * start + 4.0 * end - d + t * (3.0 * (start - end) + d - a))));
  vec3 way = 0.5 * (end - a + t * (2.0 * (2.0 * a - 5.0 * start + 4.0 * end - d) + t * 3.0 * (3.0 * (start - end) + d - a)));
  way = dot(way, way) > 0.0 ? way : end - start;
  vec4 seen = modelViewMatrix * vec4(p, 1.0);
  vec3 turned = mat3(modelViewMatrix) * way;
  vec3 aside = cross(turned, seen.xyz);
  aside = dot(aside, aside) > 0.0 ? normalize(aside) : vec3(1.0, 0.0, 0.0);
  float radius = mix(startRadius, endRadius, t) * widen;
  float onePixel = max(-seen.z, 1e-6) * pixel;
  picked = (gl_InstanceID >= chosen.x && gl_InstanceID < chosen.y) ? 1.0 : 0.0;
  float wide = max(radius, (0.5 + 0.9 * picked) * thinnest * onePixel);
  thick = smoothstep(1.2, 3.0, wide / onePixel);
  seen.xyz += aside * wide * corner.y;
  gl_Position = projectionMatrix * seen;
  if (picked > 0.5) gl_Position.z -= 0.0005 * gl_Position.w;
  tangent = normalize(way);
  side = aside * mat3(viewMatrix);
  place = (inverse(viewMatrix) * seen).xyz;
  across = corner.y;
  along = mix(float(marks >> 2), float(ends >> 2), t) / 63.0;
  wet = mix(startMeta.x, endMeta.x, t);
  light = mix(startMeta.z, endMeta.z, t);
  lot = startMeta.w;
  value = mix(startValue, endValue, t);
  second = mix(startSecond, endSecond, t);
}`;

const FRAGMENT = /* glsl */ `
${COMMON}
in vec3 tangent, place, side;
in float across, along, wet, light, lot, value, second, picked, thick;
uniform vec3 root, tip;
uniform float variation, valued;
out vec4 colour;

void main() {
  vec3 t = normalize(tangent), v = normalize(cameraPosition - place);
  vec3 facing = normalize(v - t * dot(v, t));
  vec3 n = normalize(side * across + facing * sqrt(max(1.0 - across * across, 0.0)));
  float open = 0.10 + 0.90 * light;
  vec3 base = mix(root, tip, along) * (1.0 + (0.25 + variation * 1.2) * (lot - 0.5));
  float shine = 40.0, gloss = 0.3;
  bool mapped = mode != 0;
  if (mapped) {
    base = valued > 0.5 ? valueColour(value, second, lot) : ${UNKNOWN};
    gloss = 0.05;
  } else {
    // Water between the scales lets light go deeper, and the film over them is smooth.
    base = pow(base, vec3(1.0 + 0.45 * wet)) * (1.0 - 0.35 * wet);
    shine = mix(40.0, 220.0, wet);
    gloss = mix(0.17, 1.0, wet);
  }
  vec3 sum = base * sky(n) * (mapped ? 0.62 + 0.38 * open : 0.16 + 0.84 * open);
  for (int i = 0; i < 2; i++) {
    vec3 l = i == 0 ? KEY : RIM;
    vec3 power = (i == 0 ? KEY_COLOUR : RIM_COLOUR) * (i == 0 ? open : 0.35 + 0.65 * open);
    float slant = dot(t, l), round = max(dot(n, l), 0.0);
    float lit = mix(sqrt(max(1.0 - slant * slant, 0.0)) * (0.45 + 0.55 * smoothstep(-0.5, 0.7, dot(facing, l))), round, thick);
    vec3 h = normalize(l + v);
    float shift = dot(t, h) + 0.05 + 0.06 * (lot - 0.5);
    float spark = pow(max(1.0 - shift * shift, 0.0), 0.5 * shine);
    float inner = dot(t, h) - 0.11;
    float glow = pow(max(1.0 - inner * inner, 0.0), 0.25 * shine);
    float ball = pow(max(dot(n, h), 0.0), shine);
    sum += power * (base * lit * (mapped ? 0.42 : 0.62) + gloss * mix(spark * 0.5, ball, thick) + base * glow * 0.36 * (1.0 - thick) * (mapped ? 0.0 : 1.0));
  }
  if (picked > 0.5) sum = vec3(1.6, 0.75, 0.12) * (0.6 + 0.4 * (1.0 - abs(across)));
  colour = develop(sum);
}`;

/** More pieces per segment while there are few. */
const pieces = (segments) => (segments < 40e3 ? 5 : segments < 120e3 ? 3 : segments < 400e3 ? 2 : 1);

/** One groom or rope. */
export class Strands {
  constructor(shared, pixel) {
    this.uniforms = {
      ...shared,
      pixel,
      thinnest: { value: 1.15 },
      widen: { value: 1 },
      chosen: { value: new Int32Array([-1, -1]) },
      root: { value: new THREE.Color(0.2, 0.1, 0.05) },
      tip: { value: new THREE.Color(0.2, 0.1, 0.05) },
      variation: { value: 0.2 },
      valued: { value: 0 },
    };
    const material = new THREE.ShaderMaterial({ uniforms: this.uniforms, vertexShader: VERTEX, fragmentShader: FRAGMENT, glslVersion: THREE.GLSL3, side: THREE.DoubleSide });
    this.geometry = new THREE.InstancedBufferGeometry();
    this.object = new THREE.Mesh(this.geometry, material);
    this.object.frustumCulled = false;
    this.buffers = new Map();
    this.cut = 0;
  }

  look(look) {
    if (!look) return;
    this.uniforms.root.value.setRGB(...look.root.map((x) => Math.max(x, 0.012)));
    this.uniforms.tip.value.setRGB(...look.tip.map((x) => Math.max(x, 0.012)));
    this.uniforms.variation.value = look.variation;
  }

  /** Shows the vertices of a frame; buffers are used again as long as they are large enough. */
  show(body) {
    this.body = body;
    const { arrays, vertices } = body;
    this.object.visible = this.wanted !== false && vertices > 0;
    if (vertices === 0) return;
    const cut = pieces(vertices);
    if (cut !== this.cut) this.strip(cut);
    this.bind("positions", arrays.positions, 3, false, ["before", "start", "end", "after"]);
    this.bind("meta", arrays.meta, 4, true, ["startMeta", "endMeta"]);
    this.bind("radius", arrays.radius, 1, false, ["startRadius", "endRadius"]);
    this.bind("value", arrays.value ?? arrays.radius, 1, false, ["startValue", "endValue"]);
    this.bind("second", arrays.second ?? arrays.radius, 1, false, ["startSecond", "endSecond"]);
    this.uniforms.valued.value = arrays.value ? 1 : 0;
    this.geometry.instanceCount = vertices;
    this.choose(this.number);
  }

  strip(cut) {
    this.cut = cut;
    const corners = [];
    const index = [];
    for (let i = 0; i <= cut; i++) corners.push(i / cut, -1, i / cut, 1);
    for (let i = 0; i < cut; i++) index.push(2 * i, 2 * i + 1, 2 * i + 2, 2 * i + 2, 2 * i + 1, 2 * i + 3);
    this.geometry.setAttribute("corner", new THREE.BufferAttribute(new Float32Array(corners), 2));
    this.geometry.setIndex(index);
  }

  /** One buffer for several attributes, each a vertex further. */
  bind(name, array, width, normalised, attributes) {
    const before = this.buffers.get(name);
    const now = refill(before, array, width, (room) => new THREE.InstancedInterleavedBuffer(room, width));
    if (now === before) return;
    this.buffers.set(name, now);
    attributes.forEach((attribute, i) => this.geometry.setAttribute(attribute, new THREE.InterleavedBufferAttribute(now, width, width * i, normalised)));
  }

  /** Lights up a strand by its number; none if it is not shown. */
  choose(number) {
    this.number = number;
    const at = number === undefined || !this.body ? -1 : this.body.arrays.numbers.indexOf(number);
    const { offsets } = this.body?.arrays ?? {};
    this.uniforms.chosen.value.set(at < 0 ? [-1, -1] : [offsets[at], offsets[at + 1]]);
  }

  /** The nearest strand to a point of the screen: {distance [px], depth, item, vertex}. */
  pick(search) {
    if (!this.object.visible) return null;
    const { positions, offsets, numbers } = this.body.arrays;
    let best = null;
    for (let strand = 0; strand < numbers.length; strand++) {
      let last = null;
      for (let vertex = offsets[strand]; vertex < offsets[strand + 1]; vertex++) {
        const at = 3 * (vertex + 1);
        const now = search.project(positions[at], positions[at + 1], positions[at + 2]);
        if (last && now) {
          const hit = search.segment(last, now);
          if (hit && search.better(hit, best)) best = { ...hit, item: numbers[strand], vertex: vertex - offsets[strand] - (hit.along < 0.5 ? 1 : 0) };
        }
        last = now;
      }
    }
    return best;
  }
}
