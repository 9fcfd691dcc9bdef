//! Programs that use rayon, as tests: see `tests`.
