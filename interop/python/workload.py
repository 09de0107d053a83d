"""The workload of interop/failover over redis-py.

    workload.py sentinel|cluster HOST:PORT...

Prints an event as a line of JSON (interop/failover/referee_test.go has them)
and ends with its standard input.
"""

import json
import sys
import threading
import time
import uuid

from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import RedisError
from redis.sentinel import Sentinel

LEASE_MILLIS = 10_000
HOLD_SECONDS = {"short": 0.005, "long": 4.0}
BETWEEN_SECONDS = 0.005

# KEYS: the lock, its counter. ARGV: the owner, the lease in milliseconds.
# Returns a new token, or 0 if another owner holds. An owner that asks again,
# since it has not seen the reply, holds already.
ACQUIRE = """
if redis.call('GET', KEYS[1]) == ARGV[1] or redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('INCR', KEYS[2])
end
return 0
"""

# KEYS: the lock. ARGV: the owner. Only the owner may free it.
RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
"""

printing = threading.Lock()


def tell(**event):
    with printing:
        print(json.dumps(event), flush=True)


def connect(mode, addresses):
    nodes = [(host, int(port)) for host, port in (a.rsplit(":", 1) for a in addresses)]
    if mode == "cluster":
        return RedisCluster(startup_nodes=[ClusterNode(host, port) for host, port in nodes])
    return Sentinel(nodes).master_for("mymaster")


def hold_once(lock, key, acquire, release):
    owner = str(uuid.uuid4())
    until = time.monotonic() + LEASE_MILLIS / 1000
    token = acquire(keys=[key, key + ":token"], args=[owner, LEASE_MILLIS])
    if not token:
        return
    tell(do="hold", lock=lock, token=token)
    time.sleep(HOLD_SECONDS[lock])
    tell(do="free", lock=lock, token=token)
    while time.monotonic() < until:
        try:
            release(keys=[key], args=[owner])
            return
        except RedisError as e:
            tell(do="error", text=repr(e))
            time.sleep(0.1)


def work(client, lock):
    acquire, release = client.register_script(ACQUIRE), client.register_script(RELEASE)
    while True:
        try:
            hold_once(lock, "{lock}:redis-py:" + lock, acquire, release)
        except RedisError as e:
            tell(do="error", text=repr(e))
            time.sleep(0.1)
        time.sleep(BETWEEN_SECONDS)


def main():
    client = connect(sys.argv[1], sys.argv[2:])
    for lock in HOLD_SECONDS:
        for _ in range(2):
            threading.Thread(target=work, args=(client, lock), daemon=True).start()
    sys.stdin.read()


main()
