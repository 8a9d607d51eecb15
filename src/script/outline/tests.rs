//! Snippets that are accepted and refused, positions, and texts that are made to break a recursive parser.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn classic(source: &str) -> Outline {
    outline(source, "t.js", SourceKind::Classic).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

fn module(source: &str) -> Outline {
    outline(source, "t.mjs", SourceKind::Module).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// Each finding as `code binding line:column`.
fn findings(outline: &Outline) -> Vec<String> {
    outline.state.iter().map(|f| format!("{} {} {}:{}", f.code, f.binding, f.line, f.column)).collect()
}

#[test]
fn sealed_scripts_are_accepted() {
    for source in [
        "",
        "#!/usr/bin/env jsmill\nconst a = 1;",
        "\u{feff}const a = 1;\r\nfunction main() { return a; }",
        "'use strict'; const rate = 0.2; function main(x) { let n = 0; n += x; return n * rate; }",
        "let a; a = 1; a++; [a] = [2]; for (a of [1]) {} function main() { return a; }",
        "let a; (() => { a = 1; })(); (function () { a = 2; }).call(null);",
        "let a; (() => { (() => { a = 1; })(); })();",
        "let sum = 0; [1, 2].forEach(x => { sum += x; }); function main() { return sum; }",
        "let t; { t = 1; } if (t) { t = 2; } class A { static { t = 3; } static x = (t = 4); }",
        "function main() { let a = 1; a = 2; const f = () => { a = 3; }; f(); return a; }",
        "const a = 1; function main(a) { a = 2; return a; }",
        "function main() { const m = new Map(); const r = /a/g; return [m, r]; }",
        // Tables that are built at load and hold no variable.
        "const LIST = ['a']; const table = (() => { const t = {}; let i = 0; LIST.forEach(x => { t[x] = i++; }); return t; })();",
        "const table = (() => { let n = 0; const next = () => ++n; return [next(), next()]; })();",
        "const table = (() => { let n = 0; function next() { n += 1; return n; } const a = []; for (let i = 0; i < 3; i++) a.push(next()); return a; })();",
        "const t = Array.from([1, 2], (x) => x); const sorted = (() => { let c = 0; [2, 1].sort((a, b) => { c++; return a - b; }); return c; })();",
        "const fns = (() => { const out = []; for (let i = 0; i < 3; i++) { out.push(() => i); } return out; })();",
        "const f = (() => { let base = 1; base += 1; return x => x + base; })();",
        "const f = (() => { const names = ['a']; names.push('b'); return i => names[i]; })();",
        "const text = JSON.stringify({}, (() => { let n = 0; return undefined; })());",
        // The same factories, used per run only.
        "function counter() { let n = 0; return () => ++n; } function main() { const next = counter(); return next(); }",
        "class A { #n = 0; inc() { return ++this.#n; } } function main() { return new A().inc(); }",
        "function* ids() { yield 1; } const list = [...ids()]; function main() { for (const i of ids()) return i; }",
        // A helper that is tried out at load.
        "function main(o) { let total = 0; const add = x => { total += x; }; o.forEach(l => add(l)); return total; } main([1]);",
        // Private fields that only a constructor sets, and objects that are dropped after use.
        "class Money { #c; constructor(c) { this.#c = c; } get cents() { return this.#c; } } const zero = new Money(0);",
        "class Parser { #at = 0; next() { return this.#at++; } parse() { return [this.next()]; } } const rules = new Parser().parse();",
        "class Parser { #at = 0; next() { return this.#at++; } } const rules = (() => { const p = new Parser(); return [p.next()]; })();",
        // Names that hide a global.
        "class Map { get() {} } const m = new Map();",
        "const r = /a/i; const s = /[g]/; const u = new RegExp('g');",
        "const o = Object.freeze({ a: [1, 2] });",
        "const e = new Error('x'); e.name = 'Late'; const o = {}; o.constructor = 1;",
        "const money = (() => { const zero = { add(x) { return x; } }; return { sum: xs => xs.reduce((a, b) => zero.add(b), 0) }; })();",
    ] {
        let found = findings(&classic(source));
        assert!(found.is_empty(), "{source}\n{found:?}");
    }
}

#[test]
fn state_is_refused_with_its_place() {
    let mut wrong = Vec::new();
    for (source, expected) in [
        // reassigned
        ("let seen = 0;\nfunction main() { return ++seen; }", "reassigned seen 2:28"),
        ("var a;\nconst f = () => { a ??= 1; };", "reassigned a 2:19"),
        ("let a, b;\nfunction f(x) {\n  [a, { k: b = 2 }] = x;\n}", "reassigned a 3:4,reassigned b 3:12"),
        ("let a; function f(x) { ({ a } = x); ({ ...a } = x); }", "reassigned a 1:27,reassigned a 1:43"),
        ("let a; function f(x) { for (a in x); for (a of x); }", "reassigned a 1:29,reassigned a 1:43"),
        ("function f() { f = null; }", "reassigned f 1:16"),
        ("class A {} function f() { A = null; }", "reassigned A 1:27"),
        ("let a; class K { m() { a = 1; } x = a++; }", "reassigned a 1:24,reassigned a 1:37"),
        ("let a; (async () => { a = 1; })();", "reassigned a 1:23"),
        ("let a; (function* () { a = 1; })();", "reassigned a 1:24"),
        ("let a; (function f(n) { a = 1; n && setup(f); })(0); function setup() {}", "reassigned a 1:25"),
        ("let a; function init() { a = 1; } init();", "reassigned a 1:26"),
        ("let é = '😀'; function f() { '😀'; é = 1; }", "reassigned é 1:36"),
        ("\u{feff}let a;\u{2028}function f() { a = 1; }", "reassigned a 2:16"),
        ("#!shebang\r\nlet a;\r\nfunction f() { a = 1; }", "reassigned a 3:16"),
        ("class K { static #n = 0; static next() { return ++K.#n; } }", "reassigned K.#n 1:51"),
        ("class K { static #t = {}; static put(k) { this.#t[k] = 1; } }", "reassigned K.#t 1:43"),
        // closure
        ("const next = (() => { let n = 0; return () => ++n; })();", "closure n 1:49"),
        ("function counter() { let n = 0; return () => ++n } const next = counter();", "closure n 1:48"),
        ("const make = () => { let n = 0; return { inc: () => n++ }; }; const a = [make()];", "closure n 1:53"),
        ("const api = (function () { let n = 0; function inc() { n++; } return { inc }; })();", "closure n 1:56"),
        ("const api = (() => { let n = 0; const inc = () => { n++; }; return () => inc(); })();", "closure n 1:53"),
        ("const api = (() => { let n = 0; return xs => xs.forEach(x => { n += x; }); })();", "closure n 1:64"),
        ("let f; (() => { let n = 0; f = () => n++; })();", "closure n 1:38"),
        ("(() => { let n = 0; register(() => n++); })(); function register() {}", "closure n 1:36"),
        ("let f; { let n = 0; f = () => n++; }", "closure n 1:31"),
        ("const [f] = [1].map(() => { let n = 0; return () => n++; });", "closure n 1:53"),
        ("const f = (n => () => ++n)(0);", "closure n 1:25"),
        ("const memo = (() => { const cache = {}; return k => cache[k] ??= k; })();", "closure cache 1:53"),
        ("const log = (() => { const list = []; return x => { list.push(x); }; })();", "closure list 1:53"),
        ("const memo = (() => { const m = new Map(); return (k, v) => m.set(k, v); })();", "closure m 1:61"),
        (
            "function* g() { yield 1; } const id = (() => { const ids = g(); return () => ids.next().value; })();",
            "closure ids 1:78",
        ),
        ("const K = { make() { let n = 0; return () => n++; } }; const next = K.make();", "closure n 1:46"),
        ("class C { constructor() { let n = 0; this.inc = () => n++; } } const c = new C();", "closure n 1:55"),
        (
            "const f = (() => { let n = 0; const g = function () { n = 1; }; return g.bind(null); })();",
            "closure n 1:55",
        ),
        ("const make = () => () => { let n = 0; return () => n++; }; const f = make()();", "closure n 1:52"),
        ("const o = (() => { let n = 0; return { get n() { return n++; } }; })();", "closure n 1:57"),
        ("const K = (() => { let n = 0; return class { id = n++; }; })();", "closure n 1:51"),
        // generator
        ("function* g() { yield 1; } const it = g();", "generator it 1:39"),
        ("const g = function* () {}; const all = { a: [g()] };", "generator all 1:46"),
        // container
        ("const m = new Map();", "container m 1:11"),
        ("const t = { a: [new Set(), /x/g] };", "container t 1:17,container t 1:28"),
        ("const r = /x/y;", "container r 1:11"),
        ("const r = new RegExp('x', 'g');", "container r 1:11"),
        ("const b = Object.freeze([new Uint8Array(4)]);", "container b 1:26"),
        ("const b = Uint8Array.of(1); const m = Map.groupBy([], x => x);", "container b 1:11,container m 1:39"),
        ("let m; m = new WeakMap();", "container m 1:12"),
        (
            "class K { static cache = new Map(); static #own = new Date(); }",
            "container K.cache 1:26,container K.#own 1:51",
        ),
        // private
        ("class A { #n = 0; inc() { this.#n++; } }\nconst a = new A();", "private A.#n 1:27"),
        ("class A { #m = new Map(); set(k) { this.#m.set(k, 1); } } const all = { a: new A() };", "private A.#m 1:36"),
        ("class A { #n = 0; inc() { this.#n++; } } class B extends A {} const b = new B();", "private A.#n 1:27"),
        (
            "class A { #n = 0; inc() { this.#n++; } } const f = (() => { const a = new A(); return () => a.inc(); })();",
            "private A.#n 1:27",
        ),
        (
            "const A = class { #n; constructor() { this.inc = () => { this.#n = 1; }; } }; const a = new A();",
            "private A.#n 1:58",
        ),
    ] {
        let found = findings(&classic(source)).join(",");
        if found != expected {
            wrong.push(format!("{source}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn findings_are_sorted_and_say_what_to_do() {
    let outline = classic("const m = new Map();\nlet n = 0;\nfunction main() { n++; return m; }");
    assert_eq!(findings(&outline), ["container m 1:11", "reassigned n 3:19"]);
    for finding in &outline.state {
        assert!(finding.message.contains(&format!("`{}`", finding.binding)), "{finding}");
        assert!(finding.message.contains("Isolation::Shared"), "{finding}");
    }
    assert_eq!(outline.state[1].source_line, "function main() { n++; return m; }");
}

#[test]
fn modules() {
    let source = "import def, { a as b } from 'x';\nimport * as ns from 'y';\nexport * from 'z';\nexport * as all from 'x';\n\
                  export let v = 1; v = 2;\nexport { b as c };\nexport default async function (p, q = 1, ...r) {}\n\
                  export const f = (x, y) => import(x);\nawait f(1);\nfunction g() { return eval('1'); }\n";
    let outline = module(source);
    assert_eq!(outline.exports, ["all", "v", "c", "default", "f"]);
    let imports: Vec<_> = outline.imports.iter().map(|i| (i.specifier.as_str(), i.line, i.column)).collect();
    assert_eq!(imports, [("x", 1, 29), ("y", 2, 21), ("z", 3, 15), ("x", 4, 22)]);
    let bindings: Vec<_> = outline.bindings.iter().map(|b| (b.name.as_str(), b.kind, b.line)).collect();
    assert_eq!(
        bindings,
        [
            ("def", BindingKind::Import, 1),
            ("b", BindingKind::Import, 1),
            ("ns", BindingKind::Import, 2),
            ("v", BindingKind::Let, 5),
            ("f", BindingKind::Const, 8),
            ("g", BindingKind::Function, 10)
        ]
    );
    let functions: Vec<_> =
        outline.functions.iter().map(|f| (f.name.as_str(), f.length, f.parameters, f.has_rest, f.is_async)).collect();
    assert_eq!(functions, [("default", 1, 2, true, true), ("f", 2, 2, false, false), ("g", 0, 0, false, false)]);
    assert_eq!(outline.dynamic_imports, [Place { line: 8, column: 28 }]);
    assert_eq!(outline.top_level_await, Some(Place { line: 9, column: 1 }));
    assert_eq!(outline.direct_eval, Some(Place { line: 10, column: 23 }));
    assert!(outline.state.is_empty());
    assert_eq!(findings(&module("export default new Map();")), ["container default 1:16"]);
    assert_eq!(findings(&module("let n = 0; export const next = () => n++;")), ["reassigned n 1:38"]);
    assert_eq!(findings(&module("export default (() => { let n = 0; return () => n++; })();")), ["closure n 1:49"]);
}

#[test]
fn bindings_and_functions_of_a_classic_script() {
    let outline = classic(
        "var a = 1, { b, ...c } = {};\nlet d;\nclass K {}\nif (a) { var e; let hidden; }\nfunction* g(x) {}\nlet h = function (a, b) {};\nlet i = () => 1; i = null;",
    );
    let bindings: Vec<_> = outline.bindings.iter().map(|b| (b.name.as_str(), b.kind, b.line, b.column)).collect();
    use BindingKind::{Class, Function, Let, Var};
    assert_eq!(
        bindings,
        [
            ("a", Var, 1, 5),
            ("b", Var, 1, 14),
            ("c", Var, 1, 20),
            ("d", Let, 2, 5),
            ("K", Class, 3, 7),
            ("e", Var, 4, 14),
            ("g", Function, 5, 11),
            ("h", Let, 6, 5),
            ("i", Let, 7, 5)
        ]
    );
    let functions: Vec<_> = outline.functions.iter().map(|f| (f.name.as_str(), f.length, f.is_generator)).collect();
    assert_eq!(functions, [("g", 1, true), ("h", 2, false)]);
}

#[test]
fn syntax_errors_have_their_place() {
    for (source, kind, line, column) in [
        ("const a = ;", SourceKind::Classic, 1, 11),
        ("let a;\r\n\u{2028}  let 😀;", SourceKind::Classic, 3, 7),
        ("let a;\nlet a;", SourceKind::Classic, 2, 5),
        ("with (a) {}", SourceKind::Classic, 1, 1),
        ("return 1;", SourceKind::Classic, 1, 1),
        ("import a from 'b';", SourceKind::Classic, 1, 1),
        ("#!x\nvar public = 010;", SourceKind::Classic, 2, 5),
        ("await = 1;", SourceKind::Module, 1, 7),
        ("a = 'é😀'; #!x", SourceKind::Classic, 1, 13),
        ("const s = 'never closed", SourceKind::Classic, 1, 11),
    ] {
        let error = outline(source, "bad.js", kind).expect_err(source);
        assert_eq!((error.line, error.column), (line, column), "{source}\n{error}");
        assert_eq!(error.name, "bad.js");
        assert!(!error.message.is_empty());
    }
    let error = outline("\nlet a = 1 2;\n", "bad.js", SourceKind::Classic).expect_err("two values");
    assert_eq!(error.source_line, "let a = 1 2;");
    assert!(error.to_string().starts_with("bad.js:2:"));
}

/// Case C1: the globals are guarded when the script runs; a counter at the top level is found here.
#[test]
fn a_counter_at_the_top_level_is_found_and_globals_are_left_to_the_run() {
    let globals = "const main = () => { globalThis.hits = (globalThis.hits ?? 0) + 1; Math = { max: () => -1 }; console = null; \
                   return [hits, typeof Math.round]; };";
    assert!(classic(globals).state.is_empty());
    let counter = "const rate = 0.2; let seen = 0; function main() { return ++seen; }";
    assert_eq!(findings(&classic(counter)), ["reassigned seen 1:60"]);
}

/// Case C3: code that sets properties over those of built-ins is sealed all the same.
#[test]
fn properties_that_hide_those_of_built_ins_are_no_state() {
    let source = "'use strict'; function Money(c) { this.c = c; } Money.prototype.toString = function () { return this.c + ' ct'; }; \
                  const e = new Error('x'); e.name = 'Late'; const o = {}; o.constructor = 1; class E2 extends Error {} \
                  E2.prototype.message = 'm'; main = () => [String(new Money(5)), e.name, o.constructor];";
    assert!(classic(source).state.is_empty());
}

/// Runs on a thread as small as those that programs use, and must come back with an answer.
fn survives(source: String) -> Result<Outline, SyntaxError> {
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            let _ = outline(&source, "deep.js", SourceKind::Module);
            outline(&source, "deep.js", SourceKind::Classic)
        })
        .expect("a thread")
        .join()
        .expect("an answer")
}

#[test]
fn nothing_nests_too_deeply_for_the_process() {
    let shapes: &[(&str, &str, &str, &str, &str)] = &[
        ("", "(", "1", ")", ""),
        ("", "[", "1", "]", ""),
        ("", "{", "", "}", ""),
        ("x=", "{a:", "1", "}", ""),
        ("", "a+", "a", "", ""),
        ("", "!", "a", "", ""),
        ("", "- ", "a", "", ""),
        ("", "++", "a", "", ""),
        ("a", "", "", " .a", ""),
        ("a", "", "", "?.a", ""),
        ("a", "", "", "()", ""),
        ("a", "", "", "[0]", ""),
        ("a", "", "", "``", ""),
        ("x=", "a=>", "a", "", ""),
        ("x=", "(a)=>{return ", "a", "}", ""),
        ("x=", "async a=>", "a", "", ""),
        ("x=", "a?a:", "a", "", ""),
        ("x=", "a?", "a", ":a", ""),
        ("", "a=", "a", "", ""),
        ("", "if(a);else ", ";", "", ""),
        ("", "if(a){}else ", ";", "", ""),
        ("", "new ", "a", "", ""),
        ("", "typeof ", "a", "", ""),
        ("", "`${", "a", "}`", ""),
        ("", "a**", "a", "", ""),
        ("", "a??", "a", "", ""),
        ("", "l:", ";", "", ""),
        ("", "do ", ";", " while(0)", ""),
        ("", "for(;;)", ";", "", ""),
        ("", "while(a)", ";", "", ""),
        ("", "function f(){", "", "}", ""),
        ("", "function f(a=", "0", "){}", ""),
        ("", "f(function(){", "", "})", ""),
        ("", "class a extends ", "b", "{}", ""),
        ("", "class a{a(){", "", "}}", ""),
        ("let ", "[", "a", "]", "=b"),
        ("let ", "{a:", "a", "}", "=b"),
        ("", "async(", "1", ")", ""),
        ("x=", "(a=", "0", ")=>0", ""),
        ("x=", "a?(b)=>c:", "a", "", ""),
        ("x=", "a?(b):c=>", "d", "", ""),
        ("", "switch(0){case 0:", "", "}", ""),
        ("", "try{", "", "}finally{}", ""),
        ("", "import(", "a", ")", ""),
        ("", "@a(", "", "", "class b{}"),
        ("async function f(){", "await ", "a", "", "}"),
        ("function* f(){", "yield ", "a", "", "}"),
        ("", "{}/", "a", "", ""),
        ("/", "(", "", ")", "/"),
        ("", "<a>", "", "</a>", ""),
        ("", "<", "", "", ""),
        ("", "a.b?.[", "", "", ""),
        ("", "\\u0028", "", "", ""),
    ];
    for (head, open, middle, close, tail) in shapes {
        // Scope analysis takes time that grows with the square of arrows and awaits within each other.
        let middle_depth = if open.contains("=>") || *open == "await " { 2_000 } else { 10_000 };
        for depth in [300, middle_depth, 40_000] {
            let source = [head, open.repeat(depth).as_str(), middle, close.repeat(depth).as_str(), tail].concat();
            let _ = survives(source);
        }
    }
    for accepted in [format!("x={}", "a+".repeat(100_000) + "a"), format!("x={}1{}", "(".repeat(400), ")".repeat(400))]
    {
        assert!(survives(accepted).is_ok());
    }
    let error = survives("[".repeat(10_000)).expect_err("deep");
    assert_eq!((error.line, error.column), (1, 501));
    assert!(error.message.contains("brackets") && error.help.is_some());
}

#[test]
fn mixed_nesting_stays_within_its_stack() {
    let units = [
        "f(function(){return ",
        "[a=>",
        "{x:",
        "`${",
        "(a=[",
        "class{m(){return ",
        "async(x=>{",
        "new (",
        "a?(",
        "!{a:[",
    ];
    for unit in units {
        for other in units {
            let source = format!("x={}", [unit, other].concat().repeat(120));
            let _ = survives(source);
        }
    }
}

#[test]
fn large_scripts_are_read_in_time() {
    let mut source = String::new();
    let mut n = 0;
    while source.len() < 1 << 20 {
        source.push_str(&format!(
            "function price{n}(order, rate = 0.2) {{ let total = 0; for (const line of order.lines) {{ total += line.qty * line.price; }} \
             const apply = x => {{ total -= x; }}; order.coupons.forEach(c => apply(c.value)); return {{ total, rate, text: `${{total}} ct` }}; }}\n\
             const table{n} = (() => {{ const t = {{}}; let i = 0; ['a', 'b'].forEach(x => {{ t[x] = i++; }}); return t; }})();\n"
        ));
        n += 1;
    }
    let start = Instant::now();
    let outline = classic(&source);
    let limit = if cfg!(debug_assertions) { Duration::from_secs(20) } else { Duration::from_millis(400) };
    assert!(start.elapsed() < limit, "{:?}", start.elapsed());
    assert!(outline.state.is_empty());
    assert_eq!(outline.functions.len(), n);
    let line = source.replace('\n', " ");
    assert_eq!(classic(&line).bindings.len(), 2 * n);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_an_answer(source in any::<String>()) {
        let _ = outline(&source, "any.js", SourceKind::Classic);
        let _ = outline(&source, "any.js", SourceKind::Module);
    }

    #[test]
    fn any_tokens_have_an_answer(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..60)) {
        let source = tokens.concat();
        for kind in [SourceKind::Classic, SourceKind::Module] {
            if let Ok(outline) = outline(&source, "any.js", kind) {
                prop_assert!(outline.state.is_sorted_by_key(|finding| (finding.line, finding.column)));
            }
        }
    }
}

const TOKENS: &[&str] = &[
    "let ",
    "const ",
    "var ",
    "a",
    "b",
    "#p",
    "=",
    "=>",
    "(",
    ")",
    "(",
    ")",
    "{",
    "}",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    "\n",
    "\u{2028}",
    "function ",
    "function* ",
    "class ",
    "extends ",
    "static ",
    "new ",
    "return ",
    "async ",
    "await ",
    "yield ",
    "for",
    " of ",
    " in ",
    "if",
    "else ",
    "++",
    "+",
    "/",
    "/",
    "g",
    "`",
    "${",
    "'",
    "é",
    "😀",
    "\\",
    "...",
    ".",
    "?.",
    "?",
    ":",
    "import ",
    "export ",
    "default ",
    "from ",
    "this",
    ".call",
    "Map",
    "0",
    "a=1",
    "a()",
    "()=>",
    "delete ",
    "eval",
];
