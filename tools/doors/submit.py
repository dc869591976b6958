"""Submits a scene by the Flamenco add-on: blender -b --factory-startup -noaudio -P submit.py -- MANAGER SCENE PICTURES

The add-on is that of BLENDER_USER_SCRIPTS, and is called as its buttons call it.
"""
import sys

import bpy

manager, scene_file, pictures = sys.argv[sys.argv.index("--") + 1:]
scene = bpy.context.scene
scene.frame_start, scene.frame_end = 3, 6
scene.render.engine = "CYCLES"
scene.cycles.samples = 1
scene.cycles.use_denoising = False  # Debian has built Blender without
scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = 32, 18, 100
bpy.ops.wm.save_as_mainfile(filepath=scene_file)

bpy.ops.preferences.addon_enable(module="flamenco")
bpy.context.preferences.addons["flamenco"].preferences.manager_url = manager
assert bpy.ops.flamenco.ping_manager() == {"FINISHED"}
print("ping:", bpy.context.window_manager.flamenco_status_ping)
scene.flamenco_job_type = "blender"
settings = scene.flamenco_job_settings
print("settings:", sorted(s.key for s in settings.job_type.settings))
settings.Output = pictures
settings.Format = "PNG"
scene.flamenco_job_name = "door"
scene.flamenco_job_priority = 70
print("submitted:", bpy.ops.flamenco.submit_job(job_name="door"), bpy.context.window_manager.flamenco_bat_status)
