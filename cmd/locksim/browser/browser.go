package browser

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// Build builds locksim into a folder and returns its path.
func Build(dir string) (locksim string, err error) {
	locksim = filepath.Join(dir, "locksim")
	out, err := exec.Command("go", "build", "-o", locksim, "minikv/cmd/locksim").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return locksim, nil
}

// Serve runs `locksim serve` until ctx ends, and returns the address of its pages,
// with a slash behind. wait returns when it has ended.
func Serve(ctx context.Context, locksim string) (address string, wait func() error, err error) {
	command := exec.CommandContext(ctx, locksim, "serve")
	stdout, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n') // locksim serves ADDRESS until …
	words := strings.Fields(line)
	if err != nil || len(words) < 3 {
		return "", nil, fmt.Errorf("locksim serve: %q: %w", line, err)
	}
	return words[2], command.Wait, nil
}

// Open opens a browser, which is closed when stop is called. An error means that
// there is none.
func Open(ctx context.Context, width, height int) (tab context.Context, stop func(), err error) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return nil, nil, fmt.Errorf("there is no chromium: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(time.Minute), chromedp.WindowSize(width, height),
		chromedp.Flag("force-prefers-reduced-motion", true))
	ctx, stopBrowser := chromedp.NewExecAllocator(ctx, options...)
	tab, stopTab := chromedp.NewContext(ctx)
	return tab, func() { stopTab(); stopBrowser() }, nil
}
