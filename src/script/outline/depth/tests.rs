//! The bound on nesting: what must not count, what must not be hidden, and where a text is refused.

use super::*;

fn extra(source: &str) -> usize {
    match depth(source) {
        Depth::Stack(bytes) => bytes - STACK_BASE,
        other => panic!("{other:?}"),
    }
}

#[test]
fn brackets_in_text_do_not_count() {
    let many = "([{".repeat(2000);
    for source in [
        format!("const a = '{many}';"),
        format!("const a = \"\\\"{many}\";"),
        format!("const a = `{many}`;"),
        format!("// {many}\n/* {many} */"),
        format!("const a = /[/{}]/;", "(".repeat(2000)),
        format!("if (a) /{}/.test(b)", "\\(".repeat(2000)),
        format!("const a = `x${{b}}{many}`;"),
        format!("#! {many}\nlet a;"),
    ] {
        assert!(extra(&source) < 8 * BRACKET, "{source:.40}");
    }
}

#[test]
fn depth_is_not_hidden_by_tricks() {
    let many = "(".repeat(600);
    for source in [
        format!("a++ / {many}"),
        format!("a / {many} / b"),
        format!("x = a\n/ {many} / b"),
        format!("x = {{}} / {many}"),
        format!("`${{`a`}}` / {many}"),
        format!("x = 'a\\\r\nb' + {many}"),
        format!("<!-- `\n{many}"),
        format!("x.return / {many} / b"),
        format!("return\u{a0}/'/ + {many}"),
        format!("é / {many} / b"),
        format!("x\u{2028}/{many}/b"),
    ] {
        match depth(&source) {
            Depth::Stack(bytes) => assert!(bytes - STACK_BASE > 600 * LINK, "{source:.40}"),
            Depth::Nesting(_) | Depth::Chain(_) => {}
        }
    }
}

#[test]
fn siblings_do_not_add_up() {
    assert!(extra(&"f(a, [b], {c: d});\n".repeat(20_000)) < 16 * BRACKET);
    assert!(extra(&format!("const t = [{}];", "[1, 'a', {k: -2}],".repeat(50_000))) < 16 * BRACKET);
}

#[test]
fn too_deep_is_refused_where_it_happens() {
    assert_eq!(depth(&"(".repeat(NESTING_LIMIT)), Depth::Stack(STACK_BASE + NESTING_LIMIT * (BRACKET + LINK)));
    assert_eq!(depth(&"[".repeat(NESTING_LIMIT + 1)), Depth::Nesting(NESTING_LIMIT));
    assert!(matches!(depth(&"!".repeat(1_000_000)), Depth::Chain(_)));
    assert!(matches!(depth(&"a+".repeat(100_000)), Depth::Stack(_)));
}
