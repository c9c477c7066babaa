"""Opens the VDB export with OpenVDB: level sets, velocities and fogs of the right kind, where the run has liquid and hair."""

import numpy as np
import pyopenvdb as vdb

from common import main, positions, vectors


def near(grid, points):
    """The voxels that points are in."""
    return [tuple(int(round(x / grid.transform.voxelSize()[0])) for x in point) for point in points]


def check(run):
    (liquid,) = run.bodies("liquid")
    for frame in run.frames:
        (path,) = (run.folder / "vdb").glob(f"*.{frame:04}.vdb")
        grids = {grid.name: grid for grid in vdb.readAll(str(path))[0]}
        assert set(grids) == {"surface", "velocity", "wetness"}, grids.keys()
        surface, velocity, wetness = grids["surface"], grids["velocity"], grids["wetness"]
        assert surface.gridClass == vdb.GridClass.LEVEL_SET and wetness.gridClass == vdb.GridClass.FOG_VOLUME
        for grid in grids.values():
            assert grid.activeVoxelCount() == grid["file_voxel_count"]
        table = run.vertices(liquid, frame)
        if len(table):
            assert abs(surface.background - 3 * surface.transform.voxelSize()[0]) < 1e-6
            values = surface.getConstAccessor()
            inside = np.mean([values.getValue(voxel) < 0 for voxel in near(surface, positions(table))])
            assert inside > 0.8, f"only {inside:.0%} of the particles are inside"
            # Where particles are alone, the grid has their velocity.
            values, speed = velocity.getConstAccessor(), np.linalg.norm(vectors(table, ["vx", "vy", "vz"]), axis=1)
            found = np.array([np.linalg.norm(values.getValue(voxel)) for voxel in near(velocity, positions(table))])
            assert abs(found.mean() - speed.mean()) < 0.2 * speed.mean() + 0.05, (found.mean(), speed.mean())
        hair = run.vertices("hair", frame)
        values = wetness.getConstAccessor()
        probes = [values.probeValue(voxel) for voxel in near(wetness, positions(hair))]
        assert all(active for _, active in probes), "hair without fog"
        mean = np.mean([value for value, _ in probes])
        assert abs(mean - hair["wetness"].mean()) < 0.1, (mean, hair["wetness"].mean())
    print(f"vdb: OpenVDB finds the liquid and the wetness in {len(run.frames)} frames")


main(check)
