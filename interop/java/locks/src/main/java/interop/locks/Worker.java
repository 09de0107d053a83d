package interop.locks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Uses the lock libraries of Java as told on standard input, one request per line; interop/go/worker/doc.go has the
 * requests and the answers.
 */
public final class Worker {
    private static final Pattern VERSION = Pattern.compile("-(\\d[^/]*)\\.jar$");

    private final Map<String, Library.Held> locks = new HashMap<>();
    private Library library;

    private Worker() {}

    public static void main(String[] args) throws IOException {
        Map<String, Worker> parties = new HashMap<>();
        Map<String, ExecutorService> threads = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            Worker party = parties.computeIfAbsent(words[1], name -> new Worker());
            threads.computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                    .execute(() -> System.out.println(words[0] + " " + party.answer(words)));
        }
        System.exit(0); // whatever the threads still wait for
    }

    private String answer(String[] words) {
        try {
            return obey(words);
        } catch (Refusal refusal) {
            return refusal.getMessage();
        } catch (UnsupportedOperationException e) {
            return "none";
        } catch (Exception e) {
            System.err.println(String.join(" ", words) + ": " + e);
            return "error " + e.getClass().getSimpleName();
        }
    }

    private String obey(String[] words) throws Exception {
        switch (words[2]) {
            case "open" -> {
                String[] address = words[4].split(":");
                library = Library.open(words[3], address[0], Integer.parseInt(address[1]));
                return "ok " + version(library.origin());
            }
            case "close" -> library.close();
            case "try" -> locks.put(words[3], library.take(words[3], lease(words), false));
            case "wait" -> locks.put(words[3], library.take(words[3], lease(words), true));
            case "extend" -> locks.get(words[3]).extend(lease(words));
            case "release" -> locks.get(words[3]).release();
            default -> throw new IllegalArgumentException("unknown verb " + words[2]);
        }
        return "ok";
    }

    private static Duration lease(String[] words) {
        return Duration.ofMillis(Long.parseLong(words[4]));
    }

    /** Returns the version in the name of the JAR that a class is from. */
    private static String version(Class<?> origin) {
        String jar = origin.getProtectionDomain().getCodeSource().getLocation().getPath();
        Matcher found = VERSION.matcher(jar);
        return found.find() ? found.group(1) : "(unknown version)";
    }
}
