//! Scripts: the sources of one version of an algorithm, checked before they reach a worker.
//!
//! - [`Script`] is immutable; its `Arc` is the *snapshot* that the engine's caches are keyed by.
//! - [`Isolation`] says what a run may leave behind for the next one.
//! - `outline` reads the top level of a source: its bindings, imports, and the state that a sealed script must not have.
//!
//! Nothing here knows V8: what passes here may still be refused by V8 when it is compiled.

mod builder;
pub(crate) mod outline;

pub use builder::ScriptBuilder;
pub(crate) use builder::{ContentKey, resolve};

use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use outline::Outline;

/// What one run of a script may leave behind for the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Nothing. The context is kept and used again; after loading, its global scope, the built-in objects and all objects bound
    /// at the script's top level are read-only, and state at the top level is refused when the script is made. The default.
    #[default]
    Sealed,
    /// Nothing. Each run gets a new context in which everything may be changed. Costs about half a millisecond a run.
    Fresh,
    /// Anything. The context is kept and used again, and everything in it may be changed: runs on the same worker see what
    /// earlier ones left. Each worker has its own.
    Shared,
}

/// One version of an algorithm: a classic script, or ES modules that import each other.
///
/// Scripts are in strict mode. Making one parses it and, unless it asks for another [`Isolation`], refuses state at its top level,
/// with every finding and its place.
///
/// ```
/// use jsmill::{ErrorKind, Script};
/// # fn main() -> jsmill::Result<()> {
/// let script = Script::new("tax.js", "const rate = 0.2; function tax(net) { return net * rate; }")?;
/// assert_eq!(script.name(), "tax.js");
///
/// let error = Script::new("count.js", "let seen = 0; function main() { return ++seen; }").unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Compile(findings) if findings[0].line == 1));
/// # Ok(())
/// # }
/// ```
pub struct Script {
    name: Arc<str>,
    version: Arc<str>,
    isolation: Isolation,
    kind: Kind,
    sources: Box<[Source]>,
    /// What a higher layer wants to be found with the script.
    extension: Option<Extension>,
}

pub(crate) type Extension = Arc<dyn std::any::Any + Send + Sync>;

/// Classic or modules; the entry is the index of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Classic,
    Modules { entry: usize },
}

/// One source text with what its top level contains.
pub(crate) struct Source {
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
    pub(crate) outline: Outline,
}

impl Script {
    /// A classic script of one source. Functions of its top level can be called.
    ///
    /// # Errors
    /// `Compile` with all findings: a syntax error, or state at the top level.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Result<Arc<Script>> {
        Script::builder(name).source(source).build()
    }

    /// Several modules, another isolation, or a version label: see [`ScriptBuilder`].
    pub fn builder(name: impl Into<String>) -> ScriptBuilder {
        ScriptBuilder::new(name.into())
    }

    /// The name given to it; what stack traces and spans show.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version label: the one given to the builder, or 16 hexadecimal digits made from the content.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What a run may leave behind.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    pub(crate) fn extension(&self) -> Option<&Extension> {
        self.extension.as_ref()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The source whose functions can be called.
    pub(crate) fn entry(&self) -> &Source {
        match self.kind {
            Kind::Classic => &self.sources[0],
            Kind::Modules { entry } => &self.sources[entry],
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("isolation", &self.isolation)
            .field("sources", &self.sources.iter().map(|source| &*source.name).collect::<Vec<_>>())
            .finish()
    }
}
