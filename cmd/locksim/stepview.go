package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// viewer shows recordings in a terminal, one statement at a time.
type viewer struct {
	ctx   context.Context
	out   io.Writer
	name  string
	walks []walk
	walk  int
	run   *recording
	at    int // of run.Steps; behind the last one, the reply is shown
}

// view lets a person walk through walks until they leave.
func view(ctx context.Context, in, out *os.File, name string, walks []walk) error {
	v := &viewer{ctx: ctx, out: out, name: name, walks: walks}
	if err := v.choose(0); err != nil {
		return err
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	defer func() {
		_ = term.Restore(int(in.Fd()), before)
		fmt.Fprint(out, "\x1b[?25h\x1b[?1049l")
	}()
	fmt.Fprint(out, "\x1b[?1049h\x1b[?25l")
	keys := make(chan string)
	go readKeys(in, keys)
	resized, stop := resizes()
	defer stop()
	for {
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil {
			width, height = 80, 24
		}
		v.draw(width, height)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-resized:
		case key, ok := <-keys:
			if !ok || key == "q" || key == "\x03" || key == "\x1b" {
				return nil
			}
			if err := v.key(key); err != nil {
				return err
			}
		}
	}
}

// readKeys sends what is typed, the arrow keys as one word each.
func readKeys(in io.Reader, keys chan<- string) {
	defer close(keys)
	buf := make([]byte, 256)
	for {
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		for typed := string(buf[:n]); typed != ""; {
			var key string
			key, typed = nextKey(typed)
			keys <- key
		}
	}
}

// nextKey is the first of the keys that were typed, several of which may come at once:
// a character, or an escape sequence to its end. Arrow keys are as in cursor mode,
// whichever a terminal sends.
func nextKey(typed string) (key, rest string) {
	if len(typed) < 3 || typed[0] != '\x1b' || typed[1] != '[' && typed[1] != 'O' {
		return typed[:1], typed[1:]
	}
	end := 2
	for end < len(typed)-1 && (typed[end] < '@' || typed[end] > '~') {
		end++
	}
	return "\x1b[" + typed[2:end+1], typed[end+1:]
}

// choose runs walk number i.
func (v *viewer) choose(i int) error {
	run, err := record(v.ctx, v.walks[i].exercise)
	if err == nil {
		v.walk, v.run, v.at = i, run, 0
	}
	return err
}

func (v *viewer) key(key string) error {
	last := len(v.run.Steps)
	switch key {
	case "n", " ", "\r", "j", "l", "\x1b[C", "\x1b[B":
		v.at = min(v.at+1, last)
	case "p", "k", "h", "\x7f", "\x1b[D", "\x1b[A":
		v.at = max(v.at-1, 0)
	case "g", "\x1b[H":
		v.at = 0
	case "G", "\x1b[F":
		v.at = last
	case "]", "\t":
		return v.choose((v.walk + 1) % len(v.walks))
	case "[":
		return v.choose((v.walk + len(v.walks) - 1) % len(v.walks))
	}
	return nil
}

// keysHelp is the bottom line.
const keysHelp = "→ next   ← back   g first   G last   ] [ other walk   q leave"

// draw writes the whole screen.
func (v *viewer) draw(width, height int) {
	var panel strings.Builder
	where := fmt.Sprintf("step %d of %d", v.at+1, len(v.run.Steps))
	if v.at == len(v.run.Steps) {
		where = "the end"
	}
	fmt.Fprintf(&panel, "%s   %s", v.name, where)
	if len(v.walks) > 1 {
		fmt.Fprintf(&panel, "   walk %d of %d", v.walk+1, len(v.walks))
	}
	panel.WriteString("\n" + v.walks[v.walk].about + "\n")
	v.inside(&panel)
	about := strings.Split(strings.TrimRight(panel.String(), "\n"), "\n")

	line := 0
	if v.at < len(v.run.Steps) {
		line = v.run.Steps[v.at].Line
	}
	script := strings.Split(strings.TrimRight(numbered(v.run.Script, line), "\n"), "\n")
	var present []string // the line to be run, whole
	if line > 0 && line <= len(script) {
		present = wrap(script[line-1], width)
	}
	room := max(height-len(about)-2-max(0, len(present)-1), 3)
	first := min(max(0, line-1-room/2), max(0, len(script)-room))
	script = script[first:min(len(script), first+room)]

	w := bufio.NewWriter(v.out)
	defer w.Flush()
	fmt.Fprint(w, "\x1b[H\x1b[2J")
	for i, row := range script {
		if first+i+1 != line {
			fmt.Fprintf(w, "%s\r\n", cut(row, width))
			continue
		}
		for _, part := range present {
			fmt.Fprintf(w, "\x1b[7m%s\x1b[0m\r\n", part)
		}
	}
	fmt.Fprintf(w, "%s\r\n", strings.Repeat("─", width))
	left := height - len(script) - 2 - max(0, len(present)-1)
	for _, row := range about[:min(len(about), max(0, left))] {
		fmt.Fprintf(w, "%s\r\n", cut(row, width))
	}
	fmt.Fprintf(w, "\x1b[%d;1H\x1b[2m%s\x1b[0m", height, cut(keysHelp, width))
}

// inside tells about the present statement.
func (v *viewer) inside(panel io.Writer) {
	if v.at == len(v.run.Steps) {
		fmt.Fprintf(panel, "reply: %s\n", visible(v.run.Reply))
		return
	}
	if v.at == 0 {
		writeInputs(panel, v.run)
	}
	s := v.run.Steps[v.at]
	for _, local := range s.Locals {
		fmt.Fprintf(panel, "    %s = %s\n", local.Name, visible(local.Value))
	}
	writeEffects(panel, s)
}

// wrap breaks a row into parts that the screen has room for.
func wrap(row string, width int) (parts []string) {
	const indent = "      "
	runes := []rune(row)
	for width > 2*len(indent) && len(runes) > width {
		parts = append(parts, string(runes[:width]))
		runes = []rune(indent + string(runes[width:]))
	}
	return append(parts, cut(string(runes), width))
}

// cut shortens a row to the width of the screen.
func cut(row string, width int) string {
	runes := []rune(row)
	if len(runes) <= width {
		return row
	}
	return string(runes[:max(0, width-1)]) + "…"
}
