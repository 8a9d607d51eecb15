//! x
pub fn all(_: &mut criterion::Criterion) {}
