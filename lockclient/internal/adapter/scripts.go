package adapter

import (
	"errors"
	"strings"
	"sync"

	"minikv/lockclient"
)

// Scripts runs scripts by their SHA1, or by their text where a server does not
// know them.
type Scripts struct {
	// missing has the SHA1 of each that a server was found not to know, until it has
	// answered to the text. Meanwhile all send that at once: where many requests
	// wait for few connections the text of one that has to wait a second time may
	// never be sent, and everybody would go on asking for what nobody loads.
	missing sync.Map
}

// Run runs a script. send sends one command: how is EVALSHA or EVAL, and what the
// argument that follows.
func (s *Scripts) Run(
	script *lockclient.Script, send func(how, what string) (lockclient.Reply, error),
) (lockclient.Reply, error) {
	var refused *lockclient.ServerError
	if _, missing := s.missing.Load(script.SHA); !missing {
		reply, err := send("EVALSHA", script.SHA)
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Text, "NOSCRIPT") {
			return reply, err
		}
		s.missing.Store(script.SHA, nil)
	}
	reply, err := send("EVAL", script.Text)
	if err == nil || errors.As(err, &refused) {
		s.missing.Delete(script.SHA)
	}
	return reply, err
}
