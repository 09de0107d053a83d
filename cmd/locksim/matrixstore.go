package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"minikv/sim/matrix"
)

// matrixStore is a file with the cells that a long run has done, so that it can
// go on later: a line with its flags, then a line for each cell. Without a file
// it keeps nothing.
type matrixStore struct {
	file  *os.File
	cells map[string]matrix.Result
	names []string // of all cells that there are
}

// storeHead is the first line of a store: what its cells depend on.
type storeHead struct {
	Root   uint64 `json:"root"`
	Seeds  int    `json:"seeds"`
	Find   int    `json:"find"`
	Shrink bool   `json:"shrink"`
	Orders bool   `json:"orders"`
	Build  string `json:"build"` // with which seeds go the same way
}

// buildName is a name for this program: seeds go another way after a change of it.
var buildName = sync.OnceValue(func() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
})

// openStore reads what the store has, and makes it if there is none.
func (f *matrixFlags) openStore() (*matrixStore, error) {
	s := &matrixStore{cells: map[string]matrix.Result{}, names: cellNames()}
	if f.store == "" {
		return s, nil
	}
	if info, err := os.Stat(f.store); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("--store %s: expected a file", f.store)
	}
	var err error
	if s.file, err = os.OpenFile(f.store, os.O_CREATE|os.O_RDWR, 0o666); err != nil {
		return nil, fmt.Errorf("--store: %w", err)
	}
	if err := s.open(storeHead{f.root, f.seeds, f.find, f.shrink, f.orders, buildName()}); err != nil {
		_ = s.file.Close()
		return nil, fmt.Errorf("--store %s: %w", f.store, err)
	}
	return s, nil
}

// open has the file for this process, and reads what it has.
func (s *matrixStore) open(head storeHead) error {
	if lockFile(s.file) != nil {
		return errors.New("another process is writing it")
	}
	whole, err := s.read(head)
	if err != nil {
		return err
	}
	if err := s.file.Truncate(whole); err != nil { // what was half written goes
		return err
	}
	if _, err := s.file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	if whole == 0 {
		return json.NewEncoder(s.file).Encode(head)
	}
	return nil
}

// mostLine is how long a line of a store may be, in bytes.
const mostLine = 1 << 20

// read reads a store's whole lines and tells how many bytes they are.
func (s *matrixStore) read(head storeHead) (whole int64, err error) {
	lines := bufio.NewReaderSize(s.file, mostLine)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		switch err {
		case io.EOF:
			return whole, nil
		case bufio.ErrBufferFull:
			err = fmt.Errorf("expected at most %d MiB", mostLine>>20)
		}
		if err == nil {
			err = s.line(n, line, head)
		}
		if err != nil {
			return 0, fmt.Errorf("line %d: %w", n, err)
		}
		whole += int64(len(line))
	}
}

func (s *matrixStore) line(n int, line []byte, head storeHead) error {
	if n == 1 {
		var was storeHead
		if err := json.Unmarshal(line, &was); err != nil {
			return fmt.Errorf("this is not a store of a matrix: %w", err)
		}
		if was.Seeds == 0 {
			return errors.New("this is not a store of a matrix: the first line should say how it was made")
		}
		if same := was; was != head {
			if same.Build = head.Build; same == head {
				return fmt.Errorf("another build of locksim made it: expected another file, as seeds may lead elsewhere now")
			}
			return fmt.Errorf("it was made with --root %d --seeds %d --find %d --shrink=%t --orders=%t: "+
				"expected the same flags, or another file", was.Root, was.Seeds, was.Find, was.Shrink, was.Orders)
		}
		return nil
	}
	var r matrix.Result
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if err := r.Check(); err != nil {
		return err
	}
	if !slices.Contains(s.names, r.Name()) {
		return fmt.Errorf("there is no cell %q", r.Name())
	}
	s.cells[r.Name()] = r
	return nil
}

// find returns what is known of a cell.
func (s *matrixStore) find(c *matrix.Cell) (matrix.Result, bool) {
	r, ok := s.cells[c.String()]
	return r, ok && r.Code == c.Code
}

// keep adds a cell, if it is new.
func (s *matrixStore) keep(r matrix.Result) error {
	if _, known := s.cells[r.Name()]; known || s.file == nil {
		return nil
	}
	return cellWriter(s.file).Encode(r)
}

// cellWriter writes cells, one object a line.
func cellWriter(out io.Writer) *json.Encoder {
	w := json.NewEncoder(out)
	w.SetEscapeHTML(false)
	return w
}

func (s *matrixStore) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
