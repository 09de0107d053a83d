#!/bin/sh
# Counts the instructions and the cache misses of a simulated lock/unlock cycle with
# valgrind's callgrind, by function: they are the same on a busy machine.
#
#	bench/instructions.sh [CLIENTS [LINES]]
#
# CLIENTS is 3, or 1000; LINES 40 of the functions that have most instructions.
# The columns are instructions, misses of the first-level instruction cache, and reads
# and writes that miss a second-level cache of 1 MiB.
set -eu
case ${1:-3} in
3 | 1000) ;;
*)
	sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
clients=${1:-3} lines=${2:-40}
if ! command -v callgrind_annotate >/dev/null; then
	echo "bench/instructions.sh: valgrind is missing: install the package valgrind" >&2
	exit 1
fi
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
CGO_ENABLED=0 go test -tags valgrind -ldflags=-w -c -o "$work/sim.test" ./sim
cd sim
for n in 1 3; do # what it costs to begin is in both
	GODEBUG=cpu.all=off,asyncpreemptoff=1 GOMAXPROCS=1 valgrind --tool=callgrind --separate-recs=1 --cache-sim=yes \
		--LL=1048576,16,64 --callgrind-out-file="$work/$n.out" "$work/sim.test" -test.run '^$' \
		-test.bench "^BenchmarkCycle\$/^$clients\$" -test.benchtime "${n}x" 2>/dev/null >"$work/$n.log"
	callgrind_annotate --threshold=100 --show=Ir,I1mr,DLmr,DLmw "$work/$n.out" >"$work/$n.txt" 2>/dev/null
done
cycles=$(awk '{ for (i = 1; i < NF; i++) if ($(i + 1) == "cycles/op") print $i }' "$work/1.log")
awk -v cycles="$cycles" -v lines="$lines" '
	{ gsub(/\([^)]*%\)/, ""); gsub(/,/, "") }
	$1 ~ /^[0-9]+$/ && $0 !~ /PROGRAM TOTALS/ {
		name = $5
		for (i = 6; i <= NF; i++) if ($i !~ /^\[/) name = name " " $i
		sub(/^[^:]*:/, "", name); sub(/\x27[0-9]+$/, "", name)
		for (i = 1; i <= 4; i++) count[name, i] += (FILENAME ~ /1.txt$/ ? -1 : 1) * ($i == "." ? 0 : $i) / 2 / cycles
		names[name]
	}
	END {
		for (name in names) for (i = 1; i <= 4; i++) all[i] += count[name, i]
		printf "%9.0f %8.1f %7.1f %7.1f  a cycle of %d\n", all[1], all[2], all[3], all[4], cycles
		for (name in names) printf "%9.0f %8.1f %7.1f %7.1f  %s\n", count[name, 1], count[name, 2], count[name, 3], count[name, 4], name \
			| "sort -rn | head -n " lines
	}' "$work/1.txt" "$work/3.txt"
