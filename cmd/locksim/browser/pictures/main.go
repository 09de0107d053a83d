package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"minikv/cmd/locksim/browser"
)

// folder is where the pictures are, seen from the module's root.
const folder = "docs/pictures"

// picture is a part of a page.
type picture struct {
	name  string
	path  string // of the page
	ready string // what must be so before
	from  string // the first element of the part
	to    string // and the last one
}

var pictures = []picture{
	{"failover", "run/failover_before_replication#event=37",
		`document.getElementById('event').textContent.includes('#37 ')`, "header", "#diagram"},
	{"lua", "run/failover_before_replication#event=34", `document.querySelector('#did .decides')`,
		"#event", ".panes"},
	{"matrix", "matrix", `document.querySelector('.heat .cell')`, "h1", ".heat tbody tr:nth-child(8)"},
}

func main() {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	if err := makeAll(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func makeAll(ctx context.Context) error {
	if _, err := os.Stat(folder); err != nil {
		return fmt.Errorf("run this in the module's root: %w", err)
	}
	dir, err := os.MkdirTemp("", "locksim")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	locksim, err := browser.Build(dir)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	home, wait, err := browser.Serve(ctx, locksim)
	if err != nil {
		stop()
		return err
	}
	defer func() { stop(); _ = wait() }()
	tab, closeTab, err := browser.Open(ctx, 1100, 900)
	if err != nil {
		return err
	}
	defer closeTab()
	for _, p := range pictures {
		if err := p.take(tab, home); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// take makes a picture.
func (p *picture) take(tab context.Context, home string) error {
	const margin = 6
	var box struct{ X, Y, Width, Height float64 }
	err := chromedp.Run(tab, chromedp.EmulateViewport(1100, 900), chromedp.Navigate(home+p.path),
		chromedp.Poll(p.ready, nil, chromedp.WithPollingTimeout(time.Minute)),
		chromedp.Evaluate(fmt.Sprintf(`(() => {
			scrollTo(0, 0);
			const from = document.querySelector(%q).getBoundingClientRect();
			const to = document.querySelector(%q).getBoundingClientRect();
			return { X: from.left, Y: from.top, Width: to.width, Height: to.bottom - from.top };
		})()`, p.from, p.to), &box))
	if err != nil {
		return err
	}
	clip := &page.Viewport{X: max(0, box.X-margin), Y: max(0, box.Y-margin), Width: box.Width + 2*margin,
		Height: box.Height + 2*margin, Scale: 1}
	var shot []byte
	if err := chromedp.Run(tab, chromedp.ActionFunc(func(ctx context.Context) error {
		shot, err = page.CaptureScreenshot().WithClip(clip).WithCaptureBeyondViewport(true).Do(ctx)
		return err
	})); err != nil {
		return err
	}
	return save(filepath.Join(folder, p.name+".png"), shot)
}

// save writes a picture as small as PNG can have it, in 256 colours.
func save(path string, shot []byte) error {
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return err
	}
	small := image.NewPaletted(full.Bounds(), palette(full))
	draw.Draw(small, full.Bounds(), full, full.Bounds().Min, draw.Src)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, small); err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes\n", path, out.Len())
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// palette are the 256 colours that a picture has most of.
func palette(full image.Image) (colours color.Palette) {
	count := map[color.RGBA]int{}
	var seen []color.RGBA
	box := full.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)
			if count[c] == 0 {
				seen = append(seen, c)
			}
			count[c]++
		}
	}
	slices.SortStableFunc(seen, func(a, b color.RGBA) int { return cmp.Compare(count[b], count[a]) })
	for _, c := range seen[:min(256, len(seen))] {
		colours = append(colours, c)
	}
	return colours
}
