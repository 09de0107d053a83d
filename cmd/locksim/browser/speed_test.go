package browser

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// What is measured is the work of the page's main thread: its processor time, in
// milliseconds, for scripts, style, layout and paint. Other processes on the machine
// do not count, so that the limits mean the same on a loaded one. What the clock
// said is in the log.
const (
	openingLimit = 1000.0
	frameLimit   = 50.0
)

// work is the processor time that the page's main thread has used, in milliseconds.
func (v *visitor) work() (used float64) {
	v.t.Helper()
	v.do(chromedp.ActionFunc(func(ctx context.Context) error {
		metrics, err := performance.GetMetrics().Do(ctx)
		for _, m := range metrics {
			if m.Name == "TaskDuration" {
				used = 1000 * m.Value
			}
		}
		return err
	}))
	return used
}

// drawn is a promise that the frame with all changes so far has been drawn.
const drawn = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))`

// measuresOpening opens a page, and returns the work until its first frame is drawn.
func (v *visitor) measuresOpening(address string) float64 {
	v.t.Helper()
	v.do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	before := v.work()
	v.opens(address)
	v.asks(drawn, nil)
	used := v.work() - before
	var loaded float64
	v.asks(`performance.getEntriesByType('navigation')[0].loadEventEnd`, &loaded)
	v.t.Logf("opening: %.0f ms of work, loaded after %.0f ms by the clock", used, loaded)
	return used
}

// scrubs moves the scrubber from end to end with the hand's own event, and returns
// the work for each frame, in order of size.
func (v *visitor) scrubs(frames int) (work []float64) {
	v.t.Helper()
	var total int
	v.asks(`long = []; new PerformanceObserver((list) => long.push(...list.getEntries().map((e) => e.duration)))
		.observe({ type: 'long-animation-frame' }); total`, &total)
	for i := range frames {
		at := 1 + i*(total-1)/(frames-1)
		before := v.work()
		v.asks(fmt.Sprintf(`{ const s = document.getElementById('scrubber'); s.value = %d;
			s.dispatchEvent(new Event('input', { bubbles: true })); } %s`, at, drawn), nil)
		work = append(work, v.work()-before)
		v.sees("#event", fmt.Sprintf("#%d ", at))
	}
	var slow []float64
	v.asks(`long`, &slow)
	slices.Sort(work)
	v.t.Logf("scrubbing over %d events: work for a frame: median of %d %.1f ms, 99 of 100 %.1f ms, at most %.1f ms; "+
		"by the clock %d took over 50 ms", total, frames, work[frames/2], work[frames*99/100-1], work[frames-1], len(slow))
	return work
}

// TestTenThousandEvents: they open in under a second, and no frame takes 50 ms.
func TestTenThousandEvents(t *testing.T) {
	address := saved(t, "run", "contention", "--clients", "20", "--for", "40s", "--trace", "none")
	v := visit(t, address, 1280)
	require.Less(t, v.measuresOpening(address), openingLimit)
	var total int
	v.asks(`total`, &total)
	require.GreaterOrEqual(t, total, 10_000)
	work := v.scrubs(100)
	require.Less(t, work[len(work)/2], frameLimit/2, "half of the frames")
	require.Less(t, work[len(work)*99/100-1], frameLimit, "99 frames of 100")
	v.clicks("#zoom-fit") // all of it at once
	work = v.scrubs(30)
	require.Less(t, work[len(work)/2], frameLimit, "half of the frames, with all events in view")
	v.sees("#notice", "Of the messages in view one in")
}

// TestManyEvents: of two hundred thousand events the page shows a part, and says so.
func TestManyEvents(t *testing.T) {
	address := saved(t, "run", "contention", "--clients", "200", "--for", "82s", "--trace", "none")
	v := visit(t, address, 1280)
	v.measuresOpening(address)
	var total int
	v.asks(`total`, &total)
	require.GreaterOrEqual(t, total, 200_000)
	said := fmt.Sprintf("This run has %d events: the diagram shows at most 20000 of them at once, around the cursor, "+
		"and the list 100.", total)
	v.sees("#notice", said)
	work := v.scrubs(30)
	require.Less(t, work[len(work)/2], frameLimit, "half of the frames")
	v.clicks("#zoom-fit")
	work = v.scrubs(10)
	require.Less(t, work[len(work)/2], 2*frameLimit, "half of the frames, with as many events in view as can be")
	var inView, listed int
	v.asks(`search((view.left + view.width) / view.zoom) - search(view.left / view.zoom)`, &inView)
	v.asks(`document.querySelectorAll('#list li').length`, &listed)
	require.LessOrEqual(t, inView, 20_000)
	require.LessOrEqual(t, listed, 100)
}
