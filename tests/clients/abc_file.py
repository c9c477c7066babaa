"""Opens the Alembic export with Alembic's own library: it holds what the run holds, and what Unreal reads."""

import numpy as np
from alembic3d import Abc, AbcGeom

from common import main, per_strand, positions, same, strand_lengths, vectors

SCOPES = AbcGeom.GeometryScope
# Attributes of vertices, and of strands.
PER_VERTEX = ["wetness", "film", "fibre_water", "wet_spec", "wet_dark"]
PER_STRAND = ["id", "guide", "clump_id"]


def numbers(array, width=1):
    """An array of the library as one of numpy."""
    if width == 1:
        return np.array(list(array))
    return np.array([[value[k] for k in range(width)] for value in array], dtype=float).reshape(-1, width)


def check(run):
    archive = Abc.IArchive(str(run.folder / "run.abc"))
    top = archive.getTop()
    fps = run.manifest["fps"]

    def below(kind, name):
        above = AbcGeom.IXform(top, name)
        return above, kind(above, f"{name}Shape").getSchema()

    def at(frame):
        return Abc.ISampleSelector(frame / fps)

    for group, name in enumerate(run.bodies("curves")):
        above, curves = below(AbcGeom.ICurves, name)
        user = above.getSchema().getUserProperties()
        versions = [Abc.IInt16Property(user, f"groom_version_{part}").getValue() for part in ("major", "minor")]
        assert versions == [1, 5] and Abc.IStringProperty(user, "groom_tool").getValue().startswith("Drench")
        assert curves.getNumSamples() == len(run.frames)
        further = curves.getArbGeomParams()

        def parameter(kind, attribute, scope, frame):
            found = kind(further, attribute)
            assert found.getScope() == scope, attribute
            return numbers(found.getExpandedValue(at(frame)).getVals())

        for frame in run.frames:
            table = run.vertices(name, frame)
            sample = curves.getValue(at(frame))
            same("counts", numbers(sample.getCurvesNumVertices()), strand_lengths(table))
            same("points", numbers(sample.getPositions(), 3), positions(table))
            same("velocities", numbers(sample.getVelocities(), 3), vectors(table, ["vx", "vy", "vz"]))
            assert curves.getWidthsParam().getScope() == SCOPES.kVertexScope
            same("widths", numbers(curves.getWidthsParam().getExpandedValue(at(frame)).getVals()), table["width"])
            for attribute in run.attributes(name, PER_VERTEX):
                got = parameter(AbcGeom.IFloatGeomParam, attribute, SCOPES.kVertexScope, frame)
                same(attribute, got, table[attribute])
            for attribute in run.attributes(name, PER_STRAND):
                got = parameter(AbcGeom.IInt32GeomParam, attribute, SCOPES.kUniformScope, frame)
                same(attribute, got, per_strand(table, attribute))
            ids, guides = per_strand(table, "id"), per_strand(table, "guide")
            same("groom_id", parameter(AbcGeom.IInt32GeomParam, "groom_id", SCOPES.kUniformScope, frame), ids)
            marks = (ids == guides) if (ids != guides).any() else np.zeros(ids.size)
            same("groom_guide", parameter(AbcGeom.IInt16GeomParam, "groom_guide", SCOPES.kUniformScope, frame), marks)
            got = parameter(AbcGeom.IInt32GeomParam, "groom_group_id", SCOPES.kConstantScope, frame)
            assert got.size == 1 and 0 <= got[0] < len(run.bodies("curves"))
            got = parameter(AbcGeom.IFloatGeomParam, "groom_width", SCOPES.kVertexScope, frame)
            same("groom_width [cm]", got, 100 * table["width"], 1e-6)
        print(f"abc: {len(ids)} strands of '{name}' are the run's in {len(run.frames)} frames, with what Unreal reads")

    for name in run.bodies("liquid") + run.bodies("grains"):
        _, points = below(AbcGeom.IPoints, name)
        for frame in run.frames:
            table, sample = run.vertices(name, frame), points.getValue(at(frame))
            same("points", numbers(sample.getPositions(), 3), positions(table))
            same("ids", numbers(sample.getIds()), table["id"])
            same("velocities", numbers(sample.getVelocities(), 3), vectors(table, ["vx", "vy", "vz"]))
            same("widths", numbers(points.getWidthsParam().getExpandedValue(at(frame)).getVals()), 2 * table["radius"])

    for name in run.bodies("solid") + run.bodies("surface"):
        above, mesh = below(AbcGeom.IPolyMesh, name)
        for frame in run.frames:
            sample = mesh.getValue(at(frame))
            matrix = numbers(above.getSchema().getValue(at(frame)).getMatrix(), 4)
            world = numbers(sample.getPositions(), 3) @ matrix[:3, :3] + matrix[3, :3]
            same("mesh", world, positions(run.vertices(name, frame)), 1e-5)
            # Faces run clockwise in Alembic.
            faces = numbers(sample.getFaceIndices()).reshape(-1, 3)[:, ::-1]
            same("faces", faces, run.faces(name, frame))
        still = mesh.isConstant()
        assert still == (name in run.bodies("solid")), f"{name} is stored once: {still}"

    for name in run.bodies("camera"):
        _, camera = below(AbcGeom.ICamera, name)
        assert camera.getValue().getFocalLength() > 0


main(check)
