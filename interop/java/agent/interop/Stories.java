package interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.redisson.api.RLock;

/**
 * Clients of interop/stories, which do the workload of the simulator's clients over Redisson. A line of standard input
 * is
 *
 * <pre>ID connect OPTION=VALUE...    or    ID start    or    ID end</pre>
 *
 * and each event is told by a line
 *
 * <pre>ID KIND NANOSECONDS TOKEN TEXT</pre>
 *
 * with the time by System.nanoTime(), as the wall clock may be wrong; the first line is that of the beginning. A client
 * that is connected tells {@code none}.
 * The end of the input ends the program.
 */
public final class Stories {
    private static final long AFTER_ERROR_MILLIS = 100;

    private final String id;
    private final Map<String, String> options = new HashMap<>();
    private final Primitives redissons;
    private final RLock lock;
    private Thread worker;

    private Stories(String id, String[] words) {
        this.id = id;
        for (String word : words) {
            String[] option = word.split("=", 2);
            options.put(option[0], option[1]);
        }
        redissons = Primitives.connect(number("watchdog"), options.get("masters").split(";"));
        lock = redissons.find(options.get("kind"), options.get("name"));
    }

    /** See the class. */
    public static void main(String[] args) throws IOException {
        System.out.println(System.nanoTime());
        Map<String, Stories> clients = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[1]) {
                case "connect":
                    try {
                        clients.put(words[0], new Stories(words[0], Arrays.copyOfRange(words, 2, words.length)));
                    } catch (RuntimeException e) {
                        e.printStackTrace();
                        System.exit(1);
                    }
                    clients.get(words[0]).tell("none", 0, "");
                    break;
                case "start":
                    clients.get(words[0]).start();
                    break;
                default:
                    clients.remove(words[0]).end();
            }
        }
        System.exit(0); // whatever is still waited for
    }

    private long number(String name) {
        return Long.parseLong(options.get(name));
    }

    /** Returns a number of milliseconds between the two that an option names. */
    private long drawn(String name) {
        String[] range = options.get(name).split("\\.\\.");
        return ThreadLocalRandom.current().nextLong(Long.parseLong(range[0]), Long.parseLong(range[1]) + 1);
    }

    private void tell(String kind, long token, String text) {
        System.out.println(id + " " + kind + " " + System.nanoTime() + " " + token + " " + text.replace('\n', ' '));
    }

    private void start() {
        worker = new Thread(this::work);
        worker.setDaemon(true);
        worker.start();
    }

    private void end() {
        if (worker != null) {
            worker.interrupt();
        }
        new Thread(redissons::end).start();
    }

    private void work() {
        long rounds = number("rounds"); // 0: for ever
        try {
            for (long round = 1; rounds == 0 || round <= rounds; round++) {
                tell("acquire", 0, "");
                try {
                    use(take());
                } catch (RuntimeException e) {
                    tell("refused", 0, e.toString());
                    MILLISECONDS.sleep(AFTER_ERROR_MILLIS);
                }
                MILLISECONDS.sleep(drawn("think"));
            }
            tell("end", 0, "");
        } catch (InterruptedException e) { // the story is over
        }
    }

    /** Takes the lock and returns its token, 0 if it has none. */
    private long take() throws InterruptedException {
        long lease = number("lease"), wait = number("wait"); // -1: neither
        if (wait >= 0) {
            if (!lock.tryLock(wait, lease, MILLISECONDS)) {
                throw new IllegalStateException("tryLock() returned false");
            }
        } else if (lease >= 0) {
            lock.lock(lease, MILLISECONDS);
        } else if (options.get("kind").equals("fenced")) {
            return LaterLocks.lockForToken(lock);
        } else {
            lock.lock();
        }
        return LaterLocks.token(lock);
    }

    private void use(long token) throws InterruptedException {
        tell("hold", token, "");
        MILLISECONDS.sleep(drawn("hold"));
        tell("write", token, "");
        tell("release", 0, "");
        try {
            lock.unlock();
            tell("freed", 0, "");
        } catch (RuntimeException e) {
            tell("failed", 0, e.toString());
        }
    }
}
