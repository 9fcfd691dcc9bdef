//! The schedulers that kernels run under: Purloin's own, and peers over adapters.

mod chili;
mod free;
mod rayon;

use std::fmt;

use purloin::{Pool, ReturnBarrier, Serial, Stats};
use purloin_kernels::{Answer, Instance};

use self::chili::Chili;
use self::free::Free;
use self::rayon::Rayon;

/// The stack of every thread that runs a kernel, in bytes.
pub const STACK_SIZE: usize = 256 << 20;

/// A scheduler for `purloin list`.
pub struct Description {
    pub name: &'static str,
    pub about: &'static str,
    /// Options and what they mean.
    pub options: &'static [(&'static str, &'static str)],
}

/// Everything that `--scheduler` accepts.
pub const SCHEDULERS: &[Description] = &[
    Description {
        name: "return-barrier",
        about: "Purloin's default: private tasks, made public when a thief asks, stolen for free",
        options: &[
            ("api=token", "joins by the worker's token (default)"),
            ("api=free", "joins by purloin::join, without a token"),
            (
                "forced=on",
                "thieves take tasks from a silent victim by force (default)",
            ),
            ("forced=off", "thieves wait for the victim's next join"),
        ],
    },
    Description {
        name: "serial",
        about: "the serial elision: the same source without any parallelism",
        options: &[],
    },
    Description {
        name: "rayon",
        about: "the same source over rayon::join",
        options: &[],
    },
    Description {
        name: "chili",
        about: "the same source over chili::Scope::join",
        options: &[],
    },
];

/// A scheduler with its options, as the user named it.
#[derive(Clone, PartialEq, Eq)]
pub struct Spec {
    text: String,
    kind: Kind,
}

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    ReturnBarrier { free: bool, forced: bool },
    Serial,
    Rayon,
    Chili,
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl std::str::FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        let text = text.strip_suffix(':').unwrap_or(text);
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let Some(description) = SCHEDULERS.iter().find(|known| known.name == name) else {
            let known: Vec<_> = SCHEDULERS.iter().map(|known| known.name).collect();
            let known = known.join(", ");
            return Err(match name.contains(',') {
                true => format!("no scheduler {name:?}; give each its own --scheduler"),
                false => format!("no scheduler {name:?}; there are: {known}"),
            });
        };
        let mut kind = match name {
            "serial" => Kind::Serial,
            "rayon" => Kind::Rayon,
            "chili" => Kind::Chili,
            _ => Kind::ReturnBarrier {
                free: false,
                forced: true,
            },
        };
        for option in options.split(',').filter(|option| !option.is_empty()) {
            match (&mut kind, option) {
                (Kind::ReturnBarrier { free, .. }, "api=token") => *free = false,
                (Kind::ReturnBarrier { free, .. }, "api=free") => *free = true,
                (Kind::ReturnBarrier { forced, .. }, "forced=on") => *forced = true,
                (Kind::ReturnBarrier { forced, .. }, "forced=off") => *forced = false,
                _ => {
                    let known: Vec<_> = description.options.iter().map(|(key, _)| *key).collect();
                    let known = match known.is_empty() {
                        true => "it has none".to_string(),
                        false => format!("there are: {}", known.join(", ")),
                    };
                    return Err(format!("{name} has no option {option:?}; {known}"));
                }
            }
        }
        Ok(Spec {
            text: text.to_string(),
            kind,
        })
    }
}

impl Spec {
    /// The yardstick.
    pub fn serial() -> Spec {
        Spec {
            text: "serial".to_string(),
            kind: Kind::Serial,
        }
    }

    /// Whether it has no workers to choose the number of.
    pub fn is_serial(&self) -> bool {
        self.kind == Kind::Serial
    }

    /// Starts its threads.
    pub fn start(&self, workers: usize) -> Result<Runner, String> {
        let cannot = |error: &dyn fmt::Display| format!("{self} with {workers} workers: {error}");
        Ok(match self.kind {
            // The serial elision runs in a pool too, for the sake of the stack.
            Kind::Serial => Runner::Serial(pool(1, true).map_err(|e| cannot(&e))?),
            Kind::ReturnBarrier {
                free: false,
                forced,
            } => Runner::Token(pool(workers, forced).map_err(|e| cannot(&e))?),
            Kind::ReturnBarrier { free: true, forced } => {
                Runner::Free(pool(workers, forced).map_err(|e| cannot(&e))?)
            }
            Kind::Rayon => Runner::Rayon(rayon::pool(workers).map_err(|e| cannot(&e))?),
            Kind::Chili => Runner::Chili(chili::pool(workers)),
        })
    }
}

fn pool(workers: usize, forced: bool) -> Result<Pool, purloin::Error> {
    Pool::builder()
        .workers(workers)
        .stack_size(STACK_SIZE)
        .scheduler(ReturnBarrier::default().forced_steals(forced))
        .build()
}

/// A scheduler whose threads are running.
pub enum Runner {
    Serial(Pool),
    Token(Pool),
    Free(Pool),
    Rayon(::rayon::ThreadPool),
    Chili(::chili::ThreadPool),
}

impl Runner {
    /// Runs a kernel; what it is timed by is this call.
    pub fn run(&self, instance: &mut Instance) -> Answer {
        match self {
            Runner::Serial(pool) => pool.run(|_| instance.run(Serial)),
            Runner::Token(pool) => pool.run(|worker| instance.run(worker)),
            Runner::Free(pool) => pool.run(|_| instance.run(Free::on_a_worker())),
            Runner::Rayon(pool) => pool.install(|| instance.run(Rayon)),
            Runner::Chili(pool) => {
                chili::on_a_deep_stack(|| instance.run(Chili::new(&mut pool.scope())))
            }
        }
    }

    /// What its workers have counted so far, if it counts.
    pub fn stats(&self) -> Option<Stats> {
        match self {
            Runner::Token(pool) | Runner::Free(pool) => Some(pool.stats()),
            _ => None,
        }
    }
}
