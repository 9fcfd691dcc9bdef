//! The options of a pool in the old form, which rayon has deprecated.

use std::any::Any;
use std::error::Error;

use crate::builder::ThreadPoolBuilder;
use crate::registry::ThreadPool;

/// Options for a [`ThreadPool`], in the form of rayon's early versions.
#[deprecated(note = "Use `ThreadPoolBuilder`")]
#[derive(Debug, Default)]
pub struct Configuration(ThreadPoolBuilder);

#[allow(deprecated)]
impl Configuration {
    /// See [`ThreadPoolBuilder::new`].
    pub fn new() -> Configuration {
        Configuration(ThreadPoolBuilder::new())
    }

    /// See [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    ///
    /// Returns an error as that function does.
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.0.build().map_err(Box::from)
    }

    /// See [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        Configuration(self.0.thread_name(closure))
    }

    /// See [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, num_threads: usize) -> Configuration {
        Configuration(self.0.num_threads(num_threads))
    }

    /// See [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, panic_handler: H) -> Configuration
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Configuration(self.0.panic_handler(panic_handler))
    }

    /// See [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, stack_size: usize) -> Self {
        Configuration(self.0.stack_size(stack_size))
    }

    /// See [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Self {
        Configuration(self.0.breadth_first())
    }

    /// See [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H>(self, start_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration(self.0.start_handler(start_handler))
    }

    /// See [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H>(self, exit_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration(self.0.exit_handler(exit_handler))
    }
}

/// Builds the global pool. See [`ThreadPoolBuilder::build_global`].
///
/// # Errors
///
/// Returns an error as that function does.
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
#[allow(deprecated)]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    config.0.build_global().map_err(Box::from)
}
