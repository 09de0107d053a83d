package locks

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	answerLimit = time.Minute      // for a request
	endLimit    = 10 * time.Second // for a worker whose input has ended
)

// worker is a program that uses libraries as it is told.
type worker struct {
	ended chan struct{} // closed at the end of its output

	mu      sync.Mutex
	in      io.Writer
	lastID  int
	answers map[string]chan string
}

// startWorker starts one, and ends it with the test.
func startWorker(t *testing.T, language string, command []string) *worker {
	program := exec.Command(command[0], command[1:]...)
	var complaints bytes.Buffer
	program.Stderr = &complaints
	in, err := program.StdinPipe()
	require.NoError(t, err)
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	w := &worker{in: in, ended: make(chan struct{}), answers: map[string]chan string{}}
	go w.listen(out)
	t.Cleanup(func() {
		in.Close()
		select {
		case <-w.ended:
		case <-time.After(endLimit):
			_ = program.Process.Kill()
			<-w.ended
		}
		_ = program.Wait()
		if t.Failed() {
			t.Logf("the worker of %s said:\n%s", language, &complaints)
		}
	})
	return w
}

// listen hands the answers to those who asked.
func (w *worker) listen(out io.Reader) {
	defer close(w.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		id, answer, _ := strings.Cut(lines.Text(), " ")
		w.mu.Lock()
		asked := w.answers[id]
		delete(w.answers, id)
		w.mu.Unlock()
		if asked != nil {
			asked <- answer
		}
	}
}

// ask sends a request; its answer comes later.
func (w *worker) ask(t *testing.T, words ...string) (answer <-chan string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastID++
	id := strconv.Itoa(w.lastID)
	asked := make(chan string, 1)
	w.answers[id] = asked
	_, err := fmt.Fprintln(w.in, id, strings.Join(words, " "))
	require.NoError(t, err, "the worker ended")
	return asked
}

// await waits for the answer.
func (w *worker) await(t *testing.T, answer <-chan string) string {
	select {
	case text := <-answer:
		return text
	case <-w.ended:
		require.FailNow(t, "the worker ended")
	case <-time.After(answerLimit):
		require.FailNow(t, "the worker does not answer")
	}
	panic("unreachable")
}
