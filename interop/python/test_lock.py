"""A test as an application has it: of a lock in a cluster, at REDIS_URL."""

import os
import unittest

from redis.cluster import RedisCluster
from redis.exceptions import LockNotOwnedError


class LockTest(unittest.TestCase):
    def setUp(self):
        trusted = {"ssl_ca_certs": os.environ["REDIS_TLS_CA"]} if "REDIS_TLS_CA" in os.environ else {}
        self.redis = RedisCluster.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), **trusted)
        self.addCleanup(self.redis.close)

    def test_one_holds_at_a_time(self):
        for key in ("orders:1", "orders:2", "orders:4"):  # a slot of each master
            with self.redis.lock(key, timeout=10):
                self.assertFalse(self.redis.lock(key).acquire(blocking=False))
            other = self.redis.lock(key, timeout=10)
            self.assertTrue(other.acquire(blocking=False))
            self.redis.set(key, "somebody else's")
            self.assertRaises(LockNotOwnedError, other.release)
            self.redis.delete(key)


if __name__ == "__main__":
    unittest.main()
