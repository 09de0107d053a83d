package engine

// Shutdown is what SHUTDOWN asked for; the shell acts on it.
type Shutdown struct {
	Save, NoSave, Now, Force bool
}

// ShutdownRequested returns what SHUTDOWN asked for, or nil.
func (n *Node) ShutdownRequested() *Shutdown { return n.shutdown }
