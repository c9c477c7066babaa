// The page: what is shown, and what every button and key does.
import { json, post, Refused } from "./api.js";
import { Colouring } from "./colours.js";
import { byId, count, make, notice, quantity, short } from "./dom.js";
import { Timeline } from "./graphs.js";
import { Parameters } from "./parameters.js";
import { Stage } from "./stage.js";
import { Store } from "./store.js";

const POLL = 700;
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
const DETAILS = [["all", 1e9], ["up to 1.5 M vertices", 1.5e6], ["up to 500 k vertices", 5e5], ["up to 100 k vertices", 1e5]];
const KEYS = [
  ["Space", "play, pause"], ["← →", "a frame back, on; with Shift ten"], ["Home End", "first, last frame"], ["[ ]", "slower, faster"], ["L", "loop"],
  ["F", "frame everything"], ["C", "next camera of the scene"], ["0 … 9", "colour by: natural, then the others in order"], ["S", "liquid as a surface or as particles"], ["V", "porous grid in which hair takes up water"],
  ["H", "side panel"], ["G", "graphs"], ["P", "pause or let go on the simulation"], ["Esc", "let go of what was picked"], ["?", "this page"],
];
const ICONS = {
  first: "M3 2h2v12H3zM14 2v12L6 8z", back: "M11 2v12L4 8zM12 2h2v12h-2z", play: "M4 2l10 6-10 6z", pause: "M4 2h3v12H4zM9 2h3v12H9z", on: "M5 2l7 6-7 6zM2 2h2v12H2z",
  loop: "M3 8a5 5 0 0 1 8.5-3.5L13 3v4H9l1.5-1.5A3.5 3.5 0 1 0 11 10h1.6A5 5 0 0 1 3 8z",
};

const colouring = new Colouring();
let stage;
try {
  stage = new Stage(byId("picture"), colouring);
} catch {
  notice("This browser cannot draw in three dimensions (WebGL 2 is off).\nTurn on hardware acceleration, or try another browser.", true);
  throw new Error("no WebGL 2");
}

const page = {
  runs: [], live: null, stores: [], looks: [], shown: [null, null], second: null,
  frame: 0, playing: false, loop: true, speed: 1, follow: true, clock: 0,
  camera: null, children: true, surface: false, porous: false, budget: DETAILS[1][1], thickness: 1, pick: null, others: [], ready: false, told: 0,
};
window.drench = { page, stage, colouring };

const timeline = new Timeline((frame) => {
  page.playing = false;
  page.follow = false;
  go(frame);
});
timeline.loaded = () => page.stores[0]?.frames.keys() ?? [];
timeline.broken = () => [...(page.stores[0]?.failed.keys() ?? []), ...(page.runs[0]?.frames?.missing ?? [])];

const parameters = new Parameters(rerun, () => page.frame);

// ---------------------------------------------------------------- data

const last = () => page.runs[0]?.frames?.last ?? 0;
const fps = () => page.runs[0]?.fps ?? 24;

function wish() {
  const channel = colouring.channel?.name ?? "";
  return new URLSearchParams({ channel, budget: page.budget, children: page.children ? 1 : 0, surface: page.surface && !channel ? 1 : 0, porous: page.porous ? 1 : 0 }).toString();
}

/** Asks how the runs stand, and goes on with what changed. */
async function poll() {
  try {
    accept(await json("api/state"));
    page.lost = 0;
  } catch (error) {
    page.lost = (page.lost ?? 0) + 1;
    if (page.lost === 3) notice("The viewer was closed: start `drench view` again, and open the address that it prints.", true);
    if (error instanceof Refused && page.lost < 3) notice(error.message, true);
  }
  const moving = page.live && !["finished", "failed"].includes(page.live.state) || page.runs.some((run) => ["running", "waiting"].includes(run.status));
  clearTimeout(page.timer);
  page.timer = setTimeout(poll, page.lost > 2 ? 4000 : moving ? POLL : 3 * POLL);
}

function accept(state) {
  const before = page.runs;
  page.runs = state.runs;
  const first = page.runs[0];
  const changedLive = JSON.stringify(page.live?.set) !== JSON.stringify(state.live?.set) || !page.live !== !state.live;
  page.live = state.live;
  if (state.live && changedLive) loadParameters();
  const shown = page.second === null ? [0] : [0, page.second];
  for (const [pane, number] of shown.entries()) {
    const run = page.runs[number];
    page.stores[pane] = page.stores[pane]?.run === number ? page.stores[pane] : new Store(number);
    if (run?.generation && page.stores[pane].update(run.generation, wish())) begin(pane);
  }
  if (first.problem) notice(first.problem, true);
  else if (page.live?.state === "failed") notice(page.live.message, true);
  else if (first.frames?.last === undefined || first.frames?.last === null) notice(waitingText(first));
  else if (page.ready && !page.frameProblem) quiet();
  // The last frames may come together with the news that there are no more.
  const growing = isGrowing();
  if (page.follow && (growing || page.grew) && page.ready && last() > page.frame && !page.playing) go(last());
  page.grew = growing;
  const grew = before[0]?.frames?.last !== first.frames?.last || before[0]?.generation !== first.generation;
  if (grew) loadStats();
  timeline.available = last();
  timeline.last = Math.max(last(), isGrowing() ? first.wanted ?? 0 : 0);
  head();
  timeline.draw();
}

/** Says something that is no lasting state, for long enough to be read. */
function tell(text) {
  page.told = performance.now() + 9000;
  notice(text, true);
}

/** Takes back what was said, unless somebody may still be reading it. */
function quiet() {
  if (performance.now() > page.told) notice(null);
}

const isGrowing = () => ["running", "waiting"].includes(page.runs[0]?.status) || ["running", "building", "paused"].includes(page.live?.state);

function waitingText(run) {
  if (page.live?.state === "building") return "Building the scene, and letting it settle …";
  if (run.status === "running" || page.live) return "Waiting for the first frame …";
  return "This run holds no frames.\nIt was stopped before the first: go on with `drench run … --resume`.";
}

/** A run that was not seen before: its looks, its figures, its first frame. */
async function begin(pane) {
  const { run } = page.stores[pane];
  try {
    page.looks[pane] = await json(`api/run/${run}/scene`);
  } catch (error) {
    return notice(error.message, true);
  }
  stage.worlds[pane].clear(pane !== 0);
  if (pane === 0) {
    byId("shows").textContent = page.looks[0].shows;
    page.ready = false;
    unpick();
    loadStats();
    const first = page.runs[0].frames?.first ?? 0;
    await go(page.frame && page.frame <= last() ? page.frame : page.follow && isGrowing() ? last() : first, true);
    panel();
  } else {
    await go(page.frame, true);
  }
}

async function loadStats() {
  try {
    timeline.figures(await json("api/run/0/stats"));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
}

async function loadParameters() {
  parameters.show(await json("api/parameters"), page.live.set);
  panel();
}

/** Goes to a frame and shows it as soon as it is there; only the last that was asked for counts. */
async function go(frame, force = false) {
  const index = Math.min(Math.max(frame, page.runs[0]?.frames?.first ?? 0), last());
  if (index === page.frame && !force && page.ready) return;
  page.frame = index;
  page.wanted = (page.wanted ?? 0) + 1;
  const turn = page.wanted;
  timeline.frame = index;
  readout();
  timeline.draw();
  byId("busy").classList.toggle("on", !page.stores[0]?.has(index));
  const panes = page.second === null || !page.looks[1] ? [0] : [0, 1];
  const results = await Promise.allSettled(panes.map((pane) => page.stores[pane].get(frameOf(pane, index))));
  if (turn !== page.wanted) return;
  byId("busy").classList.remove("on");
  results.forEach((result, pane) => {
    if (result.status === "fulfilled") show(pane, result.value);
    else if (result.reason.name !== "AbortError" && (result.reason.status !== 204 || !isGrowing())) failed(pane, index, result.reason);
  });
  if (results[0].status === "fulfilled" && page.frameProblem) {
    page.frameProblem = false;
    quiet();
  }
  ahead();
}

/** The frame of a run at the same time as a frame of the first. */
function frameOf(pane, index) {
  if (pane === 0) return index;
  const run = page.runs[page.second];
  const frame = Math.round((index / fps()) * run.fps);
  return Math.min(Math.max(frame, run.frames?.first ?? 0), run.frames?.last ?? 0);
}

function failed(pane, index, error) {
  if (pane === 0) {
    page.frameProblem = true;
    notice(`Frame ${index} cannot be shown: ${error.message}`, true);
  }
  timeline.draw();
}

function show(pane, frame) {
  colouring.see(frame);
  const took = stage.worlds[pane].show(frame, page.looks[pane]);
  stage.times.push({ frame: frame.frame, took, bytes: frame.bytes });
  if (stage.times.length > 500) stage.times.shift();
  stage.worlds[pane].bodies.forEach((body) => body.uniforms?.widen && body.constructor.name && (body.uniforms.widen.value = widening(body)));
  if (pane === 0) {
    const first = !page.ready;
    page.ready = true;
    channels(frame);
    if (page.camera !== null) look(frame);
    if (first) {
      quiet();
      if (!stage.framed) {
        if (frame.cameras.length > 0) {
          page.camera = 0;
          look(frame);
        } else {
          stage.frameAll();
        }
      }
      panel();
    }
    bodies(frame);
  }
  if (page.pick?.pane === pane) page.pick.kind === "voxels" ? followVoxel() : readPick();
  stage.dirty = true;
}

const widening = (body) => (body.uniforms.thinnest ? page.thickness : 1);

function look(frame) {
  const view = frame.cameras[page.camera];
  if (view) stage.through(view);
}

/** Fetches what comes next in the direction of time. */
function ahead() {
  const next = [];
  for (let i = 1; i <= 12; i++) {
    const frame = page.frame + i;
    next.push(frame > last() && page.loop ? (page.runs[0]?.frames?.first ?? 0) + frame - last() - 1 : Math.min(frame, last()));
  }
  if (page.playing) page.stores[0]?.prefetch(next);
  else page.stores[0]?.prefetch(next.slice(0, 2));
  if (page.second !== null) page.stores[1]?.prefetch(next.slice(0, 6).map((frame) => frameOf(1, frame)));
}

// ---------------------------------------------------------------- time

function tick(now) {
  const passed = Math.min((now - page.clock) / 1000, 0.25);
  page.clock = now;
  if (page.playing && page.ready) {
    page.due = (page.due ?? 0) + passed * fps() * page.speed;
    const steps = Math.floor(page.due);
    if (steps >= 1) {
      const first = page.runs[0].frames?.first ?? 0;
      let next = page.frame + steps;
      if (next > last()) next = page.loop && !isGrowing() ? first : last();
      if (page.stores[0].has(next) || page.stores[0].failed.has(next)) {
        page.due -= steps;
        go(next);
      } else {
        // Time waits for the frame.
        page.due = Math.min(page.due, steps);
        page.stores[0].get(next).catch(() => {});
      }
      if (next === last() && !page.loop && !isGrowing()) play(false);
    }
  }
  stage.draw();
  requestAnimationFrame(tick);
}

function play(on = !page.playing) {
  page.playing = on;
  page.due = 0;
  if (on && page.frame >= last() && !isGrowing()) go(page.runs[0]?.frames?.first ?? 0);
  if (on) ahead();
  buttons();
}

function step(by) {
  play(false);
  page.follow = page.frame + by >= last();
  go(page.frame + by);
}

// ---------------------------------------------------------------- what is picked

async function readPick() {
  const { pane, kind, body, item, vertex } = page.pick;
  const asked = page.pick;
  const world = stage.worlds[pane];
  const number = pane === 0 ? 0 : page.second;
  try {
    const found = await json(`api/run/${number}/pick/${world.frame.frame}?${new URLSearchParams({ kind, body, item, vertex })}`);
    if (asked === page.pick) card(found);
  } catch {
    if (asked === page.pick) unpick();
  }
}

/** Reads the values of the same voxel in another frame, if there still is hair in it. */
function followVoxel() {
  const grid = stage.worlds[page.pick.pane].bodies.get("voxels/0");
  const item = grid?.object.visible ? grid.at(page.pick.centre) : undefined;
  if (item === undefined) return unpick();
  page.pick = { ...page.pick, item };
  stage.choose(page.pick);
  readPick();
}

function pick(x, y) {
  page.pick = stage.pick(x, y);
  stage.choose(page.pick);
  if (page.pick) readPick();
  else unpick();
  return page.pick;
}

function unpick() {
  page.pick = null;
  byId("picked").hidden = true;
  stage.choose(null);
}

function card({ title, values, along }) {
  const text = (value, unit) => (Array.isArray(value) ? value.map(short).join(", ") + (unit ? ` ${unit}` : "") : typeof value === "number" && unit ? quantity(value, unit) : short(value));
  const rows = values.map(({ name, value, unit }) => make("tr", {}, make("td", {}, name.replaceAll("_", " ")), make("td", {}, text(value, unit))));
  const profiles = Object.entries(along ?? {}).filter(([, list]) => list.length > 1 && list.some((value) => value !== list[0])).map(([name, list]) => profile(name, list));
  byId("picked").replaceChildren(
    make("button", { className: "close", title: "Let go (Esc)", onclick: unpick }, "✕"), make("h2", {}, title), make("table", {}, make("tbody", {}, ...rows)), ...profiles);
  byId("picked").hidden = false;
}

/** Values from root to tip as a small curve. */
function profile(name, list) {
  const [low, high] = [Math.min(...list), Math.max(...list)];
  const points = list.map((value, i) => `${(100 * i) / (list.length - 1)},${38 - (34 * (value - low)) / (high - low || 1)}`).join(" ");
  const box = make("div");
  box.innerHTML = `<svg viewBox="0 0 100 42" preserveAspectRatio="none"><polyline points="${points}" fill="none" stroke="#63c5f5" stroke-width="1.5" vector-effect="non-scaling-stroke"/></svg>`;
  box.append(make("div", { className: "along" }, make("span", {}, `${name.replaceAll("_", " ")}, root to tip`), make("span", {}, `${short(low)} to ${short(high)}`)));
  return box;
}

// ---------------------------------------------------------------- the simulation behind the page

async function ask(request) {
  try {
    accept(await post("api/live", request));
  } catch (error) {
    tell(error.message);
  }
}

function rerun(set, from, keep) {
  page.follow = true;
  return ask({ do: "rerun", set, from, keep });
}

const pauseOrGoOn = () => page.live && ask({ do: page.live.state === "paused" ? "resume" : "pause" });

// ---------------------------------------------------------------- comparing

async function compareWith(folder) {
  if (!folder) {
    page.second = null;
    page.looks[1] = null;
    stage.worlds[1].clear();
  } else {
    try {
      page.second = (await post("api/open", { folder })).run;
    } catch (error) {
      tell(error.message);
      return panel();
    }
    page.stores[1] = null;
    page.looks[1] = null;
    stage.worlds[1].clear();
    accept(await json("api/state"));
  }
  side(page.second !== null);
  panel();
}

function side(two) {
  stage.compare = two;
  stage.dirty = true;
  byId("divide").hidden = !two;
  const name = (number, x) => make("div", { style: `left:${x}%` }, page.runs[number]?.label ?? "");
  byId("names").replaceChildren(...(two ? [name(0, 25), name(page.second, 75)] : []));
}

// ---------------------------------------------------------------- what the page says

function head() {
  const run = page.runs[0];
  byId("name").textContent = run.name ?? run.label;
  document.title = `${run.name ?? run.label} · Drench`;
  const status = page.live?.state ?? run.status ?? "";
  const chip = byId("status");
  const done = isGrowing() && run.wanted ? ` ${last()} of ${run.wanted}` : "";
  chip.textContent = `${status}${done}`;
  chip.className = `chip ${status}`;
  chip.title = run.note ?? run.folder;
  const pause = byId("pause");
  if (pause) {
    pause.textContent = page.live.state === "paused" ? "Go on" : "Pause";
    pause.disabled = ["finished", "failed"].includes(page.live.state);
  }
  readout();
}

function readout() {
  const time = page.frame / fps();
  const parts = [make("span", { className: "time" }, `${time.toFixed(3)} s`), make("b", {}, `${page.frame}`), make("span", {}, `/ ${timeline.last}`)];
  if (!byId("speed")) {
    const speed = make("select", { id: "speed", title: "Speed ([ and ])", onchange: (event) => { page.speed = Number(event.target.value); } }, ...SPEEDS.map((value) => make("option", { value, selected: value === page.speed }, `${value}×`)));
    byId("readout").append(make("span", { id: "where", style: "display:flex;gap:6px" }), speed);
  }
  byId("where").replaceChildren(...parts);
}

function buttons() {
  const icon = (name) => {
    const holder = make("span", { style: "display:grid" });
    holder.innerHTML = `<svg viewBox="0 0 16 16"><path d="${ICONS[name]}"/></svg>`;
    return holder;
  };
  const button = (id, name, title, action, on) => make("button", { id, title, "aria-label": title, onclick: action, className: on ? "on" : "" }, icon(name));
  document.querySelector("#bar .buttons").replaceChildren(
    button("first", "first", "First frame (Home)", () => step(-Infinity)),
    button("back", "back", "A frame back (←)", () => step(-1)),
    button("play", page.playing ? "pause" : "play", page.playing ? "Pause (space)" : "Play (space)", () => play(), page.playing),
    button("on", "on", "A frame on (→)", () => step(1)),
    button("loop", "loop", "Loop (L)", () => { page.loop = !page.loop; buttons(); }, page.loop),
  );
}

/** What a frame leaves out, and the number of everything in it. */
function bodies(frame) {
  const left = frame.strands.filter((body) => body.shown < body.strands).map((body) => `${count(body.shown)} of ${count(body.strands)} strands of ${body.name}`);
  left.push(...frame.particles.filter((body) => body.shown < body.count).map((body) => `${count(body.shown)} of ${count(body.count)} particles of ${body.name}`));
  byId("badge").hidden = left.length === 0;
  byId("badge").textContent = left.length ? `shown: ${left.join(", ")}` : "";
  const numbers = [...frame.strands.map((body) => body.strands), ...frame.particles.map((body) => body.count), ...frame.solids.map((body) => body.triangles)];
  document.querySelectorAll("#bodies em").forEach((element, i) => (element.textContent = count(numbers[i] ?? "")));
}

/** Keeps the list of colours in step with what the frames have. */
function channels(frame) {
  const names = JSON.stringify(frame.channels);
  if (names === page.channelNames) return;
  page.channelNames = names;
  page.channels = frame.channels;
  panel();
}

function colourBy(name) {
  const channel = page.channels?.find((channel) => channel.name === name) ?? null;
  colouring.choose(channel);
  refetch();
  const select = byId("colour");
  if (select) select.value = channel?.name ?? "";
}

/** What is wanted of the frames changed: they are fetched anew. */
function refetch() {
  for (const [pane, store] of page.stores.entries()) {
    const run = page.runs[pane === 0 ? 0 : page.second];
    if (store && run) store.update(run.generation, wish());
  }
  if (page.ready) go(page.frame, true);
}

/** The panel at the side. */
function panel() {
  const frame = stage.worlds[0].frame;
  const row = (label, control) => make("div", { className: "row" }, make("label", { htmlFor: control.id }, label), control);
  const options = (list, chosen) => list.map(([value, text]) => make("option", { value, selected: String(value) === String(chosen) }, text));
  const select = (id, list, chosen, change) => make("select", { id, onchange: (event) => { change(event.target.value); event.target.blur(); } }, ...options(list, chosen));
  const boxes = [];
  const box = (title, ...content) => boxes.push(make("section", { className: "box" }, make("h2", {}, title), ...content));

  if (page.live) {
    box("Simulation", make("div", { className: "inline" },
      make("button", { id: "pause", onclick: pauseOrGoOn }, page.live.state === "paused" ? "Go on" : "Pause"),
      make("button", { id: "restart", title: "From frame 0, with the same values", onclick: () => rerun(page.live.set, null, false) }, "Restart"),
      make("button", { id: "follow", className: page.follow ? "on" : "", title: "Show each frame as it is finished", onclick: () => { page.follow = !page.follow; if (page.follow) go(last()); panel(); } }, "Follow")));
  }
  const cameras = frame?.cameras ?? [];
  const look = [row("Colour by", select("colour", [["", "natural look"], ...(page.channels ?? []).map(({ name, label }) => [name, label])], colouring.channel?.name ?? "", colourBy))];
  look.push(row("Camera", select("camera", [["", "free"], ...cameras.map(({ name }, i) => [i, name])], page.camera ?? "", (value) => chooseCamera(value === "" ? null : Number(value)))));
  if (frame?.strands.length) {
    look.push(row("Thickness", make("input", { type: "range", id: "thickness", min: -1, max: 1.5, step: 0.05, value: Math.log10(page.thickness), oninput: (event) => { page.thickness = 10 ** event.target.value; stage.worlds.forEach((world) => world.bodies.forEach((body) => body.uniforms?.thinnest && (body.uniforms.widen.value = page.thickness))); stage.dirty = true; } })));
    if (frame.strands.some((body) => body.strands > body.simulated || !page.children)) look.push(row("Strands", select("children", [[1, "all, interpolated too"], [0, "simulated ones only"]], page.children ? 1 : 0, (value) => { page.children = value === "1"; refetch(); })));
  }
  // Drops hang at the tips of wet hair even where no other liquid is.
  if (frame?.particles.some((body) => body.kind === "liquid") || page.looks[0]?.porous) look.push(row("Liquid", select("surface", [[0, "particles"], [1, "surface"]], page.surface ? 1 : 0, (value) => { page.surface = value === "1"; refetch(); })));
  if (page.looks[0]?.porous) look.push(row("Porous grid", select("porous", [[0, "hidden"], [1, "shown"]], page.porous ? 1 : 0, (value) => { page.porous = value === "1"; refetch(); })));
  look.push(row("Detail", select("detail", DETAILS.map(([text, value]) => [value, text]), page.budget, (value) => { page.budget = Number(value); refetch(); })));
  box("Look", ...look);

  if (frame) {
    const world = stage.worlds[0];
    const entry = (key, name, number) => {
      const toggle = (event) => {
        for (const world of stage.worlds) {
          world.hidden[event.target.checked ? "delete" : "add"](key);
          if (world.frame) world.show(world.frame, world.look);
        }
        stage.dirty = true;
      };
      return make("label", { className: "body" }, make("input", { type: "checkbox", checked: !world.hidden.has(key), onchange: toggle }), make("span", {}, name), make("em", {}, count(number)));
    };
    const list = [
      ...frame.strands.map((body, i) => entry(`strands/${i}`, body.name, body.strands)),
      ...frame.particles.map((body, i) => entry(`particles/${i}`, body.name, body.count)),
      ...frame.solids.map((body, i) => entry(`solids/${i}`, body.name, body.triangles)),
    ];
    boxes.push(make("section", { className: "box", id: "bodies" }, make("h2", {}, "Bodies"), ...list));
  }
  const shownFolder = page.second === null ? "" : page.runs[page.second]?.folder ?? "";
  const nameOf = (path) => path.split(/[\\/]/).at(-1);
  const compare = select("compare", [["", "nothing"], ...page.others.map((path) => [path, nameOf(path)])], page.others.find((path) => nameOf(path) === nameOf(shownFolder)) ?? "", compareWith);
  compare.addEventListener("pointerdown", listOthers, { once: true });
  compare.addEventListener("focus", listOthers, { once: true });
  box("Side by side", row("Compare with", compare));
  if (page.live) boxes.push(parameters.box, parameters.foot ?? make("span"));
  boxes.push(make("section", { className: "box" }, make("p", { className: "hint", style: "margin:0" }, "Drag to turn, right-drag to move, scroll to zoom, click to read values. ", make("kbd", {}, "?"), " lists all keys.")));
  byId("side").replaceChildren(...boxes);
}

/** Looks for runs that could be compared with. */
async function listOthers() {
  const found = await json("api/others");
  if (JSON.stringify(found) === JSON.stringify(page.others)) return;
  page.others = found;
  const select = byId("compare");
  const chosen = select?.value;
  select?.replaceChildren(make("option", { value: "" }, "nothing"), ...found.map((path) => make("option", { value: path, selected: path === chosen }, path.split(/[\\/]/).at(-1))));
}

function chooseCamera(index) {
  page.camera = index;
  const frame = stage.worlds[0].frame;
  if (index !== null && frame) look(frame);
  if (byId("camera")) byId("camera").value = index ?? "";
}

function help(open) {
  const box = byId("help");
  box.hidden = !open;
  if (!open) return;
  const rows = KEYS.flatMap(([key, does]) => [make("dt", {}, ...key.split(" ").map((part) => make("kbd", {}, part))), make("dd", {}, does)]);
  box.replaceChildren(make("div", {}, make("h2", {}, "Keys"), make("dl", {}, ...rows)));
}

// ---------------------------------------------------------------- what keys and pointer do

const ACTIONS = {
  " ": () => play(), ArrowLeft: (event) => step(event.shiftKey ? -10 : -1), ArrowRight: (event) => step(event.shiftKey ? 10 : 1),
  Home: () => step(-Infinity), End: () => step(Infinity), l: () => { page.loop = !page.loop; buttons(); },
  "[": () => faster(-1), "]": () => faster(1),
  f: () => { chooseCamera(null); stage.frameAll(); },
  c: () => { const { length } = stage.worlds[0].frame?.cameras ?? []; if (length) chooseCamera(page.camera === null ? 0 : (page.camera + 1) % length); },
  s: () => { page.surface = !page.surface; if (byId("surface")) byId("surface").value = page.surface ? 1 : 0; refetch(); },
  v: () => { if (!page.looks[0]?.porous) return; page.porous = !page.porous; byId("porous").value = page.porous ? 1 : 0; refetch(); },
  h: () => byId("app").classList.toggle("no-side"), g: () => { byId("graphs").hidden = !byId("graphs").hidden; },
  p: () => pauseOrGoOn(), Escape: () => { help(false); unpick(); if (page.told) notice(null); page.told = 0; }, "?": () => help(byId("help").hidden),
};

function faster(by) {
  const at = Math.min(Math.max(SPEEDS.indexOf(page.speed) + by, 0), SPEEDS.length - 1);
  page.speed = SPEEDS[at];
  byId("speed").value = page.speed;
}

window.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input[type=text], input[type=search], textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
  if (event.target.type === "range" && event.key.startsWith("Arrow")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const digit = /^[0-9]$/.test(key);
  if (!ACTIONS[key] && !digit) return;
  event.preventDefault();
  if (digit) colourBy(key === "0" ? "" : page.channels?.[Number(key) - 1]?.name ?? "");
  else ACTIONS[key](event);
});
byId("help").addEventListener("click", () => help(false));

let pressed = null;
byId("picture").addEventListener("pointerdown", (event) => (pressed = event.button === 0 ? [event.clientX, event.clientY] : null));
byId("picture").addEventListener("pointerup", (event) => {
  if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
  const box = byId("picture").getBoundingClientRect();
  pick(event.clientX - box.left, event.clientY - box.top);
});
// Turning the view leaves the scene's camera.
stage.onfree = () => page.camera !== null && chooseCamera(null);
stage.onlost = () => notice("The graphics card gave up; waiting for it to come back.", true);
colouring.changed = () => (stage.dirty = true);

Object.assign(window.drench, { go, pick, colourBy, compareWith, rerun, play, step });
buttons();
panel();
notice("Loading …");
await poll();
if (page.runs.length > 1) {
  await listOthers();
  page.second = 1;
  page.stores[1] = null;
  side(true);
  await poll();
  panel();
}
requestAnimationFrame(tick);
