//! `./x torture`: random programs on Purloin.
//!
//! A program is a tree of all constructs, made from a seed ([`generate`]). It runs on virtual cores, under an adversary
//! that chooses the schedule, or on real threads in a build without `--cfg purloin_virtual`. Each construct checks
//! itself where it ends ([`tasks`], [`calls`], [`loops`]), and the whole run at its end ([`execute`]). This process
//! starts child processes that run one program after the other ([`runner`]), and makes a program that fails smaller
//! ([`shrink`]). [`faults`] tests the test: it breaks the library in known ways, and expects a failure.

mod arguments;
mod calls;
mod case;
mod child;
mod execute;
mod faults;
mod generate;
mod loops;
mod program;
mod random;
mod runner;
mod setup;
mod show;
mod shrink;
mod sync;
mod tasks;
mod world;

use std::process::ExitCode;

use arguments::Command;

fn main() -> ExitCode {
    let command = match arguments::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(mistake) => {
            eprintln!("torture: {mistake}");
            return ExitCode::from(2);
        }
    };
    let succeeds = match command {
        Command::Help => {
            print!("{}", arguments::HELP);
            true
        }
        Command::Run(options) => runner::run(&options),
        Command::One(case) => runner::run_one(&case),
        Command::Child {
            first,
            step,
            scheduler,
        } => child::run_seeds(first, step, scheduler),
        Command::Schedules { case, count } => child::run_schedules(&case, count),
        Command::Faults(options) => match faults::run(&options) {
            Ok(succeeds) => succeeds,
            Err(mistake) => {
                eprintln!("torture: {mistake}");
                return ExitCode::from(2);
            }
        },
    };
    ExitCode::from(u8::from(!succeeds))
}
