package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestByMouse: from the list to the violation, back, the why, and another run.
func TestByMouse(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.do(chromedp.Navigate(v.home), chromedp.Click(`a[href^="/run/failover_before_replication?"]`, chromedp.ByQuery))
	v.sees(".verdicts", "exclusion violated")
	v.do(chromedp.Click("#play", chromedp.ByQuery))
	v.sees("#event", "c2 holds lock:1")
	v.sees("#play", "Play")
	v.sees("#announce", "c1 and c2 believe to hold")
	v.do(chromedp.Click("#back", chromedp.ByQuery))
	v.sees("#event", "#44 c2 receives from r1")
	v.do(chromedp.Click(".why li:nth-child(3) button", chromedp.ByQuery))
	v.sees("#event", "m1 crashes")
	v.do(chromedp.SetValue("#number", "14", chromedp.ByQuery),
		chromedp.Evaluate(`document.getElementById('number').dispatchEvent(new Event('change'))`, nil))
	v.sees("#event", "#14 m1 sends to c1")
	v.do(chromedp.Click("#branch button", chromedp.ByQuery))
	v.sees("h1", "failover_before_replication, branched")
	v.sees(".verdicts", "exclusion holds")
	v.sees("#event", "#14 m1 sends to c1")
}

// TestByKeyboard: the same without a mouse.
func TestByKeyboard(t *testing.T) {
	v := visit(t, serve(t), 1280)
	v.do(chromedp.Navigate(v.home + "run/failover_before_replication"))
	v.sees("#event", "#1 ")
	v.do(chromedp.KeyEvent(" "))
	v.sees("#event", "c2 holds lock:1")
	v.do(chromedp.KeyEvent("["))
	v.sees("#event", "#44 ")
	v.do(chromedp.KeyEvent("]"))
	v.sees("#event", "#45 ")
	v.do(chromedp.KeyEvent(kb.Home))
	for range 13 {
		v.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	v.sees("#event", "#14 ")
	v.do(chromedp.KeyEvent("b"), chromedp.KeyEvent(kb.Enter))
	v.sees("h1", "branched")
	v.sees(".verdicts", "exclusion holds")
}
