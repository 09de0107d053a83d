package engine

import (
	"fmt"
	"strconv"
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
)

// Geo commands, https://redis.io/docs/latest/commands/?group=geo

var geoCommands = []Command{
	{Name: "GEOADD", Arity: -5, Flags: Write | DenyOOM, Groups: "geo", Run: runGeoAdd},
	{Name: "GEODIST", Arity: -4, Flags: ReadOnly, Groups: "geo", Run: runGeoDist},
	{Name: "GEOHASH", Arity: -2, Flags: ReadOnly, Groups: "geo", Run: runGeoHash},
	{Name: "GEOPOS", Arity: -2, Flags: ReadOnly, Groups: "geo", Run: runGeoPos},
	{Name: "GEORADIUS", Arity: -6, Flags: Write | DenyOOM, Groups: "geo", Run: runGeoRadius},
	{Name: "GEORADIUSBYMEMBER", Arity: -5, Flags: Write | DenyOOM, Groups: "geo", Run: runGeoRadius},
	{Name: "GEORADIUSBYMEMBER_RO", Arity: -5, Flags: ReadOnly, Groups: "geo", Run: runGeoRadius},
	{Name: "GEORADIUS_RO", Arity: -6, Flags: ReadOnly, Groups: "geo", Run: runGeoRadius},
	{Name: "GEOSEARCH", Arity: -7, Flags: ReadOnly, Groups: "geo", Run: runGeoSearch},
	{Name: "GEOSEARCHSTORE", Arity: -8, Flags: Write | DenyOOM, Groups: "geo", Run: runGeoSearch},
}

// parseGeoPoint reads a longitude and a latitude.
func parseGeoPoint(args [][]byte) (p geoPoint, bad string) {
	var okLong, okLat bool
	if p.long, okLong = parseFloat(args[0]); !okLong {
		return p, errNotFloat
	}
	if p.lat, okLat = parseFloat(args[1]); !okLat {
		return p, errNotFloat
	}
	if p.long < -geoLongMax || p.long > geoLongMax || p.lat < -geoLatMax || p.lat > geoLatMax {
		return p, fmt.Sprintf("ERR invalid longitude,latitude pair %s,%s", sixDecimals(p.long), sixDecimals(p.lat))
	}
	return p, ""
}

// sixDecimals is C's %f.
func sixDecimals(f float64) string {
	text := strconv.FormatFloat(f, 'f', 6, 64)
	return strings.ToLower(strings.TrimPrefix(text, "+"))
}

// parseGeoUnit reads a unit of length, in metres.
func parseGeoUnit(arg []byte) (metres float64, bad string) {
	switch {
	case is(arg, "M"):
		return 1, ""
	case is(arg, "KM"):
		return 1000, ""
	case is(arg, "FT"):
		return 0.3048, ""
	case is(arg, "MI"):
		return 1609.34, ""
	}
	return 0, "ERR unsupported unit provided. please use M, KM, FT, MI"
}

// runGeoAdd is GEOADD key [NX|XX] [CH] longitude latitude member [...]: a ZADD
// of the points' scores, which is also what replicas are sent.
func runGeoAdd(c *Call) resp.Value {
	at, nx, xx := 2, false, false
	for ; at < len(c.Args); at++ {
		if is(c.Args[at], "NX") {
			nx = true
		} else if is(c.Args[at], "XX") {
			xx = true
		} else if !is(c.Args[at], "CH") {
			break
		}
	}
	if (len(c.Args)-at)%3 != 0 || nx && xx {
		return resp.Err(errSyntax)
	}
	words := append([][]byte{[]byte("zadd")}, c.Args[1:at]...)
	for rest := c.Args[at:]; len(rest) > 0; rest = rest[3:] {
		p, bad := parseGeoPoint(rest)
		if bad != "" {
			return resp.Err(bad)
		}
		words = append(words, []byte(decimal(int64(geoScore(p)))), rest[2])
	}
	asSent := c.Args
	c.Args = words
	var reply resp.Value
	runZAdd(c, &reply)
	c.Args = asSent
	if c.changes > 0 {
		c.Replicate(words...)
	}
	return reply
}

// geoMember is the position of a member of a sorted set.
func (c *Call) geoMember(key, member []byte) (p geoPoint, ok bool, err error) {
	score, ok, err := c.DB.ZScore(key, member)
	if err != nil || !ok {
		return p, false, err
	}
	return geoDecode(score), true, nil
}

// runGeoDist is GEODIST key member member [unit].
func runGeoDist(c *Call) resp.Value {
	unit := 1.0
	if len(c.Args) == 5 {
		var bad string
		if unit, bad = parseGeoUnit(c.Args[4]); bad != "" {
			return resp.Err(bad)
		}
	} else if len(c.Args) > 5 {
		return resp.Err(errSyntax)
	}
	a, okA, err := c.geoMember(c.Args[1], c.Args[2])
	if err != nil {
		return failed(err)
	}
	b, okB, _ := c.geoMember(c.Args[1], c.Args[3])
	if !okA || !okB {
		return resp.Null
	}
	return distanceReply(geoDistance(a, b) / unit)
}

// distanceReply is a distance with four decimals.
func distanceReply(distance float64) resp.Value {
	return resp.Str(strconv.FormatFloat(distance, 'f', 4, 64))
}

// runGeoHash is GEOHASH key [member ...].
func runGeoHash(c *Call) resp.Value {
	return eachGeoMember(c, resp.Null, func(p geoPoint) resp.Value { return resp.Str(geoText(p)) })
}

// runGeoPos is GEOPOS key [member ...].
func runGeoPos(c *Call) resp.Value { return eachGeoMember(c, resp.NullList, c.pointReply) }

func eachGeoMember(c *Call, missing resp.Value, show func(geoPoint) resp.Value) resp.Value {
	list := make([]resp.Value, 0, len(c.Args)-2)
	if _, err := c.DB.ZLen(c.Args[1]); err != nil {
		return failed(err)
	}
	for _, member := range c.Args[2:] {
		p, ok, _ := c.geoMember(c.Args[1], member)
		if ok {
			list = append(list, show(p))
		} else {
			list = append(list, missing)
		}
	}
	return resp.List(list...)
}

// pointReply is a longitude and a latitude.
func (c *Call) pointReply(p geoPoint) resp.Value {
	return resp.List(c.coordinateReply(p.long), c.coordinateReply(p.lat))
}

// coordinateReply is a number with up to seventeen decimals.
func (c *Call) coordinateReply(f float64) resp.Value {
	text := coordinate(f)
	if c.Proto == 3 {
		f, _ = strconv.ParseFloat(text, 64)
		return resp.Number(f, text)
	}
	return resp.Str(text)
}

// coordinate is a number with up to seventeen decimals.
func coordinate(f float64) string {
	text := strconv.FormatFloat(f, 'f', 17, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		return "0"
	}
	return text
}

// geoFound is a member within the shape.
type geoFound struct {
	member   datastore.Member
	point    geoPoint
	distance float64 // metres
}
