package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestHostileTrace: what keys, values and names say is shown, and not executed; the
// page works from disk.
func TestHostileTrace(t *testing.T) {
	evil := `<img src=x onerror=alert(1)></script><script>alert(2)</script>\u0000\u001b[31m\u202e`
	dir := t.TempDir()
	events, html := filepath.Join(dir, "evil.jsonl"), filepath.Join(dir, "evil.html")
	require.NoError(t, os.WriteFile(events, []byte(`{"n":1,"t":1,"actor":"c1","kind":"acquire","lock":1,"key":"`+evil+`"}
{"n":2,"t":2,"actor":"m1","kind":"execute","peer":"c1","cause":1,"text":"`+evil+`",`+
		`"details":[{"what":"call","text":"`+evil+`","reply":"`+evil+`"},`+
		`{"what":"changed","key":"`+evil+`","text":"`+evil+`"}]}
{"n":3,"t":3,"actor":"`+evil+`","kind":"hold","lock":1,"key":"`+evil+`"}
`), 0o600))
	out, err := exec.Command(locksim, "page", events, "--html", html).CombinedOutput()
	require.NoError(t, err, string(out))
	v := visit(t, "file://"+dir, 1280)
	v.do(chromedp.Navigate("file://" + html + "#event=2"))
	v.sees("#event", "<img src=x onerror=alert(1)></script><script>alert(2)</script>␀␛[31m⟨202e⟩")
	v.sees("#keys", "<script>alert(2)")
	v.sees("#did", "<script>alert(2)")
	var images int
	v.do(chromedp.Evaluate(`document.querySelectorAll('img').length`, &images))
	require.Zero(t, images)
}
