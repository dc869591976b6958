"""Writes the scene of the example: blender -b --factory-startup -noaudio -P scene.py -- scene.blend

A street of towers with a moving camera, rendered by Cycles on the processor. It is large enough to take about two seconds to load: what takes the time is
the number of objects, as in scenes of production. The pictures are small, and the same scene always gives the same pictures.
"""
import math
import random
import sys

import bpy

TOWERS = 6000
FRAMES = 20


def material(name, colour):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    made.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (*colour, 1)
    return made


def towers(scene):
    """Towers of a few materials, each an object with a mesh of its own."""
    chance = random.Random(1)
    colours = [material("wall %d" % n, [0.2 + 0.7 * chance.random() for _ in range(3)]) for n in range(8)]
    corners = [(x, y, z) for z in (0, 1) for y in (-1, 1) for x in (-1, 1)]
    sides = [(0, 1, 5, 4), (1, 3, 7, 5), (3, 2, 6, 7), (2, 0, 4, 6), (4, 5, 7, 6)]
    for n in range(TOWERS):
        mesh = bpy.data.meshes.new("tower %d" % n)
        high = chance.uniform(1, 6)
        mesh.from_pydata([(0.4 * x, 0.4 * y, high * z) for x, y, z in corners], [], sides)
        mesh.materials.append(colours[n % len(colours)])
        tower = bpy.data.objects.new(mesh.name, mesh)
        column, row = n % 60, n // 60
        tower.location = (1.2 * (column - 30) + (2 if column >= 30 else -1), 1.2 * row, 0)
        scene.collection.objects.link(tower)


def camera(scene):
    made = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    made.rotation_euler = (math.radians(80), 0, 0)
    for frame, y in ((1, -6), (FRAMES, 6)):
        made.location = (0, y, 3)
        made.keyframe_insert("location", frame=frame)
    scene.collection.objects.link(made)
    scene.camera = made
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy = 3
    sun.rotation_euler = (math.radians(40), math.radians(20), 0)
    scene.collection.objects.link(sun)


def settings(scene):
    scene.frame_start, scene.frame_end = 1, FRAMES
    render = scene.render
    render.engine = "CYCLES"
    render.resolution_x, render.resolution_y, render.resolution_percentage = 160, 90, 100
    render.use_persistent_data = True  # what did not change from frame to frame is not prepared again
    render.image_settings.file_format = "PNG"
    for name in dir(render):
        if name.startswith("use_stamp_"):
            setattr(render, name, False)  # no dates and durations in the files
    scene.cycles.device = "CPU"
    scene.cycles.samples = 8
    scene.cycles.use_denoising = False
    scene.cycles.max_bounces = 2


def main():
    scene = bpy.context.scene
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    towers(scene)
    camera(scene)
    settings(scene)
    bpy.ops.wm.save_as_mainfile(filepath=sys.argv[sys.argv.index("--") + 1])


main()
