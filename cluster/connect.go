package cluster

// Connect lets processes that have just been made exchange their messages without any
// delay until they have nothing left to send. So a topology starts connected: replicas
// follow their masters, nodes know each other. processes[i] has the ID i+1. What they
// then have to say to clients is lost; there are none yet.
func Connect(processes []Process) {
	for _, p := range processes {
		p.Tick()
	}
	const rounds = 100 // far more than any handshake takes
	for range rounds {
		if !exchange(processes) {
			return
		}
	}
}

// exchange delivers what every process has to send now; it reports whether there was anything.
func exchange(processes []Process) (any bool) {
	for _, p := range processes {
		p.Dirty()
		for _, m := range append([]Message(nil), p.Outbox()...) {
			any = true
			switch {
			case m.To >= 1 && int(m.To) <= len(processes):
				processes[m.To-1].Receive(m)
			default:
				p.Receive(Nobody(m))
			}
		}
	}
	return any
}

// Nobody returns the answer to a message that was sent to a process that is not there:
// its connection is refused.
func Nobody(m Message) Message { return Message{From: m.To, To: m.From, Conn: m.Conn, Body: Closed{}} }
