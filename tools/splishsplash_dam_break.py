#!/usr/bin/env python3
"""The dam break of `drench bench dam-break-1s` in SPlisHSPlasH, to compare the two on one machine.

    python3 -m venv sph && sph/bin/pip install pysplishsplash
    OMP_NUM_THREADS=2 sph/bin/python tools/splishsplash_dam_break.py
    drench bench dam-break-1s

100 000 particles of 1 cm, a column of 0.5 x 0.5 x 0.4 m in a tank of 1.6 m, divergence-free SPH, both errors at most 0.1 %, no
viscosity, no surface tension. The tank is 1 cm wider than ours, and the column stands a particle's diameter from its walls: half a
diameter blows up in version 2.19. Sampling the boundary is not timed.
"""

import argparse
import ctypes
import glob
import json
import os
import sys
import tempfile
import time

DIAMETER = 0.01
COLUMN = (0.5, 0.5, 0.4)
TANK = (1.6, 1.0, 0.4)

CUBE = """v -0.5 -0.5 -0.5
v 0.5 -0.5 -0.5
v 0.5 0.5 -0.5
v -0.5 0.5 -0.5
v -0.5 -0.5 0.5
v 0.5 -0.5 0.5
v 0.5 0.5 0.5
v -0.5 0.5 0.5
f 1 3 2
f 1 4 3
f 5 6 7
f 5 7 8
f 1 2 6
f 1 6 5
f 4 7 3
f 4 8 7
f 1 5 8
f 1 8 4
f 2 3 7
f 2 7 6
"""


def scene(stop_at):
    size = [TANK[0] + DIAMETER, TANK[1] + DIAMETER, TANK[2] + 2 * DIAMETER]
    # A block of particles keeps a diameter from its own sides.
    low = [-0.5 * size[0], 0, -0.5 * size[2]]
    return {
        "Configuration": {
            "particleRadius": 0.5 * DIAMETER,
            "density0": 1000,
            "gravitation": [0, -9.81, 0],
            "simulationMethod": 4,
            "boundaryHandlingMethod": 0,
            "timeStepSize": 0.001,
            "cflMethod": 1,
            "cflFactor": 1,
            "cflMinTimeStepSize": 1e-5,
            "cflMaxTimeStepSize": 0.002,
            "maxIterations": 1000,
            "maxError": 0.1,
            "maxIterationsV": 1000,
            "maxErrorV": 0.1,
            "enableDivergenceSolver": True,
            "enableZSort": True,
            "stopAt": stop_at,
            "pause": False,
        },
        "Materials": [{"id": "Fluid", "viscosityMethod": 0, "surfaceTensionMethod": 0, "dragMethod": 0, "vorticityMethod": 0}],
        "RigidBodies": [
            {
                "geometryFile": "cube.obj",
                "translation": [0, 0.5 * size[1], 0],
                "rotationAxis": [1, 0, 0],
                "rotationAngle": 0,
                "scale": size,
                "isDynamic": False,
                "isWall": True,
            }
        ],
        "FluidBlocks": [
            {
                "id": "Fluid",
                "denseMode": 0,
                "start": low,
                "end": [at + length + DIAMETER for at, length in zip(low, COLUMN)],
                "initialVelocity": [0, 0, 0],
            }
        ],
    }


def load():
    """SPlisHSPlasH; version 2.19 crashes unless the OpenGL libraries that it brings along are there before it."""
    bundled = [os.path.join(path, "pysplishsplash.libs") for path in sys.path]
    for folder in filter(os.path.isdir, bundled):
        for name in ("libGLdispatch", "libGLX", "libOpenGL"):
            for library in glob.glob(os.path.join(folder, name + "*")):
                ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    import pysplishsplash

    return pysplishsplash


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--stop-at", type=float, default=1.0, help="simulated time [s]")
    stop_at = arguments.parse_args().stop_at
    sph = load()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "cube.obj"), "w") as file:
            file.write(CUBE)
        path = os.path.join(folder, "dam.json")
        with open(path, "w") as file:
            json.dump(scene(stop_at), file)
        base = sph.Exec.SimulatorBase()
        base.init(useGui=False, sceneFile=path, outputDir=os.path.join(folder, "out"))
        base.setValueFloat(base.STOP_AT, stop_at)
        base.initSimulation()
        particles = sph.Simulation.getCurrent().getFluidModel(0).numActiveParticles()
        wall, processor = time.perf_counter(), time.process_time()
        base.runSimulation()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        print(f"SPlisHSPlasH: {particles} particles to {stop_at} s: {wall:.1f} s, {processor:.1f} s of processor time")
        base.cleanup()


if __name__ == "__main__":
    main()
