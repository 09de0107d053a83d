package browser

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// luminance is that of a colour such as #1a1d21 or #fff.
// Source: relative luminance of WCAG 2.2.
func luminance(t *testing.T, colour string) (sum float64) {
	digits := strings.TrimPrefix(colour, "#")
	if len(digits) == 3 {
		digits = digits[:1] + digits[:1] + digits[1:2] + digits[1:2] + digits[2:] + digits[2:]
	}
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// TestContrast: what is written in the picture, which axe-core does not look at, has
// a contrast of 4.5 at least, in light and in dark.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("../../../sim/page/assets/page.css")
	require.NoError(t, err)
	schemes := strings.SplitN(string(css), "@media (prefers-color-scheme: dark)", 2)
	require.Len(t, schemes, 2)
	for i, scheme := range schemes {
		colours := map[string]string{}
		root := scheme[:strings.Index(scheme, "}")]
		for _, c := range regexp.MustCompile(`--(\w+): (#[0-9a-f]+)`).FindAllStringSubmatch(root, -1) {
			colours[c[1]] = c[2]
		}
		for _, pair := range []struct{ text, under string }{
			{"ink", "paper"}, {"soft", "paper"}, {"accent", "paper"}, {"bad", "paper"}, {"good", "paper"}, {"warn", "paper"},
			{"now", "paper"}, {"ink", "panel"}, {"soft", "panel"}, {"now", "panel"}, {"ink", "fault"}, {"paper", "accent"},
		} {
			one, other := luminance(t, colours[pair.text]), luminance(t, colours[pair.under])
			contrast := (max(one, other) + 0.05) / (min(one, other) + 0.05)
			require.GreaterOrEqual(t, contrast, 4.5, "%v in scheme %d", pair, i)
		}
	}
}
