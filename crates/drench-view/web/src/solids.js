// Solids, the surface of liquids, and the ground.
import * as THREE from "three";
import { setValues } from "./buffers.js";
import { COMMON } from "./shaders.js";

const VERTEX = /* glsl */ `
out vec3 place, turned;
void main() {
  place = (modelMatrix * vec4(position, 1.0)).xyz;
  turned = mat3(modelMatrix) * normal;
  gl_Position = projectionMatrix * viewMatrix * vec4(place, 1.0);
}`;

const SOLID = /* glsl */ `
${COMMON}
in vec3 place, turned;
uniform vec3 base;
uniform float roughness, opacity;
out vec4 colour;
void main() {
  vec3 v = normalize(cameraPosition - place), n = normalize(turned);
  if (dot(n, v) < 0.0) n = -n;
  float shine = mix(160.0, 8.0, roughness);
  vec3 sum = base * sky(n) * 0.9;
  sum += KEY_COLOUR * (base * max(dot(n, KEY), 0.0) * 0.62 + 0.16 * (1.0 - roughness) * pow(max(dot(n, normalize(KEY + v)), 0.0), shine));
  sum += RIM_COLOUR * (base * max(dot(n, RIM), 0.0) * 0.5 + 0.10 * pow(1.0 - max(dot(n, v), 0.0), 4.0));
  if (mode != 0) sum = mix(sum, vec3(dot(sum, vec3(0.3, 0.6, 0.1))), 0.7) * 0.8;
  colour = vec4(develop(sum).rgb, opacity);
}`;

const LIQUID = /* glsl */ `
${COMMON}
in vec3 place, turned;
uniform vec3 base;
out vec4 colour;
void main() {
  vec3 v = normalize(cameraPosition - place), n = normalize(turned);
  if (dot(n, v) < 0.0) n = -n;
  float fresnel = 0.03 + 0.97 * pow(1.0 - max(dot(n, v), 0.0), 4.0);
  vec3 mirrored = reflect(-v, n);
  vec3 sum = base * (0.35 + 0.5 * max(dot(n, KEY), 0.0)) + fresnel * (sky(mirrored) * 1.3 + 0.3 * smoothstep(0.2, 0.9, mirrored.y));
  float spark = pow(max(dot(n, normalize(KEY + v)), 0.0), 120.0);
  colour = vec4(develop(sum + 1.4 * spark).rgb, clamp(0.42 + 0.5 * fresnel + spark, 0.0, 1.0));
}`;

const GROUND = /* glsl */ `
${COMMON}
in vec3 place, turned;
uniform vec3 base, centre;
uniform float reach;
out vec4 colour;
void main() {
  float away = length(place.xz - centre.xz) / reach;
  vec3 sum = base * (0.10 + 0.26 * exp(-9.0 * away * away));
  if (mode != 0) sum = vec3(dot(sum, vec3(0.3, 0.6, 0.1))) * 0.7;
  colour = vec4(develop(sum).rgb, 1.0 - smoothstep(0.15, 0.9, away));
}`;

const material = (fragment, uniforms, transparent = false) =>
  new THREE.ShaderMaterial({ uniforms, vertexShader: VERTEX, fragmentShader: fragment, glslVersion: THREE.GLSL3, side: THREE.DoubleSide, transparent });

/** A mesh whose vertices come with every frame. */
class Mesh {
  constructor(shaded) {
    this.geometry = new THREE.BufferGeometry();
    this.object = new THREE.Mesh(this.geometry, shaded);
    this.object.frustumCulled = false;
  }

  show(body) {
    this.body = body;
    this.object.visible = this.wanted !== false && body.triangles > 0;
    if (body.triangles === 0) return;
    setValues(this.geometry, "position", body.arrays.positions, 3);
    setValues(this.geometry, "normal", body.arrays.normals, 3);
    if (body.topology === undefined || body.topology !== this.topology) {
      this.topology = body.topology;
      const { index } = this.geometry;
      const { triangles } = body.arrays;
      if (!index || index.array.length < triangles.length) this.geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(Math.ceil(triangles.length * 1.25)), 1));
      this.geometry.index.array.set(triangles);
      this.geometry.index.needsUpdate = true;
      this.geometry.setDrawRange(0, triangles.length);
    }
  }
}

export class Solid extends Mesh {
  constructor(shared) {
    const uniforms = { ...shared, base: { value: new THREE.Color(0.5, 0.5, 0.5) }, roughness: { value: 0.6 }, opacity: { value: 1 } };
    super(material(SOLID, uniforms));
    this.uniforms = uniforms;
  }

  look(look) {
    if (!look) return;
    this.uniforms.base.value.setRGB(...look.colour);
    this.uniforms.roughness.value = look.roughness;
  }

  /** Distance from the eye at which a ray meets it, or infinity. */
  meets(ray) {
    if (!this.object.visible) return Infinity;
    const { positions, triangles } = this.body.arrays;
    const corners = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()];
    const hit = new THREE.Vector3();
    let nearest = Infinity;
    for (let i = 0; i < triangles.length; i += 3) {
      for (let k = 0; k < 3; k++) corners[k].fromArray(positions, 3 * triangles[i + k]);
      if (ray.intersectTriangle(...corners, false, hit)) nearest = Math.min(nearest, hit.distanceTo(ray.origin));
    }
    return nearest;
  }
}

export class Surface extends Mesh {
  constructor(shared) {
    const uniforms = { ...shared, base: { value: new THREE.Color(0.2, 0.4, 0.6) } };
    super(material(LIQUID, uniforms, true));
    this.uniforms = uniforms;
    this.object.renderOrder = 2;
  }

  look(colour) {
    this.uniforms.base.value.setRGB(...colour.map((x, i) => 0.04 + 0.4 * x * [0.3, 0.6, 1.0][i]));
  }
}

/** The floor, which fades into the dark. */
export class Ground {
  constructor(shared) {
    this.uniforms = { ...shared, base: { value: new THREE.Color(0.5, 0.5, 0.5) }, centre: { value: new THREE.Vector3() }, reach: { value: 1 } };
    this.object = new THREE.Mesh(new THREE.PlaneGeometry(1, 1).rotateX(-Math.PI / 2), material(GROUND, this.uniforms, true));
    this.object.frustumCulled = false;
    this.object.renderOrder = -1;
    this.object.visible = false;
  }

  look(ground, box) {
    this.object.visible = !!ground;
    if (!ground) return;
    const reach = 2.6 * Math.max(box.getSize(new THREE.Vector3()).length(), 0.05);
    box.getCenter(this.uniforms.centre.value);
    this.uniforms.base.value.setRGB(...ground.colour);
    this.uniforms.reach.value = reach;
    this.object.position.set(this.uniforms.centre.value.x, ground.height, this.uniforms.centre.value.z);
    this.object.scale.setScalar(2 * reach);
  }
}
