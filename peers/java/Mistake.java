/** A mistake of the caller's, in words that are meant for them. */
final class Mistake extends RuntimeException {
    private static final long serialVersionUID = 1;

    Mistake(String message) {
        super(message);
    }
}
