package interop.locks;

import java.time.Duration;

/** One party's client of a lock library. */
interface Library {
    /** A lock that is held, as far as its library knows. */
    interface Held {
        /** Lets the lease begin anew. It throws UnsupportedOperationException if the library has no such thing. */
        void extend(Duration lease) throws Refusal;

        void release() throws Refusal;
    }

    /** Takes a lock, at once or not at all, unless it shall wait. */
    Held take(String name, Duration lease, boolean wait) throws Exception;

    /** Returns a class of the library. */
    Class<?> origin();

    void close() throws Exception;

    static Library open(String name, String host, int port) {
        return switch (name) {
            case "Redisson" -> new RedissonLibrary(host, port);
            case "RedisLockRegistry" -> new RegistryLibrary(host, port, false);
            case "RedisLockRegistry-pubsub" -> new RegistryLibrary(host, port, true);
            case "ShedLock" -> new ShedLockLibrary(host, port, false);
            case "ShedLock-safe" -> new ShedLockLibrary(host, port, true);
            default -> throw new IllegalArgumentException("unknown library " + name);
        };
    }
}
