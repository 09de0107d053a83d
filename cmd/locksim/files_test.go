package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is too long for a file of its kind is not read, and what never comes is given up.
func TestFilesThatAreNone(t *testing.T) {
	for _, args := range [][]string{{"run"}, {"explain"}, {"shrink"}, {"replay"}, {"hunt"}, {"hunt", "--resume"},
		{"step"}} {
		code, _, stderr := locksim(append(args, "/dev/zero")...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, stderr, "/dev/zero: expected a file of at most 16 MiB", args)
	}
	_, _, stderr := locksim("page", "/dev/zero", "--html", filepath.Join(t.TempDir(), "x.html"))
	require.Contains(t, stderr, "/dev/zero:1: not a trace: expected lines of at most 64 MiB")
	_, _, stderr = locksim("matrix", "--rows", "2", "--store", "/dev/zero")
	require.Contains(t, stderr, "--store /dev/zero: expected a file")

	silent, end, err := os.Pipe()
	require.NoError(t, err)
	defer silent.Close()
	defer end.Close()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_, err = readText(ctx, fmt.Sprintf("/dev/fd/%d", silent.Fd()))
	require.ErrorIs(t, err, context.Canceled)
}

// Where there is no room nothing stays that is half, and what cannot be written is said
// before a run.
func TestNothingHalfStays(t *testing.T) {
	folder := t.TempDir()
	taken := filepath.Join(folder, "x.scenario")
	require.NoError(t, os.Mkdir(taken, 0o777))
	require.Error(t, writeFile(taken, "text"))
	require.NoFileExists(t, taken+".part")

	code, stdout, stderr := locksim("run", "contention", "--html", filepath.Join(folder, "none", "x.html"))
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--html: ")
	require.Empty(t, stdout)

	for path, want := range map[string]string{"": "expected the name of a file", folder: folder + " is a folder"} {
		for _, args := range [][]string{{"run", "contention"}, {"page", taken}} {
			code, stdout, stderr = locksim(append(args, "--html", path)...)
			require.Equal(t, exitUsage, code)
			require.Contains(t, stderr, "--html: "+want)
			require.Empty(t, stdout)
		}
	}

	if runtime.GOOS != "linux" {
		return // others have no file that is always full
	}
	code, stdout, stderr = locksim("hunt", "contention", "--seeds", "1", "--out", "/proc/self")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "--out /proc/self: no file can be made there: ")
	require.Empty(t, stdout)
	nothing, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer nothing.Close()
	for _, args := range []string{"", "list", "run contention --trace none", "run contention", "help", "completion bash",
		"explain failover_before_replication", "step mutex-acquire", "serve", "hunt contention --seeds 1 --out " + folder} {
		var errs bytes.Buffer
		code := run(t.Context(), strings.Fields(args), nothing, &errs)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, errs.String(), "no space left on device", args)
	}
	full := filepath.Join(folder, "full.html")
	require.NoError(t, os.Symlink("/dev/full", full))
	_, _, stderr = locksim("run", "contention", "--for", "1s", "--html", full)
	require.Contains(t, stderr, "no space left on device")
	_, err = os.Lstat(full)
	require.NoError(t, err, "what is no file of a page is not removed")
	code, _, stderr = locksim("shrink", "failover_before_replication", "--out", full)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "no space left on device")
	info, err := os.Lstat(full)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "no story takes the place of a device")
	link := filepath.Join(folder, "link") // as /dev/stdout is, where a shell has sent that to a file
	require.NoError(t, os.Symlink(filepath.Join(folder, "story"), link))
	require.NoError(t, writeFile(link, "text"))
	text, err := os.ReadFile(filepath.Join(folder, "story"))
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
}

// A story that cannot be written to its file is told all the same: it took long to find.
func TestStoryWithoutAFile(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "w.scenario")
	require.NoError(t, os.WriteFile(file, []byte("world clients=2 lock=mutex ttl=3s renew=off hold=1s rounds=1\n"+
		"expect exclusion=holds\nfaults amnesia\nrun for=20s seed=7000000011\n"), 0o666))
	for file, args := range map[string]string{
		"short":                 "shrink FOLDER/w.scenario --out FOLDER/short",
		"w-7000000011.scenario": "hunt FOLDER/w.scenario --root 7 --seeds 20 --hits 1 --out FOLDER",
		"w-order.scenario":      "hunt FOLDER/w.scenario --strategy exhaustive --out FOLDER",
	} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, file), 0o777))
		code, stdout, stderr := locksim(strings.Fields(strings.ReplaceAll(args, "FOLDER", folder))...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, stderr, file+": file exists", args)
		require.Contains(t, stdout, "\nexclusion violated: ", args)
		require.NotContains(t, stdout, "replay: ", args)
	}
}

// A stored hunt of another build, or one that somebody has changed, is refused.
func TestHuntsThatAreNone(t *testing.T) {
	folder := t.TempDir()
	text := `"name":"x","build":"` + buildName() + `",` +
		`"scenario":"world rounds=1\nexpect exclusion=holds\nfaults pause\nrun for=1s\n"`
	for want, numbers := range map[string]string{
		"seeds 0: expected a number from 1":          `"seeds":0,"hits":3`,
		"hits -1: expected a number from 1":          `"seeds":9,"hits":-1`,
		"tried -5: expected a number from 0 to 9":    `"seeds":9,"hits":3,"tried":-5`,
		"tried 10: expected a number from 0 to 9":    `"seeds":9,"hits":3,"tried":10`,
		"other -1: expected no less than 0":          `"seeds":9,"hits":3,"other":-1`,
		"expected a name and a build":                `"seeds":9,"hits":3,"name":""`,
		`need "sloth": expected pause, `:             `"seeds":9,"hits":3,"need":"sloth"`,
		"another build of locksim made it":           `"seeds":9,"hits":3,"build":"0"`,
		"x.scenario:1: unknown word \"w\"":           `"seeds":9,"hits":3,"scenario":"w"`,
		"root 18446744073709551615: expected":        `"seeds":9,"hits":3,"root":18446744073709551615`,
		"seed 1000000000 violates nothing, though":   `"seeds":9,"hits":3,"tried":7,"root":1,"found":[1000000000]`,
		"found 1: expected seeds of root 2 in their": `"seeds":9,"hits":3,"tried":7,"root":2,"found":[1]`,
		"found 7: expected seeds of root 0 in their": `"seeds":9,"hits":3,"tried":7,"found":[2,7]`,
		"found 2: expected seeds of root 0 in their": `"seeds":9,"hits":3,"tried":7,"found":[2,2]`,
		"found 2 seeds: expected at most the 1 hits": `"seeds":9,"hits":1,"tried":7,"found":[2,3]`,
		"is not a stored hunt: unexpected end of JS": `"seeds":9`,
	} {
		file := filepath.Join(folder, "x.hunt")
		end := "}"
		if want == "is not a stored hunt: unexpected end of JS" {
			end = ""
		}
		require.NoError(t, os.WriteFile(file, []byte("{"+text+","+numbers+end), 0o666))
		code, stdout, stderr := locksim("hunt", "--resume", file)
		require.Equal(t, exitUsage, code, stdout)
		require.Contains(t, stderr, want)
	}
}

// A bar's text leaves room for the rest of its line, however narrow a terminal is.
func TestBarFits(t *testing.T) {
	const text = "64690 grants, 3665472 events"
	for columns, want := range map[int]string{0: text, 80: text, 60: "64690 grants, 3665472", 58: "64690 grants,",
		45: "64690", 43: "", 20: ""} {
		require.Equal(t, want, fitted(text, columns), columns)
	}
}
