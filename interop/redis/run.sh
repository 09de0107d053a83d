#!/bin/bash
# Runs the tests that come with redis-server 7.0.15's source against minikv, in four ways:
#
#   server   a node that is there already; those tests that need no more
#   nodes    the servers that a test starts are nodes of one process
#   cluster  so are the nodes of a cluster
#   sentinel so are five Sentinels and five masters
#
# run.sh runs all, run.sh cluster 05 06 some. A test that fails is shown; if it is not in
# known.txt the exit code is 1. Needs Go, Tcl and the source: the folder REDIS_SOURCE, or
# what apt-get source brings, which needs deb-src lines in its lists. Ports are taken from
# NODES_PORT on (31000).
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
pid=
finish() {
	[ -n "$pid" ] && kill "$pid" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

die() {
	echo "run.sh: $*"
	exit 2
}

bring() {
	command -v tclsh >/dev/null || die 'tclsh is not installed (Debian: apt-get install tcl)'
	if [ -z "${REDIS_SOURCE:-}" ]; then
		(cd "$work" && apt-get source --download-only -qq redis >/dev/null 2>&1 && tar xf redis_7.0.15.orig.tar.gz) ||
			die 'apt-get source redis brings no 7.0.15: set REDIS_SOURCE to the folder of its source'
		REDIS_SOURCE=$work/redis-7.0.15
	fi
	[ -f "$REDIS_SOURCE/tests/test_helper.tcl" ] || die "$REDIS_SOURCE: no tests/test_helper.tcl there"
	mkdir -p "$work/server/tests/tmp"
	cp -r "$REDIS_SOURCE/tests" "$work/server/"
	mkdir "$work/server/src"
	for program in redis-cli redis-benchmark; do
		ln -s "$(command -v $program || echo /nonexistent)" "$work/server/src/$program"
	done
	cp -r "$work/server" "$work/nodes"
	cp -r "$work/server" "$work/cluster"
	cp -r "$work/server" "$work/sentinel"
	echo "source $here/nodes.tcl" >>"$work/nodes/tests/support/server.tcl"
	echo "source $here/cluster.tcl" >>"$work/cluster/tests/instances.tcl"
	echo "source $here/sentinel.tcl" >>"$work/sentinel/tests/instances.tcl"
	: >"$work/sentinel/tests/sentinel/tests/includes/start-init-tests.tcl" # about a file of each Sentinel
	(cd "$here/../.." && go build -o "$work/minikv" ./cmd/minikv) || die 'minikv cannot be built'
}

export NODES_PORT=${NODES_PORT:-31000}

# As nodes.tcl and cluster.tcl know them.
declare -A topology=([server]='' [nodes]='--nodes 12 --control'
	[cluster]='--cluster 10x1 --control --enable-protected-configs yes'
	[sentinel]='--sentinel 5x0x5 --control --enable-protected-configs yes')

# run WAY UNIT runs one file of tests, and shows what fails.
run() {
	local way=$1 unit=$2 output=$work/output
	# shellcheck disable=SC2086 # several words
	(cd "$work" && exec ./minikv --port "$NODES_PORT" ${topology[$way]} --enable-debug-command yes >minikv.log 2>&1) &
	pid=$!
	until grep -q 'Ready to accept connections' "$work/minikv.log" 2>/dev/null; do
		kill -0 "$pid" 2>/dev/null || die "minikv does not start: $(cat "$work/minikv.log")"
		sleep 0.1
	done
	local args=(tests/test_helper.tcl --single "$unit" --baseport $((NODES_PORT + 100)) --portcount 200 --clients 1 --tags '-slow -needs:module')
	case $way in
	server) args+=(--host 127.0.0.1 --port "$NODES_PORT") ;;
	nodes) args+=(--durable) ;;
	cluster | sentinel) args=("tests/$way/run.tcl" --single "$unit") ;;
	esac
	(
		cd "$work/$way" || exit
		timeout 600 tclsh "${args[@]}" 2>&1
		[ $? -ne 124 ] || echo '[err]: it did not end within ten minutes'
	) | sed 's/\x1b\[[0-9;]*m//g' >"$output"
	kill "$pid"
	wait "$pid" 2>/dev/null
	pid=
	rm -f "$work/minikv.log"
	# Of the end of the output, which repeats the failures, only the first part counts.
	local failed
	failed=$(sed '/The End/,$d' "$output" | grep -aE '^\[(err|exception)\]: |: FAILED' |
		sed -E 's/^\[(err|exception)\]: //; s/^[0-9:]+> //; s/ in tests\/[a-z0-9\/.-]+$//; s/: FAILED.*//')
	printf '%-8s %-34s %4d passed, %d failed\n' "$way" "$unit" "$(grep -acE '^\[ok\]|: OK$' "$output")" \
		"$(printf '%s' "$failed" | grep -c '')"
	while IFS= read -r name; do
		[ -n "$name" ] || continue
		if grep -qxF "$name" "$here/known.txt"; then
			echo "         known: $name"
		else
			echo "         NEW:   $name"
			new=1
		fi
	done <<<"$failed"
	grep -qaE 'All tests passed|GOOD!' "$output" || [ -n "$failed" ] || { echo '         NEW:   it did not end'; new=1; }
}

units() {
	case $1 in
	server) (cd "$REDIS_SOURCE/tests" && find unit -name '*.tcl' ! -path '*moduleapi*' ! -name 'printver*' | sed 's/\.tcl$//' | sort) ;;
	nodes) printf '%s\n' integration/{block-repl,failover,psync2-pingoff,replication,replication-2,replication-3,replication-4} \
		unit/{bitfield,pause,pubsub,tracking,wait} ;;
	cluster | sentinel) (cd "$REDIS_SOURCE/tests/$1/tests" && ls -- *.tcl | sed 's/\.tcl$//') ;;
	esac
}

new=0
bring
ways=(server nodes cluster sentinel)
if [ $# -gt 0 ]; then
	[ -n "${topology[$1]+set}" ] || die "$1: expected server, nodes, cluster or sentinel, and names of units"
	ways=("$1")
	shift
fi
for way in "${ways[@]}"; do
	for unit in $([ $# -gt 0 ] && echo "$@" || units "$way"); do
		run "$way" "$unit"
	done
done
exit $new
