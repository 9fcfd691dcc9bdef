//! `purloin list`.

use std::fmt::Write;

use purloin_kernels::KERNELS;

use crate::schedulers::{Kernels, SCHEDULERS};

/// List the kernels with their inputs and the schedulers with their options
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin list
  purloin bench --kernel fib=40 --scheduler serial --scheduler return-barrier:api=free")]
pub struct Args {}

/// Returns the lists of kernels and schedulers.
pub fn text() -> String {
    let mut text = String::new();
    write(&mut text).expect("writing to a string cannot fail");
    text
}

fn write(text: &mut String) -> std::fmt::Result {
    writeln!(text, "Kernels (--kernel NAME or NAME=INPUT)\n")?;
    for kernel in KERNELS {
        writeln!(text, "  {:<15} {}", kernel.name, kernel.about)?;
        writeln!(
            text,
            "  {:<15} input: {} (default {})\n",
            "", kernel.inputs, kernel.default
        )?;
    }
    writeln!(text, "Schedulers (--scheduler NAME or NAME:KEY=VALUE,…)\n")?;
    for scheduler in SCHEDULERS {
        writeln!(text, "  {:<15} {}", scheduler.name, scheduler.about)?;
        if let Kernels::Only(kernels) = scheduler.kernels {
            writeln!(text, "  {:<15} kernels: {}", "", kernels.join(", "))?;
        }
        for option in scheduler.options.iter().copied().flatten() {
            let key = format!("{}=", option.key);
            writeln!(text, "  {:<15} {key:<13} {}", "", option.values)?;
            writeln!(text, "  {:<15} {:<13} {}", "", "", option.about)?;
        }
        writeln!(text)?;
    }
    writeln!(
        text,
        "Example: purloin bench --kernel fib=40 --scheduler serial \
         --scheduler return-barrier:api=free"
    )
}
