//! The command line.

use std::time::Duration;

use crate::case::Case;
use crate::setup::SchedulerName;

pub const HELP: &str = "\
./x torture: runs random programs on Purloin, on virtual cores under a hostile schedule

  --hours H          run for this long; fractions are allowed (default: 0.1, six minutes)
  --seed N           run exactly this program and schedule, and say what happened
  --from N           begin with this seed (default: chosen by the clock)
  --jobs J           number of processes that run programs (default: one for each core)
  --scheduler NAME   only this scheduler (default: half of the programs under the default one, the others
                     under all schedulers in turn)
  --faults [NAME]    test the test: break the library in each known way, or in one, and expect a failure
  --limit MINUTES    with --faults: how long to look for each fault (default: 10)
  --timed            let the library sleep with time limits, as users' builds do; without them a lost wake-up
                     makes the program hang, and is found
  --native           run on the system's threads instead of virtual cores
  --help             print this text

A failure prints what went wrong, a program made as small as possible, and the command that repeats it.
Exit status: 0 if all promises were kept, 1 after a failure, 2 after a mistake in the command line.
";

/// A search for failures.
pub struct Options {
    pub time: Duration,
    pub from: u64,
    pub jobs: usize,
    pub scheduler: Option<SchedulerName>,
    /// Whether to end after the first failure, without making it smaller.
    pub is_hunt: bool,
}

/// A search for seeded faults.
pub struct FaultOptions {
    pub name: Option<String>,
    pub limit: Duration,
}

pub enum Command {
    Help,
    Run(Options),
    One(Case),
    Faults(FaultOptions),
    /// Of this program, for its child processes: runs each `step`th seed.
    Child {
        first: u64,
        step: u64,
        scheduler: Option<SchedulerName>,
    },
    /// For child processes: runs the case under this many schedules.
    Schedules {
        case: Case,
        count: u64,
    },
}

/// The option of `./x torture` that makes this build.
pub const BUILD: &str = match (cfg!(purloin_virtual), cfg!(purloin_untimed)) {
    (false, _) => " --native",
    (true, true) => "",
    (true, false) => " --timed",
};

/// Reads the command line. Returns a mistake in one line.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut arguments = arguments.peekable();
    let mut options = Options {
        time: Duration::from_secs(360),
        from: by_clock(),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        scheduler: None,
        is_hunt: false,
    };
    let mut case = None;
    let mut faults = None;
    let mut limit = Duration::from_secs(600);
    let (mut step, mut schedules) = (None, None);
    while let Some(argument) = arguments.next() {
        let (name, given) = match argument.split_once('=') {
            Some((name, value)) => (name.to_string(), Some(value.to_string())),
            None => (argument, None),
        };
        let mut value = || {
            let next = given.clone().or_else(|| arguments.next());
            next.ok_or_else(|| format!("{name} needs a value"))
        };
        match &*name {
            "--help" | "-h" => return Ok(Command::Help),
            "--hours" => options.time = time(&value()?, "--hours", 3600.0)?,
            "--limit" => limit = time(&value()?, "--limit", 60.0)?,
            "--seed" => case = Some(value()?.parse::<Case>()?),
            "--from" => options.from = number(&value()?, "--from")?,
            "--jobs" => options.jobs = number(&value()?, "--jobs")?.clamp(1, 1024) as usize,
            "--scheduler" => options.scheduler = Some(SchedulerName::named(&value()?)?),
            "--hunt" => options.is_hunt = true,
            "--step" => step = Some(number(&value()?, "--step")?),
            "--schedules" => schedules = Some(number(&value()?, "--schedules")?),
            "--faults" => {
                let is_value = arguments.peek().is_some_and(|next| !next.starts_with('-'));
                let next = given.or_else(|| is_value.then(|| arguments.next()).flatten());
                faults = Some(next);
            }
            _ => {
                return Err(format!(
                    "no option {name}; ./x torture --help lists the options"
                ));
            }
        }
    }
    if let Some(case) = &mut case {
        case.scheduler = case.scheduler.or(options.scheduler);
    }
    Ok(match (case, faults, step) {
        (Some(case), _, _) => match schedules {
            Some(count) => Command::Schedules { case, count },
            None => Command::One(case),
        },
        (None, Some(name), _) => Command::Faults(FaultOptions { name, limit }),
        (None, None, Some(step)) => Command::Child {
            first: options.from,
            step,
            scheduler: options.scheduler,
        },
        (None, None, None) => Command::Run(options),
    })
}

fn number(text: &str, name: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{name} needs a number, not '{text}'"))
}

fn time(text: &str, name: &str, seconds: f64) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=1e6).contains(number));
    let number =
        number.ok_or_else(|| format!("{name} needs a number from 0 to 1000000, not '{text}'"))?;
    Ok(Duration::from_secs_f64(number * seconds))
}

fn by_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs() % 1_000_000_000 * 1_000_000)
}
