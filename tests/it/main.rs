//! The integration tests, in one binary: linking V8 is slow.

mod smoke;
mod support;
