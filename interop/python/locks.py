"""Uses the lock libraries of PyPI as told on standard input, one request per line;
interop/go/worker/doc.go has the requests and the answers.
"""

import importlib.metadata
import queue
import sys
import threading

import pottery
import redis
import redis.exceptions
import redis_lock


class Refusal(Exception):
    """A library's own way to say no: the name of its error, if it has one."""

    def __init__(self, name=""):
        super().__init__(f"no {name}".strip())


def refusing(errors, method, *args, **kwargs):
    """Calls a method; the errors by which it says no become Refusals."""
    try:
        return method(*args, **kwargs)
    except errors as error:
        raise Refusal(type(error).__name__) from error


class RedisPy:
    """The lock that redis-py brings."""

    package = "redis"
    refusals = redis.exceptions.LockError

    def __init__(self, host, port):
        self.client = redis.Redis(host, port)

    def take(self, name, lease_millis, wait):
        lock = self.client.lock(name, timeout=lease_millis / 1000)
        if not lock.acquire(blocking=wait):
            raise Refusal()
        return lock

    def extend(self, lock, lease_millis):
        refusing(self.refusals, lock.extend, lease_millis / 1000, replace_ttl=True)

    def release(self, lock):
        refusing(self.refusals, lock.release)


class PythonRedisLock(RedisPy):
    """python-redis-lock counts leases in whole seconds. What it leaves for waiters stays as long."""

    package = "python-redis-lock"
    refusals = redis_lock.NotAcquired

    def take(self, name, lease_millis, wait):
        lock = redis_lock.Lock(self.client, name, expire=lease_millis // 1000, signal_expire=lease_millis)
        if not lock.acquire(blocking=wait):
            raise Refusal()
        return lock

    def extend(self, lock, lease_millis):
        refusing(self.refusals, lock.extend, expire=lease_millis // 1000)


class Pottery(RedisPy):
    """pottery's Redlock with one master. It extends by the lease that it has."""

    package = "pottery"
    refusals = (pottery.ExtendUnlockedLock, pottery.ReleaseUnlockedLock)

    def take(self, name, lease_millis, wait):
        lock = pottery.Redlock(key=name, masters={self.client}, auto_release_time=lease_millis / 1000)
        if not lock.acquire(blocking=wait):
            raise Refusal()
        return lock

    def extend(self, lock, _):
        refusing(self.refusals, lock.extend)


LIBRARIES = {"redis-py": RedisPy, "python-redis-lock": PythonRedisLock, "pottery": Pottery}

printing = threading.Lock()


class Party(threading.Thread):
    """One that uses locks, in a thread of its own."""

    def __init__(self):
        super().__init__(daemon=True)
        self.requests = queue.Queue()
        self.library = None
        self.locks = {}

    def run(self):
        while True:
            number, verb, *args = self.requests.get()
            try:
                answer = self.obey(verb, *args)
            except Refusal as refusal:
                answer = str(refusal)
            except Exception as error:
                print(number, verb, *args, repr(error), file=sys.stderr)
                answer = "error " + type(error).__name__
            with printing:
                print(number, answer, flush=True)

    def obey(self, verb, name=None, argument=None):
        if verb == "open":
            host, port = argument.split(":")
            self.library = LIBRARIES[name](host, int(port))
            return "ok " + importlib.metadata.version(self.library.package)
        if verb == "close":
            self.library.client.close()
        elif verb in ("try", "wait"):
            self.locks[name] = self.library.take(name, int(argument), wait=verb == "wait")
        elif verb == "extend":
            self.library.extend(self.locks[name], int(argument))
        elif verb == "release":
            self.library.release(self.locks[name])
        else:
            raise ValueError("unknown verb " + verb)
        return "ok"


def main():
    parties = {}
    for line in sys.stdin:
        number, party, *request = line.split()
        if party not in parties:
            parties[party] = Party()
            parties[party].start()
        parties[party].requests.put((number, *request))


if __name__ == "__main__":
    main()
