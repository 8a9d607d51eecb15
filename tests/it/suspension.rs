//! Runs over several slices: generators, async functions, what they wait for, and every way in which they end.

mod asynchronous;
mod generators;
