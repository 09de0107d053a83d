package explore

import (
	"cmp"
	"encoding/binary"
	"slices"

	"minikv/sim"
)

// actionSets numbers sets of actions: millions of states share some thousands of
// them.
type actionSets struct {
	lists  [][]sim.Action
	number map[string]int32 // of each, by its bytes
	buf    []byte
}

// of returns the number of a set. It sorts the list, and does not keep it.
func (s *actionSets) of(list []sim.Action) int32 {
	slices.SortFunc(list, func(a, b sim.Action) int {
		return cmp.Or(cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To),
			cmp.Compare(a.Lane, b.Lane))
	})
	s.buf = s.buf[:0]
	for _, a := range list {
		s.buf = append(s.buf, byte(a.Verb), a.Lane)
		s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(a.From))
		s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(a.To))
	}
	n, known := s.number[string(s.buf)]
	if !known {
		n = int32(len(s.lists))
		s.lists = append(s.lists, slices.Clone(list))
		s.number[string(s.buf)] = n
	}
	return n
}
