package interop.locks;

import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * ShedLock over Spring Data. Nobody waits: a task that is locked is left out. By default it does not look whose lock it
 * extends or releases; with safe updates it does.
 */
final class ShedLockLibrary implements Library {
    private final LettuceConnectionFactory connections;
    private final RedisLockProvider provider;

    ShedLockLibrary(String host, int port, boolean safe) {
        connections = new LettuceConnectionFactory(host, port);
        connections.afterPropertiesSet();
        connections.start();
        provider = new RedisLockProvider.Builder(connections).safeUpdate(safe).build();
    }

    @Override
    public Held take(String name, Duration lease, boolean wait) throws Refusal {
        if (wait) {
            throw new UnsupportedOperationException();
        }
        LockConfiguration configuration = new LockConfiguration(Instant.now(), name, lease, Duration.ZERO);
        return new Task(provider.lock(configuration).orElseThrow(Refusal::new));
    }

    /** A lock that is replaced by the one that extends it. */
    private static final class Task implements Held {
        private SimpleLock lock;

        Task(SimpleLock lock) {
            this.lock = lock;
        }

        @Override
        public void extend(Duration lease) throws Refusal {
            lock = lock.extend(lease, Duration.ZERO).orElseThrow(Refusal::new);
        }

        @Override
        public void release() throws Refusal {
            try {
                lock.unlock();
            } catch (IllegalStateException e) {
                throw new Refusal(e);
            }
        }
    }

    @Override
    public Class<?> origin() {
        return RedisLockProvider.class;
    }

    @Override
    public void close() {
        connections.destroy();
    }
}
