package cluster

import (
	"math"
	"time"

	"minikv/internal/resp"
	"minikv/server/engine"
)

// handover is FAILOVER: writes wait until a replica has caught up, then the
// member becomes a replica of it and asks it to be the master.
// Source: failoverCommand and updateFailoverStatus of Redis 7.0.
type handover struct {
	m       *Member
	state   handoverState
	request engine.FailoverRequest
	until   int64 // Unix milliseconds; 0: for ever
}

// handoverState is how INFO names it.
type handoverState string

const (
	noHandover  handoverState = ""
	waitForSync handoverState = "waiting-for-sync"
	inProgress  handoverState = "failover-in-progress"
)

// runFailover is FAILOVER [TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds].
func (m *Member) runFailover(c *engine.Call) resp.Value {
	h := &m.handover
	if m.bus != nil {
		return resp.Err("ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.")
	}
	request, bad := engine.ParseFailover(c.Args)
	switch {
	case bad != "":
		return resp.Err(bad)
	case request.Abort && h.state == noHandover:
		return resp.Err("ERR No failover in progress.")
	case request.Abort:
		h.abort()
		return resp.OK
	}
	if bad := h.refusal(request); bad != "" {
		return resp.Err(bad)
	}
	h.request, h.until = request, 0
	if request.TimeoutMillis > 0 {
		h.until = m.unixMillis() + request.TimeoutMillis
	}
	h.set(waitForSync)
	m.node.Pause(engine.PausedByFailover, math.MaxInt64, false)
	return resp.OK
}

// refusal is why a failover cannot begin, or "".
func (h *handover) refusal(request engine.FailoverRequest) string {
	replicas := h.m.node.Replicas()
	switch {
	case h.state != noHandover:
		return "ERR FAILOVER already in progress."
	case h.m.up.host != "":
		return "ERR FAILOVER is not valid when server is a replica."
	case len(replicas) == 0:
		return "ERR FAILOVER requires connected replicas."
	case request.Force && (request.TimeoutMillis == 0 || request.Host == ""):
		return "ERR FAILOVER with force option requires both a timeout and target HOST and IP."
	case request.Host == "":
		return ""
	}
	for _, r := range replicas {
		if r.Host == request.Host && r.Port == request.Port {
			if r.State != engine.ReplicaOnline {
				return "ERR FAILOVER target replica is not online."
			}
			return ""
		}
	}
	return "ERR FAILOVER target HOST and PORT is not a replica."
}

func (h *handover) set(state handoverState) {
	h.state = state
	h.m.node.SetFailoverState(string(state))
}

// check goes on if a replica has caught up, or the time is over.
func (h *handover) check() {
	if h.state != waitForSync {
		return
	}
	if h.until != 0 && h.m.unixMillis() >= h.until {
		if h.request.Force {
			h.hand()
		} else {
			h.abort()
		}
		return
	}
	for _, r := range h.m.node.Replicas() {
		wanted := h.request.Host == "" || r.Host == h.request.Host && r.Port == h.request.Port
		if wanted && r.State == engine.ReplicaOnline && r.Offset == h.m.node.Offset() {
			h.request.Host, h.request.Port = r.Host, r.Port
			h.hand()
			return
		}
	}
}

// nextDeadline is when the time for the replica to catch up is over.
func (h *handover) nextDeadline() (wait time.Duration, ok bool) {
	if h.state != waitForSync || h.until == 0 {
		return 0, false
	}
	return time.Duration(max(h.until-h.m.unixMillis(), 0)) * time.Millisecond, true
}

// hand makes the member a replica of the chosen one.
func (h *handover) hand() {
	h.set(inProgress)
	h.m.Follow(h.request.Host, h.request.Port)
	h.m.up.failover = true // the request for data, which comes later, says so
}

// abort ends the failover; the member is a master as before.
func (h *handover) abort() {
	if h.state == inProgress {
		h.m.Promote()
	}
	h.clear()
}

// clear ends the failover, and writes go on.
func (h *handover) clear() {
	h.set(noHandover)
	h.request, h.until = engine.FailoverRequest{}, 0
	h.m.node.Unpause(engine.PausedByFailover)
}
