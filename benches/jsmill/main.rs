//! What single things cost. One binary, so that V8 is linked once.
//!
//! - `call`: a call of a small function, beside the least that one could write by hand for it.
//! - `context`: making a context, beside what V8 itself needs.
//! - `convert`: documents into and out of JavaScript, beside JSON text.
//! - `suspend`: a pause and its end, beside a thread for each task, and the memory of a paused call.
//! - `queue`: the way through a queue that is never empty, and a call that finds no room.
//! - `limits`, `swap`, `value`: the price of arming limits, of replacing a script, of passing settings.
//!
//! `cargo bench` measures all, `cargo bench -- call/` one group, `cargo bench -- --test` runs each once.

mod bare;
mod call;
mod context;
mod convert;
mod limits;
mod queue;
mod raw;
mod suspend;
mod swap;
mod value;
mod work;

use criterion::{criterion_group, criterion_main};

criterion_group!(
    benches,
    call::all,
    queue::all,
    limits::all,
    context::all,
    value::all,
    swap::all,
    convert::all,
    suspend::all
);
criterion_main!(benches);
