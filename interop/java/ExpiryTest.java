import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.config.Config;

/** A lease of 30 seconds runs out at once: the test moves the server's clock through MINIKV_CONTROL. Run it with -ea. */
class ExpiryTest {
    public static void main(String[] args) throws Exception {
        var config = new Config();
        config.useSingleServer().setAddress(System.getenv("REDIS_URL"));
        var redisson = Redisson.create(config);
        try {
            var lock = redisson.getLock("orders:42");
            lock.lock(30, TimeUnit.SECONDS);
            var next = CompletableFuture.supplyAsync(() -> redisson.getLock("orders:42").tryLock());
            assert !next.get() : "held twice";
            control("MINIKV CLOCK ADVANCE 31000");
            next = CompletableFuture.supplyAsync(() -> redisson.getLock("orders:42").tryLock());
            assert next.get() : "the lease has not ended";
        } finally {
            redisson.shutdown();
        }
    }

    /** Sends one command as somebody at a console would; a client library does as well. */
    private static void control(String command) throws Exception {
        var url = URI.create(System.getenv("MINIKV_CONTROL"));
        try (var socket = new Socket(url.getHost(), url.getPort())) {
            socket.getOutputStream().write((command + "\r\n").getBytes());
            var reply = new BufferedReader(new InputStreamReader(socket.getInputStream())).readLine();
            assert reply.equals("+OK") : reply;
        }
    }
}
