//! The integration tests, in one binary: linking V8 is slow.

mod buffers;
mod caching;
mod config;
mod conversion;
mod errors;
mod growth;
mod heap;
mod host_border;
mod hot_swap;
#[cfg(feature = "io")]
mod io;
mod isolation;
mod load;
mod lost_workers;
mod modules;
mod observe;
mod queue;
mod shape;
mod shutdown;
mod stack;
mod stress_gc;
mod strings;
mod support;
mod suspension;
mod termination;
