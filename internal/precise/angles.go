package precise

import "math"

// quarterTurn is half of pi; its third part is of the size of the rest.
var (
	quarterTurn     = double{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}
	quarterTurnRest = -0x1.f1976b7ed8fbcp-110
)

// mostAngle is the largest angle that is computed here: half of pi, of which some 160 bits are
// known, times the number of quarter turns leaves as many as are needed.
const mostAngle = 1 << 53

// Sin is the sine of x radians.
func Sin(x float64) float64 {
	if !(math.Abs(x) <= mostAngle) || x == 0 {
		return math.Sin(x)
	}
	return sine(x, 0).hi
}

// Cos is the cosine of x radians.
func Cos(x float64) float64 {
	if !(math.Abs(x) <= mostAngle) {
		return math.Cos(x)
	}
	return sine(x, 1).hi
}

// Asin is the angle in radians whose sine is x.
func Asin(x float64) float64 {
	if !(math.Abs(x) < 1) || x == 0 {
		return math.Asin(x)
	}
	return arc(x).hi
}

// Acos is the angle in radians whose cosine is x.
func Acos(x float64) float64 {
	if !(math.Abs(x) < 1) {
		return math.Acos(x)
	}
	a := arc(x)
	return quarterTurn.plus(double{-a.hi, -a.lo}).hi
}

// arc is the angle whose sine is x, by one step of Newton's.
func arc(x float64) double {
	near := math.Asin(x)
	s := sine(near, 0)
	return twoSum(near, ((x-s.hi)-s.lo)/math.Cos(near))
}

// sine is the sine of x and of so many quarter turns more.
func sine(x float64, quarters int) double {
	n := math.Round(x / quarterTurn.hi)
	r := double{x, 0}
	if n != 0 {
		for _, part := range [...]float64{quarterTurn.hi, quarterTurn.lo, quarterTurnRest} {
			p := float64(n * part)
			r = r.plus(double{-p, 0}).plus(double{-math.FMA(n, part, -p), 0})
		}
	}
	turned := (int(n) + quarters) & 3
	s := double{1, 0}
	if turned&1 == 0 {
		s = r.times(r.series(2))
	} else {
		s = r.series(1)
	}
	if turned&2 != 0 {
		s = double{-s.hi, -s.lo}
	}
	return s
}

// series is 1 - r²/n(n+1) * (1 - r²/(n+2)(n+3) * (...)), for r of at most an eighth of
// a turn: with n = 1 its cosine, with n = 2 its sine divided by it. The later a factor,
// the fewer of its digits matter.
func (r double) series(n int) double {
	const doubles, terms = 4, 12
	square := r.times(r)
	rest := 1.0
	for k := terms; k > doubles; k-- {
		m := float64(n + 2*(k-1))
		rest = 1 - float64(square.hi*rest)/(m*(m+1))
	}
	s := double{rest, 0}
	for k := doubles; k > 0; k-- {
		m := float64(n + 2*(k-1))
		s = double{1, 0}.plus(square.times(s).dividedBy(double{-m * (m + 1), 0}))
	}
	return s
}
