package precise

import "math"

// double is the sum of two numbers, lo being less than what hi can tell.
type double struct{ hi, lo float64 }

// ln2 and ln10 are natural logarithms.
var (
	ln2  = double{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}
	ln10 = double{0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53}
)

func twoSum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

func (a double) plus(b double) double {
	s := twoSum(a.hi, b.hi)
	return twoSum(s.hi, s.lo+(a.lo+b.lo))
}

func (a double) times(b double) double {
	p := float64(a.hi * b.hi)
	return twoSum(p, math.FMA(a.hi, b.hi, -p)+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

func (a double) dividedBy(b double) double {
	q := a.hi / b.hi
	rest := a.plus(b.times(double{-q, 0}))
	return twoSum(q, rest.hi/b.hi)
}

// exp is e to the power of a, over 2 to the power of k.
func (a double) exp() (e double, k int) {
	const halvings, terms = 8, 11
	k = int(math.Round(a.hi / ln2.hi))
	r := a.plus(ln2.times(double{float64(-k), 0}))
	r = double{math.Ldexp(r.hi, -halvings), math.Ldexp(r.lo, -halvings)}
	var less double // the power, less one
	for n := terms; n > 0; n-- {
		less = less.plus(double{1, 0}).times(r.dividedBy(double{float64(n), 0}))
	}
	for range halvings {
		less = less.plus(less).plus(less.times(less))
	}
	return less.plus(double{1, 0}), k
}

// logOf is the natural logarithm of a positive number.
func logOf(x float64) double {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = m*2, k-1
	}
	near := math.Log(m)
	e, shift := double{near, 0}.exp()
	e = double{math.Ldexp(e.hi, shift), math.Ldexp(e.lo, shift)}
	rest := 2 * e.plus(double{-m, 0}).hi / (e.hi + m)
	return twoSum(near, -rest).plus(ln2.times(double{float64(k), 0}))
}

// unusual reports whether x is no number above zero.
func unusual(x float64) bool { return !(x > 0) || math.IsInf(x, 1) }

// Log is the natural logarithm of x.
func Log(x float64) float64 {
	if unusual(x) {
		return math.Log(x)
	}
	return logOf(x).hi
}

// Log10 is the decimal logarithm of x.
func Log10(x float64) float64 {
	if unusual(x) {
		return math.Log10(x)
	}
	return logOf(x).dividedBy(ln10).hi
}

// Between these exp is a number that is neither zero nor infinite.
const leastExp, mostExp = -744, 709

// Exp is e to the power of x.
func Exp(x float64) float64 {
	if !(leastExp < x && x < mostExp) {
		return math.Exp(x)
	}
	e, k := double{x, 0}.exp()
	return math.Ldexp(e.hi, k)
}

// Pow is x to the power of y.
func Pow(x, y float64) float64 {
	if y == 1 || y == 2 {
		return math.Pow(x, y)
	}
	base, odd := math.Abs(x), math.Abs(math.Mod(y, 2)) == 1
	if unusual(base) || math.IsNaN(y) || math.IsInf(y, 0) || x < 0 && y != math.Trunc(y) {
		return math.Pow(x, y)
	}
	power := logOf(base).times(double{y, 0})
	if !(leastExp < power.hi && power.hi < mostExp) {
		return math.Pow(x, y)
	}
	e, k := power.exp()
	f := math.Ldexp(e.hi, k)
	if x < 0 && odd {
		return -f
	}
	return f
}
