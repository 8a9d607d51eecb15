//! Making a script: sources in, findings or a snapshot out.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::Arc;

use super::outline::{self, Outline, Place, SourceKind};
use super::{Extension, Isolation, Kind, Script, Source};
use crate::error::{Error, ErrorKind, Finding, Result};

/// The longest source text, in bytes: half of V8's longest string, so that any encoding of it fits.
const LONGEST_SOURCE: usize = (1 << 28) - 64;

/// Makes a [`Script`].
///
/// ```
/// use jsmill::{Isolation, Script};
/// # fn main() -> jsmill::Result<()> {
/// let script = Script::builder("price")
///     .module("main.js", "import { round } from 'round.js'; export const price = (x) => round(x * 1.2);")
///     .module("round.js", "export const round = (x) => Math.round(x * 100) / 100;")
///     .version("2024-05-02")
///     .isolation(Isolation::Sealed)
///     .build()?;
/// assert_eq!(script.version(), "2024-05-02");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "`build` makes the script"]
pub struct ScriptBuilder {
    name: String,
    version: Option<String>,
    isolation: Isolation,
    source: Option<String>,
    modules: Vec<(String, String)>,
    entry: Option<String>,
    extension: Option<Extension>,
}

impl ScriptBuilder {
    pub(super) fn new(name: String) -> Self {
        ScriptBuilder {
            name,
            version: None,
            isolation: Isolation::default(),
            source: None,
            modules: Vec::new(),
            entry: None,
            extension: None,
        }
    }

    /// The text of a classic script. Excludes `module`.
    pub fn source(mut self, text: impl Into<String>) -> Self {
        self.source = Some(text.into());
        self
    }

    /// Adds an ES module. Other modules import it by exactly this name, or by `./name`. The first one is the entry, unless `entry`
    /// says otherwise; what the entry exports can be called.
    pub fn module(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.modules.push((name.into(), text.into()));
        self
    }

    /// The module whose exports can be called.
    pub fn entry(mut self, name: impl Into<String>) -> Self {
        self.entry = Some(name.into());
        self
    }

    /// Something of a higher layer that is found with the script.
    pub(crate) fn extend(mut self, extension: Extension) -> Self {
        self.extension = Some(extension);
        self
    }

    /// A label for spans, metrics and traces. Default: 16 hexadecimal digits made from the content.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// What a run may leave behind for the next. Default: [`Isolation::Sealed`].
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Parses the sources and makes the script.
    ///
    /// # Errors
    /// `Compile` with all findings: syntax errors, state at the top level of a sealed script, imports of modules that are not there,
    /// dynamic imports. `Config` when there is no source, or both kinds of source, or two modules of the same name.
    pub fn build(self) -> Result<Arc<Script>> {
        let (kind, texts) = self.kind_and_texts()?;
        let source_kind = if kind == Kind::Classic { SourceKind::Classic } else { SourceKind::Module };
        let names: Vec<String> = texts.iter().map(|(name, _)| name.clone()).collect();
        let mut findings = Vec::new();
        let mut sources = Vec::with_capacity(texts.len());
        for (name, text) in texts {
            match outline::outline(&text, &name, source_kind) {
                Ok(outline) => sources.push(Source { name: name.into(), text: text.into(), outline }),
                Err(error) => findings.push(Finding {
                    code: "syntax",
                    script: name,
                    line: error.line,
                    column: error.column,
                    message: match error.help {
                        Some(help) => format!("{}; {help}", error.message),
                        None => error.message,
                    },
                    source_line: error.source_line,
                }),
            }
        }
        for source in &sources {
            check_imports(source, &names, &mut findings);
            if self.isolation == Isolation::Sealed {
                findings.extend(source.outline.state.iter().map(|state| Finding {
                    code: state.code,
                    script: source.name.to_string(),
                    line: state.line,
                    column: state.column,
                    message: state.message.clone(),
                    source_line: state.source_line.clone(),
                }));
            }
        }
        if !findings.is_empty() {
            return Err(Error::from(ErrorKind::Compile(findings)).at(&self.name, ""));
        }
        let version = self.version.clone().unwrap_or_else(|| content_version(&sources));
        Ok(Arc::new(Script {
            name: self.name.into(),
            version: version.into(),
            isolation: self.isolation,
            kind,
            sources: sources.into(),
            extension: self.extension,
        }))
    }

    fn kind_and_texts(&self) -> Result<(Kind, Vec<(String, String)>)> {
        let texts = match (&self.source, self.modules.as_slice()) {
            (Some(text), []) => {
                if self.entry.is_some() {
                    return Err(Error::config(format!(
                        "{}: `entry` names a module, but there is only `source`",
                        self.name
                    )));
                }
                (Kind::Classic, vec![(self.name.clone(), text.clone())])
            }
            (None, [(first, _), ..]) => {
                let entry = self.entry.as_ref().unwrap_or(first);
                let Some(entry) = self.modules.iter().position(|(name, _)| name == entry) else {
                    return Err(Error::config(format!("{}: there is no module `{entry}` to be the entry", self.name)));
                };
                for (index, (name, _)) in self.modules.iter().enumerate() {
                    if self.modules[..index].iter().any(|(other, _)| other == name) {
                        return Err(Error::config(format!("{}: two modules are named `{name}`", self.name)));
                    }
                }
                (Kind::Modules { entry }, self.modules.clone())
            }
            (Some(_), _) => {
                return Err(Error::config(format!("{}: give either `source` or `module`s, not both", self.name)));
            }
            (None, []) => {
                return Err(Error::config(format!("{}: there is no source: call `source` or `module`", self.name)));
            }
        };
        match texts.1.iter().find(|(_, text)| text.len() > LONGEST_SOURCE) {
            Some((name, text)) => Err(Error::config(format!(
                "{name}: the source has {} bytes, more than V8's longest text of {LONGEST_SOURCE}; split it, or pass data as a value",
                text.len()
            ))),
            None => Ok(texts),
        }
    }
}

/// The index of the module that a specifier names: its exact name, or the name behind `./`.
pub(crate) fn resolve<'n>(specifier: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<usize> {
    let by_name = |wanted: &str| names.clone().position(|name| name == wanted);
    by_name(specifier).or_else(|| by_name(specifier.strip_prefix("./")?))
}

fn check_imports(source: &Source, names: &[String], findings: &mut Vec<Finding>) {
    let Outline { imports, dynamic_imports, top_level_await, .. } = &source.outline;
    let finding = |code, place: &Place, message: String| Finding {
        code,
        script: source.name.to_string(),
        line: place.line,
        column: place.column,
        message,
        source_line: source.text.lines().nth(place.line.saturating_sub(1) as usize).unwrap_or_default().to_owned(),
    };
    for import in imports {
        if resolve(&import.specifier, names.iter().map(String::as_str)).is_none() {
            findings.push(finding(
                "import",
                &Place { line: import.line, column: import.column },
                format!("there is no module `{}` in this script; add it with `module`", import.specifier),
            ));
        }
    }
    for place in dynamic_imports {
        let message =
            "`import()` is refused: a script consists of the modules that it was made of; import them at the top";
        findings.push(finding("dynamic-import", place, message.into()));
    }
    if let Some(place) = top_level_await {
        let message = "`await` at the top level is refused: a script is loaded in one go; await inside a function";
        findings.push(finding("top-level-await", place, message.into()));
    }
}

/// A label, not a key: caches compare whole contents.
fn content_version(sources: &[Source]) -> String {
    let mut hash = 0_u64;
    for source in sources {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        hash = hasher.hash_one((hash, source.name.as_bytes(), source.text.as_bytes()));
    }
    format!("{hash:016x}")
}

/// Two texts are the same source when a compiler would say so: name and text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct ContentKey {
    name: Arc<str>,
    text: Arc<str>,
    module: bool,
}

impl ContentKey {
    pub(crate) fn new(source: &Source, module: bool) -> Self {
        ContentKey { name: source.name.clone(), text: source.text.clone(), module }
    }

    pub(crate) fn size(&self) -> usize {
        self.name.len() + self.text.len()
    }
}
