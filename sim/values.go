package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxDuration bounds every duration of a scenario, so that sums cannot overflow.
const MaxDuration = 366 * 24 * time.Hour

// number reads a decimal number from lo to hi.
func number(o Option, lo, hi int) (int, error) {
	n, err := strconv.Atoi(o.Value)
	if err != nil || n < lo || n > hi {
		return 0, fmt.Errorf("%s=%s: expected a number from %d to %d", o.Name, o.Value, lo, hi)
	}
	return n, nil
}

func oneOf(o Option, allowed []string) (string, error) {
	for _, a := range allowed {
		if o.Value == a {
			return a, nil
		}
	}
	return "", fmt.Errorf("unknown %s %q: expected %s", o.Name, o.Value, strings.Join(allowed, ", "))
}

func onOff(o Option) (bool, error) {
	v, err := oneOf(o, []string{"on", "off"})
	return v == "on", err
}

// duration reads a duration such as 100ms, 3s or 1m30s, not negative.
func duration(o Option) (time.Duration, error) {
	d, err := signedDuration(o)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s=%s: expected a duration that is not negative", o.Name, o.Value)
	}
	return d, err
}

func signedDuration(o Option) (time.Duration, error) {
	d, err := time.ParseDuration(o.Value)
	if err != nil || d > MaxDuration || d < -MaxDuration {
		return 0, fmt.Errorf("%s=%s: expected a duration such as 100ms or 3s, at most a year", o.Name, o.Value)
	}
	return d, nil
}

// durations reads one duration, or a range of two as 1ms..5ms.
func durations(o Option) (Range, error) {
	lo, hi, isRange := strings.Cut(o.Value, "..")
	first, err := duration(Option{o.Name, lo})
	if err != nil || !isRange {
		return Range{first, first}, err
	}
	last, err := duration(Option{o.Name, hi})
	if err == nil && last < first {
		err = fmt.Errorf("%s=%s: the range ends before it begins", o.Name, o.Value)
	}
	return Range{first, last}, err
}

// rate reads a clock rate as a signed percentage with up to seven decimals,
// such as +1% or -0.02%, in parts per billion.
func rate(o Option) (int64, error) {
	bad := fmt.Errorf("%s=%s: expected above -100%% and below 10000%%, such as +1%% or -0.02%%", o.Name, o.Value)
	text, ok := strings.CutSuffix(o.Value, "%")
	whole, fraction, _ := strings.Cut(strings.TrimLeft(text, "+-"), ".")
	if !ok || len(fraction) > 7 || whole == "" || len(whole) > 4 || len(text)-len(strings.TrimLeft(text, "+-")) > 1 {
		return 0, bad
	}
	ppb, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", 7-len(fraction)), 10, 63)
	if err != nil {
		return 0, bad
	}
	signed := int64(ppb)
	if strings.HasPrefix(text, "-") {
		signed = -signed
	}
	if signed <= -billion {
		return 0, bad
	}
	return signed, nil
}
