package engine

import (
	"cmp"
	"slices"
	"strings"

	"minikv/datastore"
	"minikv/internal/resp"
)

// geoQuery is a parsed GEORADIUS or GEOSEARCH.
type geoQuery struct {
	search, readOnly              bool // GEOSEARCH or GEOSEARCHSTORE; no STORE
	shape                         geoShape
	unit                          float64
	withDist, withHash, withCoord bool
	fromMember, fromPoint         bool
	byRadius, byBox               bool
	ascending, descending, any    bool
	count                         int64
	source                        []byte
	store                         []byte // nil: reply
	storeDist                     bool
}

const errGeoMember = "ERR could not decode requested zset member"

// runGeoRadius is GEORADIUS key longitude latitude radius unit [options], or
// GEORADIUSBYMEMBER key member radius unit [options], and their _RO forms.
func runGeoRadius(c *Call) resp.Value {
	q := geoQuery{source: c.Args[1], readOnly: c.Cmd.Flags&ReadOnly != 0, unit: 1}
	q.shape.circle = true
	n, err := c.DB.ZLen(q.source)
	if err != nil {
		return failed(err)
	}
	options, bad := 6, ""
	if strings.HasPrefix(c.Cmd.Name, "GEORADIUSBYMEMBER") {
		options = 5
		if n > 0 {
			var ok bool
			if q.shape.center, ok, _ = c.geoMember(q.source, c.Args[2]); !ok {
				return resp.Err(errGeoMember)
			}
			bad = q.parseRadius(c.Args[3:])
		}
	} else if q.shape.center, bad = parseGeoPoint(c.Args[2:]); bad == "" {
		bad = q.parseRadius(c.Args[4:])
	}
	if bad == "" {
		bad = q.parse(c, c.Args[options:], n == 0)
	}
	if bad != "" {
		return resp.Err(bad)
	}
	return q.run(c, n == 0)
}

// runGeoSearch is GEOSEARCH key FROMMEMBER member|FROMLONLAT longitude latitude
// BYRADIUS radius unit|BYBOX width height unit [ASC|DESC] [COUNT n [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH],
// or GEOSEARCHSTORE destination source … [STOREDIST].
func runGeoSearch(c *Call) resp.Value {
	q := geoQuery{search: true, source: c.Args[1], unit: 1}
	options := 2
	if c.Cmd.Name == "GEOSEARCHSTORE" {
		q.store, q.source, options = c.Args[1], c.Args[2], 3
	}
	n, err := c.DB.ZLen(q.source)
	if err != nil {
		return failed(err)
	}
	if bad := q.parse(c, c.Args[options:], n == 0); bad != "" {
		return resp.Err(bad)
	}
	return q.run(c, n == 0)
}

// parseRadius reads a radius and its unit.
func (q *geoQuery) parseRadius(args [][]byte) (bad string) {
	radius, ok := parseFloat(args[0])
	switch {
	case !ok:
		return "ERR need numeric radius"
	case radius < 0:
		return "ERR radius cannot be negative"
	}
	if q.unit, bad = parseGeoUnit(args[1]); bad == "" {
		q.shape.radius, q.shape.circle = radius*q.unit, true
	}
	return bad
}

// parseBox reads a width, a height and their unit.
func (q *geoQuery) parseBox(args [][]byte) (bad string) {
	width, okWidth := parseFloat(args[0])
	if !okWidth {
		return "ERR need numeric width"
	}
	height, okHeight := parseFloat(args[1])
	switch {
	case !okHeight:
		return "ERR need numeric height"
	case width < 0 || height < 0:
		return "ERR height or width cannot be negative"
	}
	if q.unit, bad = parseGeoUnit(args[2]); bad == "" {
		q.shape.width, q.shape.height, q.shape.circle = width*q.unit, height*q.unit, false
	}
	return bad
}

// parse reads the options and finds those that do not go together.
func (q *geoQuery) parse(c *Call, args [][]byte, missing bool) (bad string) {
	for len(args) > 0 && bad == "" {
		used := 1
		switch more := len(args) - 1; {
		case is(args[0], "WITHDIST"):
			q.withDist = true
		case is(args[0], "WITHHASH"):
			q.withHash = true
		case is(args[0], "WITHCOORD"):
			q.withCoord = true
		case is(args[0], "ANY"):
			q.any = true
		case is(args[0], "ASC"):
			q.ascending, q.descending = true, false
		case is(args[0], "DESC"):
			q.ascending, q.descending = false, true
		case is(args[0], "COUNT") && more >= 1:
			used, bad = 2, q.parseCount(args[1])
		case q.search:
			used, bad = q.parseSearch(c, args, missing)
		case !q.readOnly && is(args[0], "STORE") && more >= 1:
			q.store, q.storeDist, used = args[1], false, 2
		case !q.readOnly && is(args[0], "STOREDIST") && more >= 1:
			q.store, q.storeDist, used = args[1], true, 2
		default:
			return errSyntax
		}
		args = args[used:]
	}
	if bad != "" {
		return bad
	}
	return q.conflict(c)
}

func (q *geoQuery) parseCount(arg []byte) (bad string) {
	n, ok := parseInt(arg)
	switch {
	case !ok:
		return errNotInt
	case n <= 0:
		return "ERR COUNT must be > 0"
	}
	q.count = n
	return ""
}

// parseSearch reads an option of GEOSEARCH alone, and returns how many words it took.
func (q *geoQuery) parseSearch(c *Call, args [][]byte, missing bool) (used int, bad string) {
	switch more := len(args) - 1; {
	case is(args[0], "FROMMEMBER") && more >= 1 && !q.fromPoint:
		q.fromMember = true
		if missing {
			return 2, ""
		}
		var ok bool
		if q.shape.center, ok, _ = c.geoMember(q.source, args[1]); !ok {
			return 2, errGeoMember
		}
		return 2, ""
	case is(args[0], "FROMLONLAT") && more >= 2 && !q.fromMember:
		q.fromPoint = true
		q.shape.center, bad = parseGeoPoint(args[1:])
		return 3, bad
	case is(args[0], "BYRADIUS") && more >= 2 && !q.byBox:
		q.byRadius = true
		return 3, q.parseRadius(args[1:])
	case is(args[0], "BYBOX") && more >= 3 && !q.byRadius:
		q.byBox = true
		return 4, q.parseBox(args[1:])
	case is(args[0], "STOREDIST") && q.store != nil:
		q.storeDist = true
		return 1, ""
	}
	return 0, errSyntax
}

// conflict is why the options do not go together, or "".
func (q *geoQuery) conflict(c *Call) string {
	name := resp.CString(c.Args[0])
	switch {
	case q.store != nil && (q.withDist || q.withHash || q.withCoord):
		who := "STORE option in GEORADIUS"
		if q.search {
			who = "GEOSEARCHSTORE"
		}
		return "ERR " + who + " is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
	case q.search && !q.fromMember && !q.fromPoint:
		return oneLine([]byte("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for " + name))
	case q.search && !q.byRadius && !q.byBox:
		return oneLine([]byte("ERR exactly one of BYRADIUS and BYBOX can be specified for " + name))
	case q.any && q.count == 0:
		return "ERR the ANY argument requires COUNT argument"
	}
	return ""
}

// run searches and replies or stores what was found.
func (q *geoQuery) run(c *Call, missing bool) resp.Value {
	var found []geoFound
	if !missing {
		found = q.find(c)
	}
	if q.count > 0 && int64(len(found)) > q.count {
		found = found[:q.count]
	}
	if q.store != nil {
		return q.storeFound(c, found)
	}
	list := make([]resp.Value, len(found))
	for i := range found {
		list[i] = q.reply(c, &found[i])
	}
	return resp.List(list...)
}

// find returns the members within the shape, in the order that was asked for.
func (q *geoQuery) find(c *Call) (found []geoFound) {
	for _, cell := range q.shape.cells() {
		if q.any && int64(len(found)) >= q.count {
			break
		}
		from, to, _ := c.DB.ZScoreSpan(q.source, cell.scores())
		members, _ := c.DB.ZRange(q.source, from, max(from, to))
		for _, m := range members {
			p := geoDecode(m.Score)
			if distance, ok := q.shape.distance(p); ok {
				found = append(found, geoFound{m, p, distance})
			}
			if q.any && int64(len(found)) >= q.count {
				break
			}
		}
	}
	nearest := q.ascending || q.count > 0 && !q.any && !q.descending
	if nearest || q.descending {
		slices.SortStableFunc(found, func(a, b geoFound) int {
			if q.descending {
				a, b = b, a
			}
			return cmp.Compare(a.distance, b.distance)
		})
	}
	return found
}

// reply is what the client is told about a member.
func (q *geoQuery) reply(c *Call, f *geoFound) resp.Value {
	name := resp.Str(f.member.Name)
	if !q.withDist && !q.withHash && !q.withCoord {
		return name
	}
	list := []resp.Value{name}
	if q.withDist {
		list = append(list, distanceReply(f.distance/q.unit))
	}
	if q.withHash {
		list = append(list, resp.Int(int64(f.member.Score)))
	}
	if q.withCoord {
		list = append(list, c.pointReply(f.point))
	}
	return resp.List(list...)
}

// storeFound puts the members into a sorted set, with their positions or
// distances as scores.
func (q *geoQuery) storeFound(c *Call, found []geoFound) resp.Value {
	event := "georadiusstore"
	if q.search {
		event = "geosearchstore"
	}
	members := make([]datastore.Member, len(found))
	for i, f := range found {
		members[i] = f.member
		if q.storeDist {
			members[i].Score = f.distance / q.unit
		}
	}
	return c.storeMembers(q.store, event, members, len(members), longestName(members))
}
