//! Each module uses only those below it.

use std::collections::BTreeSet;

use super::{Source, sources};

/// What each module may use, from the lowest layer up. A module may always use itself.
const MAY_USE: [(&str, &[&str]); 11] = [
    // 0: data
    ("units", &[]),
    ("clock", &[]),
    ("error", &["units"]),
    ("script", &["error"]),
    // 0, beside: values as bytes
    ("wire", &[]),
    // 1
    ("channel", &["error"]),
    ("watchdog", &["clock", "error"]),
    ("observe", &["watchdog"]),
    // 2: V8
    ("vm", &["error", "script", "units", "watchdog", "wire"]),
    // 3
    ("exec", &["channel", "clock", "error", "script", "units", "vm", "watchdog", "wire"]),
    // 4
    ("engine", &["channel", "clock", "error", "exec", "observe", "script", "units", "vm", "watchdog", "wire"]),
];

/// The modules that a source names, by `crate::module` or by a name that the crate's root takes from one.
fn used(source: &Source, exports: &[(String, String)]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in source.code.match_indices("crate::") {
        if source.code[..at].ends_with(['$', '_']) {
            continue;
        }
        let rest = &source.code[at + "crate::".len()..];
        let names = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap().split(',').map(str::trim).collect(),
            None => vec![rest],
        };
        for name in names {
            let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let module = exports.iter().find(|(export, _)| *export == name).map_or(name, |(_, module)| module.clone());
            found.insert(module);
        }
    }
    found.remove(source.module());
    found
}

/// The names that `lib.rs` takes out of modules, with these.
fn exports(lib: &Source) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for statement in lib.code.split(';') {
        let Some((_, rest)) = statement.split_once("pub use ") else { continue };
        // A whole crate that is passed on is no module.
        let Some((module, names)) = rest.split_once("::") else { continue };
        for name in names.trim_matches(['{', '}']).split(',') {
            let name = name.trim().trim_matches(['{', '}', '\n', ' ']);
            if !name.is_empty() {
                found.push((name.to_owned(), module.trim().to_owned()));
            }
        }
    }
    found
}

#[test]
fn modules_use_only_those_below() {
    let sources = sources();
    let lib = sources.iter().find(|source| source.path == "lib.rs").unwrap();
    let exports = exports(lib);
    assert!(exports.iter().any(|(name, module)| name == "Engine" && module == "engine"), "{exports:?}");
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for source in sources.iter().filter(|source| source.path != "lib.rs" && !source.is_test()) {
        let Some((module, may)) = MAY_USE.iter().find(|(module, _)| *module == source.module()) else {
            wrong.push(format!("{} belongs to no layer", source.path));
            continue;
        };
        known.insert(*module);
        for name in used(source, &exports) {
            if !may.contains(&name.as_str()) {
                wrong.push(format!("{} uses `{name}`", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(known.len(), MAY_USE.len(), "each layer has its module: {known:?}");
}

#[test]
fn the_table_has_no_cycle() {
    for (index, (module, may)) in MAY_USE.iter().enumerate() {
        for name in *may {
            assert!(
                MAY_USE[..index].iter().any(|(below, _)| below == name),
                "`{module}` may use `{name}`, which is not below it"
            );
        }
    }
}

#[test]
fn v8_is_named_in_its_layer_and_the_next_only() {
    for source in sources().iter().filter(|source| !["vm", "exec"].contains(&source.module())) {
        assert!(!source.code.contains("v8::"), "{}", source.path);
    }
}

#[test]
fn tokio_is_named_in_channel_and_engine_only_and_where_sockets_wait() {
    // A socket waits at the reactor of the runtime that runs the future of its operation.
    let may =
        |source: &&Source| ["channel", "engine"].contains(&source.module()) || source.path == "exec/io/sockets.rs";
    for source in sources().iter().filter(|source| !may(source)) {
        assert!(!source.code.contains("tokio::"), "{}", source.path);
    }
}

#[test]
fn vm_takes_nothing_of_the_watchdog_but_its_interrupt() {
    for source in sources().iter().filter(|source| source.module() == "vm" && !source.is_test()) {
        for line in source.code.lines().filter(|line| line.contains("crate::watchdog")) {
            assert!(line.contains("Interrupt"), "{}: {line}", source.path);
        }
    }
}

#[test]
fn the_reader_of_use_lines_finds_what_it_should() {
    let code =
        "use crate::{Error, wire};\nuse crate::vm::Scope;\nlet x = crate::exec::run();\nuse crate::error::Error;";
    let source = Source { path: "vm/x.rs".into(), text: String::new(), code: code.into() };
    let exports = [("Error".to_owned(), "error".to_owned())];
    assert_eq!(used(&source, &exports), ["error", "exec", "wire"].map(str::to_owned).into());
}
