"""Reads the file of the example `ball` with other people's programs: clients.py FILE COUNTS... [openvdb] [bpy]."""
import math
import sys

CENTRE, RADIUS, VOXEL = (0.1, -0.2, 0.3), 0.5, 0.02


def with_openvdb(path, counts):
    import pyopenvdb as vdb

    grids, _ = vdb.readAll(path)
    surface, velocity, wetness = (next(g for g in grids if g.name == name) for name in ("surface", "velocity", "wetness"))
    assert [g.activeVoxelCount() for g in (surface, velocity, wetness)] == counts, counts
    assert surface.gridClass == vdb.GridClass.LEVEL_SET and wetness.gridClass == vdb.GridClass.FOG_VOLUME
    assert velocity.vectorType == "contravariant relative"
    for grid in grids:
        assert tuple(grid.transform.voxelSize()) == (VOXEL,) * 3
        assert grid.evalActiveVoxelBoundingBox() == (grid["file_bbox_min"], grid["file_bbox_max"])
    assert abs(surface.background - 3 * VOXEL) < 1e-7
    values = surface.getConstAccessor()
    worst = 0
    for i in range(-35, 45):
        for j in range(-50, 30, 3):
            for k in range(-20, 55):
                distance = math.dist((i * VOXEL, j * VOXEL, k * VOXEL), CENTRE) - RADIUS
                got, active = values.probeValue((i, j, k))
                if abs(distance) < 2.9 * VOXEL:
                    assert active
                    worst = max(worst, abs(got - distance))
                elif abs(distance) > 3.1 * VOXEL:
                    assert not active and abs(got - math.copysign(3 * VOXEL, distance)) < 1e-6, (i, j, k, got, distance)
    # The ball is made of flat faces.
    assert worst < 1e-3, worst
    for item in wetness.citerOnValues():
        assert abs(item.value - 0.75) < 1e-5
    for item in velocity.citerOnValues():
        x, _, z = (n * VOXEL for n in item.min)
        assert math.dist(item.value, (z, 0, -x)) < 0.05, item
    print("OpenVDB", vdb.LIBRARY_VERSION, "reads it; largest error", worst)


def with_bpy(path):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.object.volume_import(filepath=path, files=[])
    volume = bpy.data.volumes[0]
    assert volume.grids.load(), volume.grids.error_message
    assert [(g.name, g.data_type, g.channels) for g in volume.grids] == [
        ("surface", "FLOAT", 1), ("velocity", "VECTOR_FLOAT", 3), ("wetness", "FLOAT", 1)]
    assert abs(volume.grids[0].matrix_object[0][0] - VOXEL) < 1e-7
    print("Blender", bpy.app.version_string, "reads it")


if __name__ == "__main__":
    chosen = [word for word in sys.argv[2:] if not word.isdigit()]
    if "openvdb" in chosen:
        with_openvdb(sys.argv[1], [int(word) for word in sys.argv[2:] if word.isdigit()])
    if "bpy" in chosen:
        with_bpy(sys.argv[1])
