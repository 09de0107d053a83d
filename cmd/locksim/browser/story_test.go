package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestByMouse: from the list to the violation, back, the why, the line of Lua, another
// run, and a cell of the matrix.
func TestByMouse(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home)
	v.clicks(`a[href^="/run/failover_before_replication?"]`)
	v.sees(".verdicts", "exclusion violated")
	v.clicks("#play")
	v.sees("#event", "#37 c2 holds lock:1")
	v.sees("#play", "Play")
	v.sees("#announce", "Holders, as they believe: c1 and c2")
	v.clicks("#back")
	v.sees("#event", "#36 c2 receives from r1")
	v.clicks(".why li:nth-child(3) button")
	v.sees("#event", "m1 crashes")
	v.clicks(".why li:nth-child(5) .by")
	v.sees("#event", "#34 r1 mutex-acquire")
	v.sees("#did .decides", "if free or redis.call('hexists', KEYS[1], ARGV[2]) == 1")
	v.sees("#did .decides", "free = true")
	v.clicks("#messages")
	v.asks(`document.querySelector('#list [data-event="10"]').scrollIntoView({ block: 'center' })`, nil)
	v.clicks(`#list [data-event="10"]`)
	v.sees("#event", "#10 m1 sends to c1")
	v.clicks("#branch button")
	v.sees("h1", "failover_before_replication, branched")
	v.sees(".verdicts", "exclusion holds")
	v.sees("#event", "#10 m1 sends to c1")
	v.sees("footer pre", "at 0s drop m1 c1 next=1 after=1")

	v.clicks("nav a")
	v.sees("h1", "Redis locks under faults")
	v.clicks(`a[href="/matrix"]`)
	v.sees("h1", "Which lock keeps which promise")
	v.clicks(`a[href^="/run/cell:2%2Fredisson%2Ffair"]`)
	v.sees("h1", "fair, as Redisson's client behaves, in row 2")
	v.sees(".verdicts", "exclusion violated")
	v.clicks("#last")
	v.until(`view.cursor === total - 1`)
}

// TestByKeyboard: the same without a mouse.
func TestByKeyboard(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home)
	v.tabsTo(`a[href^="/run/failover_before_replication?"]`)
	v.presses(kb.Enter)
	v.sees(".verdicts", "exclusion violated")
	v.sees("#event", "#1 ")
	v.presses(" ")
	v.sees("#event", "#37 c2 holds lock:1")
	v.presses(kb.ArrowLeft)
	v.sees("#event", "#36 ")
	v.presses("]")
	v.sees("#event", "#37 ")
	v.presses("[")
	v.sees("#event", "#36 ")
	v.tabsTo(".why li:nth-child(5) .by")
	v.presses(kb.Enter)
	v.sees("#event", "#34 r1 mutex-acquire")
	v.sees("#did .decides", "◆ decides")
	v.tabsTo("#number")
	v.presses(kb.Backspace, kb.Backspace, "1", "0", kb.Enter)
	v.sees("#event", "#10 m1 sends to c1")
	v.tabsTo("#branch button")
	v.presses(kb.Enter)
	v.sees("h1", "branched")
	v.sees(".verdicts", "exclusion holds")
	v.sees("#event", "#10 ")
	v.presses("b", kb.Enter) // once more, by its key: c1's next attempt gets no reply either
	v.until(`document.querySelectorAll('footer input[name=step]').length === 2`)

	v.opens(v.home + "matrix")
	v.tabsTo(".heat .cell")
	v.sees("#about", "1 Nothing goes wrong")
	v.presses(kb.ArrowDown, kb.ArrowRight)
	v.sees("#about", "fair: ✘ violated")
	v.presses(kb.ArrowUp, kb.ArrowDown, kb.Enter)
	v.sees("h1", "fair, as Redisson's client behaves, in row 2")
	v.sees(".verdicts", "exclusion violated")
}

// TestRemedy: from a violation to what would have saved it, and to a run of that,
// whose file can be changed in turn.
func TestRemedy(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home + "run/failover_before_replication")
	v.clicks(`a[href^="/explain/"]`)
	v.sees("main", "replicas have every acknowledged write")
	v.sees(".verdicts .holds", "acquisitions checked with WAIT (sync=on)")
	v.clicks(".verdicts .holds a")
	v.sees(".verdicts", "exclusion holds")
	v.clicks("footer summary")
	v.asks(`{ const file = document.querySelector('textarea'); file.value = file.value.replace(' sync=on', ''); }`, nil)
	v.tabsTo("textarea")
	v.presses(kb.Tab, kb.Enter)
	v.sees(".verdicts", "exclusion violated")
}

// TestKeysOff: keys of one letter can be switched off, for who speaks to the machine.
func TestKeysOff(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home + "run/failover_before_replication")
	v.sees("#event", "#1 ")
	v.tabsTo("#letters")
	v.presses(" ", kb.ArrowRight)
	v.clicks("#next")
	v.sees("#event", "#2 ")
	v.clicks("#letters")
	v.presses(kb.End)
	v.sees("#event", "#71 ")
}

// TestLesson: a lesson's question can be answered before its run is seen.
func TestLesson(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home)
	v.clicks(`a[href="/lesson/3"]`)
	v.sees("h1", "Failover, and WAIT")
	hidden := true
	v.asks(`!document.querySelector('details').open`, &hidden)
	require.True(t, hidden)
	v.clicks("details summary")
	v.until(`document.querySelector('details').open`)
	v.clicks(`a[href="/run/failover_before_replication"]`)
	v.sees(".verdicts", "exclusion violated")
}

// TestList: everything in the diagram is in the list too, and the list can be searched.
func TestList(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home + "run/failover_before_replication")
	v.clicks("#messages")
	v.sees("#span", "1 to 71 of 71")
	v.until(`document.querySelectorAll('#list li').length === total`)
	v.clicks("#find")
	v.presses("c", "r", "a", "s", "h")
	v.sees("#found", "1 found")
	v.sees("#list", "m1 crashes")
}

// TestAddress: the event is in the page's address, so that a link leads to it.
func TestAddress(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home + "run/failover_before_replication#event=37")
	v.sees("#event", "#37 ")
	v.presses(kb.End)
	v.until(`location.hash === '#event=71'`)
	v.opens(v.home + "run/failover_before_replication#event=99999")
	v.sees("#event", "#71 ")
}

// TestNumber: whatever number is asked for, the page shows an event, says which, and
// goes on from there.
func TestNumber(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home + "run/failover_before_replication#event=37")
	for _, c := range [][2]string{{"99999", "71"}, {"-3", "1"}, {"1e1", "10"}, {"12.5", "12"}} {
		given, want := c[0], c[1]
		v.asks(`element('number').select(), element('number').focus()`, nil)
		v.do(chromedp.KeyEvent(given), chromedp.KeyEvent(kb.Enter))
		v.sees("#event", "#"+want+" ")
		v.until(`element('number').value === '` + want + `'`)
	}
	v.asks(`element('number').blur()`, nil)
	v.presses(kb.ArrowRight)
	v.sees("#event", "#13 ")
}

// TestToTheEnd: what has not ended when the run ends is still so at its last event, and
// drawn up to the edge.
func TestToTheEnd(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home + "run/failover_before_replication")
	v.presses(kb.End)
	v.sees("#event", "#71 ")
	v.sees("#keys", "m1 (down)")
	same := false
	v.asks(`[...bands].filter((b) => b.word === 'down').every((b) => xOf(b.j) === screen(places[total]))`, &same)
	require.True(t, same)
}

// TestGossip: what many servers say among themselves is drawn on demand only, and
// the story begins where something happens.
func TestGossip(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home + "run/cluster_elects_what_never_heard")
	v.sees("#event", "replication to r1 is held back")
	v.sees("#notice", "messages between servers are not drawn")
	before, after := 0, 0
	v.asks(`document.querySelector('#picture .message').getAttribute('d').length`, &before)
	v.clicks("#gossip")
	v.until(`!document.getElementById('notice').textContent.includes('not drawn')`)
	v.asks(`document.querySelector('#picture .message').getAttribute('d').length`, &after)
	require.Greater(t, after, before)
	v.opens(v.home + "run/failover_before_replication")
	all := false
	v.asks(`document.getElementById('gossip').checked`, &all)
	require.True(t, all, "few messages are all drawn")
}

// TestWhatLasts: what is drawn as lasting ends when it does: a fault that is prolonged, one
// of two cuts, what is held back from a replica that becomes master.
func TestWhatLasts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lasts.scenario")
	require.NoError(t, os.WriteFile(file, []byte("world replicas=1 hold=3s\n"+
		"at 1s pause c1 for=1s\nat 1500ms pause c1 for=1s\nat 3s partition c1 m1 for=1s\n"+
		"at 3s partition c2 m1 for=3s\nat 4500ms hold r1\nat 5s promote r1\n"+
		"run for=9s seed=1\n"), 0o600))
	v := visit(t, "", 1280)
	v.opens(saved(t, "run", file))
	var ends []string
	v.asks("bands.map((b) => b.word + ': ' + (b.j < total ? events[b.j].kind + ' ' + events[b.j].t / 1e6 : 'never'))",
		&ends)
	require.Equal(t, []string{"paused: resume 2500", "cut: c1 from m1: heal 4000", "cut: c2 from m1: heal 6000",
		"replication held: promote 5000"}, ends)
}

// TestWhoWrote: what a server has is told of who wrote it last, also where the same was
// written by others before, and where it came by replication.
func TestWhoWrote(t *testing.T) {
	v := visit(t, serve(t), 1280)
	var states []string
	said := func(name, node string) string {
		v.opens(v.home + "run/" + name)
		v.asks("history.get('"+node+"').get('lock:1').map((s) => s.by + ' ' + s.text)", &states)
		return strings.Join(states, ", ")
	}
	require.Contains(t, said("doubled_release_counts_once", "m1"),
		"c1 string{0}, c1 string{1}, c2 string{0}, c2 string{1}, c3 string{0}, c3 string{1}, c3 string{0}")
	require.Contains(t, said("one_confirmation_of_two_is_not_enough", "r1"), "c1 hash{c1:1:1}, c2 hash{c2:1:1}")
	require.Regexp(t, "^c1 string{[0-9a-f]+},  , c2 string{[0-9a-f]+}", said("clock_jump_breaks_redlock", "m3"))
}

// TestClockFarOff: how far a clock is off fits beside the diagram, not into it.
func TestClockFarOff(t *testing.T) {
	v := visit(t, serve(t), 1280)
	for name, want := range map[string]string{
		"wrong_clock_breaks_fair_order_only": "+1200 s", "clock_jump_breaks_redlock": "+10.00 s",
	} {
		v.opens(v.home + "run/" + name)
		v.presses(kb.End)
		v.until(`[...overlay.querySelectorAll('.warn')].some((e) => e.textContent === '` + want + `')`)
		fits := false
		v.asks(`[...overlay.querySelectorAll('.warn')].map((e) => e.getBBox()).every((b) => b.x + b.width < gutter - 2)`,
			&fits)
		require.True(t, fits, name)
	}
}

// What is written in the diagram is not written over something else.
func TestWordsOfTheDiagramDoNotOverlap(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.opens(v.home + "run/failover_before_replication?seed=1&step=at+1ns+crash+r1")
	v.until(`[...scenery.querySelectorAll('text')].some((one) => one.textContent === 'down')`)
	const over = `(() => {
		const all = [...scenery.querySelectorAll('text:not(.sign)')].map((one) => [one.textContent, one.getBBox()]);
		return all.flatMap(([a, p], i) => all.slice(i + 1).filter(([, q]) => p.x < q.x + q.width - 2 &&
			q.x < p.x + p.width - 2 && p.y < q.y + q.height - 2 && q.y < p.y + p.height - 2).map(([b]) => a + ' on ' + b));
	})()`
	var overlaps []string
	v.asks(over, &overlaps)
	require.Empty(t, overlaps)
}
