package interop;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The locks that Redisson got after 3.16: here there are none. */
final class LaterLocks {
    private LaterLocks() {}

    static RLock find(RedissonClient client, String kind, String name) {
        throw new IllegalArgumentException("this Redisson has no lock of kind " + kind);
    }

    /** Takes a lock, and returns the fencing token, 0 if it has none. */
    static long lock(RLock lock, long leaseMillis) {
        lock.lock(leaseMillis, TimeUnit.MILLISECONDS);
        return 0;
    }
}
