// A box that turns by 30 degrees in each frame.
#version 3.7;
global_settings { assumed_gamma 1.0 }
camera { location <0, 2.2, -4.2> look_at 0 right 16/9*x angle 45 }
light_source { <-4, 6, -5> rgb 1 }
background { rgb <0.10, 0.14, 0.18> }
plane { y, -1 pigment { checker rgb <0.25, 0.30, 0.35> rgb <0.15, 0.18, 0.22> } }
box { -0.8, 0.8 pigment { gradient x color_map { [0 rgb <0.9, 0.3, 0.1>] [1 rgb <0.95, 0.8, 0.3>] } scale 1.8 translate -0.9*x } rotate 30*clock*y }
