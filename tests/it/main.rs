//! The integration tests, in one binary: linking V8 is slow.

mod conversion;
mod errors;
mod isolation;
mod lost_workers;
mod modules;
mod stack;
mod support;
mod termination;
