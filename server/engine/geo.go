package engine

import (
	"math"

	"minikv/datastore"
	"minikv/internal/precise"
)

// Positions on the earth as scores of sorted sets: 52 bits, of which longitude
// and latitude take turns, the longitude's the higher ones.
// Source: geohash.c and geohash_helper.c of Redis 7.0.

const (
	geoStep      = 26 // bits of each coordinate
	geoLongMax   = 180.0
	geoLatMax    = 85.05112878 // of the Mercator projection
	earthRadius  = 6372797.560856
	mercatorMax  = 20037726.37
	geoAlphabet  = "0123456789bcdefghjkmnpqrstuvwxyz"
	geoTextChars = 11
)

// geoPoint is a position in degrees.
type geoPoint struct{ long, lat float64 }

// geoCell is a square of the earth: the first step bits of each coordinate.
type geoCell struct {
	bits uint64
	step int
}

// geoBox is an area in degrees.
type geoBox struct{ minLong, minLat, maxLong, maxLat float64 }

var geoWorld = geoBox{-geoLongMax, -geoLatMax, geoLongMax, geoLatMax}

// encodeGeo is the cell of a point in an area.
func encodeGeo(p geoPoint, world geoBox, step int) geoCell {
	scale := float64(uint64(1) << step)
	lat := uint32((p.lat - world.minLat) / (world.maxLat - world.minLat) * scale)
	long := uint32((p.long - world.minLong) / (world.maxLong - world.minLong) * scale)
	return geoCell{spread(lat) | spread(long)<<1, step}
}

// spread puts a zero before each bit of v.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// gather takes every other bit of x.
func gather(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16)
}

// box is the area of a cell of the world.
func (c geoCell) box() geoBox {
	scale := float64(uint64(1) << c.step)
	lat, long := float64(gather(c.bits)), float64(gather(c.bits>>1))
	latScale, longScale := geoWorld.maxLat-geoWorld.minLat, geoWorld.maxLong-geoWorld.minLong
	return geoBox{
		minLat:  geoWorld.minLat + lat*1.0/scale*latScale,
		maxLat:  geoWorld.minLat + (lat+1)*1.0/scale*latScale,
		minLong: geoWorld.minLong + long*1.0/scale*longScale,
		maxLong: geoWorld.minLong + (long+1)*1.0/scale*longScale,
	}
}

// geoScore is the score of a point.
func geoScore(p geoPoint) float64 { return float64(encodeGeo(p, geoWorld, geoStep).bits) }

// geoDecode is the middle of the cell that a score names.
func geoDecode(score float64) geoPoint {
	b := geoCell{geoBits(score), geoStep}.box()
	return geoPoint{
		long: min(max((b.minLong+b.maxLong)/2, -geoLongMax), geoLongMax),
		lat:  min(max((b.minLat+b.maxLat)/2, -geoLatMax), geoLatMax),
	}
}

// geoBits is a score as a number of 64 bits, also one that no point has: ZADD takes any.
// Beyond the range it is what C makes of it on x86-64.
func geoBits(score float64) uint64 {
	const half, whole = 1 << 63, 1 << 64
	switch {
	case score >= whole:
		return 0
	case score >= half:
		return uint64(score)
	case score < -half:
		return half
	}
	return uint64(int64(score))
}

// geoText is the standard geohash of a point, eleven characters.
func geoText(p geoPoint) string {
	const bitsPerChar = 5
	bits := encodeGeo(p, geoBox{-180, -90, 180, 90}, geoStep).bits
	text := make([]byte, geoTextChars)
	for i := range text {
		index := uint64(0)
		if i < geoTextChars-1 { // 52 bits make ten characters; the last is always 0
			index = bits >> (2*geoStep - (i+1)*bitsPerChar) & (1<<bitsPerChar - 1)
		}
		text[i] = geoAlphabet[index]
	}
	return string(text)
}

// degree is one in radians, as a quotient of doubles.
var degree = float64(halfTurn) / 180

// halfTurn is pi as a double, so that the quotient is not an exact constant.
var halfTurn = math.Pi

func radians(degrees float64) float64 { return degrees * degree }
func degrees(radians float64) float64 { return radians / degree }

// geoDistance is the distance of two points in metres.
func geoDistance(a, b geoPoint) float64 {
	long1, long2 := radians(a.long), radians(b.long)
	v := precise.Sin((long2 - long1) / 2)
	if v == 0 {
		return earthRadius * math.Abs(radians(b.lat)-radians(a.lat))
	}
	lat1, lat2 := radians(a.lat), radians(b.lat)
	u := precise.Sin((lat2 - lat1) / 2)
	// Each product is rounded by itself, on every processor.
	square := float64(u*u) + float64(precise.Cos(lat1)*precise.Cos(lat2)*v*v)
	return 2 * earthRadius * precise.Asin(math.Sqrt(square))
}

// geoShape is what GEOSEARCH looks in: a circle or a rectangle, in metres.
type geoShape struct {
	center        geoPoint
	circle        bool
	radius        float64
	width, height float64
}

// distance is how far a point is from the centre; ok is false outside of the shape.
func (s *geoShape) distance(p geoPoint) (metres float64, ok bool) {
	if s.circle {
		metres = geoDistance(s.center, p)
		return metres, metres <= s.radius
	}
	if geoDistance(geoPoint{s.center.long, p.lat}, s.center) > s.height/2 ||
		geoDistance(geoPoint{p.long, p.lat}, geoPoint{s.center.long, p.lat}) > s.width/2 {
		return 0, false
	}
	return geoDistance(s.center, p), true
}

// bounds is a rectangle around the shape.
func (s *geoShape) bounds() geoBox {
	height, width := s.radius, s.radius
	if !s.circle {
		height, width = s.height/2, s.width/2
	}
	latDelta := degrees(height / earthRadius)
	top, bottom := s.center.lat+latDelta, s.center.lat-latDelta
	longTop := degrees(width / earthRadius / precise.Cos(radians(top)))
	longBottom := degrees(width / earthRadius / precise.Cos(radians(bottom)))
	long := longTop
	if s.center.lat < 0 {
		long = longBottom
	}
	return geoBox{s.center.long - long, bottom, s.center.long + long, top}
}

// cells are the cells to search, in Redis's order: the centre's, then north,
// south, east, west, and those between. A cell that need not be searched is
// left out.
// Source: geohashCalculateAreasByShapeWGS84 of Redis 7.0.
func (s *geoShape) cells() []geoCell {
	b := s.bounds()
	radius := s.radius
	if !s.circle {
		radius = math.Sqrt(s.width/2*(s.width/2) + s.height/2*(s.height/2))
	}
	step := geoSteps(radius, s.center.lat)
	around := neighbours(encodeGeo(s.center, geoWorld, step))
	if tooFine(around, b) && step > 1 {
		step--
		around = neighbours(encodeGeo(s.center, geoWorld, step))
	}
	area := around[0].box()
	skip := [9]bool{}
	if step >= 2 {
		if area.minLat < b.minLat {
			skip[2], skip[7], skip[8] = true, true, true
		}
		if area.maxLat > b.maxLat {
			skip[1], skip[5], skip[6] = true, true, true
		}
		if area.minLong < b.minLong {
			skip[4], skip[8], skip[6] = true, true, true
		}
		if area.maxLong > b.maxLong {
			skip[3], skip[7], skip[5] = true, true, true
		}
	}
	cells := make([]geoCell, 0, len(around))
	last := 0 // the one before it; the centre itself may come twice
	for i, cell := range around {
		if !skip[i] && (last == 0 || cell != around[last]) {
			cells = append(cells, cell)
			last = i
		}
	}
	return cells
}

// tooFine reports whether the nine cells may not cover the bounds of the shape.
func tooFine(around [9]geoCell, b geoBox) bool {
	north, south, east, west := around[1].box(), around[2].box(), around[3].box(), around[4].box()
	return north.maxLat < b.maxLat || south.minLat > b.minLat || east.maxLong < b.maxLong || west.minLong > b.minLong
}

// geoSteps is how fine the cells of a search are.
func geoSteps(radius, lat float64) int {
	if radius == 0 {
		return geoStep
	}
	step := 1
	for ; radius < mercatorMax; radius *= 2 {
		step++
	}
	step -= 2
	if lat > 66 || lat < -66 {
		step--
		if lat > 80 || lat < -80 {
			step--
		}
	}
	return min(max(step, 1), geoStep)
}

// neighbours are a cell and those around it: north, south, east, west,
// north-east, north-west, south-east, south-west.
func neighbours(c geoCell) [9]geoCell {
	move := func(long, lat int) geoCell {
		mask := uint32(1)<<c.step - 1 // a coordinate at the upper end is beyond it until it is moved
		x, y := gather(c.bits>>1), gather(c.bits)
		if long != 0 {
			x = uint32(int64(x)+int64(long)) & mask
		}
		if lat != 0 {
			y = uint32(int64(y)+int64(lat)) & mask
		}
		return geoCell{spread(y) | spread(x)<<1, c.step}
	}
	return [9]geoCell{
		c, move(0, 1), move(0, -1), move(1, 0), move(-1, 0), move(1, 1), move(-1, 1), move(1, -1), move(-1, -1),
	}
}

// scores is the range of the scores of a cell's points.
func (c geoCell) scores() datastore.ScoreRange {
	shift := 2 * (geoStep - c.step)
	return datastore.ScoreRange{
		Min: float64(c.bits << shift), Max: float64((c.bits + 1) << shift), BelowMax: true,
	}
}
