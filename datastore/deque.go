package datastore

// deque is a list in a ring: adding and taking at both ends, and reading by
// position, cost O(1). Its zero value is empty.
type deque struct {
	ring  []string // its length is a power of two, or zero
	head  int      // position of the first element in ring
	count int
}

func (d *deque) len() int { return d.count }

// slot is the place of element i, which may be -1 or count when there is room.
func (d *deque) slot(i int) *string { return &d.ring[(d.head+i)&(len(d.ring)-1)] }

func (d *deque) at(i int) string { return *d.slot(i) }

func (d *deque) pushFront(s string) {
	d.grow()
	*d.slot(-1) = s
	d.head = (d.head - 1) & (len(d.ring) - 1)
	d.count++
}

func (d *deque) pushBack(s string) {
	d.grow()
	*d.slot(d.count) = s
	d.count++
}

func (d *deque) popFront() string {
	place := d.slot(0)
	s := *place
	*place = ""
	d.head = (d.head + 1) & (len(d.ring) - 1)
	d.count--
	return s
}

func (d *deque) popBack() string {
	d.count--
	place := d.slot(d.count)
	s := *place
	*place = ""
	return s
}

// insert puts s before element i.
func (d *deque) insert(i int, s string) {
	d.pushBack(s)
	for j := d.count - 1; j > i; j-- {
		*d.slot(j) = d.at(j - 1)
	}
	*d.slot(i) = s
}

// keep leaves only the elements for which keep is true, in their order.
func (d *deque) keep(keep func(i int, s string) bool) {
	kept := 0
	for i := range d.count {
		if s := d.at(i); keep(i, s) {
			*d.slot(kept) = s
			kept++
		}
	}
	for i := kept; i < d.count; i++ {
		*d.slot(i) = ""
	}
	d.count = kept
}

func (d *deque) clear() {
	clear(d.ring)
	d.head, d.count = 0, 0
}

func (d *deque) clone() *deque {
	c := &deque{}
	for i := range d.count {
		c.pushBack(d.at(i))
	}
	return c
}

// grow makes room for one more element.
func (d *deque) grow() {
	if d.count < len(d.ring) {
		return
	}
	ring := make([]string, max(4, 2*len(d.ring)))
	for i := range d.count {
		ring[i] = d.at(i)
	}
	d.ring, d.head = ring, 0
}
