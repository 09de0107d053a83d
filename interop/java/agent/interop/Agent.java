package interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Uses Redisson's locks and synchronizers as told on standard input, one request per line:
 *
 * <pre>ID CLIENT THREAD KIND NAME VERB [ARGUMENT]</pre>
 *
 * A CLIENT is one Redisson, by a name of the caller's choice; the verb {@code connect} of the kind {@code client}
 * makes it, with the addresses that ARGUMENT names. Requests of one THREAD of it, named likewise, are served in order
 * by a Java thread of their own: one that waits for a lock holds up no other. Each is answered with one line,
 *
 * <pre>ID ok RESULT    or    ID error CLASS: MESSAGE</pre>
 *
 * The first line is {@code ready}; the end of the input ends the program.
 */
public final class Agent {
    private static final Map<String, Primitives> CLIENTS = new ConcurrentHashMap<>();

    private Agent() {}

    /** Takes the watchdog's lease in milliseconds. */
    public static void main(String[] args) throws IOException {
        long watchdogMillis = Long.parseLong(args[0]);
        System.out.println("ready");
        Map<String, ExecutorService> threads = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            threads.computeIfAbsent(words[1] + " " + words[2], name -> Executors.newSingleThreadExecutor())
                    .execute(() -> System.out.println(words[0] + " " + answer(watchdogMillis, words)));
        }
        System.exit(0); // whatever the threads still wait for
    }

    private static String answer(long watchdogMillis, String[] words) {
        String kind = words[3], argument = words.length > 6 ? words[6] : "";
        try {
            if (kind.equals("client")) {
                CLIENTS.put(words[1], Primitives.connect(watchdogMillis, argument.split(";")));
                return "ok ";
            }
            return "ok " + CLIENTS.get(words[1]).call(kind, words[4], words[5], argument);
        } catch (Exception e) {
            return "error " + e.getClass().getSimpleName() + ": " + String.valueOf(e.getMessage()).replace('\n', ' ');
        }
    }
}
