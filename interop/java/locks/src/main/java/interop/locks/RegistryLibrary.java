package interop.locks;

import java.time.Duration;
import java.util.ConcurrentModificationException;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.integration.support.locks.DistributedLock;

/** Spring Integration's RedisLockRegistry; its waiters poll, or are told by a message. */
final class RegistryLibrary implements Library {
    private final LettuceConnectionFactory connections;
    private final RedisLockRegistry registry;

    RegistryLibrary(String host, int port, boolean pubsub) {
        connections = new LettuceConnectionFactory(host, port);
        connections.afterPropertiesSet();
        connections.start();
        registry = new RedisLockRegistry(connections, "registry");
        registry.setRedisLockType(pubsub ? RedisLockType.PUB_SUB_LOCK : RedisLockType.SPIN_LOCK);
    }

    @Override
    public Held take(String name, Duration lease, boolean wait) throws Exception {
        DistributedLock lock = registry.obtain(name);
        if (wait) {
            lock.lock(lease);
        } else if (!lock.tryLock(Duration.ZERO, lease)) {
            throw new Refusal();
        }
        return new Held() {
            @Override
            public void extend(Duration newLease) throws Refusal {
                refusing(() -> registry.renewLock(name, newLease));
            }

            @Override
            public void release() throws Refusal {
                refusing(lock::unlock);
            }
        };
    }

    private static void refusing(Runnable action) throws Refusal {
        try {
            action.run();
        } catch (IllegalStateException | ConcurrentModificationException e) {
            throw new Refusal(e);
        }
    }

    @Override
    public Class<?> origin() {
        return RedisLockRegistry.class;
    }

    @Override
    public void close() {
        registry.destroy();
        connections.destroy();
    }
}
