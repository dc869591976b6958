"""Renders the frames of a load-once job in a Blender that stays loaded: blender -b SCENE -noaudio -P backend.py -- FOLDER

Each frame becomes FOLDER/NNNN.png. qb.py is looked for in QB_PYTHON, then in the folder python of the source tree.
"""
import ctypes
import os
import sys
import traceback

import bpy

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.environ.get("QB_PYTHON") or os.path.join(here, "..", "..", "python"))  # Blender ignores PYTHONPATH

import qb  # noqa: E402


def render(frame, folder):
    """Renders one frame of the loaded scene and returns the picture's path."""
    scene = bpy.context.scene
    path = os.path.join(folder, "%04d.png" % frame)
    scene.frame_set(frame)
    scene.render.filepath = path
    bpy.ops.render.render(write_still=True)
    return path


def main():
    folder = sys.argv[sys.argv.index("--") + 1]
    print("loaded %s by process %d" % (bpy.data.filepath, os.getpid()))
    while True:
        work = qb.requestwork()
        if work["status"] != "running":  # complete or pending: end now
            break
        try:
            pictures = [render(frame, folder) for frame in range(work["start"], work["end"] + 1, work.get("step", 1))]
        except Exception:  # whatever it is, the item fails with it and the scene may be in any state
            traceback.print_exc()
            qb.reportwork(dict(work, status="failed", reason=traceback.format_exc(limit=0).strip()))
            break
        print("rendered %s by process %d" % (work["name"], os.getpid()))
        ctypes.CDLL(None).fflush(None)  # Blender's own lines, which it buffers, belong to this frame's log
        qb.reportwork(dict(work, status="complete", resultpackage={"outputPaths": pictures}))


main()
