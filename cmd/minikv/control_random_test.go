package main

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Whatever clients ask of MINIKV at once, right or wrong, each gets a reply, and
// the nodes end when they are told to.
func TestRandomControl(t *testing.T) {
	for seed, plan := range []string{"--cluster 2x1", "--sentinel 1x1 --clock virtual", "--nodes 2 --clock virtual"} {
		g := &golden{t: t}
		t.Run(plan, func(t *testing.T) {
			g.t = t
			g.start(append(strings.Fields(plan), "--control"))
			var running sync.WaitGroup
			for number := range 4 {
				running.Go(func() {
					random := rand.New(rand.NewPCG(uint64(seed), uint64(number)))
					c := &golden{t: t, addresses: g.addresses, clients: map[string]*client{}}
					for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
						words := randomControl(random)
						c.send("control", words)
						reply := c.receive("control", time.Minute)
						assert.NotContains(t, []string{"no reply", "connection closed", "(error) "}, reply, "%q", words)
					}
				})
			}
			done := make(chan struct{})
			go func() {
				running.Wait()
				close(done)
			}()
			g.thawAll(done)
		})
	}
}

// thawAll thaws all nodes until done: somebody may wait for one that another has frozen.
func (g *golden) thawAll(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(50 * time.Millisecond):
		}
		for _, n := range []string{"m1", "m2", "r1", "r2", "s1", "s2", "s3"} {
			g.send("control", [][]byte{[]byte("MINIKV"), []byte("THAW"), []byte(n)})
			g.receive("control", time.Minute)
		}
	}
}

// randomControl is a verb with arguments that may suit it.
func randomControl(random *rand.Rand) [][]byte {
	pool := []string{"m1", "r1", "m2", "s1", "m1,m2", "m9", "0", "1", "5", "100", "-1", "10ms", "15495", "k", "NaN",
		"1e300", "LOSE", "LOSE-ALL", "OPEN", "KEYS", "CLOSE", "ON", "GET", "NTH", "DELAY", "DROPREPLY", "PERCENT", "", "\r\n",
		"9223372036854775807", "2562047h"}
	v := verbs[random.IntN(len(verbs))]
	words := append([]string{"MINIKV"}, strings.Fields(v.words)...)
	if v.words == "WAITBLOCKED" {
		pool = pool[:9]
	}
	for range v.least + random.IntN(3) {
		words = append(words, pool[random.IntN(len(pool))])
	}
	cmd := make([][]byte, len(words))
	for i, word := range words {
		cmd[i] = []byte(word)
	}
	return cmd
}
