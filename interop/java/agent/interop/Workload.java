package interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * The workload of interop/failover over RLock. Takes sentinel, cluster or master-slave, and the addresses; of
 * master-slave the first is the master. Prints an event as a line of JSON (interop/failover/referee_test.go has them);
 * the end of the input ends the program.
 */
public final class Workload {
    private static final long LEASE_MILLIS = 10_000;
    private static final long BETWEEN_MILLIS = 5;
    private static final long AFTER_ERROR_MILLIS = 100;
    private static final Map<String, Long> HOLD_MILLIS = Map.of("short", 5L, "long", 4000L);

    private Workload() {}

    /** See the class. */
    public static void main(String[] args) throws IOException {
        String[] addresses =
                Arrays.stream(args).skip(1).map(address -> "redis://" + address).toArray(String[]::new);
        RedissonClient client = Redisson.create(config(args[0], addresses));
        String prefix = "{lock}:redisson:" + client.getId() + ":";
        for (String name : HOLD_MILLIS.keySet()) {
            for (int i = 0; i < 2; i++) {
                Thread worker = new Thread(() -> work(client, prefix + name, name));
                worker.setDaemon(true);
                worker.start();
            }
        }
        while (System.in.read() >= 0) {}
        System.exit(0);
    }

    /** All that is not said here is as Redisson has it by default. */
    private static Config config(String mode, String[] addresses) {
        Config config = new Config();
        config.setLockWatchdogTimeout(LEASE_MILLIS);
        config.setCodec(StringCodec.INSTANCE); // the default one opens up java.base
        switch (mode) {
            case "sentinel":
                config.useSentinelServers().setMasterName("mymaster").addSentinelAddress(addresses);
                break;
            case "cluster":
                config.useClusterServers().addNodeAddress(addresses);
                break;
            case "master-slave":
                config.useMasterSlaveServers()
                        .setMasterAddress(addresses[0])
                        .addSlaveAddress(Arrays.copyOfRange(addresses, 1, addresses.length));
                break;
            default:
                throw new IllegalArgumentException(mode);
        }
        return config;
    }

    private static void work(RedissonClient client, String key, String name) {
        RLock lock = client.getLock(key);
        RAtomicLong counter = client.getAtomicLong(key + ":token");
        while (true) {
            try {
                lock.lock();
                try {
                    hold(counter, name);
                } finally {
                    lock.unlock();
                }
                Thread.sleep(BETWEEN_MILLIS);
            } catch (Exception e) {
                String text = (e.getClass().getSimpleName() + ": " + e.getMessage()).replaceAll("[^ -!#-\\[\\]-~]", " ");
                tell("{\"do\":\"error\",\"text\":\"" + text + "\"}");
                pause();
            }
        }
    }

    private static void hold(RAtomicLong counter, String name) throws InterruptedException {
        String holding = "\"lock\":\"" + name + "\",\"token\":" + counter.incrementAndGet() + "}";
        tell("{\"do\":\"hold\"," + holding);
        Thread.sleep(HOLD_MILLIS.get(name));
        tell("{\"do\":\"free\"," + holding);
    }

    private static void tell(String event) {
        System.out.println(event);
    }

    private static void pause() {
        try {
            MILLISECONDS.sleep(AFTER_ERROR_MILLIS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
