// The picture: one canvas, one camera, one or two runs side by side.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Particles } from "./particles.js";
import { Ground, Solid, Surface } from "./solids.js";
import { Strands } from "./strands.js";
import { Voxels } from "./voxels.js";

/** Nearest that a click must come to a strand [px]. */
const REACH = 9;

/** The bodies of one run. */
class World {
  constructor(stage) {
    this.stage = stage;
    this.scene = new THREE.Scene();
    this.bodies = new Map();
    this.ground = new Ground(stage.shared);
    this.scene.add(this.ground.object);
    this.hidden = new Set();
    this.look = null;
  }

  /** Shows a frame; returns the milliseconds that it took. */
  show(frame, look) {
    const clock = performance.now();
    const fresh = this.look !== look;
    this.look = look;
    this.frame = frame;
    const seen = new Set();
    const show = (key, body, make, dress) => {
      seen.add(key);
      let shown = this.bodies.get(key);
      if (!shown) {
        shown = make();
        this.bodies.set(key, shown);
        this.scene.add(shown.object);
      }
      if (fresh || !shown.dressed) dress(shown);
      shown.dressed = true;
      shown.wanted = !this.hidden.has(key);
      body.frame = frame.frame;
      shown.show(body);
    };
    const { shared, pixel } = this.stage;
    frame.strands.forEach((body, i) => show(`strands/${i}`, body, () => new Strands(shared, pixel), (s) => s.look(look.hair[body.name])));
    frame.particles.forEach((body, i) => {
      const dress = (s) => s.look(look.grains[body.name], body.kind === "liquid" ? look.liquid.colour : null);
      show(`particles/${i}`, body, () => new Particles(shared, pixel), dress);
      if (body.kind === "liquid" && frame.surface && this.stage.shared.mode.value === 0) this.bodies.get(`particles/${i}`).object.visible = false;
    });
    frame.solids.forEach((body, i) => {
      const key = `solids/${i}`;
      if (fresh && look.solids[body.name]?.visible === false) this.hidden.add(key);
      show(key, body, () => new Solid(shared), (s) => s.look(look.solids[body.name]));
    });
    if (frame.surface && this.stage.shared.mode.value === 0) {
      show("surface", frame.surface, () => new Surface(shared), (s) => s.look(look.liquid.colour));
      this.bodies.get("surface").object.visible = frame.surface.triangles > 0 && !frame.particles.some((body, i) => body.kind === "liquid" && this.hidden.has(`particles/${i}`));
    }
    if (frame.porous) show("voxels/0", frame.porous, () => new Voxels(shared), () => {});
    for (const [key, body] of this.bodies) if (!seen.has(key)) body.object.visible = false;
    if (fresh) this.ground.look(look.ground, this.box());
    return performance.now() - clock;
  }

  /** The box around what is worth seeing: not endless planes, and not the few drops that fly far. */
  box() {
    const box = new THREE.Box3();
    const point = new THREE.Vector3();
    const add = (array, from, to, margin) => {
      const count = (to - from) / 3;
      const step = 3 * Math.max(1, Math.floor(count / 4000));
      const axes = [[], [], []];
      for (let i = from; i < to; i += step) for (let k = 0; k < 3; k++) axes[k].push(array[i + k]);
      axes.forEach((axis) => axis.sort((a, b) => a - b));
      if (axes[0].length === 0) return;
      for (const part of [margin, 1 - margin]) box.expandByPoint(point.fromArray(axes.map((axis) => axis[Math.round(part * (axis.length - 1))])));
    };
    for (const { body, object } of this.bodies.values()) {
      if (!object.visible || !body) continue;
      if (this.look.planes.includes(body.name)) continue;
      const { positions } = body.arrays;
      if (body.strands !== undefined) add(positions, 3, positions.length - 6, 0.002);
      else add(positions, 0, positions.length, body.kind === "liquid" ? 0.02 : 0);
    }
    if (box.isEmpty()) box.set(new THREE.Vector3(-0.5, -0.5, -0.5), new THREE.Vector3(0.5, 0.5, 0.5));
    return box;
  }

  /** Removes all bodies; which of them are hidden is remembered unless another run takes this place. */
  clear(other = true) {
    for (const { object, geometry } of this.bodies.values()) {
      this.scene.remove(object);
      geometry.dispose();
      object.material.dispose();
    }
    this.bodies.clear();
    if (other) this.hidden.clear();
    this.look = null;
    this.frame = null;
  }
}

export class Stage {
  constructor(canvas, colouring) {
    this.canvas = canvas;
    this.shared = colouring.uniforms;
    this.pixel = { value: 0.001 };
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true, powerPreference: "high-performance" });
    this.renderer.setClearColor(0x000000, 0);
    this.renderer.autoClear = false;
    this.camera = new THREE.PerspectiveCamera(30, 1, 0.01, 100);
    this.camera.position.set(0.5, 0.3, 1.2);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.addEventListener("start", () => this.onfree?.());
    this.controls.addEventListener("change", () => (this.dirty = true));
    this.worlds = [new World(this), new World(this)];
    this.compare = false;
    this.dirty = true;
    this.times = [];
    new ResizeObserver(() => (this.dirty = true)).observe(canvas);
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.onlost?.();
    });
    canvas.addEventListener("webglcontextrestored", () => (this.dirty = true));
  }

  /** Draws if something changed. */
  draw() {
    this.controls.update();
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (this.width !== width || this.height !== height || this.ratio !== ratio) {
      [this.width, this.height, this.ratio] = [width, height, ratio];
      this.renderer.setPixelRatio(ratio);
      this.renderer.setSize(width, height, false);
      this.dirty = true;
    }
    if (!this.dirty || width === 0 || height === 0) return false;
    this.dirty = false;
    const clock = performance.now();
    const panes = this.compare ? 2 : 1;
    const wide = width / panes;
    const { camera, renderer } = this;
    camera.aspect = wide / height;
    const away = Math.max(camera.position.distanceTo(this.controls.target), 1e-3);
    camera.near = away / 100;
    camera.far = away * 60;
    camera.updateProjectionMatrix();
    this.pixel.value = (2 * Math.tan((camera.fov * Math.PI) / 360)) / (height * ratio);
    renderer.setScissorTest(false);
    renderer.clear();
    renderer.setScissorTest(true);
    for (let i = 0; i < panes; i++) {
      renderer.setViewport(i * wide, 0, wide, height);
      renderer.setScissor(i * wide, 0, wide, height);
      if (this.worlds[i].frame) renderer.render(this.worlds[i].scene, camera);
    }
    this.drawTime = performance.now() - clock;
    return true;
  }

  /** Looks at everything from the front, a little from above. */
  frameAll() {
    const box = this.worlds[0].box();
    const centre = box.getCenter(new THREE.Vector3());
    const radius = Math.max(0.5 * box.getSize(new THREE.Vector3()).length(), 1e-4);
    const aspect = this.canvas.clientWidth / (this.compare ? 2 : 1) / Math.max(this.canvas.clientHeight, 1);
    const half = Math.atan(Math.tan((this.camera.fov * Math.PI) / 360) * Math.min(aspect, 1));
    const direction = new THREE.Vector3().subVectors(this.camera.position, this.controls.target);
    if (!(direction.length() > 0) || !this.framed) direction.set(0.35, 0.25, 1);
    this.framed = true;
    this.camera.up.set(0, 1, 0);
    this.camera.position.copy(centre).addScaledVector(direction.normalize(), (1.02 * radius) / Math.sin(half));
    this.controls.target.copy(centre);
    this.dirty = true;
  }

  /** Looks through a camera of the scene. */
  through(view) {
    this.framed = true;
    this.camera.fov = (view.field_of_view * 180) / Math.PI;
    this.camera.up.fromArray(view.up);
    this.camera.position.fromArray(view.position);
    this.controls.target.fromArray(view.target);
    this.controls.update();
    this.dirty = true;
  }

  /** What is under a point of the canvas: {pane, kind, body, item, vertex}, or nothing. */
  pick(x, y) {
    const panes = this.compare ? 2 : 1;
    const wide = this.canvas.clientWidth / panes;
    const pane = Math.min(Math.floor(x / wide), panes - 1);
    const world = this.worlds[pane];
    if (!world.frame) return null;
    const search = new Search(this.camera, x - pane * wide, y, wide, this.canvas.clientHeight);
    for (const [key, body] of world.bodies) if (key.startsWith("solids")) search.block(body.meets(search.ray));
    let best = null;
    for (const [key, body] of world.bodies) {
      const hit = body.pick?.(search);
      if (hit && search.better(hit, best)) {
        const [kind, number] = key.split("/");
        best = { ...hit, pane, kind, body: Number(number) };
      }
    }
    return best;
  }

  /** Lights up what was picked. */
  choose(pick) {
    this.worlds.forEach((world, pane) => {
      for (const [key, body] of world.bodies) body.choose?.(pick && pick.pane === pane && key === `${pick.kind}/${pick.body}` ? pick.item : undefined);
    });
    this.dirty = true;
  }
}

/** Finds what lies under a point of the screen, nearest to the eye first. */
class Search {
  constructor(camera, x, y, width, height) {
    camera.updateMatrixWorld();
    Object.assign(this, { x, y, width, height, depth: Infinity });
    this.matrix = new THREE.Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse).elements;
    this.scale = (0.5 * height) / Math.tan((camera.fov * Math.PI) / 360);
    const caster = new THREE.Raycaster();
    caster.setFromCamera(new THREE.Vector2((2 * x) / width - 1, 1 - (2 * y) / height), camera);
    this.ray = caster.ray;
    this.straight = caster.ray.direction.dot(camera.getWorldDirection(new THREE.Vector3()));
  }

  /** Nothing beyond this distance from the eye is seen. */
  block(distance) {
    this.depth = Math.min(this.depth, distance * this.straight);
  }

  project(px, py, pz) {
    const e = this.matrix;
    const w = e[3] * px + e[7] * py + e[11] * pz + e[15];
    if (!(w > 0)) return null;
    const x = (e[0] * px + e[4] * py + e[8] * pz + e[12]) / w;
    const y = (e[1] * px + e[5] * py + e[9] * pz + e[13]) / w;
    return { x: (0.5 + 0.5 * x) * this.width, y: (0.5 - 0.5 * y) * this.height, depth: w };
  }

  segment(a, b) {
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const length = dx * dx + dy * dy;
    const along = length > 0 ? Math.min(Math.max(((this.x - a.x) * dx + (this.y - a.y) * dy) / length, 0), 1) : 0;
    const distance = Math.hypot(a.x + along * dx - this.x, a.y + along * dy - this.y);
    const depth = a.depth + along * (b.depth - a.depth);
    return distance < REACH && depth < this.depth * 1.002 ? { distance, depth, along } : null;
  }

  ball(at, radius) {
    const distance = Math.max(Math.hypot(at.x - this.x, at.y - this.y) - (radius * this.scale) / at.depth, 0);
    return distance < 0.5 * REACH && at.depth - radius < this.depth ? { distance, depth: at.depth - radius } : null;
  }

  /** Near the pointer counts more than near the eye within one depth: a pixel is worth half a percent of it. */
  better(hit, than) {
    return !than || hit.depth * (1 + 0.005 * hit.distance) < than.depth * (1 + 0.005 * than.distance);
  }
}
