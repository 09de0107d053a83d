package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
)

// mostText is how long a file may be that is read as a whole, and a line of a trace, in
// bytes: what has no end, such as a device, is not read for ever.
const mostText = 64 << 20

var errTooLong = fmt.Errorf("expected at most %d MiB", mostText>>20)

// readText reads a file of at most that length.
func readText(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAtMost(file)
}

func readAtMost(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, mostText+1))
	if err == nil && len(text) > mostText {
		return nil, errTooLong
	}
	return text, err
}

// readLine reads a line of at most that length with its end, as bufio's ReadBytes does.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > mostText {
			return nil, errTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// removeFile takes away a file, if there is one; a folder stays, be it empty.
func removeFile(path string) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: is a directory", path)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

var errNoFile = errors.New("is not a regular file")

// checkFile refuses what stat says is neither a file nor a folder: no file must take the
// place of a device.
func checkFile(path string, stat func(string) (fs.FileInfo, error)) error {
	if info, err := stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return errNoFile
	}
	return nil
}

// Modes of files: what anybody may read, and keys.
const publicMode, secretMode = 0o644, 0o600

// writeFile writes a file that is complete or not there, and leaves nothing half done.
func writeFile(name string, content []byte, mode fs.FileMode) error {
	if err := checkFile(name, os.Stat); err != nil {
		return err
	}
	temporary := name + "." + strconv.Itoa(os.Getpid())
	err := os.WriteFile(temporary, content, mode)
	if err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}
