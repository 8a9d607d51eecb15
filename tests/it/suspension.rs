//! Runs over several slices: generators, async functions, what they wait for, and every way in which they end.

mod aio;
mod asynchronous;
mod generators;
