//! The objects that V8 extends after a context was deserialised, compared inside and outside of the snapshot creator.

use super::*;

/// When V8 changes, this list does too. Nothing at run time depends on it.
const LATE: [&str; 16] = [
    "globalThis",
    "globalThis value Atomics",
    "globalThis value DataView value prototype",
    "globalThis value Date value prototype",
    "globalThis value Error",
    "globalThis value Intl value Locale value prototype",
    "globalThis value Iterator",
    "globalThis value Map value prototype",
    "globalThis value Math",
    "globalThis value Promise",
    "globalThis value RegExp",
    "globalThis value Uint8Array",
    "globalThis value WeakMap value prototype",
    "root 11",
    "root 3 value prototype prototype",
    "root 4 prototype",
];

/// Runs a test of this module in a process of its own: all isolates of a process share one read-only heap, so that none from V8's own
/// snapshot, and none that makes a snapshot, may live beside one from ours.
fn alone(test: &str, body: impl FnOnce() + Send + 'static) {
    const CHILD: &str = "JSMILL_TEST_SNAPSHOT";
    if std::env::var_os(CHILD).is_some() {
        return on_v8_thread(body);
    }
    let name = format!("vm::realm::tests::survey::{test}");
    let binary = std::env::current_exe().expect("this binary");
    let output = std::process::Command::new(binary).args(["--exact", &name]).env(CHILD, "1").output();
    let output = output.expect("a process");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn v8_extends_the_same_objects_as_before() {
    alone("v8_extends_the_same_objects_as_before", || {
        let outside = snapshot::outside().expect("a survey");
        let mut creator = v8::Isolate::snapshot_creator(None, None);
        let found = {
            v8::scope!(let scope, &mut creator);
            let context = v8::Context::new(scope, Default::default());
            scope.set_default_context(context);
            let scope = &mut v8::ContextScope::new(scope, context);
            let survey = include_str!("../../../../js/survey.js");
            run(
                scope,
                &format!(
                    "{survey}({:?}).extended({outside:?}).map(({{ path }}) => path).sort().join('\\n')",
                    snapshot::LAZY
                ),
            )
        };
        creator.create_blob(v8::FunctionCodeHandling::Clear);
        assert_eq!(found.lines().collect::<Vec<_>>(), LATE);
    });
}

/// A sealed realm has what a plain one has, except what is left out on purpose.
#[test]
fn a_sealed_realm_lacks_nothing() {
    alone("a_sealed_realm_lacks_nothing", || {
        let outside = snapshot::outside().expect("a survey");
        let mut isolate = v8::Isolate::new(v8::CreateParams::default().snapshot_blob(v8().startup().into()));
        v8::scope!(let scope, &mut isolate);
        let context = realm::sealed(scope, None).expect("a context");
        let scope = &mut v8::ContextScope::new(scope, context);
        let survey = include_str!("../../../../js/survey.js");
        let source = format!(
            "{survey}({:?}).extended({outside:?}).map(({{ path, keys }}) => path + ': ' + keys).join('\\n')",
            snapshot::LAZY
        );
        let missing = run(scope, &source);
        let expected = "globalThis: FinalizationRegistry\nglobalThis value RegExp: input,$_,lastMatch,$&,lastParen,$+,leftContext,$`,rightContext,$',$1,$2,$3,$4,$5,$6,$7,$8,$9";
        assert_eq!(missing, expected);
    });
}

/// The fast paths for regular expressions and sets depend on a slot of V8's native context that the snapshot moves.
#[test]
fn regular_expressions_stay_fast() {
    const LOOP: &str = "(() => { const text = 'axbxcx'.repeat(200); let n = 0; for (let i = 0; i < 4000; i++) n += text.match(/x/g).length; return n })()";
    in_isolate(|scope| {
        let mut times = vec![];
        for make in [realm::open, realm::sealed] {
            let context = make(scope, None).expect("a context");
            let scope = &mut v8::ContextScope::new(scope, context);
            run(scope, LOOP);
            // The best of several, since the machine may be busy with something else.
            let round = || {
                let start = std::time::Instant::now();
                assert_eq!(run(scope, LOOP), "2400000");
                start.elapsed()
            };
            times.push(std::iter::repeat_with(round).take(5).min().expect("five rounds"));
        }
        // Without the fast path this takes a hundred times as long.
        assert!(times[1] < times[0] * 10, "{times:?}");
    });
}
