package interop.locks;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** Redisson's RLock with a lease of its own, which nobody can extend. interop/java has its watchdog. */
final class RedissonLibrary implements Library {
    private final RedissonClient client;

    RedissonLibrary(String host, int port) {
        Config config = new Config();
        config.setThreads(2).setNettyThreads(2);
        config.setCodec(StringCodec.INSTANCE); // locks have their own; the default one opens up java.base
        config.useSingleServer().setAddress("redis://" + host + ":" + port).setConnectionMinimumIdleSize(1);
        client = Redisson.create(config);
    }

    @Override
    public Held take(String name, Duration lease, boolean wait) throws Exception {
        RLock lock = client.getLock(name);
        if (wait) {
            lock.lock(lease.toMillis(), TimeUnit.MILLISECONDS);
        } else if (!lock.tryLock(0, lease.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new Refusal();
        }
        return new Held() {
            @Override
            public void extend(Duration newLease) {
                throw new UnsupportedOperationException();
            }

            @Override
            public void release() throws Refusal {
                try {
                    lock.unlock();
                } catch (IllegalMonitorStateException e) {
                    throw new Refusal(e);
                }
            }
        };
    }

    @Override
    public Class<?> origin() {
        return Redisson.class;
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
