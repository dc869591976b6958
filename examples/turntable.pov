// A tin rocket on a turntable, as a modelling department would show it: a plain studio, a large soft
// lamp, two cards of light that draw the edges. clock: 0 to 1 is one round.
#version 3.7;
global_settings { assumed_gamma 1.0 max_trace_level 5 }

#declare Turn = 360 * clock;

camera {
  location <0, 2.5, -7.4>
  direction 1.78*z
  right 16/9*x
  look_at <0, 1.62, 0>
}

// The room is only seen in reflections: dark, with a bright ceiling.
sky_sphere {
  pigment {
    gradient y
    color_map {
      [0.0 srgb <0.10, 0.11, 0.13>]
      [0.5 srgb <0.28, 0.32, 0.36>]
      [1.0 srgb <0.85, 0.88, 0.92>]
    }
  }
}

light_source {
  <-7, 9, -6> srgb <1.0, 0.95, 0.88>*1.25
  area_light <4, 0, 0>, <0, 0, 4>, 3, 3 adaptive 0 circular orient
}
light_source { <9, 4, -5> srgb <0.50, 0.68, 0.85>*0.45 shadowless }
light_source { <2, 5, 8> srgb <1.0, 0.75, 0.55>*0.35 shadowless }

// Cards of light at both sides, for the tin to mirror.
#macro Card(At, Size, Col)
  box {
    <-Size, -2.5, -0.01>, <Size, 2.5, 0.01>
    pigment { srgb Col }
    finish { ambient 0 diffuse 0 emission 1.2 }
    translate At
    no_shadow no_image
  }
#end
Card(<-5.5, 3, -4.5>, 1.1, <1, 0.97, 0.93>)
Card(< 6.0, 3, -3.5>, 0.7, <0.75, 0.9, 1>)

// The backdrop: a floor that runs up into a wall without an edge.
#declare Backdrop = texture {
  pigment {
    spherical scale 9 translate <0, 1.5, 4>
    color_map { [0 srgb <0.07, 0.21, 0.24>] [0.6 srgb <0.16, 0.42, 0.45>] [1 srgb <0.45, 0.72, 0.70>] }
  }
  finish { ambient 0 diffuse 0.75 emission 0.06 }
}
union {
  box { <-30, -0.1, -20>, <30, 0, 3> }
  difference {
    box { <-30, 0, 3>, <30, 3, 6> }
    cylinder { <-31, 3, 3>, <31, 3, 3>, 3 }
  }
  box { <-30, 3, 6>, <30, 20, 6.1> }
  texture { Backdrop }
}

// Tin is painted sheet metal: a clear coat over colour.
#macro Enamel(Col)
  pigment { srgb Col }
  finish { ambient 0 diffuse 0.72 specular 0.7 roughness 0.006 reflection { 0.03, 0.55 fresnel on } conserve_energy }
#end
#declare Chrome = texture {
  pigment { srgb <0.80, 0.82, 0.85> }
  finish { ambient 0 diffuse 0.22 specular 0.8 roughness 0.005 metallic reflection { 0.62 metallic } conserve_energy }
}
#declare Red   = <0.82, 0.10, 0.07>;
#declare Cream = <0.95, 0.89, 0.74>;
#declare Navy  = <0.07, 0.13, 0.30>;
#declare Sun   = <0.98, 0.70, 0.12>;

// Hull: one profile, painted in bands by height.
#declare Hull = lathe {
  cubic_spline 12,
  <0.30, -0.15>, <0.34, 0.0>, <0.44, 0.18>, <0.57, 0.55>, <0.64, 1.00>, <0.62, 1.45>,
  <0.51, 1.85>, <0.33, 2.20>, <0.14, 2.46>, <0.05, 2.56>, <0.0, 2.60>, <-0.05, 2.64>
  sturm
}
#declare Checks = texture {
  radial frequency 8
  texture_map {
    [0.5 Enamel(Red)]
    [0.5 Enamel(Cream)]
  }
}
#declare ChecksTurned = texture { Checks rotate 22.5*y }
#declare Paint = texture {
  gradient y
  texture_map {
    [0.060 Chrome]
    [0.060 Enamel(Navy)]
    [0.125 Enamel(Navy)]
    [0.125 Checks]
    [0.185 Checks]
    [0.185 ChecksTurned]
    [0.245 ChecksTurned]
    [0.245 Enamel(Cream)]
    [0.600 Enamel(Cream)]
    [0.600 Enamel(Sun)]
    [0.620 Enamel(Sun)]
    [0.620 Enamel(Red)]
    [0.925 Enamel(Red)]
    [0.925 Chrome]
  }
  scale 2.7
}

// A fin is a swept outline with a wheel of chrome at its foot.
#declare Fin = union {
  prism {
    cubic_spline -0.035, 0.035, 10,
    <0.20, 0.00>, <0.50, 0.10>, <0.86, -0.30>, <1.12, -0.52>, <1.10, -0.10>,
    <0.98, 0.35>, <0.62, 0.86>, <0.40, 0.62>, <0.50, 0.10>, <0.86, -0.30>
    rotate -90*x
    texture { Enamel(Red) }
  }
  sphere { <1.11, -0.52, 0>, 0.085 texture { Chrome } }
}

// A window with rivets and someone at home.
#declare Porthole = union {
  torus { 0.185, 0.045 rotate 90*x texture { Chrome } }
  sphere {
    0, 0.18 scale <1, 1, 0.35>
    texture {
      pigment { gradient y scale 0.4 translate -0.2*y color_map { [0 srgb <1, 0.82, 0.35>] [1 srgb <1, 0.55, 0.15>] } }
      finish { ambient 0 diffuse 0.3 emission 0.55 specular 0.9 roughness 0.003 reflection { 0.04, 0.7 fresnel on } conserve_energy }
    }
  }
  #for (I, 0, 7)
    sphere { <0.185, 0, -0.036>, 0.022 rotate 45*I*z texture { Chrome } }
  #end
}

#declare Rocket = union {
  object { Hull texture { Paint } }
  #for (I, 0, 2)
    object { Fin translate 0.15*y rotate (120*I + 90)*y }
  #end
  object { Porthole translate <0, 1.32, -0.635> rotate 30*y }
  object { Porthole scale 0.7 translate <0, 1.32, -0.635> rotate 150*y }
  object { Porthole scale 0.7 translate <0, 1.32, -0.635> rotate 270*y }
  torus { 0.44, 0.03 translate 0.165*y texture { Chrome } }
  cylinder { 2.5*y, 2.95*y, 0.014 texture { Chrome } }
  sphere { 2.97*y, 0.05 texture { Enamel(Sun) } }
  // the key that winds it up
  union {
    cylinder { <0, 0.62, 0.4>, <0, 0.62, 0.86>, 0.035 }
    torus { 0.12, 0.032 rotate 90*z translate <0, 0.75, 0.90> }
    torus { 0.12, 0.032 rotate 90*z translate <0, 0.49, 0.90> }
    texture { Chrome } rotate 30*y
  }
}

// The turntable with its scale: one long mark each thirty degrees.
#declare Table = union {
  cylinder { 0, 0.14*y, 1.72 texture { Enamel(<0.05, 0.06, 0.07>) } }
  torus { 1.70, 0.035 translate 0.14*y texture { Chrome } }
  #for (I, 0, 35)
    box {
      <1.44 + 0.08*(mod(I, 3) != 0), 0.138, -0.011>, <1.60, 0.144, 0.011>
      rotate 10*I*y
      texture { Enamel(Cream) }
    }
  #end
}

union {
  object { Table }
  object { Rocket translate 0.56*y }
  rotate Turn*y
}
