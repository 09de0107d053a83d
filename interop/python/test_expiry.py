"""A lease of 30 seconds runs out at once: the test moves the server's clock through MINIKV_CONTROL."""

import os
import unittest

import redis


class ExpiryTest(unittest.TestCase):
    def test_a_lease_ends(self):
        server = redis.Redis.from_url(os.environ["REDIS_URL"])
        control = redis.Redis.from_url(os.environ["MINIKV_CONTROL"])
        late, next_one = server.lock("orders:42", timeout=30), server.lock("orders:42", timeout=30)
        self.assertTrue(late.acquire())
        self.assertFalse(next_one.acquire(blocking=False))
        control.execute_command("MINIKV", "CLOCK", "ADVANCE", 31000)
        self.assertTrue(next_one.acquire(blocking=False))
        self.assertRaises(redis.exceptions.LockNotOwnedError, late.release)
        next_one.release()
        server.close()
        control.close()


if __name__ == "__main__":
    unittest.main()
