//! Tests the test.

use crate::arguments::FaultOptions;

pub fn run(options: &FaultOptions) -> Result<bool, String> {
    let _ = (&options.name, options.limit);
    Err("not yet".to_string())
}
