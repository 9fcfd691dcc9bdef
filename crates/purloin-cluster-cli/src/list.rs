//! `purloin-cluster list`.

use std::fmt::Write;

use crate::kernels::KERNELS;

/// The kernels with their inputs.
pub fn text() -> String {
    let mut text = String::new();
    for kernel in KERNELS {
        let _ = writeln!(
            text,
            "{:<10} {}\n{:<10} input: {}; usually {}",
            kernel.name, kernel.about, "", kernel.inputs, kernel.default
        );
    }
    text
}
