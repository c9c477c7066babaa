"""Opens the VTK export with VTK's own readers."""

import xml.etree.ElementTree as tree

from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXML import vtkXMLPolyDataReader

from common import main, per_strand, positions, same, strand_lengths


def read(path):
    reader = vtkXMLPolyDataReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def check(run):
    folder = run.folder / "vtp"
    for name in run.bodies("curves") + run.bodies("liquid") + run.bodies("grains") + run.bodies("solid"):
        sets = tree.parse(folder / f"{name}.pvd").iter("DataSet")
        files = [(float(data.get("timestep")), data.get("file")) for data in sets]
        assert [round(time * run.manifest["fps"]) for time, _ in files] == run.frames
        for frame, (_, file) in zip(run.frames, files):
            data, table = read(folder / file), run.vertices(name, frame)
            assert data.GetNumberOfPoints() == len(table)
            if not len(table):
                continue
            same("points", vtk_to_numpy(data.GetPoints().GetData()), positions(table))
            of_points, of_cells = data.GetPointData(), data.GetCellData()
            for attribute in ["wetness", "film", "width", "radius", "age"]:
                if attribute in table.dtype.names:
                    same(attribute, vtk_to_numpy(of_points.GetArray(attribute)), table[attribute])
            if name in run.bodies("curves"):
                assert data.GetNumberOfLines() == len(strand_lengths(table))
                for attribute in run.attributes(name, ["id", "clump_id", "mean_wetness"]):
                    same(attribute, vtk_to_numpy(of_cells.GetArray(attribute)), per_strand(table, attribute))
            elif name in run.bodies("solid"):
                assert data.GetNumberOfPolys() == len(run.faces(name, frame))
            else:
                assert data.GetNumberOfVerts() == len(table)
    print("vtp: VTK finds the run's points, lines, faces and attributes")


main(check)
