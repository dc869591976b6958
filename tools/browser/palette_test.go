package browser_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// states are the eight that a cell, bar or mark can show.
var states = []string{"pending", "running", "secondary", "stopping", "complete", "failed", "killed", "blocked"}

type linear [3]float64 // of red, green and blue

// sights are the matrices of Machado, Oliveira and Fernandes (2009) for a full deficiency, in linear light.
var sights = map[string][3]linear{
	"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protan": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deutan": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritan": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func linearOf(t *testing.T, colour string) (c linear) {
	t.Helper()
	for n := range c {
		v, err := strconv.ParseUint(colour[1+2*n:3+2*n], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		if x := float64(v) / 255; x <= 0.04045 {
			c[n] = x / 12.92
		} else {
			c[n] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return c
}

// seen is a colour as such a sight sees it.
func (c linear) seen(m [3]linear) (out linear) {
	for n, row := range m {
		out[n] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return out
}

// lab is the colour in CIE Lab under D65.
func (c linear) lab() (l, a, b float64) {
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124564*c[0] + 0.3575761*c[1] + 0.1804375*c[2]) / 0.95047)
	y := f(0.2126729*c[0] + 0.7151522*c[1] + 0.0721750*c[2])
	z := f((0.0193339*c[0] + 0.1191920*c[1] + 0.9503041*c[2]) / 1.08883)
	return 116*y - 16, 500 * (x - y), 200 * (y - z)
}

// distance is ΔE2000 of two colours in Lab (Sharma, Wu and Dalal, 2005).
func distance(l1, a1, b1, l2, a2, b2 float64) float64 {
	const rad = math.Pi / 180
	seventh := func(c float64) float64 { return math.Sqrt(math.Pow(c, 7) / (math.Pow(c, 7) + math.Pow(25, 7))) }
	g := 0.5 * (1 - seventh((math.Hypot(a1, b1)+math.Hypot(a2, b2))/2))
	a1, a2 = a1*(1+g), a2*(1+g)
	c1, c2 := math.Hypot(a1, b1), math.Hypot(a2, b2)
	hue := func(a, b float64) float64 { return math.Mod(math.Atan2(b, a)/rad+360, 360) }
	h1, h2 := hue(a1, b1), hue(a2, b2)
	dh, h := h2-h1, (h1+h2)/2
	switch {
	case c1*c2 == 0:
		dh, h = 0, h1+h2
	case math.Abs(h1-h2) > 180:
		dh -= math.Copysign(360, dh)
		h = math.Mod(h+180, 360)
	}
	dl, dc, dhh := l2-l1, c2-c1, 2*math.Sqrt(c1*c2)*math.Sin(dh/2*rad)
	l, c := (l1+l2)/2, (c1+c2)/2
	turn := 1 - 0.17*math.Cos((h-30)*rad) + 0.24*math.Cos(2*h*rad) + 0.32*math.Cos((3*h+6)*rad) - 0.20*math.Cos((4*h-63)*rad)
	sl, sc, sh := 1+0.015*(l-50)*(l-50)/math.Sqrt(20+(l-50)*(l-50)), 1+0.045*c, 1+0.015*c*turn
	rt := -2 * seventh(c) * math.Sin(60*math.Exp(-((h-275)/25)*((h-275)/25))*rad)
	return math.Sqrt(dl/sl*dl/sl + dc/sc*dc/sc + dhh/sh*dhh/sh + rt*dc/sc*dhh/sh)
}

// tooNear are the pairs of states whose colours are nearer than 12 to some sight, and the least distance of all.
func tooNear(t *testing.T, colours map[string]string) (bad []string, least float64) {
	t.Helper()
	least = 100
	for sight, m := range sights {
		for n, one := range states {
			for _, other := range states[:n] {
				l1, a1, b1 := linearOf(t, colours[one]).seen(m).lab()
				l2, a2, b2 := linearOf(t, colours[other]).seen(m).lab()
				d := distance(l1, a1, b1, l2, a2, b2)
				if least = min(least, d); d < 12 {
					bad = append(bad, fmt.Sprintf("%s and %s are %.1f apart to %s sight", one, other, d, sight))
				}
			}
		}
	}
	return bad, least
}

// between is a colour on the way from one to another, an eighth of it away from the first.
func between(t *testing.T, one, other string) string {
	t.Helper()
	text := "#"
	for n := range 3 {
		a, err := strconv.ParseInt(one[1+2*n:3+2*n], 16, 32)
		b, err2 := strconv.ParseInt(other[1+2*n:3+2*n], 16, 32)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		text += fmt.Sprintf("%02x", a+(b-a)/8)
	}
	return text
}

// TestPagePalette: any two of eight states are told apart by their colour in four kinds of sight, in both themes; a colour that is
// moved too close is found.
func TestPagePalette(t *testing.T) {
	if d := distance(50, 2.6772, -79.7751, 50, 0, -82.7485); math.Abs(d-2.0425) > 0.0001 { // of the paper's own test data
		t.Fatalf("ΔE2000 is %f", d)
	}
	text, err := os.ReadFile("../../supervisor/page/web/static/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, _ := strings.Cut(string(text), `[data-theme="dark"]`)
	for theme, part := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]string{}
		for _, m := range regexp.MustCompile(`--s-([a-z]+): (#[0-9a-f]{6})`).FindAllStringSubmatch(part, -1) {
			colours[m[1]] = m[2]
		}
		if len(colours) != len(states) {
			t.Fatalf("%s has the colours %v", theme, colours)
		}
		bad, least := tooNear(t, colours)
		t.Logf("%s: the nearest two are %.1f apart", theme, least)
		for _, pair := range bad {
			t.Errorf("%s: %s", theme, pair)
		}
		colours["failed"] = between(t, colours["running"], colours["failed"])
		if bad, least := tooNear(t, colours); len(bad) == 0 {
			t.Errorf("%s: a colour that is moved too close, to %.1f, is not found", theme, least)
		}
	}
}
