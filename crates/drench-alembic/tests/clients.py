"""Reads the file of the example `everything` with other people's programs: clients.py FILE [alembic3d] [bpy]."""
import sys


def close(a, b):
    assert len(a) == len(b) and all(abs(x - y) < 1e-6 for x, y in zip(a, b)), (a, b)


def with_alembic3d(path):
    from alembic3d import Abc, AbcGeom

    def at(frame):
        return Abc.ISampleSelector(frame / 24.0)

    archive = Abc.IArchive(path)
    top = archive.getTop()
    hair = AbcGeom.IXform(top, "hair")
    user = hair.getSchema().getUserProperties()
    assert Abc.IInt16Property(user, "groom_version_major").getValue() == 1
    assert Abc.IStringProperty(user, "groom_tool").getValue() == "everything"

    curves = AbcGeom.ICurves(hair, "linear").getSchema()
    assert curves.getNumSamples() == 3
    assert not curves.isConstant()
    assert abs(curves.getTimeSampling().getSampleTime(2) - 2 / 24) < 1e-12
    for frame in range(3):
        sample = curves.getValue(at(frame))
        assert list(sample.getCurvesNumVertices()) == [2, 3]
        assert sample.getType() == AbcGeom.CurveType.kLinear
        close(list(sample.getPositions()[4]), (1.0, 4.0 + frame, 0.25))
        close(list(sample.getVelocities()[0]), (0.0, 24.0, 0.0))
        close(list(sample.getSelfBounds().max()), (1.0, 4.0 + frame, 0.25))
        widths = curves.getWidthsParam()
        assert widths.getScope() == AbcGeom.GeometryScope.kVertexScope
        close(list(widths.getExpandedValue(at(frame)).getVals()), [0.1, 0.1, 0.2, 0.2, 0.2])
        close(list(curves.getUVsParam().getExpandedValue().getVals()[1]), (0.75, 1.0))
        extra = curves.getArbGeomParams()
        wet = AbcGeom.IFloatGeomParam(extra, "wetness")
        assert wet.getScope() == AbcGeom.GeometryScope.kVertexScope
        close(list(wet.getExpandedValue(at(frame)).getVals()), [(v + frame) / 8 for v in range(5)])
        assert list(AbcGeom.IInt32GeomParam(extra, "groom_id").getExpandedValue().getVals()) == [7, 8]
        assert AbcGeom.IInt16GeomParam(extra, "groom_guide").getScope() == AbcGeom.GeometryScope.kConstantScope
        assert list(AbcGeom.IV3iGeomParam(extra, "groom_closest_guides").getExpandedValue().getVals()[1]) == [0, 1, 2]
        assert list(AbcGeom.IStringGeomParam(extra, "groom_group_name").getExpandedValue().getVals()) == ["wet"]
        assert AbcGeom.IV3fGeomParam(extra, "rest").isConstant()

    cubic = AbcGeom.ICurves(top, "cubic").getSchema().getValue(at(1))
    assert cubic.getType() == AbcGeom.CurveType.kCubic and cubic.getBasis() == AbcGeom.BasisType.kCatmullromBasis
    close(list(cubic.getPositions()[5]), (2.0, 5.0, 1.0))

    drops = AbcGeom.IPoints(top, "drops").getSchema()
    for frame in range(3):
        sample = drops.getValue(at(frame))
        assert list(sample.getIds()) == list(range(frame + 1))
        close(list(sample.getPositions()[frame]), (frame, frame, 0.0))
        close(list(drops.getWidthsParam().getExpandedValue(at(frame)).getVals()), [frame] * (frame + 1))

    ball = AbcGeom.IXform(top, "ball")
    assert ball.getSchema().getNumSamples() == 3 and not ball.getSchema().isConstant()
    close(list(ball.getSchema().getValue(at(2)).getMatrix().translation()), (3.0, 2.0, 0.0))
    mesh = AbcGeom.IPolyMesh(ball, "ball_shape").getSchema()
    assert mesh.isConstant() and list(mesh.getValue().getFaceCounts()) == [3] * 4
    camera = AbcGeom.ICamera(AbcGeom.IXform(top, "view"), "view_camera").getSchema().getValue()
    close([camera.getFocalLength(), camera.getHorizontalAperture()], [35.0, 3.6])
    print("alembic3d reads it")


def with_bpy(path):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
    scene = bpy.context.scene
    assert scene.render.fps == 24, scene.render.fps
    for frame in (0, 2):
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()

        def evaluated(name):
            return bpy.data.objects[name].evaluated_get(graph)

        curves = evaluated("hair").data
        assert [c.points_length for c in curves.curves] == [2, 3]
        # Blender's up is z, and it names a shape after the transform right above it.
        close(list(curves.points[4].position), (1.0, -0.25, 4.0 + frame))
        close([point.radius for point in curves.points], [0.05, 0.05, 0.1, 0.1, 0.1])
        drops = evaluated("drops").data
        assert len(drops.attributes["position"].data) == frame + 1
        ball = evaluated("ball")
        close(list(ball.matrix_world.translation), (3.0, 0.0, frame))
        # Not inside out: faces look away from the middle.
        corners = [vertex.co for vertex in ball.data.vertices]
        middle = (corners[0] + corners[1] + corners[2] + corners[3]) / 4
        assert all(face.normal.dot(face.center - middle) > 0 for face in ball.data.polygons)
        camera = evaluated("view")
        close(list(camera.matrix_world.translation), (0.0, -10.0 - frame, 1.0))
        close([camera.data.lens, camera.data.sensor_width], [35.0, 36.0])
    print("Blender", bpy.app.version_string, "reads it")


if __name__ == "__main__":
    chosen = sys.argv[2:] or ["alembic3d", "bpy"]
    if "alembic3d" in chosen:
        with_alembic3d(sys.argv[1])
    if "bpy" in chosen:
        with_bpy(sys.argv[1])
