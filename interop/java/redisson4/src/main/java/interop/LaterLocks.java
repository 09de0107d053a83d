package interop;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The locks that Redisson got after 3.16: fenced with 3.19, non-reentrant with 4.4. */
final class LaterLocks {
    private LaterLocks() {}

    static RLock find(RedissonClient client, String kind, String name) {
        return switch (kind) {
            case "fenced" -> client.getFencedLock(name);
            case "nonreentrant" -> client.getNonReentrantLock(name);
            case "nonreentrant-fair" -> client.getNonReentrantFairLock(name);
            default -> throw new IllegalArgumentException("this Redisson has no lock of kind " + kind);
        };
    }

    /** Returns the fencing token of a lock that is held, 0 if it has none. */
    static long token(RLock lock) {
        return lock instanceof RFencedLock fenced ? fenced.getToken() : 0;
    }

    static long lockForToken(RLock lock) {
        return ((RFencedLock) lock).lockAndGetToken();
    }

    static boolean tryLock(RLock lock) {
        if (lock instanceof RFencedLock fenced) {
            return fenced.tryLockAndGetToken(0, TimeUnit.SECONDS) != null; // without arguments it waits
        }
        return lock.tryLock();
    }
}
