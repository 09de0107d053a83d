import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

/** A test as an application has it: of a lock in a cluster, at REDIS_URL. Run it with -ea. */
class LockTest {
    public static void main(String[] args) throws Exception {
        var config = new Config();
        var servers = config.useClusterServers();
        servers.addNodeAddress(System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379"));
        var authority = System.getenv("REDIS_TLS_CA");
        if (authority != null) {
            servers.setSslTruststore(trusting(Path.of(authority)).toUri().toURL()).setSslTruststorePassword("password");
        }
        var redisson = Redisson.create(config);
        try {
            for (var key : new String[] {"orders:1", "orders:2", "orders:4"}) { // a slot of each master
                RLock lock = redisson.getLock(key);
                lock.lock(10, TimeUnit.SECONDS);
                assert !elsewhere(redisson.getLock(key)) : key + " is held twice";
                lock.unlock();
                assert elsewhere(redisson.getLock(key)) : key + " is not free";
            }
        } finally {
            redisson.shutdown();
        }
    }

    /** A file that Java reads, with the certificate of one in PEM. */
    private static Path trusting(Path certificate) throws Exception {
        var store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (var in = Files.newInputStream(certificate)) {
            store.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        var file = Files.createTempFile("authority", ".p12");
        file.toFile().deleteOnExit();
        try (var out = Files.newOutputStream(file)) {
            store.store(out, "password".toCharArray());
        }
        return file;
    }

    /** Tries the lock on another thread, which is another owner. */
    private static boolean elsewhere(RLock lock) throws Exception {
        return CompletableFuture.supplyAsync(() -> lock.tryLock()).get();
    }
}
