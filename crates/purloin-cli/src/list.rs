//! `purloin list`.

use std::fmt::Write;

use purloin_kernels::KERNELS;
use purloin_measure::schedulers::{Kernels, SCHEDULERS};

/// List the kernels with their inputs and the schedulers with their options
#[derive(clap::Args)]
#[command(after_help = "Examples:
  purloin list
  purloin list --tunables
  purloin bench --kernel fib=40 --scheduler serial --scheduler return-barrier:api=free")]
pub struct Args {
    /// List the times and numbers by which the library decides how long to spin, to sleep, or to wait
    #[arg(long)]
    tunables: bool,
}

/// Returns the lists that the arguments ask for.
pub fn text(args: &Args) -> String {
    let mut text = String::new();
    let result = match args.tunables {
        true => write_tunables(&mut text),
        false => write(&mut text),
    };
    result.expect("writing to a string cannot fail");
    text
}

fn write_tunables(text: &mut String) -> std::fmt::Result {
    writeln!(text, "Times and numbers by which the library decides\n")?;
    for tunable in purloin::implement::tunables() {
        let value = tunable.value;
        let mut name = tunable.name;
        for line in tunable.about {
            let value = if name.is_empty() { "" } else { value.as_str() };
            writeln!(text, "  {name:<18} {value:>7}  {}", line.trim_start())?;
            name = "";
        }
    }
    writeln!(
        text,
        "\nFor an experiment, build with RUSTFLAGS=\"--cfg purloin_tunable\", and set \
         PURLOIN_TUNABLES=NAME=VALUE,… when you run the program, \
         for example PURLOIN_TUNABLES=SPIN_TIME=20us,STRIP=64"
    )
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
