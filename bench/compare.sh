#!/bin/sh
# Compares the Go benchmarks of two commits, in turn, with benchstat:
#
#	bench/compare.sh OLD NEW [PACKAGE [BENCHMARK [COUNT]]]
#
# PACKAGE is ./server/engine, BENCHMARK a regular expression (.), COUNT 10 runs of each.
set -eu
if [ $# -lt 2 ]; then
	sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
old=$1 new=$2 package=${3:-./server/engine} pattern=${4:-.} count=${5:-10}
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null || true; rm -rf "$work"' EXIT INT TERM
for side in old new; do
	eval commit=\$$side
	git worktree add --quiet --force --detach "$work/tree" "$commit"
	(cd "$work/tree" && go test -c -o "$work/$side.test" "$package")
	mkdir -p "$work/$side" && cp -R "$work/tree/${package#./}/." "$work/$side/"
	git worktree remove --force "$work/tree"
done
i=0
while [ "$i" -lt "$count" ]; do
	for side in old new; do
		(cd "$work/$side" && "$work/$side.test" -test.run '^$' -test.bench "$pattern" -test.benchmem) >>"$work/$side.txt"
	done
	i=$((i + 1))
	[ ! -t 2 ] || printf '\rround %d of %d' "$i" "$count" >&2
done
[ ! -t 2 ] || echo >&2
go -C bench tool benchstat "old=$work/old.txt" "new=$work/new.txt"
