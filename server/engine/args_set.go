package engine

import (
	"math"
	"strconv"

	"minikv/datastore"
)

// setOptions are the options of SET and GETEX.
type setOptions struct {
	nx, xx, get, keep, persist bool
	unit                       string // EX, PX, EXAT or PXAT; "" for none
	amount                     []byte // of unit, as given
}

// parseSetOptions reads what follows the value of SET, or the key of GETEX.
// Source: parseExtendedStringArgumentsOrReply of Redis 7.0.
func parseSetOptions(args [][]byte, getex bool) (opt setOptions, bad string) {
	for i := 0; i < len(args); i++ {
		unit := expiryUnit(args[i])
		timed := opt.unit != "" || opt.keep || opt.persist
		switch {
		case is(args[i], "NX") && !getex && !opt.xx:
			opt.nx = true
		case is(args[i], "XX") && !getex && !opt.nx:
			opt.xx = true
		case is(args[i], "GET") && !getex:
			opt.get = true
		case is(args[i], "KEEPTTL") && !getex && opt.unit == "":
			opt.keep = true
		case is(args[i], "PERSIST") && getex && opt.unit == "":
			opt.persist = true
		case unit != "" && (!timed || unit == opt.unit) && i+1 < len(args):
			i++
			opt.unit, opt.amount = unit, args[i]
		default:
			return opt, errSyntax
		}
	}
	return opt, ""
}

// expiryUnit returns EX, PX, EXAT or PXAT if arg is one of them, or "".
func expiryUnit(arg []byte) string {
	for _, unit := range [...]string{"EX", "PX", "EXAT", "PXAT"} {
		if is(arg, unit) {
			return unit
		}
	}
	return ""
}

// absolute reports whether the deadline was given as a date.
func (o *setOptions) absolute() bool { return o.unit == "EXAT" || o.unit == "PXAT" }

// deadline is the deadline that the options ask for, as SetString takes it.
func (o *setOptions) deadline(c *Call) (unixMillis int64, bad string) {
	switch {
	case o.keep:
		return datastore.KeepDeadline, ""
	case o.unit == "":
		return datastore.NoDeadline, ""
	}
	n, ok := parseInt(o.amount)
	if !ok {
		return 0, errNotInt
	}
	seconds := o.unit == "EX" || o.unit == "EXAT"
	if n <= 0 || seconds && n > math.MaxInt64/1000 {
		return 0, errExpireTime(c)
	}
	if seconds {
		n *= 1000
	}
	if !o.absolute() {
		now := c.NowMillis()
		if n > math.MaxInt64-now {
			return 0, errExpireTime(c)
		}
		n += now
	}
	return n, ""
}

// replicate sends a SET that means the same later: with its deadline as a
// date, or without GET.
func (o *setOptions) replicate(c *Call, key, text []byte, deadline int64) {
	if !c.Node.recording() {
		return
	}
	if o.unit != "" {
		var digits [20]byte
		c.Replicate([]byte("SET"), key, text, []byte("PXAT"), strconv.AppendInt(digits[:0], deadline, 10))
		return
	}
	if !o.get {
		return
	}
	kept := make([][]byte, 0, len(c.Args))
	for i, arg := range c.Args {
		if i < 3 || !is(arg, "GET") {
			kept = append(kept, arg)
		}
	}
	c.Replicate(kept...)
}

// errExpireTime is the error of a TTL that is not positive or too great.
func errExpireTime(c *Call) string { return "ERR invalid expire time in '" + c.Cmd.full + "' command" }
