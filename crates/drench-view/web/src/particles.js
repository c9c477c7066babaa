// Liquids and grains: every particle is a point that is drawn as a ball, with the depth of a ball.
import * as THREE from "three";
import { setValues } from "./buffers.js";
import { KINDS } from "./colours.js";
import { COMMON, UNKNOWN } from "./shaders.js";

const VERTEX = /* glsl */ `
in vec4 meta;
in float radius, value;
uniform float pixel, widen;
uniform int chosen;
out vec3 middle;
out float ball, wet, light, lot, amount, picked;
void main() {
  vec4 seen = modelViewMatrix * vec4(position, 1.0);
  ball = radius * widen;
  picked = gl_VertexID == chosen ? 1.0 : 0.0;
  gl_Position = projectionMatrix * seen;
  gl_PointSize = max(2.0 * ball / (max(-seen.z, 1e-6) * pixel), 1.5) * (1.0 + picked);
  middle = seen.xyz;
  wet = meta.x; light = meta.z; lot = meta.w; amount = value;
}`;

const FRAGMENT = /* glsl */ `
${COMMON}
in vec3 middle;
in float ball, wet, light, lot, amount, picked;
uniform mat4 projectionMatrix;
uniform vec3 dry, soaked;
uniform float variation, valued, liquid;
out vec4 colour;
void main() {
  vec2 at = 2.0 * gl_PointCoord - 1.0;
  at.y = -at.y;
  float r = dot(at, at);
  if (r > 1.0) discard;
  vec3 n = vec3(at, sqrt(1.0 - r));
  vec4 clip = projectionMatrix * vec4(middle + n * ball, 1.0);
  gl_FragDepth = clamp(0.5 * clip.z / clip.w + 0.5, 0.0, 1.0);
  vec3 v = normalize(-(middle + n * ball));
  vec3 world = n * mat3(viewMatrix), towards = v * mat3(viewMatrix);
  vec3 base = mix(dry, soaked, wet) * (1.0 + variation * 1.6 * (lot - 0.5));
  float open = liquid > 0.5 ? 1.0 : 0.22 + 0.78 * light;
  if (mode == 3 && liquid > 0.5) base = vec3(${new THREE.Color(KINDS.free).toArray().map((x) => x.toFixed(4)).join(", ")});
  else if (mode != 0) base = valued > 0.5 ? valueColour(amount, 0.0, lot) : ${UNKNOWN};
  vec3 sum = base * sky(world) * 0.85 * open;
  sum += base * KEY_COLOUR * max(dot(world, KEY), 0.0) * 0.62 * open + base * RIM_COLOUR * max(dot(world, RIM), 0.0) * 0.5;
  if (liquid > 0.5) {
    float fresnel = 0.03 + 0.97 * pow(1.0 - max(dot(world, towards), 0.0), 4.0);
    sum += (mode == 0 ? 1.0 : 0.4) * fresnel * vec3(0.45, 0.58, 0.72);
    sum += (mode == 0 ? 0.9 : 0.3) * pow(max(dot(world, normalize(KEY + towards)), 0.0), 90.0);
  } else {
    sum += wet * (mode == 0 ? 0.25 : 0.0) * pow(max(dot(world, normalize(KEY + towards)), 0.0), 40.0) * open;
  }
  if (picked > 0.5) sum = mix(vec3(1.6, 0.75, 0.12), sum, 0.15);
  colour = develop(sum);
}`;

/** A liquid or a heap of grains. */
export class Particles {
  constructor(shared, pixel) {
    this.uniforms = {
      ...shared,
      pixel,
      widen: { value: 1 },
      chosen: { value: -1 },
      dry: { value: new THREE.Color(0.6, 0.5, 0.35) },
      soaked: { value: new THREE.Color(0.3, 0.22, 0.14) },
      variation: { value: 0 },
      valued: { value: 0 },
      liquid: { value: 0 },
    };
    const material = new THREE.ShaderMaterial({ uniforms: this.uniforms, vertexShader: VERTEX, fragmentShader: FRAGMENT, glslVersion: THREE.GLSL3 });
    this.geometry = new THREE.BufferGeometry();
    this.object = new THREE.Points(this.geometry, material);
    this.object.frustumCulled = false;
  }

  look(look, liquid) {
    const { dry, soaked, variation } = this.uniforms;
    if (liquid) dry.value.setRGB(...liquid.map((x, i) => 0.10 + 0.5 * x * [0.25, 0.55, 1.0][i]));
    if (liquid) soaked.value.copy(dry.value);
    if (look) {
      dry.value.setRGB(...look.dry);
      soaked.value.setRGB(...look.wet);
      variation.value = look.variation;
    }
  }

  show(body) {
    if (this.body && body.frame !== this.body.frame && body.kind === "liquid") this.choose(undefined);
    this.body = body;
    const { arrays, shown } = body;
    this.uniforms.liquid.value = body.kind === "liquid" ? 1 : 0;
    this.object.visible = this.wanted !== false && shown > 0;
    if (shown === 0) return;
    setValues(this.geometry, "position", arrays.positions, 3);
    setValues(this.geometry, "meta", arrays.meta, 4, { normalised: true });
    setValues(this.geometry, "radius", arrays.radius, 1);
    setValues(this.geometry, "value", arrays.value ?? arrays.radius, 1);
    this.uniforms.valued.value = arrays.value ? 1 : 0;
    this.geometry.setDrawRange(0, shown);
    this.choose(this.number);
  }

  choose(number) {
    this.number = number;
    const { numbers } = this.body?.arrays ?? {};
    this.uniforms.chosen.value = number === undefined ? -1 : numbers ? numbers.indexOf(number) : number;
  }

  pick(search) {
    if (!this.object.visible) return null;
    const { positions, radius, numbers } = this.body.arrays;
    let best = null;
    for (let i = 0; i < this.body.shown; i++) {
      const now = search.project(positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]);
      const hit = now && search.ball(now, radius[i]);
      if (hit && search.better(hit, best)) best = { ...hit, item: numbers ? numbers[i] : i, vertex: 0 };
    }
    return best;
  }
}
