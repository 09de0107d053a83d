package engine

import (
	"errors"

	"minikv/datastore"
	"minikv/internal/resp"
)

// failed is the error reply for an error of the datastore.
func failed(err error) resp.Value {
	switch {
	case errors.Is(err, datastore.ErrWrongType):
		return resp.Err(errWrongType)
	case errors.Is(err, datastore.ErrNotInteger):
		return resp.Err(errNotInt)
	case errors.Is(err, datastore.ErrOverflow):
		return resp.Err(errOverflow)
	}
	panic("engine: unexpected datastore error: " + err.Error())
}

// textReply is the reply of a read that gave text, nothing or an error.
func textReply(text string, ok bool, err error) resp.Value {
	switch {
	case err != nil:
		return failed(err)
	case !ok:
		return resp.Null
	}
	return resp.Str(text)
}

// longestKept is how many elements a reply has at most whose memory is used again.
const longestKept = 64

// list is room for n elements of a reply, which is read before the next command
// of the node runs.
func (c *Call) list(n int) []resp.Value {
	if n > longestKept {
		return make([]resp.Value, 0, n)
	}
	if cap(c.Node.elements) < n {
		c.Node.elements = make([]resp.Value, 0, n)
	}
	return c.Node.elements[:0]
}

// setText is textReply that sets the reply.
func setText(reply *resp.Value, text string, ok bool, err error) {
	if ok {
		reply.SetStr(text)
	} else {
		setMissing(reply, err)
	}
}

// setMissing is setText of nothing or an error.
func setMissing(reply *resp.Value, err error) {
	if err != nil {
		*reply = failed(err)
	} else {
		reply.SetNil()
	}
}

// setFlag is flagReply that sets the reply.
func setFlag(reply *resp.Value, yes bool, err error) {
	if yes {
		reply.SetInt(1)
	} else {
		setCount(reply, 0, err)
	}
}

// setCount is countReply that sets the reply.
func setCount(reply *resp.Value, n int, err error) {
	if err != nil {
		*reply = failed(err)
		return
	}
	reply.SetInt(int64(n))
}

// countReply is the reply of a read that gave a number or an error.
func countReply(n int, err error) resp.Value {
	if err != nil {
		return failed(err)
	}
	return resp.Int(int64(n))
}

// flagReply is 1, 0 or an error.
func flagReply(yes bool, err error) resp.Value {
	switch {
	case err != nil:
		return failed(err)
	case yes:
		return resp.One
	}
	return resp.Zero
}

// clampRange turns Redis's inclusive range, in which negative positions count
// from the end, into from <= to <= length, to excluded.
func clampRange(start, stop int64, length int) (from, to int) {
	n := int64(length)
	if start < 0 {
		start = max(0, start+n)
	}
	if stop < 0 {
		stop += n
	}
	stop = min(stop, n-1)
	if start > stop {
		return 0, 0
	}
	return int(start), int(stop) + 1
}
