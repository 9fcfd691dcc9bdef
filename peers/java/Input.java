import java.util.Arrays;

/** Parses the text of an input: numbers or a name, separated by commas. */
final class Input {
    private final String kernel;
    private final String[] parts;
    private int next = 0;

    Input(String kernel, String text) {
        this.kernel = kernel;
        parts = text.split(",", -1);
    }

    /** Returns the next part, which must exist. */
    String name() {
        if (next == parts.length) {
            throw new UsageError(kernel + ": the input is too short");
        }
        return parts[next++];
    }

    /** Returns the next part, which must be a number in this range. */
    int number(String what, int least, int most) {
        String part = name();
        try {
            int number = Integer.parseInt(part);
            if (least <= number && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Reported below, like a number out of range.
        }
        String range = least == most ? "" + least : "a number from " + least + " to " + most;
        throw new UsageError(kernel + ": " + what + " must be " + range + ", not '" + part + "'");
    }

    /** Returns the next part as a number, or the default value if the input ends here. */
    int number(String what, int least, int most, int byDefault) {
        return next == parts.length ? byDefault : number(what, least, most);
    }

    /** Checks that the input ends here. */
    void end() {
        if (next < parts.length) {
            String rest = String.join(",", Arrays.asList(parts).subList(next, parts.length));
            throw new UsageError(kernel + ": the input is too long; remove '" + rest + "'");
        }
    }
}
