"""Opens the USD exports with Pixar's library: they comply, and hold what the run holds."""

import numpy as np
from pxr import Usd, UsdGeom, UsdUtils

from common import main, per_strand, positions, same, strand_lengths, vectors

# Attributes of vertices, and of strands.
PER_VERTEX = ["wetness", "film", "fibre_water", "wet_spec", "wet_dark"]
PER_STRAND = ["id", "guide", "clump_id", "mean_wetness"]


def complies(path):
    checker = UsdUtils.ComplianceChecker()
    checker.CheckCompliance(str(path))
    found = checker.GetErrors() + checker.GetFailedChecks() + checker.GetWarnings()
    assert not found, f"{path.name}: {found}"


def check_stage(run, path):
    stage = Usd.Stage.Open(str(path))
    root = stage.GetDefaultPrim()
    assert root and UsdGeom.GetStageMetersPerUnit(stage) == 1 and UsdGeom.GetStageUpAxis(stage) == "Y"
    assert stage.GetTimeCodesPerSecond() == run.manifest["fps"]
    assert [stage.GetStartTimeCode(), stage.GetEndTimeCode()] == [run.frames[0], run.frames[-1]]

    for name in run.bodies("curves"):
        curves = UsdGeom.BasisCurves(root.GetChild(name))
        api = UsdGeom.PrimvarsAPI(curves)
        assert curves.GetWidthsInterpolation() == "vertex" and curves.GetWrapAttr().Get() == "pinned"
        for frame in run.frames:
            table = run.vertices(name, frame)
            same("points", curves.GetPointsAttr().Get(frame), positions(table))
            same("counts", curves.GetCurveVertexCountsAttr().Get(frame), strand_lengths(table))
            same("widths", curves.GetWidthsAttr().Get(frame), table["width"])
            same("velocities", curves.GetVelocitiesAttr().Get(frame), vectors(table, ["vx", "vy", "vz"]))
            same("rest", api.GetPrimvar("rest").Get(frame), vectors(table, ["rest_x", "rest_y", "rest_z"]))
            for attribute in run.attributes(name, PER_VERTEX):
                primvar = api.GetPrimvar(attribute)
                assert primvar.GetInterpolation() == "vertex"
                same(attribute, primvar.Get(frame), table[attribute])
            for attribute in run.attributes(name, PER_STRAND):
                primvar = api.GetPrimvar("strand_id" if attribute == "id" else attribute)
                assert primvar.GetInterpolation() == "uniform"
                same(attribute, primvar.Get(frame), per_strand(table, attribute))
            low, high = curves.GetExtentAttr().Get(frame)
            inside = positions(table)
            assert (inside >= np.array(low)).all() and (inside <= np.array(high)).all()
        # What never changes is there once; where a rope tears, it does.
        torn = strand_lengths(run.vertices(name, run.frames[-1])).size > strand_lengths(run.vertices(name, 0)).size
        assert torn == (name == "rope")
        assert curves.GetCurveVertexCountsAttr().ValueMightBeTimeVarying() == torn
        assert api.GetPrimvar("rest").ValueMightBeTimeVarying() == torn
        assert len(curves.GetPointsAttr().GetTimeSamples()) == len(run.frames)
    assert max(run.vertices("hair", run.frames[-1])["wetness"]) > 0.1, "the hair is dry"

    for name in run.bodies("liquid") + run.bodies("grains"):
        points = UsdGeom.Points(root.GetChild(name))
        for frame in run.frames:
            table = run.vertices(name, frame)
            same("points", points.GetPointsAttr().Get(frame), positions(table))
            same("widths", points.GetWidthsAttr().Get(frame), 2 * table["radius"])
            same("ids", points.GetIdsAttr().Get(frame), table["id"])
            same("velocities", points.GetVelocitiesAttr().Get(frame), vectors(table, ["vx", "vy", "vz"]))

    for name in run.bodies("solid") + run.bodies("surface"):
        mesh = UsdGeom.Mesh(root.GetChild(name))
        for frame in run.frames:
            matrix = np.array(mesh.ComputeLocalToWorldTransform(frame))
            local = np.array(mesh.GetPointsAttr().Get(frame), dtype=float)
            world = local @ matrix[:3, :3] + matrix[3, :3] if local.size else local.reshape(0, 3)
            same("mesh", world, positions(run.vertices(name, frame)), 1e-5)
            same("faces", mesh.GetFaceVertexIndicesAttr().Get(frame), run.faces(name, frame).reshape(-1))

    for name in run.bodies("camera"):
        assert UsdGeom.Camera(root.GetChild(name)).GetFocalLengthAttr().Get() > 0


def attributes(stage):
    """All attributes of a stage, by path."""
    return {str(found.GetPath()): found for prim in stage.Traverse() for found in prim.GetAttributes()}


def check_layers(run, folder):
    """One layer a frame, stitched: everything that the single file has, at every frame, and in each layer by itself."""
    root = folder / "everything.usda"
    complies(root)
    check_stage(run, root)
    single = attributes(_single := Usd.Stage.Open(str(run.folder / "run.usdc")))
    stitched = attributes(_stitched := Usd.Stage.Open(str(root)))
    assert single.keys() == stitched.keys() and len(single) > 50
    for path, expected in single.items():
        got = stitched[path]
        for what in ["GetTypeName", "GetVariability", "ValueMightBeTimeVarying"]:
            assert getattr(got, what)() == getattr(expected, what)(), f"{path}: {what}"
        assert got.GetMetadata("interpolation") == expected.GetMetadata("interpolation"), path
        assert expected.ValueMightBeTimeVarying() or not got.GetTimeSamples(), path
        # Between frames too, where what keeps its count is interpolated.
        for time in [frame + part for frame in run.frames for part in (0, 0.25)]:
            assert got.Get(time) == expected.Get(time), f"{path} at {time}"
        assert got.Get() == expected.Get(run.frames[0]), path
    # The number of drops, and of pieces of the rope, does change.
    count = lambda path, frame: len(stitched[f"/everything/{path}"].Get(frame))
    assert len({count("liquid.points", frame) for frame in run.frames}) > 3
    assert len({count("rope.curveVertexCounts", frame) for frame in run.frames}) > 1
    for frame in [run.frames[0], run.frames[-1]]:
        path = next(folder.glob(f"everything.{frame:04}.*"))
        complies(path)
        alone = attributes(stage := Usd.Stage.Open(str(path)))
        assert [stage.GetStartTimeCode(), stage.GetEndTimeCode()] == [frame, frame]
        assert all(alone[path].Get(frame) == expected.Get(frame) for path, expected in single.items())


def check(run):
    for name in ["run.usdc", "run.usda", "run.usdz"]:
        complies(run.folder / name)
        check_stage(run, run.folder / name)
        print(f"{name}: complies, and {len(run.frames)} frames are the run's")
    for name in ["layers_usdc", "layers_usda"]:
        check_layers(run, run.folder / name)
        print(f"{name}: a layer a frame, each complies, and stitched they are the single file")


main(check)
