//! What must not compile, and what the compiler says then.
//!
//! A binary of its own that does not link V8: the cases are only checked.

#[test]
fn wrong_uses_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
