//! Kernels chosen by name: [`Job`] and [`Instance`].

use std::fmt;

use purloin::Worker;

use crate::barnes_hut::BarnesHut;
use crate::cholesky::Cholesky;
use crate::fft::Fft;
use crate::fib::Fib;
use crate::flood::Flood;
use crate::floorplan::Floorplan;
use crate::forks::{Fanout, Forks};
use crate::futures::Futures;
use crate::jacobi::{Jacobi, JacobiJoin};
use crate::kernel::{Answer, Description, Input, Kernel};
use crate::loops::Loops;
use crate::lud::{Lud, LudJoin};
use crate::multisort::Multisort;
use crate::nqueens::Nqueens;
use crate::producers::{Bpc, BpcLoop, Spc, SpcLoop};
use crate::skynet::Skynet;
use crate::sparselu::SparseLu;
use crate::ssf::Ssf;
use crate::straggler::Straggler;
use crate::strassen::Strassen;
use crate::stress::Stress;
use crate::tree::Tree;
use crate::uts::Uts;

/// Generates the table of kernels and the dispatch to each kernel type.
macro_rules! kernels {
    ($($Kernel:ident),*) => {
        /// Every kernel.
        pub const KERNELS: &[Description] = &[$($Kernel::DESCRIPTION),*];

        /// The function that prepares each kernel, in the order of [`KERNELS`].
        const PREPARE: &[fn(Input) -> Instance] =
            &[$(|input| Instance(Prepared::$Kernel($Kernel::prepare(input)))),*];

        /// The function that returns the memory of each kernel's data, in the order of [`KERNELS`].
        const MEMORY: &[fn(Input) -> u64] = &[$($Kernel::memory),*];

        // An enum instead of a trait object, because `Kernel::run` is generic.
        #[derive(Debug)]
        enum Prepared {
            $($Kernel($Kernel)),*
        }

        impl Instance {
            /// Runs the part of the kernel that is timed, on `w`.
            ///
            /// Prepare a new instance for each run. A kernel that works in place, such as a
            /// sort, would find its work already done in the second run.
            pub fn run<W: Worker>(&mut self, w: W) -> Answer {
                match &mut self.0 {
                    $(Prepared::$Kernel(kernel) => kernel.run(w)),*
                }
            }

            /// Returns whether `answer`, which this instance's last run returned, is correct.
            pub fn verify(&self, answer: &Answer) -> bool {
                match &self.0 {
                    $(Prepared::$Kernel(kernel) => kernel.verify(answer)),*
                }
            }
        }
    };
}

kernels!(
    Fib, Stress, Nqueens, Uts, Multisort, Skynet, Cholesky, Ssf, Spc, SpcLoop, Bpc, BpcLoop, Tree,
    Futures, Loops, Jacobi, JacobiJoin, Fft, Lud, LudJoin, BarnesHut, Floorplan, SparseLu,
    Strassen, Straggler, Forks, Fanout, Flood
);

/// A kernel and an input for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The kernel's position in [`KERNELS`].
    kernel: usize,
    input: Input,
}

impl Job {
    /// Parses `kernel=input`, or `kernel` for its default input.
    ///
    /// ```
    /// use purloin_kernels::Job;
    ///
    /// let job = Job::parse("uts")?;
    /// assert_eq!((job.kernel(), &*job.input()), ("uts", "T3"));
    /// assert_eq!(
    ///     Job::parse("fib=abc").unwrap_err().to_string(),
    ///     r#"fib: input must be a number from 0 to 60, not "abc""#,
    /// );
    /// # Ok::<(), purloin_kernels::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if no kernel has this name, or the kernel does not accept the input.
    pub fn parse(text: &str) -> Result<Job, Error> {
        let (name, input) = match text.split_once('=') {
            Some((name, input)) => (name, Some(input)),
            None => (text, None),
        };
        let kernel = KERNELS
            .iter()
            .position(|description| description.name == name)
            .ok_or_else(|| Error::Kernel(name.to_owned()))?;
        let description = KERNELS[kernel];
        let input = input.unwrap_or(description.default);
        match description.inputs.parse(input) {
            Some(input) => Ok(Job { kernel, input }),
            None => Err(Error::Input(description, input.to_owned())),
        }
    }

    /// Returns the kernel's name, purpose and inputs.
    pub fn description(&self) -> &'static Description {
        &KERNELS[self.kernel]
    }

    /// Returns the kernel's name.
    pub fn kernel(&self) -> &'static str {
        self.description().name
    }

    /// Returns the input as a user writes it on the command line.
    pub fn input(&self) -> String {
        self.description().inputs.text(self.input)
    }

    /// Returns how many bytes of memory the kernel's data take at least, or 0 if no input has large
    /// data.
    pub fn memory(&self) -> u64 {
        MEMORY[self.kernel](self.input)
    }

    /// Does the part of the kernel that is not timed, such as making the data.
    pub fn prepare(&self) -> Instance {
        PREPARE[self.kernel](self.input)
    }
}

/// Writes the text that [`Job::parse`] reads, such as `fib=40`.
impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.kernel(), self.input())
    }
}

/// A kernel with its input, ready to run once.
#[derive(Debug)]
pub struct Instance(Prepared);

/// The error of [`Job::parse`]. `Display` writes one line that names the part at fault and lists
/// the valid choices.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No kernel has this name.
    Kernel(String),
    /// The kernel does not accept this input.
    Input(Description, String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Kernel(name) => {
                let names: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).collect();
                write!(
                    f,
                    "no kernel {name:?}; the kernels are {}",
                    names.join(", ")
                )
            }
            Error::Input(Description { name, inputs, .. }, input) => {
                write!(f, "{name}: input must be {inputs}, not {input:?}")
            }
        }
    }
}

/// The text of the error: `main` and `unwrap` print errors in this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
