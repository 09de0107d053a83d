package datastore

import "strconv"

// describe appends the entries, what the stream counts, and its groups.
func (s *StreamData) describe(b []byte) []byte {
	s.Range(FirstStreamID, LastStreamID, false, func(id StreamID, fields, values []string) bool {
		b = append(append(b, id.String()...), '(')
		for i := range fields {
			if i > 0 {
				b = append(b, ' ')
			}
			b = appendText(append(appendText(b, fields[i]), ':'), values[i])
		}
		b = append(b, ") "...)
		return true
	})
	b = append(append(b, "last="...), s.LastID.String()...)
	b = append(append(b, " deleted="...), s.MaxDeletedID.String()...)
	b = strconv.AppendInt(append(b, " added="...), s.EntriesAdded, 10)
	for _, g := range s.groups {
		b = g.describe(b)
	}
	return b
}

func (g *Group) describe(b []byte) []byte {
	b = appendText(append(b, " group="...), g.Name)
	b = append(append(b, '('), g.LastID.String()...)
	b = strconv.AppendInt(append(b, " read="...), g.EntriesRead, 10)
	for _, c := range g.consumers {
		b = append(appendText(append(b, ' '), c.Name), '[')
		c.EachPending(FirstStreamID, LastStreamID, func(id StreamID, p *Pending) bool {
			b = append(append(b, id.String()...), '*')
			b = append(strconv.AppendInt(b, p.Deliveries, 10), ' ')
			return true
		})
		b = append(b, ']')
	}
	return append(b, ')')
}
