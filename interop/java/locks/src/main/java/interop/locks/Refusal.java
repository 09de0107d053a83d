package interop.locks;

/** A library's own way to say no: the name of its exception, if it has one. */
final class Refusal extends Exception {
    Refusal() {
        super("no");
    }

    Refusal(RuntimeException e) {
        super("no " + e.getClass().getSimpleName(), e);
    }
}
