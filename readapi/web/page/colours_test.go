package page

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// visions are matrices that simulate the color vision of people who lack one kind of cone, in
// linear RGB (Machado, Oliveira, Fernandes 2009, severity 1).
var visions = map[string][3][3]float64{
	"all cones": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protan":    {{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}},
	"deutan":    {{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.011820, .042940, .968881}},
	"tritan":    {{1.255528, -.076749, -.178779}, {-.078411, .930809, .147602}, {.004733, .691367, .303900}},
}

// lab returns a color of the style sheet in CIELAB, as seen with the given type of color vision.
func lab(t *testing.T, hex string, sees [3][3]float64) [3]float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) != 6 {
		t.Fatalf("#%s is no colour: %v", hex, err)
	}
	var linear, seen [3]float64
	for i := range linear {
		v := float64(n>>(16-8*i)&255) / 255
		if linear[i] = v / 12.92; v > .04045 {
			linear[i] = math.Pow((v+.055)/1.055, 2.4)
		}
	}
	for i, row := range sees {
		seen[i] = min(max(row[0]*linear[0]+row[1]*linear[1]+row[2]*linear[2], 0), 1)
	}
	r, g, b := seen[0], seen[1], seen[2]
	f := func(v float64) float64 {
		if v > 216./24389 {
			return math.Cbrt(v)
		}
		return (24389./27*v + 16) / 116
	}
	x, y, z := f((.4124564*r+.3575761*g+.1804375*b)/.95047), f(.2126729*r+.7151522*g+.0721750*b), f((.0193339*r+.1191920*g+.9503041*b)/1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// distance returns the CIEDE2000 difference between two colors in CIELAB.
func distance(p, q [3]float64) float64 {
	c7 := math.Pow((math.Hypot(p[1], p[2])+math.Hypot(q[1], q[2]))/2, 7)
	g := .5 * (1 - math.Sqrt(c7/(c7+math.Pow(25, 7))))
	a1, a2 := (1+g)*p[1], (1+g)*q[1]
	c1, c2 := math.Hypot(a1, p[2]), math.Hypot(a2, q[2])
	hue := func(b, a float64) float64 {
		if h := math.Atan2(b, a) * 180 / math.Pi; h < 0 {
			return h + 360
		} else {
			return h
		}
	}
	h1, h2 := hue(p[2], a1), hue(q[2], a2)
	dh, hm := h2-h1, (h1+h2)/2
	if math.Abs(dh) > 180 {
		dh -= math.Copysign(360, dh)
		hm = math.Mod(hm+180, 360)
	}
	if c1*c2 == 0 {
		dh, hm = 0, h1+h2
	}
	rad := math.Pi / 180
	dH := 2 * math.Sqrt(c1*c2) * math.Sin(dh/2*rad)
	lm, cm := (p[0]+q[0])/2, (c1+c2)/2
	tt := 1 - .17*math.Cos((hm-30)*rad) + .24*math.Cos(2*hm*rad) + .32*math.Cos((3*hm+6)*rad) - .2*math.Cos((4*hm-63)*rad)
	sl := 1 + .015*(lm-50)*(lm-50)/math.Sqrt(20+(lm-50)*(lm-50))
	sc, sh := 1+.045*cm, 1+.015*cm*tt
	cm7 := math.Pow(cm, 7)
	rt := -2 * math.Sqrt(cm7/(cm7+math.Pow(25, 7))) * math.Sin(60*math.Exp(-(hm-275)*(hm-275)/25/25)*rad)
	dl, dc, dhh := (q[0]-p[0])/sl, (c2-c1)/sc, dH/sh
	return math.Sqrt(dl*dl + dc*dc + dhh*dhh + rt*dc*dhh)
}

// TestLevelsDifferForEveryEye: the colors of the levels are distinguishable with every type of color vision.
func TestLevelsDifferForEveryEye(t *testing.T) {
	if d := distance([3]float64{50, 2.6772, -79.7751}, [3]float64{50, 0, -82.7485}); math.Abs(d-2.0425) > 1e-4 {
		t.Fatalf("the distance of Sharma's first pair is %v", d)
	}
	if d := distance([3]float64{22.7233, 20.0904, -46.694}, [3]float64{23.0331, 14.973, -42.5619}); math.Abs(d-2.0373) > 1e-4 {
		t.Fatalf("the distance of another pair of Sharma is %v", d)
	}
	css := readStyles()
	names := []string{"green", "yellow", "orange", "red"}
	for vision, sees := range visions {
		for i, one := range names {
			for _, other := range names[i+1:] {
				of := func(name string) [3]float64 {
					m := regexp.MustCompile(`--` + name + `: #([0-9A-F]{6})`).FindSubmatch(css)
					if m == nil {
						t.Fatalf("the style sheet has no --%s", name)
					}
					return lab(t, string(m[1]), sees)
				}
				if d := distance(of(one), of(other)); d < 18 {
					t.Errorf("%s: %s and %s differ by %.1f", vision, one, other, d)
				}
			}
		}
	}
}

// TestBandDiffersForEveryEye: the fill colors of the forecast band are distinguishable with every type of color
// vision, on the background of both themes.
func TestBandDiffersForEveryEye(t *testing.T) {
	css := readStyles()
	find := func(pattern string) []string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(string(css))
		if m == nil {
			t.Fatalf("the style sheet has nothing like %s", pattern)
		}
		return m[1:]
	}
	cover, err := strconv.ParseFloat(find(`\.soft \{ opacity: ([.0-9]+); \}`)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	over := func(hex, paper string) string {
		a, err := strconv.ParseUint(hex, 16, 32)
		b, fault := strconv.ParseUint(paper, 16, 32)
		if err != nil || fault != nil {
			t.Fatal(err, fault)
		}
		mixed := uint64(0)
		for shift := 16; shift >= 0; shift -= 8 {
			mixed |= uint64(math.Round(cover*float64(a>>shift&255)+(1-cover)*float64(b>>shift&255))) << shift
		}
		return fmt.Sprintf("%06X", mixed)
	}
	names := []string{"green", "yellow", "orange", "red"}
	for i, paper := range find(`--paper: light-dark\(#([0-9A-F]{6}), #([0-9A-F]{6})\)`) {
		for vision, sees := range visions {
			least := math.Inf(1)
			for j, one := range names {
				for _, other := range names[j+1:] {
					of := func(name string) [3]float64 {
						return lab(t, over(find(`--` + name + `: #([0-9A-F]{6})`)[0], paper), sees)
					}
					d := distance(of(one), of(other))
					if least = min(least, d); d < 14 {
						t.Errorf("%s, theme %d: %s and %s differ by %.1f in the band", vision, i, one, other, d)
					}
				}
			}
			t.Logf("%s, theme %d: at least %.1f", vision, i, least)
		}
	}
}
