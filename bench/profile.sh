#!/bin/sh
# Renews the profiles with which minikv and locksim are built: cmd/*/default.pgo, by
# which the Go compiler puts what runs most often inline. Run it on a quiet machine,
# when what it measures has changed much; results do not depend on the profiles.
#
#	bench/profile.sh
set -eu
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
n=0
while read -r package benchmarks; do
	n=$((n + 1))
	GOMAXPROCS=1 go test -trimpath -pgo=off -run '^$' -bench "$benchmarks" -benchtime 2s \
		-cpuprofile "$work/$n.prof" -o "$work/test" "./$package"
done <<'END'
server ^BenchmarkPipeline$
server/engine ^(BenchmarkLock|BenchmarkSetGet)$
sim ^(BenchmarkCycle|BenchmarkSeed)$
sim/matrix ^BenchmarkCell$
END
# The same for both, so that they share what is compiled.
go tool pprof -proto "$work"/*.prof >"$work/default.pgo"
for command in minikv locksim; do cp "$work/default.pgo" "cmd/$command/default.pgo"; done
