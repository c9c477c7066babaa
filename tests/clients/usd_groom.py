"""Makes grooms with Pixar's library, as other programs would, and sees that Drench takes them from where they are."""

import subprocess
import sys

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom

from common import main, positions, read_ply, same

# Metres per unit of the grooms.
UNIT = 0.01
SCENE = """
name = "drawn"

[simulation]
frames = 1

[[solid]]
name = "ball"
shape = {{ kind = "sphere", radius = 0.05 }}

[[groom]]
name = "hair"
on = "ball"
vertices = 7
import = {{ path = "{path}" }}
"""


def curves(stage, path, rows):
    """Straight strands of four points each, away from the origin."""
    made = UsdGeom.BasisCurves.Define(stage, path)
    points = [Gf.Vec3f(*(float(x) for x in row * (5 + step))) for row in rows for step in range(4)]
    made.CreatePointsAttr(points)
    made.CreateCurveVertexCountsAttr([4] * len(rows))
    made.CreateTypeAttr("linear")
    return made


def make(folder, ending):
    """Layers on layers, references, payloads, and every kind of transform."""
    random = np.random.default_rng(7)
    rows = lambda count: (lambda v: v / np.linalg.norm(v, axis=1)[:, None])(random.normal(size=(count, 3)))
    stage = lambda name: Usd.Stage.CreateNew(str(folder / f"{name}.{ending}"))

    asset = stage("asset")
    top = UsdGeom.Xform.Define(asset, "/asset")
    asset.SetDefaultPrim(top.GetPrim())
    top.AddTranslateOp(UsdGeom.XformOp.PrecisionFloat).Set(Gf.Vec3f(0.5, -0.25, 0.125))
    top.AddRotateXYZOp().Set(Gf.Vec3f(10, 20, 30))
    tufts = curves(asset, "/asset/tufts", rows(30))
    tufts.AddOrientOp(UsdGeom.XformOp.PrecisionHalf).Set(Gf.Quath(0.5, 0.5, -0.5, 0.5))
    tufts.AddScaleOp().Set(Gf.Vec3f(1, 2, 1))
    UsdGeom.Xform.Define(asset, "/other")
    curves(asset, "/other/few", rows(3)).AddRotateZXYOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(5, 50, 500))
    asset.Save()

    below = stage("below")
    UsdGeom.Xform.Define(below, "/world")
    curves(below, "/world/plain", rows(20)).AddTransformOp().Set(Gf.Matrix4d().SetTranslate(Gf.Vec3d(0.1, 0.2, 0.3)))
    below.Save()

    root = stage("root")
    root.GetRootLayer().subLayerPaths.append(f"./below.{ending}")
    UsdGeom.SetStageUpAxis(root, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(root, UNIT)
    world = UsdGeom.Xform.Define(root, "/world")
    pivot = world.AddTranslateOp(opSuffix="pivot")
    pivot.Set(Gf.Vec3d(0.01, 0.02, 0.03), 1)
    world.AddRotateYOp().Set(33)
    world.AddTranslateOp(opSuffix="pivot", isInverseOp=True)
    placed = UsdGeom.Xform.Define(root, "/world/placed")
    placed.GetPrim().GetReferences().AddReference(f"./asset.{ending}")
    loaded = UsdGeom.Xform.Define(root, "/world/loaded")
    loaded.GetPrim().GetPayloads().AddPayload(f"./asset.{ending}", "/other")
    loaded.SetResetXformStack(True)
    again = root.DefinePrim("/world/again")
    again.GetReferences().AddInternalReference("/world/loaded")
    root.DefinePrim("/off").GetReferences().AddReference(f"./asset.{ending}")
    root.GetPrimAtPath("/off").SetActive(False)
    root.Save()
    return folder / f"root.{ending}"


def flattened(path, out):
    """The same strands as lines of an OBJ file, in metres with +y up."""
    stage = Usd.Stage.Open(str(path))
    found, lines = 0, []
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.BasisCurves):
            matrix = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.EarliestTime()))
            points = np.array(UsdGeom.BasisCurves(prim).GetPointsAttr().Get(), dtype=float)
            points = UNIT * (points @ matrix[:3, :3] + matrix[3, :3])
            for strand in np.split(points, len(points) // 4):
                lines += [f"v {x!r} {z!r} {-y!r}" for x, y, z in strand.tolist()]
                lines.append("l " + " ".join(str(4 * found + k) for k in range(1, 5)))
                found += 1
    out.write_text("\n".join(lines) + "\n")
    return found


def grown(drench, folder, groom):
    """The vertices of the strands that Drench grows from a groom, in the first frame."""
    name = groom.name.replace(".", "_")
    scene, run, ply = folder / f"{name}.toml", folder / f"run_{name}", folder / f"ply_{name}"
    scene.write_text(SCENE.format(path=groom.name))
    subprocess.run([drench, "run", scene, "--no-render", "--force", "--quiet", "--out", run], check=True)
    subprocess.run([drench, "export", run, "--to", "ply", "--force", "--quiet", "--out", ply], check=True)
    return positions(read_ply(ply / "hair.0000.ply")["vertex"])


def check(run):
    folder = run.folder / "grooms"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.usd?"):
        old.unlink()
    for ending in ["usda", "usdc"]:
        groom = make(folder, ending)
        count = flattened(groom, folder / f"{ending}.obj")
        assert count == 20 + 30 + 3 + 3
        wanted = grown(sys.argv[2], folder, folder / f"{ending}.obj")
        assert len(wanted) == 7 * count
        # Strands of both files come in the order of the prims.
        key = lambda points: points.reshape(count, -1)[np.lexsort(points.reshape(count, -1).round(5).T[:3])]
        same(f"{ending} groom", key(grown(sys.argv[2], folder, groom)), key(wanted), 2e-6)
        print(f"{ending}: {count} strands of layers, references and payloads are where Pixar's library has them")


main(check)
