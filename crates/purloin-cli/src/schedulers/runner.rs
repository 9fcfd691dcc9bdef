//! Schedulers whose threads are running.

use purloin::{Pool, Scheduler, Serial, Stats, Times};
use purloin_kernels::{Answer, Instance};

use super::chili::{self, Chili};
use super::rayon::Rayon;
use super::token_free::Free;

/// A scheduler whose threads are running.
pub trait Runner {
    /// Runs a kernel; what it is timed by is this call.
    fn run(&self, instance: &mut Instance) -> Answer;

    /// What its workers have counted so far, if they count.
    fn stats(&self) -> Option<Stats> {
        None
    }

    /// Where the time of all its workers has gone so far, if they note that.
    fn times(&self) -> Option<Times> {
        None
    }
}

fn total(times: Vec<Times>) -> Times {
    times.into_iter().fold(Times::default(), |mut sum, times| {
        sum += times;
        sum
    })
}

impl<S: Scheduler> Runner for Pool<S> {
    fn times(&self) -> Option<Times> {
        Some(total(self.times()))
    }

    fn run(&self, instance: &mut Instance) -> Answer {
        Pool::run(self, |worker| instance.run(worker))
    }

    fn stats(&self) -> Option<Stats> {
        Some(Pool::stats(self))
    }
}

/// The same kernels through the token-free functions.
pub struct WithoutTokens(pub Pool);

impl Runner for WithoutTokens {
    fn times(&self) -> Option<Times> {
        Some(total(self.0.times()))
    }

    fn run(&self, instance: &mut Instance) -> Answer {
        self.0.run(|_| instance.run(Free::on_a_worker()))
    }

    fn stats(&self) -> Option<Stats> {
        Some(self.0.stats())
    }
}

/// The serial elision, in a pool for the sake of the stack.
pub struct Elision(pub Pool);

impl Runner for Elision {
    fn run(&self, instance: &mut Instance) -> Answer {
        self.0.run(|_| instance.run(Serial))
    }
}

impl Runner for rayon::ThreadPool {
    fn run(&self, instance: &mut Instance) -> Answer {
        self.install(|| instance.run(Rayon))
    }
}

impl Runner for ::chili::ThreadPool {
    fn run(&self, instance: &mut Instance) -> Answer {
        chili::on_a_deep_stack(|| instance.run(Chili::new(&mut self.scope())))
    }
}
