import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

/** A test as an application has it: of a lock in a cluster, at REDIS_URL. Run it with -ea. */
class LockTest {
    public static void main(String[] args) throws Exception {
        var config = new Config();
        config.useClusterServers().addNodeAddress(System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379"));
        var redisson = Redisson.create(config);
        try {
            for (var key : new String[] {"orders:1", "orders:2", "orders:4"}) { // a slot of each master
                RLock lock = redisson.getLock(key);
                lock.lock(10, TimeUnit.SECONDS);
                assert !elsewhere(redisson.getLock(key)) : key + " is held twice";
                lock.unlock();
                assert elsewhere(redisson.getLock(key)) : key + " is not free";
            }
        } finally {
            redisson.shutdown();
        }
    }

    /** Tries the lock on another thread, which is another owner. */
    private static boolean elsewhere(RLock lock) throws Exception {
        return CompletableFuture.supplyAsync(() -> lock.tryLock()).get();
    }
}
