//! Counters and times of a pool's workers.
//!
//! Workers count steals, sleeps and the like where they happen, off the fast path, in counters that
//! only the worker itself writes. They do not count tasks, which would cost as much as a join; the
//! number of tasks is a property of the program, and the crate `purloin-analysis` counts it.

/// Adds and subtracts a struct field by field.
macro_rules! sums {
    ($Sum:ident: $($field:ident,)*) => {
        impl std::ops::AddAssign for $Sum {
            fn add_assign(&mut self, other: $Sum) {
                $(self.$field += other.$field;)*
            }
        }

        impl std::ops::Sub for $Sum {
            type Output = $Sum;

            /// Returns what happened between `earlier` and this.
            fn sub(self, earlier: $Sum) -> $Sum {
                $Sum {
                    $($field: self.$field.saturating_sub(earlier.$field),)*
                }
            }
        }
    };
}

pub mod clock;
pub(crate) mod counters;
mod times;

pub(crate) use counters::Counters;
pub use counters::{Count, Stats};
pub(crate) use purloin_trace::Activity;
pub(crate) use times::Timer;
pub use times::Times;
