"""Opens the exports with Blender: it finds what the run holds, moving, and renders it."""

import sys

import bpy
import numpy as np

from common import main, per_strand, positions, same, strand_lengths

# Positions in Blender have +z up.
TURN = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def fresh():
    bpy.ops.wm.read_factory_settings(use_empty=True)


def evaluated(thing):
    return thing.evaluated_get(bpy.context.evaluated_depsgraph_get())


def world(thing, local):
    matrix = np.array(thing.matrix_world)
    return local @ matrix[:3, :3].T + matrix[:3, 3]


def values(data, name, kind="value", width=1):
    attribute = data.attributes[name]
    found = np.empty(len(attribute.data) * width, dtype=np.float32)
    attribute.data.foreach_get(kind, found)
    return found.reshape(-1, width) if width > 1 else found


def of_type(kind, name):
    found = [thing for thing in bpy.data.objects if thing.type == kind and thing.name.startswith(name)]
    assert found, f"no {kind} called {name} among {[(thing.name, thing.type) for thing in bpy.data.objects]}"
    return found[0]


def check_hair(run, what, attributes, names, of_strands=("clump_id", "id")):
    """Compares first, middle and last frame; `names` are those that attributes have here instead."""
    for name in run.bodies("curves"):
        for frame in {run.frames[0], run.frames[len(run.frames) // 2], run.frames[-1]}:
            bpy.context.scene.frame_set(frame)
            hair = evaluated(of_type("CURVES", name))
            table = run.vertices(name, frame)
            same(f"{what}: counts", [len(curve.points) for curve in hair.data.curves], strand_lengths(table))
            found = world(hair, values(hair.data, "position", "vector", 3))
            same(f"{what}: positions at {frame}", found, positions(table) @ TURN.T, 2e-6)
            same(f"{what}: radii", values(hair.data, "radius"), 0.5 * table["width"], 1e-9)
            for attribute in run.attributes(name, attributes):
                same(f"{what}: {attribute}", values(hair.data, attribute), table[attribute], 1e-6)
            for attribute in run.attributes(name, of_strands):
                found = values(hair.data, names.get(attribute, attribute))
                same(f"{what}: {attribute}", found, per_strand(table, attribute), 1e-6)
        print(f"{what}: Blender finds {len(hair.data.curves)} strands of '{name}', moving as the run does")


def render(path, camera):
    scene = bpy.context.scene
    scene.camera = camera
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.device = 4, "CPU"
    scene.render.resolution_x, scene.render.resolution_y = 160, 90
    scene.render.filepath = str(path)
    scene.world = bpy.data.worlds.new("sky")
    scene.world.use_nodes = True
    bpy.ops.render.render(write_still=True)
    picture = bpy.data.images.load(str(path))
    pixels = np.array(picture.pixels[:]).reshape(90, 160, 4)[..., :3]
    assert pixels.std() > 0.005, "the picture is empty"


def check(run):
    fresh()
    bpy.ops.wm.usd_import(filepath=str(run.folder / "run.usdc"))
    scene = bpy.context.scene
    assert [scene.frame_start, scene.frame_end] == [run.frames[0], run.frames[-1]]
    check_hair(run, "usdc", ["wetness", "film", "wet_spec", "wet_dark"], {"id": "strand_id"})
    for name in run.bodies("liquid"):
        cloud = evaluated(of_type("POINTCLOUD", name))
        table = run.vertices(name, scene.frame_current)
        same("liquid", world(cloud, values(cloud.data, "position", "vector", 3)), positions(table) @ TURN.T, 2e-6)
        same("radii", values(cloud.data, "radius"), table["radius"], 1e-9)
    for name in run.bodies("solid"):
        mesh = of_type("MESH", name)
        assert len(mesh.data.polygons) == len(run.faces(name, run.frames[0]))
    render(run.folder / "usdc.png", of_type("CAMERA", run.bodies("camera")[0]))
    print("usdc: Blender renders it")

    fresh()
    bpy.ops.wm.usd_import(filepath=str(run.folder / "layers_usdc" / "everything.usda"))
    check_hair(run, "layers_usdc", ["wetness", "film", "wet_spec", "wet_dark"], {"id": "strand_id"})

    # Of Alembic curves Blender takes no further attributes.
    fresh()
    # It does not take the frame rate over either.
    bpy.context.scene.render.fps = int(run.manifest["fps"])
    bpy.ops.wm.alembic_import(filepath=str(run.folder / "run.abc"), as_background_job=False)
    check_hair(run, "abc", [], {}, [])
    for name in run.bodies("liquid"):
        # Before the first drop there is no cloud.
        for frame in (run.frames[-3], run.frames[-1]):
            bpy.context.scene.frame_set(frame)
            cloud = evaluated(of_type("POINTCLOUD", name))
            table = run.vertices(name, frame)
            same("liquid", world(cloud, values(cloud.data, "position", "vector", 3)), positions(table) @ TURN.T, 2e-6)
    for name in run.bodies("solid"):
        mesh = evaluated(of_type("MESH", name))
        local = np.array([vertex.co for vertex in mesh.data.vertices])
        same("solid", world(mesh, local), positions(run.vertices(name, run.frames[-1])) @ TURN.T, 2e-5)

    fresh()
    path = sorted((run.folder / "vdb").glob("*.vdb"))[-1]
    bpy.ops.object.volume_import(filepath=str(path), files=[])
    grids = bpy.data.volumes[0].grids
    assert grids.load(), grids.error_message
    assert {(grid.name, grid.channels) for grid in grids} == {("surface", 1), ("velocity", 3), ("wetness", 1)}
    print("vdb: Blender loads its grids")


main(check)
sys.stdout.flush()
