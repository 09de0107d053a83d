package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// pages are one of each kind.
var pages = []string{"", "run/failover_before_replication#event=42", "run/clock_jump_breaks_redlock", "matrix",
	"lesson/1", "explain/failover_before_replication", "run/cell:2%2Fredisson%2Fmutex"}

// reflows checks that a page can be read without scrolling sideways: only the
// diagram is wider than the window, in a frame of its own; and no text is cut off.
func (v *visitor) reflows(path string, width int) {
	v.t.Helper()
	v.opens(v.home + path)
	var wide int
	v.asks(`document.documentElement.scrollWidth`, &wide)
	require.LessOrEqual(v.t, wide, width, path)
	var out []string
	v.asks(`[...document.querySelectorAll('body *')].filter((e) => {
		const box = e.getBoundingClientRect();
		return box.width > 1 && !e.closest('#diagram, .hidden, .skip') && (box.right > innerWidth + 1 || box.left < -1);
	}).map((e) => e.outerHTML.slice(0, 80))`, &out)
	require.Empty(v.t, out, "%s: out of the window", path)
	v.asks(`[...document.querySelectorAll('body *')].filter((e) => {
		const style = getComputedStyle(e);
		return e.textContent.trim() && !e.closest('#diagram, .hidden, select, script, style') &&
			style.overflowX !== 'visible' && style.overflowX !== 'auto' && e.scrollWidth > e.clientWidth + 1;
	}).map((e) => e.outerHTML.slice(0, 80))`, &out)
	require.Empty(v.t, out, "%s: cut off", path)
	if folder := os.Getenv("LOCKSIM_PICTURES"); folder != "" { // to look at
		var picture []byte
		v.do(chromedp.FullScreenshot(&picture, 100))
		name := fmt.Sprintf("%d-%s.png", width, strings.Map(plain, path))
		require.NoError(v.t, os.WriteFile(filepath.Join(folder, name), picture, 0o644))
	}
}

// plain are the characters of a path that a file's name may have.
func plain(r rune) rune {
	if strings.ContainsRune("/#%?:=", r) {
		return '-'
	}
	return r
}

// TestNarrow: at 320 pixels.
func TestNarrow(t *testing.T) {
	v := visit(t, serve(t), 320)
	for _, path := range pages {
		v.reflows(path, 320)
	}
}

// TestRowNames: who has scrolled to the last columns of the matrix still sees what the rows
// are, and the cell to which keys lead.
func TestRowNames(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home + "matrix")
	v.until(`[...document.querySelectorAll('.wide')].some((wide) => wide.scrollWidth > wide.clientWidth)`)
	var covered []string
	v.asks(`[...document.querySelectorAll('.wide')].flatMap((wide) => {
		const name = wide.querySelector('tbody th'), row = [...name.parentElement.querySelectorAll('a.cell')];
		wide.scrollLeft = wide.scrollWidth;
		const left = name.getBoundingClientRect().left - wide.getBoundingClientRect().left;
		const bad = Math.abs(left) > 4 ? ['its name is ' + left + ' px away'] : [];
		row[0].focus();
		const ends = name.getBoundingClientRect().right;
		if (row[0].getBoundingClientRect().left < ends) bad.push('its first cell is under its name');
		return bad.map((what) => name.innerText + ': ' + what);
	})`, &covered)
	require.Empty(t, covered)
}

// TestWordsHaveRoom: the words about a cell stand at the bottom of the window, and the
// cell to which keys lead is scrolled so far that none of them covers it.
func TestWordsHaveRoom(t *testing.T) {
	v := visit(t, serve(t), 965) // the narrowest window that has a table
	v.opens(v.home + "matrix")
	var covering []string
	v.asks(`[...document.querySelectorAll('.cell')].filter((cell) => {
		tell(cell);
		return about.offsetHeight > parseFloat(getComputedStyle(document.documentElement).scrollPaddingBottom);
	}).map((cell) => cell.dataset.about)`, &covering)
	require.Empty(t, covering)
}

// TestZoomed: at 400 % in a window of 1280 by 1024. To a page that is a window of a
// quarter in each direction, with four dots for each pixel.
func TestZoomed(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.do(chromedp.EmulateViewport(320, 256, chromedp.EmulateScale(4)))
	for _, path := range pages {
		v.reflows(path, 320)
	}
	v.opens(v.home + "matrix")
	v.tabsTo(".heat .cell")
	seen := false
	v.asks(`(() => { const cell = document.activeElement, box = cell.getBoundingClientRect();
		return document.elementFromPoint(box.left + 8, box.top + 8)?.closest('.cell') === cell;
	})()`, &seen)
	require.True(t, seen, "the cell with the focus is covered by something")
}

// TestAxe: axe-core finds nothing serious, in light and in dark, wide and narrow.
func TestAxe(t *testing.T) {
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip("there is no axe-core: npm ci in cmd/locksim/browser")
	}
	v := visit(t, serve(t), 1280)
	for _, c := range []struct {
		width  int64
		scheme string
	}{{1280, "light"}, {1280, "dark"}, {320, "light"}} {
		v.do(chromedp.EmulateViewport(c.width, 900), emulation.SetEmulatedMedia().WithFeatures(
			[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: c.scheme}}))
		for _, path := range pages {
			var found []string
			v.opens(v.home + path)
			v.do(chromedp.Evaluate(string(axe), nil))
			v.asks(`axe.run().then((r) => r.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
				.map((v) => v.id + ': ' + v.nodes.map((n) => n.html + ' ' + n.failureSummary).join('; ')))`, &found)
			require.Empty(t, found, "%s %v", path, c)
		}
	}
}

// TestReducedMotion: who asks for less motion gets jumps.
func TestReducedMotion(t *testing.T) {
	v := visit(t, serve(t), 1280)
	for reduced, want := range map[string]string{"reduce": "auto", "no-preference": "smooth"} {
		v.do(emulation.SetEmulatedMedia().WithFeatures(
			[]*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: reduced}}))
		v.opens(v.home + "run/failover_before_replication")
		var is string
		var moving []string
		v.asks(`getComputedStyle(document.documentElement).scrollBehavior`, &is)
		require.Equal(t, want, is)
		v.asks(`document.getAnimations().map((a) => String(a))`, &moving)
		require.Empty(t, moving)
	}
}
