package interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.ArrayList;
import java.util.List;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.MasterSlaveServersConfig;

/** Redisson's locks and synchronizers, by kind and name, and what can be done with each, by verb. */
final class Primitives {
    private final List<RedissonClient> masters = new ArrayList<>();

    private Primitives() {}

    /**
     * Connects to independent masters, each given by its address, +REPLICA behind it; or to a cluster, given by its
     * nodes' addresses, with commas. All else is as Redisson has it by default.
     */
    static Primitives connect(long watchdogMillis, String[] addresses) {
        Primitives primitives = new Primitives();
        for (String address : addresses) {
            Config config = new Config();
            config.setLockWatchdogTimeout(watchdogMillis);
            config.setCodec(StringCodec.INSTANCE); // locks have their own; the default one opens up java.base
            String[] nodes = address.split("\\+"); // a master, and its replicas
            if (address.contains(",")) {
                for (String node : address.split(",")) {
                    config.useClusterServers().addNodeAddress("redis://" + node);
                }
            } else if (nodes.length == 1) {
                config.useSingleServer().setAddress("redis://" + nodes[0]);
            } else {
                MasterSlaveServersConfig servers = config.useMasterSlaveServers().setMasterAddress("redis://" + nodes[0]);
                for (int j = 1; j < nodes.length; j++) {
                    servers.addSlaveAddress("redis://" + nodes[j]);
                }
            }
            primitives.masters.add(Redisson.create(config));
        }
        return primitives;
    }

    /** Does what verb says, and returns its result. */
    Object call(String kind, String name, String verb, String argument) throws Exception {
        RedissonClient client = masters.get(0);
        return switch (kind) {
            case "semaphore" -> semaphore(client.getSemaphore(name), verb, argument);
            case "permits" -> permits(client.getPermitExpirableSemaphore(name), verb, argument);
            case "latch" -> latch(client.getCountDownLatch(name), verb, argument);
            default -> verb.equals("owner") ? owner(kind) : lock(find(kind, name), verb, argument);
        };
    }

    /** Returns how this thread appears in a lock of the first master. */
    private String owner(String kind) {
        String owner = masters.get(0).getId() + ":" + Thread.currentThread().getId();
        return kind.equals("write") ? owner + ":write" : owner;
    }

    /** Returns a lock. "several" and "reversed" are three locks as one, the second from the next master, and so on. */
    RLock find(String kind, String name) {
        RedissonClient client = masters.get(0);
        return switch (kind) {
            case "mutex" -> client.getLock(name);
            case "fair" -> client.getFairLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            case "spin" -> client.getSpinLock(name);
            case "multi" -> client.getMultiLock(client.getLock(name + ":a"), client.getLock(name + ":b"));
            case "several" -> client.getMultiLock(member(name, 1), member(name, 2), member(name, 3));
            case "reversed" -> client.getMultiLock(member(name, 3), member(name, 2), member(name, 1));
            case "redlock" -> new RedissonRedLock(masters.stream().map(m -> m.getLock(name)).toArray(RLock[]::new));
            default -> LaterLocks.find(client, kind, name);
        };
    }

    private RLock member(String name, int number) {
        return masters.get((number - 1) % masters.size()).getLock(name + "." + number);
    }

    /** Ends all connections. */
    void end() {
        masters.forEach(client -> client.shutdown(0, 0, MILLISECONDS));
    }

    private static Object lock(RLock lock, String verb, String argument) throws InterruptedException {
        switch (verb) {
            case "lock":
                lock.lock(Long.parseLong(argument), MILLISECONDS); // lockAndGetToken would forget the lease
                return LaterLocks.token(lock);
            case "lockForToken":
                return LaterLocks.lockForToken(lock);
            case "tryLock":
                return argument.isEmpty()
                        ? LaterLocks.tryLock(lock)
                        : lock.tryLock(0, Long.parseLong(argument), MILLISECONDS);
            case "waitLock":
                String[] limits = argument.split(","); // the wait, and the lease if it has one
                return lock.tryLock(
                        Long.parseLong(limits[0]), limits.length > 1 ? Long.parseLong(limits[1]) : -1, MILLISECONDS);
            case "unlock":
                lock.unlock();
                return "";
            case "forceUnlock":
                return lock.forceUnlock();
            case "holdCount":
                return lock.getHoldCount();
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private static Object semaphore(RSemaphore semaphore, String verb, String argument) throws InterruptedException {
        int count = argument.isEmpty() ? 0 : Integer.parseInt(argument);
        switch (verb) {
            case "set":
                return semaphore.trySetPermits(count);
            case "acquire":
                semaphore.acquire(count);
                return "";
            case "tryAcquire":
                return semaphore.tryAcquire(count);
            case "release":
                semaphore.release(count);
                return "";
            case "available":
                return semaphore.availablePermits();
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private static Object permits(RPermitExpirableSemaphore semaphore, String verb, String argument)
            throws InterruptedException {
        switch (verb) {
            case "set":
                return semaphore.trySetPermits(Integer.parseInt(argument));
            case "acquire":
                return semaphore.acquire(Long.parseLong(argument), MILLISECONDS);
            case "tryAcquire":
                return semaphore.tryAcquire(0, Long.parseLong(argument), MILLISECONDS);
            case "release":
                return semaphore.tryRelease(argument);
            case "available":
                return semaphore.availablePermits();
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private static Object latch(RCountDownLatch latch, String verb, String argument) throws InterruptedException {
        switch (verb) {
            case "set":
                return latch.trySetCount(Long.parseLong(argument));
            case "await":
                latch.await();
                return "";
            case "countDown":
                latch.countDown();
                return "";
            case "count":
                return latch.getCount();
            default:
                throw new IllegalArgumentException(verb);
        }
    }
}
