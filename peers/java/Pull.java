/** An acceleration that is being summed up. */
final class Pull {
    /** So near, bodies attract each other less: they are no points. */
    private static final double SOFTENING = 1e-3;

    double x;
    double y;
    double z;

    void clear() {
        x = 0.0;
        y = 0.0;
        z = 0.0;
    }

    /** Adds that by a mass at this distance, whose square is given too. */
    void add(double mass, double dx, double dy, double dz, double square) {
        square += SOFTENING * SOFTENING;
        double factor = mass / (square * Math.sqrt(square));
        x += factor * dx;
        y += factor * dy;
        z += factor * dz;
    }

    /** Adds that by each of these bodies, on a place. */
    void add(double[] bodies, int first, int end, double x, double y, double z) {
        for (int at = Cell.BODY * first; at < Cell.BODY * end; at += Cell.BODY) {
            double dx = bodies[at + Cell.PLACE] - x;
            double dy = bodies[at + Cell.PLACE + 1] - y;
            double dz = bodies[at + Cell.PLACE + 2] - z;
            add(bodies[at], dx, dy, dz, dx * dx + dy * dy + dz * dz);
        }
    }
}
