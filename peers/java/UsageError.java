/** A mistake of the user, with a message for the user. */
final class UsageError extends RuntimeException {
    private static final long serialVersionUID = 1;

    UsageError(String message) {
        super(message);
    }
}
