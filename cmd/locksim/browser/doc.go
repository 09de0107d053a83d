// Package browser tests locksim's pages in a browser: by mouse and by keyboard
// alone, at the width of a telephone and at 400 %, with axe-core, with long runs,
// and with an eye on errors in the console and on requests that leave the page's own
// server. Its folder pictures makes those of the README.
//
// It needs chromium, and for axe-core `npm ci` in this folder; without them its
// tests are skipped with a line that says so. LOCKSIM_PICTURES names a folder for
// pictures of the narrow pages, to look at.
package browser
