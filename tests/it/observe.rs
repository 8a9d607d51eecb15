//! What one sees from outside: metrics, spans, logs of scripts, and figures.

mod figures;
mod metrics;
mod spans;
