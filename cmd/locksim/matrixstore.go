package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"minikv/sim/matrix"
)

// matrixStore is a file with the cells that a long run has done, so that it can
// go on later: a line with its flags, then a line for each cell. Without a file
// it keeps nothing.
type matrixStore struct {
	file  *os.File
	cells map[string]matrix.Result
}

// storeHead is the first line of a store: what its cells depend on.
type storeHead struct {
	Root   uint64 `json:"root"`
	Seeds  int    `json:"seeds"`
	Find   int    `json:"find"`
	Shrink bool   `json:"shrink"`
	Orders bool   `json:"orders"`
}

// openStore reads what the store has, and makes it if there is none.
func (f *matrixFlags) openStore() (*matrixStore, error) {
	s := &matrixStore{cells: map[string]matrix.Result{}}
	if f.store == "" {
		return s, nil
	}
	head := storeHead{f.root, f.seeds, f.find, f.shrink, f.orders}
	whole, err := s.read(f.store, head)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("--store %s: %w", f.store, err)
	}
	if s.file, err = os.OpenFile(f.store, os.O_CREATE|os.O_RDWR, 0o666); err != nil {
		return nil, fmt.Errorf("--store: %w", err)
	}
	if err := s.file.Truncate(whole); err != nil { // what was half written goes
		return nil, fmt.Errorf("--store: %w", err)
	}
	if _, err := s.file.Seek(whole, io.SeekStart); err != nil {
		return nil, fmt.Errorf("--store: %w", err)
	}
	if whole == 0 {
		return s, json.NewEncoder(s.file).Encode(head)
	}
	return s, nil
}

// read reads a store's whole lines and tells how many bytes they are.
func (s *matrixStore) read(name string, head storeHead) (whole int64, err error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return whole, nil
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
			return fmt.Errorf("this is no store of a matrix: %w", err)
		}
		if was != head {
			return fmt.Errorf("it was made with %+v: expected the same flags, or another file", was)
		}
		return nil
	}
	var c cellJSON
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	r, err := c.result()
	s.cells[nameOf(&r)] = r
	return err
}

// nameOf is the name of the result's cell.
func nameOf(r *matrix.Result) string {
	c := matrix.Cell{Row: r.Row, Profile: r.Profile, Kind: r.Lock, Variant: r.Variant}
	return c.String()
}

// find returns what is known of a cell.
func (s *matrixStore) find(c *matrix.Cell) (matrix.Result, bool) {
	r, ok := s.cells[c.String()]
	return r, ok && r.Code == c.Code
}

// keep adds a cell, if it is new.
func (s *matrixStore) keep(r matrix.Result) error {
	if _, known := s.cells[nameOf(&r)]; known || s.file == nil {
		return nil
	}
	out := json.NewEncoder(s.file)
	out.SetEscapeHTML(false)
	return out.Encode(cellOf(r))
}

func (s *matrixStore) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
