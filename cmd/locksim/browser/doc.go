// Package browser tests locksim's pages in a browser: by mouse and by keyboard
// alone, at the width of a telephone and at 400 %, with axe-core, and with long
// runs. It watches for errors in the console and for requests to anything but
// the page's own server. The folder pictures makes the pictures of the README.
//
// The tests need chromium, and for axe-core `npm ci` in this folder; without
// them they are skipped with a line that says so. LOCKSIM_PICTURES names a
// folder for pictures of the narrow pages, to look at.
package browser
