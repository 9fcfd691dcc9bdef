#[cfg(test)]
use crate::unwind;
