//! The integration tests, in one binary: linking V8 is slow.

mod lost_workers;
mod stack;
mod support;
mod termination;
