// Package page shows a run as one HTML file that needs nothing else: no server,
// no network, no other file.
//
// A [Page] is made from a trace alone, with the verdicts if there are any. Its
// style and scripts are plain files in assets, put inside the page as they are;
// a policy in the page lets the browser run these and nothing else, and text
// from the trace is only ever set as text. The scripts, in their order:
//
//   - model.js: what the trace says: beliefs, keys, messages, faults
//   - ink.js: how marks become a picture
//   - diagram.js: beliefs over the servers' truth, and the space-time diagram
//   - lua.js: the lines of scripts that ran, and the one that decided
//   - panels.js: the event at the cursor, the keys, the list
//   - main.js: the cursor, the keyboard
//
// The page shows the run as an ordered list as well as a diagram, and tells
// nothing by colour alone.
package page
