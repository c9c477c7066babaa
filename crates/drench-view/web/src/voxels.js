// The porous grid: every voxel that holds hair is a pane of glass, tan where it is dry and blue where it is full.
import * as THREE from "three";
import { setValues } from "./buffers.js";
import { COMMON } from "./shaders.js";

const VERTEX = /* glsl */ `
in vec3 centre;
in float value;
uniform float edge;
uniform int chosen;
out vec3 place, turned;
out float full, picked;
void main() {
  place = centre + 0.94 * edge * position;
  turned = normal;
  full = value;
  picked = gl_InstanceID == chosen ? 1.0 : 0.0;
  gl_Position = projectionMatrix * viewMatrix * vec4(place, 1.0);
}`;

const FRAGMENT = /* glsl */ `
${COMMON}
in vec3 place, turned;
in float full, picked;
out vec4 colour;
void main() {
  vec3 base = mix(vec3(0.62, 0.48, 0.28), vec3(0.02, 0.16, 0.62), clamp(full, 0.0, 1.0));
  if (picked > 0.5) base = vec3(1.6, 0.75, 0.12);
  vec3 sum = base * (sky(turned) * 0.9 + KEY_COLOUR * max(dot(turned, KEY), 0.0) * 0.6 + 0.15);
  colour = vec4(develop(sum).rgb, picked > 0.5 ? 0.9 : 0.3 + 0.35 * clamp(full, 0.0, 1.0));
}`;

export class Voxels {
  constructor(shared) {
    this.uniforms = { ...shared, edge: { value: 1 }, chosen: { value: -1 } };
    const material = new THREE.ShaderMaterial({ uniforms: this.uniforms, vertexShader: VERTEX, fragmentShader: FRAGMENT, glslVersion: THREE.GLSL3, transparent: true });
    const { index, attributes } = new THREE.BoxGeometry(1, 1, 1);
    this.geometry = new THREE.InstancedBufferGeometry();
    this.geometry.setIndex(index);
    this.geometry.setAttribute("position", attributes.position);
    this.geometry.setAttribute("normal", attributes.normal);
    this.object = new THREE.Mesh(this.geometry, material);
    this.object.frustumCulled = false;
    this.object.renderOrder = 1;
  }

  show(body) {
    this.body = body;
    this.object.visible = body.count > 0;
    if (body.count === 0) return;
    const Attribute = THREE.InstancedBufferAttribute;
    setValues(this.geometry, "centre", body.arrays.positions, 3, { Attribute });
    setValues(this.geometry, "value", body.arrays.value, 1, { Attribute });
    this.uniforms.edge.value = body.edge;
    this.geometry.instanceCount = body.count;
    this.choose(this.at(this.chosen));
  }

  centre(item) {
    return item === undefined ? undefined : [...this.body.arrays.positions.slice(3 * item, 3 * item + 3)];
  }

  /** The number of the voxel with this centre: it stays where it is, but its number does not. */
  at(centre) {
    if (!centre) return undefined;
    const { positions } = this.body.arrays;
    for (let i = 0; i < this.body.count; i++) if (centre.every((x, k) => positions[3 * i + k] === x)) return i;
    return undefined;
  }

  choose(item) {
    this.chosen = this.body && item !== undefined ? this.centre(item) : undefined;
    this.uniforms.chosen.value = item ?? -1;
  }

  /** The first voxel that the ray of a search goes through. */
  pick(search) {
    if (!this.object.visible) return null;
    const half = 0.5 * this.body.edge;
    const box = new THREE.Box3();
    const [middle, size, hit] = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()];
    size.setScalar(2 * half);
    let best = null;
    for (let item = 0; item < this.body.count; item++) {
      middle.fromArray(this.body.arrays.positions, 3 * item);
      if (!search.ray.intersectBox(box.setFromCenterAndSize(middle, size), hit)) continue;
      const depth = hit.distanceTo(search.ray.origin) * search.straight;
      if (depth < search.depth && (!best || depth < best.depth)) best = { distance: 0, depth, item, vertex: 0, centre: middle.toArray() };
    }
    return best;
  }
}
