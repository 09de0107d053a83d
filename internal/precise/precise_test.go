package precise

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The exact results, rounded.
func TestCorrectlyRounded(t *testing.T) {
	for _, c := range []struct {
		name    string
		f       func(float64) float64
		x, want float64
	}{
		{"sin", Sin, 0.5, 0.479425538604203},
		{"sin", Sin, 1.0, 0.8414709848078965},
		{"sin", Sin, 3.141592653589793, 1.2246467991473532e-16},
		{"sin", Sin, -1.3169615547825757, -0.9679565621065913},
		{"sin", Sin, 1.022448630320338, 0.853386995876308},
		{"sin", Sin, 1e-09, 1e-09},
		{"sin", Sin, 100.5, -0.030959966783271346},
		{"sin", Sin, 123456.75, -0.9999194125227623},
		{"sin", Sin, 1048577.5, 0.9648223011268932},
		{"sin", Sin, 1e15 + 0.125, 0.7875939707963494},
		{"sin", Sin, 1 << 53, -0.848925964814655},
		{"sin", Sin, 1.5707963267948966, 1.0},
		{"sin", Sin, -2.168789093265832, -0.8264673208207138},
		{"cos", Cos, 0.5, 0.8775825618903728},
		{"cos", Cos, 1.0, 0.5403023058681398},
		{"cos", Cos, 3.141592653589793, -1.0},
		{"cos", Cos, -1.3169615547825757, 0.2511176892908756},
		{"cos", Cos, 1.022448630320338, 0.5212778868024331},
		{"cos", Cos, 1e-09, 1.0},
		{"cos", Cos, 100.5, 0.9995206253283515},
		{"cos", Cos, 123456.75, 0.01269521406412672},
		{"cos", Cos, 1e15 + 0.125, -0.6161945611292257},
		{"cos", Cos, 1<<53 - 1, -0.9999027034384584},
		{"cos", Cos, 1.5707963267948966, 6.123233995736766e-17},
		{"cos", Cos, -2.168789093265832, -0.5629846957204355},
		{"cos", Cos, 45.553093477052, -6.189806365883577e-19}, // the nearest to a multiple of half of pi
		{"asin", Asin, 0.5, 0.5235987755982989},
		{"asin", Asin, -0.46930488755695876, -0.48850342865749524},
		{"asin", Asin, 0.08752171847186085, 0.0876338422040695},
		{"asin", Asin, 1e-12, 1e-12},
		{"asin", Asin, 0.999999999, 1.5707516054359754},
		{"asin", Asin, -0.9999999999999999, -1.5707963118937354},
		{"asin", Asin, 0.025, 0.02500260489936114},
		{"acos", Acos, 0.5, 1.0471975511965979},
		{"acos", Acos, -0.46930488755695876, 2.059299755452392},
		{"acos", Acos, 0.08752171847186085, 1.4831624845908271},
		{"acos", Acos, 1e-12, 1.5707963267938967},
		{"acos", Acos, 0.999999999, 4.4721358921319356e-05},
		{"acos", Acos, -0.9999999999999999, 3.141592638688632},
		{"acos", Acos, 0.025, 1.5457937218955355},
		{"log", Log, 0.3, -1.2039728043259361},
		{"log", Log, 1000.0, 6.907755278982137},
		{"log", Log, 1.0000001, 9.999999505838704e-08},
		{"log10", Log10, 1000.0, 3.0},
		{"log10", Log10, 7.5, 0.8750612633917001},
		{"exp", Exp, 0.7, 2.0137527074704766},
		{"exp", Exp, -20.25, 1.6052280551856116e-09},
	} {
		assert.Equal(t, c.want, c.f(c.x), "%s(%v)", c.name, c.x)
	}
	assert.Equal(t, 1000.0, Pow(10, 3))
	assert.Equal(t, -0.125, Pow(-2, -3))
}

// What is no number, infinite, zero or far away is as package math has it.
func TestUnusual(t *testing.T) {
	zero := math.Copysign(0, -1)
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, zero, 1, -1, 2, 1e300, 5e-324} {
		for name, f := range map[string][2]func(float64) float64{
			"sin": {Sin, math.Sin}, "asin": {Asin, math.Asin}, "acos": {Acos, math.Acos},
		} {
			if x == 1 || x == -1 || x == 2 { // these sines are in the other test
				assert.InDelta(t, f[1](x), f[0](x), 1e-15, "%s(%v)", name, x)
				continue
			}
			got, want := f[0](x), f[1](x)
			assert.True(t, got == want || got != got && want != want, "%s(%v): %v", name, x, got)
			assert.Equal(t, math.Signbit(want), math.Signbit(got), "%s(%v)", name, x)
		}
	}
}

func BenchmarkSin(b *testing.B) {
	x := 0.3
	for b.Loop() {
		x = Sin(x + 1)
	}
}
