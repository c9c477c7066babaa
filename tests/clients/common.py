"""What the checks share: the run as the plainest of the exports tells it, and comparing."""

import json
import sys
from pathlib import Path

import numpy as np

TYPES = {"float": "<f4", "uint": "<u4", "int": "<i4", "uchar": "u1"}


def read_ply(path):
    """The elements of a PLY file: name -> structured array."""
    data = Path(path).read_bytes()
    head, body = data.split(b"end_header\n", 1)
    elements = []
    for words in (line.split() for line in head.decode().splitlines()):
        if words[0] == "element":
            elements.append((words[1], int(words[2]), []))
        elif words[0] == "property" and words[1] == "list":
            # Triangles: the count is always three.
            elements[-1][2].extend([("count", TYPES[words[2]]), (words[4], TYPES[words[3]], 3)])
        elif words[0] == "property":
            elements[-1][2].append((words[2], TYPES[words[1]]))
    found = {}
    for name, count, fields in elements:
        kind = np.dtype(fields)
        found[name] = np.frombuffer(body, kind, count)
        body = body[count * kind.itemsize :]
    assert not body, f"{path}: {len(body)} bytes too many"
    return found


class Run:
    """A run, as `drench export --to ply` and the manifest tell it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        told = (self.folder / "export.jsonl").read_text().splitlines()
        self.manifest = json.loads(told[-1])["manifest"]
        self.frames = list(range(self.manifest["first"], self.manifest["last"] + 1))
        assert len(self.frames) == self.manifest["frames"]

    def bodies(self, kind):
        return [body["name"] for body in self.manifest["bodies"] if body["kind"] == kind]

    def attributes(self, body, among):
        """Those of `among` that the body has."""
        found = next(entry["attributes"] for entry in self.manifest["bodies"] if entry["name"] == body)
        return [name for name in among if name in found]

    def vertices(self, body, frame):
        return read_ply(self.folder / "ply" / f"{body}.{frame:04}.ply")["vertex"]

    def faces(self, body, frame):
        return read_ply(self.folder / "ply" / f"{body}.{frame:04}.ply")["face"]["vertex_indices"]


def vectors(table, names):
    return np.stack([table[name] for name in names], axis=1)


def positions(table):
    return vectors(table, "xyz")


def per_strand(table, name):
    """The values of strands, which stand at each of their vertices."""
    first = np.flatnonzero(np.diff(table["strand"], prepend=-1))
    return table[name][first]


def strand_lengths(table):
    return np.bincount(table["strand"])


def same(what, got, expected, tolerance=0.0):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"{what}: {got.shape}, not {expected.shape}"
    if got.size:
        error = np.abs(got.astype(float) - expected.astype(float)).max()
        assert error <= tolerance, f"{what} differs by {error}"


def main(check):
    run = Run(sys.argv[1])
    check(run)
