// An armillary sphere at dusk. Rings of brass turn about a drop of glass; the light of a low sun comes
// over a still lagoon. All turns are whole numbers, so that the last picture runs into the first.
// clock: 0 to 1 is one round.
#version 3.7;
global_settings { assumed_gamma 1.0 max_trace_level 6 }

#declare Turn = 360 * clock;

camera {
  location <0, 2.35, -8.2>
  direction 1.9*z
  right 16/9*x
  look_at <0, 1.72, 0>
}

// The sky: a dusk in five bands and a veil of thin cloud.
sky_sphere {
  pigment {
    gradient y
    color_map {
      [0.00 srgb <1.00, 0.62, 0.34>]
      [0.06 srgb <0.98, 0.50, 0.36>]
      [0.16 srgb <0.72, 0.36, 0.46>]
      [0.34 srgb <0.27, 0.22, 0.45>]
      [0.75 srgb <0.06, 0.07, 0.19>]
    }
  }
  pigment {
    wrinkles
    turbulence 0.4
    octaves 4
    scale <1.2, 0.09, 1.2>
    color_map {
      [0.45 srgbt <1, 0.7, 0.6, 1>]
      [0.75 srgbt <1, 0.72, 0.58, 0.55>]
      [1.00 srgbt <1, 0.85, 0.7, 0.35>]
    }
  }
}

// The low sun, soft, and a cool fill without shadow from the other side.
light_source {
  <-24, 15, -16> srgb <1.0, 0.80, 0.58>*1.55
  area_light <5, 0, 0>, <0, 5, 0>, 3, 3 adaptive 0 jitter circular orient
}
light_source { <20, 9, -14> srgb <0.36, 0.42, 0.72>*0.7 shadowless }

// The lagoon.
plane {
  y, 0
  pigment { srgb <0.03, 0.04, 0.09> }
  // Ripples fade with the distance, else the far water would flicker.
  normal {
    gradient z scale 60 phase 0.1
    normal_map {
      [0.00 waves 0.05 frequency 3 phase 2*clock scale <3, 1, 0.55>/60 turbulence 0.25]
      [0.25 waves 0.01 frequency 3 phase 2*clock scale <3, 1, 0.55>/60 turbulence 0.25]
      [0.60 waves 0.0 scale 1/60]
      [1.00 waves 0.0 scale 1/60]
    }
    translate -8*z
  }
  finish { ambient 0 diffuse 0.4 specular 0.5 roughness 0.004
           reflection { 0.25, 0.9 fresnel on } conserve_energy }
  interior { ior 1.33 }
}

// Far hills, only outlines, two ranges deep.
#declare Seed = seed(71);
#for (I, 0, 40)
  #declare Back = mod(I, 2);
  sphere {
    0, 1 scale <18 + 14*rand(Seed), 3.4 + 5.5*rand(Seed) + 2.5*Back, 1>
    translate <-150 + 7.5*I, 0, 190 + 30*Back>
    pigment { srgb <0.30, 0.17, 0.27> + Back*<0.22, 0.11, 0.09> }
    finish { ambient 0 diffuse 0 emission 0.75 }
  }
#end

#declare Brass = texture {
  pigment { srgb <0.93, 0.66, 0.30> }
  finish { ambient 0 diffuse 0.38 specular 0.75 roughness 0.012 metallic
           reflection { 0.42 metallic } conserve_energy }
}
#declare DarkBronze = texture {
  pigment { srgb <0.20, 0.12, 0.09> }
  finish { ambient 0 diffuse 0.45 specular 0.8 roughness 0.01
           reflection { 0.10, 0.55 fresnel on } conserve_energy }
}

// A flat band with engraved hours: an outer and an inner wall and a mark each thirty degrees.
#macro Band(R, Wide, Thick, Marks)
  union {
    difference {
      cylinder { -Wide/2*y, Wide/2*y, R }
      cylinder { -Wide*y, Wide*y, R - Thick }
    }
    torus { R - Thick/2, Thick*0.72 translate  Wide/2*y }
    torus { R - Thick/2, Thick*0.72 translate -Wide/2*y }
    #for (I, 0, Marks - 1)
      sphere { <R, 0, 0>, Thick*0.78 rotate 360/Marks*I*y texture { DarkBronze } }
    #end
  }
#end

// The instrument: three rings, each inside the one before and hung on its axis.
#declare Heart = union {
  sphere {
    0, 0.40
    texture {
      pigment { srgbf <0.72, 0.93, 1.0, 0.93> }
      finish { ambient 0 diffuse 0.05 specular 0.9 roughness 0.002
               reflection { 0.03, 0.85 fresnel on } conserve_energy }
    }
    interior { ior 1.45 }
  }
  // The ember inside the glass.
  sphere {
    0, 0.11
    texture {
      pigment { bozo turbulence 0.7 scale 0.09
                color_map { [0 srgb <1, 0.85, 0.45>] [0.6 srgb <1, 0.42, 0.12>] [1 srgb <0.7, 0.10, 0.05>] } }
      finish { ambient 0 emission 1.5 diffuse 0 }
      rotate Turn*y
    }
  }
}

#macro Planet(R, Size, At, Col, Shine)
  sphere {
    <R, 0, 0>, Size
    texture {
      pigment { agate scale Size*1.4 color_map { [0 Col*0.6] [0.5 Col] [1 Col*1.25] } }
      finish { ambient 0 diffuse 0.7 specular 0.6 roughness 0.008 reflection { 0.02, Shine fresnel on } conserve_energy }
    }
    interior { ior 1.6 }
    rotate At*y
  }
#end

#declare Sphere = union {
  // outermost: the meridian, which stands
  object { Band(1.50, 0.10, 0.055, 24) rotate 90*x texture { Brass } }
  union {
    // the ecliptic, tilted as the Earth is
    object { Band(1.34, 0.20, 0.045, 12) rotate 90*z rotate 23.4*x texture { Brass } rotate Turn*y }
    object { Band(1.16, 0.09, 0.045, 18) rotate 66.6*x texture { Brass } rotate -2*Turn*y rotate 14*z }
    object { Band(0.96, 0.13, 0.040, 12) rotate 35*z texture { Brass } rotate Turn*x rotate 40*y }
    cylinder { -1.5*y, 1.5*y, 0.022 texture { DarkBronze } }
    rotate 23.4*z
  }
  Planet(0.74, 0.115, 2*Turn + 30, srgb <0.12, 0.48, 0.36>, 0.6)
  Planet(0.66, 0.075, -3*Turn + 170, srgb <0.75, 0.20, 0.12>, 0.6)
  Planet(1.78, 0.14, -Turn - 20, srgb <0.14, 0.28, 0.66>, 0.7)
  Planet(1.95, 0.07, 2*Turn + 200, srgb <0.92, 0.88, 0.80>, 0.5)
  object { Heart }
}

// The stand: a turned foot in the water and a fork that holds the meridian.
#declare Foot = union {
  lathe {
    cubic_spline 11,
    <1.1, -0.1>, <1.05, 0.0>, <0.98, 0.10>, <0.55, 0.17>, <0.24, 0.24>, <0.13, 0.40>,
    <0.20, 0.50>, <0.10, 0.58>, <0.09, 0.68>, <0.0, 0.70>, <-0.1, 0.7>
    texture { DarkBronze }
  }
  difference {
    torus { 1.66, 0.06 rotate 90*x }
    box { <-2, -0.55, -1>, <2, 2, 1> }
    translate 2.25*y
    texture { DarkBronze }
  }
  sphere { <0, 0.60, 0>, 0.13 texture { Brass } }
}

object { Foot }
object { Sphere translate 2.25*y }

// Buoys of light on the water, out of step with each other.
#declare Lamps = seed(12);
#for (I, 0, 8)
  #declare Far = 1.5 + 15*rand(Lamps);
  #declare Side = -8.5 + 2.1*I + rand(Lamps);
  sphere {
    <Side, 0.05 + 0.035*sin(2*pi*(clock + rand(Lamps))), Far>, 0.085
    pigment { srgb <1, 0.72, 0.36> }
    finish { ambient 0 emission 2.2 diffuse 0 }
  }
#end
