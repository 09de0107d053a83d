package interop;

import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The locks that Redisson got after 3.16: here there are none. */
final class LaterLocks {
    private LaterLocks() {}

    static RLock find(RedissonClient client, String kind, String name) {
        throw new IllegalArgumentException("this Redisson has no lock of kind " + kind);
    }

    /** Returns the fencing token of a lock that is held, 0 if it has none. */
    static long token(RLock lock) {
        return 0;
    }

    static long lockForToken(RLock lock) {
        throw new IllegalArgumentException("this Redisson has no tokens");
    }

    static boolean tryLock(RLock lock) {
        return lock.tryLock();
    }
}
