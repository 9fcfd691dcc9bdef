import java.util.Arrays;

/** The text of an input, read part by part: numbers or a name between commas. */
final class Input {
    private final String kernel;
    private final String[] parts;
    private int next = 0;

    Input(String kernel, String text) {
        this.kernel = kernel;
        parts = text.split(",", -1);
    }

    String name() {
        if (next == parts.length) {
            throw new Mistake(kernel + ": the input is too short");
        }
        return parts[next++];
    }

    /** A number that must be there. */
    int number(String what, int least, int most) {
        String part = name();
        try {
            int number = Integer.parseInt(part);
            if (least <= number && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // The same is to be said as of a number that is out of range.
        }
        String range = least == most ? "only be " + least : "be from " + least + " to " + most;
        throw new Mistake(kernel + ": " + what + " can " + range + ", not '" + part + "'");
    }

    /** A number that may be left out at the end, and is then as usual. */
    int number(String what, int least, int most, int usual) {
        return next == parts.length ? usual : number(what, least, most);
    }

    /** To be called when all has been read. */
    void end() {
        if (next < parts.length) {
            String rest = String.join(",", Arrays.asList(parts).subList(next, parts.length));
            throw new Mistake(kernel + ": nothing more can follow, such as '" + rest + "'");
        }
    }
}
