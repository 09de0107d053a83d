// Package browser tests locksim's pages in a browser: by mouse and by keyboard
// alone, at the width of a telephone, with axe-core, and with an eye on errors in
// the console and on requests that leave the page's own server.
//
// It needs chromium, and for axe-core `npm ci` in this folder; without them its
// tests are skipped with a line that says so.
package browser
