#!/bin/bash
# Runs real clients of other languages against minikv and redis-server, side by
# side with lockclient, as far as this machine can: Redisson needs a JDK 17 and
# Maven, which brings Redisson itself; redis-server is used if it is there.
#
# Prints the table of docs/interop.md. With -rewrite it writes it there.
set -u
cd "$(dirname "$0")" || exit 1

for program in go javac mvn; do
	command -v "$program" >/dev/null || { echo "interop: skipped: $program is not installed"; exit 0; }
done
command -v redis-server >/dev/null || echo 'interop: redis-server is not installed: minikv only'

output=$(timeout 120 mvn --batch-mode --quiet --no-transfer-progress --file java/pom.xml process-classes 2>&1) || {
	printf '%s\ninterop: Maven could not build the agent\n' "$output"
	exit 1
}
# Without a package's name go test shows the progress and the table.
cd java && INTEROP_JAVA=1 go test -count=1 -timeout 4m "$@"
