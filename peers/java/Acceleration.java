/** The acceleration of a body, as the sum over masses. */
final class Acceleration {
    /** Added to distances, so that bodies do not attract each other like points. */
    private static final double SOFTENING = 1e-3;

    double x;
    double y;
    double z;

    void clear() {
        x = 0.0;
        y = 0.0;
        z = 0.0;
    }

    /** Adds the acceleration by a mass at this distance, given with its square. */
    void add(double mass, double dx, double dy, double dz, double square) {
        square += SOFTENING * SOFTENING;
        double factor = mass / (square * Math.sqrt(square));
        x += factor * dx;
        y += factor * dy;
        z += factor * dz;
    }

    /** Adds the acceleration by each of these bodies, for a body at (x, y, z). */
    void add(double[] bodies, int first, int end, double x, double y, double z) {
        for (int at = Cell.BODY * first; at < Cell.BODY * end; at += Cell.BODY) {
            double dx = bodies[at + Cell.PLACE] - x;
            double dy = bodies[at + Cell.PLACE + 1] - y;
            double dz = bodies[at + Cell.PLACE + 2] - z;
            add(bodies[at], dx, dy, dz, dx * dx + dy * dy + dz * dz);
        }
    }
}
