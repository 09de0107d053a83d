package datastore

import (
	"slices"
	"sort"
	"strings"
)

// chunkMax is the most members a chunk holds; a fuller one is split in two.
const chunkMax = 256

// Member is an element of a sorted set.
type Member struct {
	Name  string
	Score float64
}

// sorted is a sorted set: the members in chunks in order of score and name,
// none of them empty, and an index of scores by name. Its zero value is empty.
type sorted struct {
	chunks [][]Member
	scores omap[float64]
}

func (z *sorted) len() int { return z.scores.len() }

// CompareMembers compares by score, then by name byte for byte: it is negative, 0 or
// positive.
func CompareMembers(a, b Member) int {
	switch {
	case a.Score < b.Score:
		return -1
	case a.Score > b.Score:
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

// set gives a member a score and reports whether the member is new.
func (z *sorted) set(name []byte, score float64) bool {
	at := z.scores.find(name)
	if at < 0 {
		text := clone(name)
		z.scores.add(text, score)
		z.insert(Member{text, score})
		return true
	}
	member := &z.scores.entries[at]
	if member.val != score {
		z.cut(Member{member.key, member.val})
		member.val = score
		z.insert(Member{member.key, score})
	}
	return false
}

// dropSigns makes each -0 a 0: a listpack keeps whole scores as integers. The order
// stays.
func (z *sorted) dropSigns() {
	for _, chunk := range z.chunks {
		for i := range chunk {
			chunk[i].Score = unsigned(chunk[i].Score)
		}
	}
	for i := range z.scores.entries {
		z.scores.entries[i].val = unsigned(z.scores.entries[i].val)
	}
}

// unsigned is the score, 0 for -0.
func unsigned(score float64) float64 {
	if score == 0 {
		return 0
	}
	return score
}

// remove deletes a member and reports whether it was there.
func (z *sorted) remove(name []byte) bool {
	at := z.scores.find(name)
	if at < 0 {
		return false
	}
	z.cut(Member{z.scores.entries[at].key, z.scores.entries[at].val})
	z.scores.remove(at)
	return true
}

// removeSpan deletes the members of ranks from, up to but not including to.
func (z *sorted) removeSpan(from, to int) {
	for _, m := range z.span(from, to) {
		z.remove([]byte(m.Name))
	}
}

// span returns the members of ranks from, up to but not including to.
func (z *sorted) span(from, to int) []Member {
	if from >= to {
		return nil
	}
	members := make([]Member, 0, to-from)
	for _, chunk := range z.chunks {
		if len(members) == cap(members) {
			break
		}
		if from >= len(chunk) {
			from -= len(chunk)
			continue
		}
		room := cap(members) - len(members)
		members = append(members, chunk[from:min(len(chunk), from+room)]...)
		from = 0
	}
	return members
}

// rank counts the members at the front for which before is true; they must
// stand in one run there.
func (z *sorted) rank(before func(Member) bool) int {
	n := 0
	last := z.chunk(before)
	for _, chunk := range z.chunks[:last] {
		n += len(chunk)
	}
	if last < len(z.chunks) {
		chunk := z.chunks[last]
		n += sort.Search(len(chunk), func(i int) bool { return !before(chunk[i]) })
	}
	return n
}

func (z *sorted) clear() {
	if len(z.chunks) > 0 {
		clear(z.chunks[0])
		clear(z.chunks[1:])
		z.chunks[0] = z.chunks[0][:0]
		z.chunks = z.chunks[:1]
	}
	z.scores.clear()
}

func (z *sorted) clone() *sorted {
	c := &sorted{scores: z.scores.clone(), chunks: make([][]Member, len(z.chunks))}
	for i := range z.chunks {
		c.chunks[i] = slices.Clone(z.chunks[i])
	}
	return c
}

// chunk returns the number of the first chunk whose last member is not before.
func (z *sorted) chunk(before func(Member) bool) int {
	return sort.Search(len(z.chunks), func(i int) bool {
		c := z.chunks[i]
		return len(c) > 0 && !before(c[len(c)-1])
	})
}

// insert puts a member that is not there in its place among the chunks.
func (z *sorted) insert(m Member) {
	if len(z.chunks) == 0 {
		z.chunks = append(z.chunks, nil)
	}
	at := min(len(z.chunks)-1, z.chunk(func(o Member) bool { return CompareMembers(o, m) < 0 }))
	i, _ := slices.BinarySearchFunc(z.chunks[at], m, CompareMembers)
	z.chunks[at] = slices.Insert(z.chunks[at], i, m)
	if chunk := z.chunks[at]; len(chunk) > chunkMax {
		upper := slices.Clone(chunk[chunkMax/2:])
		clear(chunk[chunkMax/2:])
		z.chunks[at] = chunk[:chunkMax/2]
		z.chunks = slices.Insert(z.chunks, at+1, upper)
	}
}

// cut takes a member that is there out of its chunk. The last chunk stays,
// empty, for reuse.
func (z *sorted) cut(m Member) {
	at := z.chunk(func(o Member) bool { return CompareMembers(o, m) < 0 })
	i, _ := slices.BinarySearchFunc(z.chunks[at], m, CompareMembers)
	z.chunks[at] = slices.Delete(z.chunks[at], i, i+1)
	if len(z.chunks[at]) == 0 && len(z.chunks) > 1 {
		z.chunks = slices.Delete(z.chunks, at, at+1)
	}
}
