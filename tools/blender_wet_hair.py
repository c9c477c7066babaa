"""Renders an exported run in Blender's Cycles, with hair whose look follows the water.

    drench export runs/shower --to usdc
    blender --background --python tools/blender_wet_hair.py -- runs/shower/exports/shower.usdc --frame 60 --out wet.png

Works with `blender` 4.2 or later, or with Python 3.11 and `pip install bpy`. Without --out the scene is saved as a .blend
file, to go on by hand. Alembic files (.abc) work too.

The material of hair reads two attributes that Drench writes at every vertex, each from 0 (dry) to 1:
    wet_dark   water inside the fibre: darker and more saturated, dries slowly
    wet_spec   a film of water around it: narrow, bright highlights, dries fast
"""

import argparse
import sys
from pathlib import Path

import bpy
from mathutils import Vector


def arguments():
    own = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="a .usdc, .usda, .usdz or .abc file that drench export wrote")
    parser.add_argument("--frame", type=int, help="frame to render [the last]")
    parser.add_argument("--animation", action="store_true", help="render all frames; --out is then a folder")
    parser.add_argument("--out", help="picture to write; without it a .blend file is saved")
    parser.add_argument("--fps", type=float, default=25, help="frames per second of the run")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--resolution", default="1280x720")
    parser.add_argument("--melanin", type=float, default=0.45, help="pigment of dry hair: 0 white, 0.5 brown, 1 black")
    parser.add_argument("--redness", type=float, default=0.4)
    parser.add_argument("--thicker", type=float, default=1.0, help="multiplier of the width of hair")
    return parser.parse_args(own)


def load(path):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if path.suffix == ".abc":
        bpy.ops.wm.alembic_import(filepath=str(path))
    else:
        bpy.ops.wm.usd_import(filepath=str(path))


class Nodes:
    """The nodes of a material, a world or a modifier, made one by one."""

    def __init__(self, tree):
        tree.nodes.clear()
        self.tree = tree

    def add(self, kind, **inputs):
        """A node; each input is a value, or the output of another node."""
        node = self.tree.nodes.new(kind)
        for name, value in inputs.items():
            socket = node.inputs[name.replace("_", " ")]
            if isinstance(value, bpy.types.NodeSocket):
                self.tree.links.new(value, socket)
            else:
                socket.default_value = value
        return node

    def attribute(self, name):
        node = self.add("ShaderNodeAttribute")
        node.attribute_name = name
        return node.outputs["Fac"]

    def ramp(self, at, dry, wet):
        """From `dry` to `wet` as `at` goes from 0 to 1."""
        node = self.add("ShaderNodeMapRange", Value=at, To_Min=dry, To_Max=wet)
        return node.outputs["Result"]


def hair_material(melanin, redness):
    material = bpy.data.materials.new("wet hair")
    material.use_nodes = True
    nodes = Nodes(material.node_tree)
    dark, gloss = nodes.attribute("wet_dark"), nodes.attribute("wet_spec")
    hair = nodes.add("ShaderNodeBsdfHairPrincipled")
    hair.parametrization = "MELANIN"
    link = nodes.tree.links.new
    # Water in and between fibres lets light go a longer way through the pigment.
    link(nodes.ramp(dark, melanin, min(1.0, melanin + 0.35 * (1.0 - melanin))), hair.inputs["Melanin"])
    hair.inputs["Melanin Redness"].default_value = redness
    # A film hides the scales: it is smooth, and lies along the fibre without their tilt.
    link(nodes.ramp(gloss, 0.3, 0.08), hair.inputs["Roughness"])
    link(nodes.ramp(gloss, 0.35, 0.2), hair.inputs["Radial Roughness"])
    link(nodes.ramp(gloss, 0.0, 0.9), hair.inputs["Coat"])
    link(nodes.ramp(gloss, 0.044, 0.0), hair.inputs["Offset"])
    # Water between hairs: the step from film to fibre is smaller than that from air to fibre.
    link(nodes.ramp(gloss, 1.55, 1.45), hair.inputs["IOR"])
    link(nodes.ramp(gloss, 0.12, 0.02), hair.inputs["Random Roughness"])
    link(nodes.ramp(gloss, 0.25, 0.1), hair.inputs["Random Color"])
    output = nodes.add("ShaderNodeOutputMaterial")
    link(hair.outputs[0], output.inputs["Surface"])
    return material


def plain_material(name, colour, roughness, **more):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    nodes = Nodes(material.node_tree)
    surface = nodes.add("ShaderNodeBsdfPrincipled", Base_Color=(*colour, 1.0), Roughness=roughness, **more)
    output = nodes.add("ShaderNodeOutputMaterial")
    nodes.tree.links.new(surface.outputs[0], output.inputs["Surface"])
    return material


def display_colour(thing, otherwise):
    colours = thing.data.attributes.get("displayColor")
    return tuple(colours.data[0].color)[:3] if colours and len(colours.data) else otherwise


def wider(thing, factor):
    """Multiplies the radii of curves at every frame."""
    group = bpy.data.node_groups.new("wider", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    nodes = Nodes(group)
    geometry = nodes.add("NodeGroupInput").outputs[0]
    radius = nodes.add("GeometryNodeInputRadius").outputs[0]
    product = nodes.add("ShaderNodeMath")
    product.operation = "MULTIPLY"
    group.links.new(radius, product.inputs[0])
    product.inputs[1].default_value = factor
    widened = nodes.add("GeometryNodeSetCurveRadius", Curve=geometry, Radius=product.outputs[0])
    group.links.new(widened.outputs[0], nodes.add("NodeGroupOutput").inputs[0])
    thing.modifiers.new("wider", "NODES").node_group = group


def dress(options):
    hair = hair_material(options.melanin, options.redness)
    water = plain_material("water", (1, 1, 1), 0.02, IOR=1.33, Transmission_Weight=1.0)
    for thing in bpy.data.objects:
        if thing.type == "CURVES":
            material = hair
            if options.thicker != 1:
                wider(thing, options.thicker)
        elif thing.type == "POINTCLOUD" or thing.name.endswith("_surface"):
            material = water
        elif thing.type == "MESH":
            material = plain_material(thing.name, display_colour(thing, (0.6, 0.45, 0.35)), 0.55)
        else:
            continue
        thing.data.materials.clear()
        thing.data.materials.append(material)


def light():
    scene = bpy.context.scene
    scene.world = bpy.data.worlds.new("sky")
    scene.world.use_nodes = True
    background = scene.world.node_tree.nodes["Background"]
    background.inputs["Color"].default_value = (0.5, 0.56, 0.68, 1.0)
    background.inputs["Strength"].default_value = 0.45
    for name, place, energy, size in [
        ("key", (-0.9, -1.2, 1.2), 45, 0.4),
        ("rim", (0.9, 1.0, 0.9), 55, 0.3),
        ("fill", (1.4, -0.9, 0.1), 6, 1.2),
    ]:
        lamp = bpy.data.lights.new(name, "AREA")
        lamp.energy, lamp.size = energy, size
        thing = bpy.data.objects.new(name, lamp)
        thing.location = place
        thing.rotation_euler = (-Vector(place)).to_track_quat("-Z", "Y").to_euler()
        scene.collection.objects.link(thing)


def prepare(options):
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples = options.samples
    scene.cycles.use_denoising = True
    # Round curves: highlights of wet hair are narrow.
    scene.cycles_curves.shape = "THICK"
    scene.render.fps, scene.render.fps_base = round(options.fps), round(options.fps) / options.fps
    scene.render.resolution_x, scene.render.resolution_y = map(int, options.resolution.split("x"))
    scene.view_settings.view_transform = "AgX"
    scene.view_settings.look = "AgX - Medium High Contrast"
    cameras = [thing for thing in bpy.data.objects if thing.type == "CAMERA"]
    if not cameras:
        cameras = [bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))]
        cameras[0].location, cameras[0].rotation_euler = (0.4, -1.0, 0.1), (1.5, 0.0, 0.38)
        scene.collection.objects.link(cameras[0])
    scene.camera = cameras[0]
    scene.frame_set(scene.frame_end if options.frame is None else options.frame)


def main():
    options = arguments()
    path = Path(options.file).resolve()
    load(path)
    dress(options)
    light()
    prepare(options)
    scene = bpy.context.scene
    if options.out is None:
        blend = path.with_suffix(".blend")
        bpy.ops.wm.save_as_mainfile(filepath=str(blend))
        print(f"saved {blend}")
    elif options.animation:
        scene.render.filepath = str(Path(options.out).resolve()) + "/"
        bpy.ops.render.render(animation=True)
    else:
        scene.render.filepath = str(Path(options.out).resolve())
        bpy.ops.render.render(write_still=True)


main()
