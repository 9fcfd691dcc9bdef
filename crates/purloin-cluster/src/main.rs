//! The command `purloin-cluster`.

mod command;
mod kernels;

fn main() -> std::process::ExitCode {
    command::main()
}
