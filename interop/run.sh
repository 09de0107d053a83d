#!/bin/bash
# Runs real clients against minikv, as far as this machine can: those of PyPI
# need python3 with venv, those of npm Node, Redisson, Spring Integration and
# ShedLock a JDK 17 and Maven. Each is brought in the version that its build file
# names.
#
# First other people's lock libraries, on redis-server too if it is there; then
# Redisson and lockclient on the same locks. Both print a table of
# docs/interop.md, and with -rewrite write it there. With the latter Redisson is
# compared with the simulator's model of it. Then a test command of each
# language under minikv exec. Then lockclient, over both its adapters, in a network
# that is really cut, where that can be made. Then all clients through failovers, crashes,
# restarts and slot moves; this prints how long each was without a lock.
# INTEROP_CLIENTS=redis-py,ioredis takes only these through the latter.
set -u
cd "$(dirname "$0")" || exit 1

have() {
	local program
	for program in "${@:2}"; do
		command -v "$program" >/dev/null || { echo "interop: without $1: $program is not installed"; return 1; }
	done
}

# build NAME COMMAND... shows what the command says only if it fails.
build() {
	local output
	output=$("${@:2}" 2>&1 </dev/null) || { printf '%s\ninterop: %s could not be built\n' "$output" "$1"; exit 1; }
}

have all go || exit 0
have 'redis-server, minikv only' redis-server
if have 'redis-py, python-redis-lock and pottery' python3; then
	build 'the packages of PyPI' timeout 120 python3 -m venv python/target
	build 'the packages of PyPI' timeout 120 python/target/bin/pip install --quiet --requirement python/requirements.txt
fi
if have 'ioredis, node-redis and the locks over them' node npm; then
	build 'the packages of npm' timeout 120 npm ci --prefix node --no-audit --no-fund
fi
build 'the libraries of Go' timeout 120 go build -C go -o target/worker ./worker
jdk=
if have 'Redisson, Spring Integration and ShedLock' javac mvn; then
	build 'the packages of Maven' timeout 180 mvn --batch-mode --quiet --no-transfer-progress --file java/pom.xml process-classes
	jdk=1
fi
failed=0
# Without a package's name go test shows the progress and the tables.
(cd locks && INTEROP_LOCKS=1 go test -count=1 -timeout 4m -parallel 12 "$@") || failed=1
[ -z "$jdk" ] || (cd java && INTEROP_JAVA=1 go test -count=1 -timeout 8m "$@") || failed=1
(cd bubble && go test -count=1 -timeout 2m ./...) || failed=1
(cd exec && INTEROP_EXEC=1 go test -count=1 -v -timeout 2m) || failed=1
(cd partition && INTEROP_PARTITION=1 go test -count=1 -timeout 2m) || failed=1
(cd failover && INTEROP_FAILOVER=1 go test -count=1 -timeout 8m) || failed=1
exit $failed
