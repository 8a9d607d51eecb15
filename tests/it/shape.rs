//! The shape of the crate: who may use whom, where V8 and unsafe code are, and which types cross threads.

mod layers;
mod sources;
mod threads;

use std::path::{Path, PathBuf};

/// A source file of the crate without its unit tests.
struct Source {
    /// Relative to `src`.
    path: String,
    /// The text as it is.
    text: String,
    /// The text without comments, strings' contents apart, and without unit tests.
    code: String,
}

impl Source {
    /// The top-level module that it belongs to.
    fn module(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap()
    }

    fn is_test(&self) -> bool {
        self.path.ends_with("tests.rs") || self.path.contains("/tests/")
    }
}

/// All files of the crate's own sources.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    assert!(paths.len() > 60, "the sources were found: {}", paths.len());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a source");
        let path = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let code = without_tests_and_comments(&text);
        Source { path, text, code }
    };
    paths.into_iter().map(read).collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

fn without_tests_and_comments(text: &str) -> String {
    let end = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| {
        let comment = line.find("//").filter(|at| *at == 0 || !line[..*at].ends_with(':'));
        &line[..comment.unwrap_or(line.len())]
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn comments_and_unit_tests_are_left_out() {
    let text = "//! head v8::\nuse a; // v8::\nlet x = \"http://a\";\n#[cfg(test)]\nmod tests {\nv8::\n}\n";
    assert_eq!(without_tests_and_comments(text), "\nuse a; \nlet x = \"http://a\";");
}
