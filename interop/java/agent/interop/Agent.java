package interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Uses Redisson's locks and synchronizers as told on standard input, one request per line:
 *
 * <pre>ID THREAD KIND NAME VERB [ARGUMENT]</pre>
 *
 * Requests of one THREAD, a name of the caller's choice, are served in order by a Java thread of their own: one that
 * waits for a lock holds up no other. Each is answered with one line,
 *
 * <pre>ID ok RESULT    or    ID error CLASS: MESSAGE</pre>
 *
 * The first line is {@code ready}; the end of the input ends the program.
 */
public final class Agent {
    private Agent() {}

    /**
     * Takes the watchdog's lease in milliseconds, and the address of each independent master, +REPLICA behind it; or
     * those of a cluster's nodes, with commas.
     */
    public static void main(String[] args) throws IOException {
        Primitives primitives = Primitives.connect(args);
        System.out.println("ready");
        Map<String, ExecutorService> threads = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            threads.computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                    .execute(() -> System.out.println(words[0] + " " + answer(primitives, words)));
        }
        System.exit(0); // whatever the threads still wait for
    }

    private static String answer(Primitives primitives, String[] words) {
        String argument = words.length > 5 ? words[5] : "";
        try {
            return "ok " + primitives.call(words[2], words[3], words[4], argument);
        } catch (Exception e) {
            return "error " + e.getClass().getSimpleName() + ": " + String.valueOf(e.getMessage()).replace('\n', ' ');
        }
    }
}
