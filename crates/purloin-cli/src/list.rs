//! `purloin list`.

use purloin_kernels::KERNELS;

use crate::schedulers::SCHEDULERS;

/// Prints kernels and schedulers.
pub fn print() {
    println!("Kernels (--kernel NAME or NAME=INPUT)\n");
    for kernel in KERNELS {
        println!("  {:<10} {}", kernel.name, kernel.about);
        println!(
            "  {:<10} input: {} (without: {})\n",
            "", kernel.inputs, kernel.default
        );
    }
    println!("Schedulers (--scheduler NAME or NAME:KEY=VALUE,…)\n");
    for scheduler in SCHEDULERS {
        println!("  {:<14} {}", scheduler.name, scheduler.about);
        for (option, about) in scheduler.options {
            println!("  {:<14} {option:<17} {about}", "");
        }
        println!();
    }
    println!(
        "For example: purloin bench --kernel fib=40 --scheduler serial --scheduler return-barrier:api=free"
    );
}
