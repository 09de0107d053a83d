package matrix

import _ "embed"

// Stored is the matrix as it was run last, a JSON object a line, as
// `locksim matrix --seeds 100 --find 3000 --shrink --format json` writes it. The
// served heat map shows it. A test runs each of its stories again.
//
//go:embed stored.jsonl
var Stored string
