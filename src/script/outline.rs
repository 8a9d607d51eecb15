//! Static analysis of a script's top level: what it declares, and what state it would keep from run to run.
//!
//! A sealed context serves many runs, so a script must keep nothing between them. The engine freezes what it can reach once a
//! script has loaded. What cannot be reached then is found here, from the text alone: a top-level binding that a function
//! assigns, a closure over a variable that was made while loading, a private field, a container that cannot be frozen.
//!
//! The invariant: [`outline`] never panics, never overflows the stack and never runs code, whatever the text. The parser is
//! recursive, so [`depth`] first works out an upper bound of the stack it can need, and the work happens on a thread of that size.
//!
//! This module knows nothing of V8. A text that passes here may still be refused by V8, which checks regular expressions, for one.
#![deny(unsafe_code)]

mod container;
mod depth;
mod facts;
mod flow;
mod load;
mod parse;
mod place;
mod private;
mod state;
mod surface;

#[cfg(test)]
mod tests;

use std::fmt;

pub use place::Place;

/// How a source text is to be read. Both kinds run in strict mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// A classic script: its top-level bindings are visible to the host by name.
    Classic,
    /// An ECMAScript module: what it exports is visible to the host.
    Module,
}

/// Where and why a text is not a valid script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Name of the script, as given to [`outline`].
    pub name: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in UTF-16 code units, from 1.
    pub column: u32,
    /// The text of that line, cut after 200 characters.
    pub source_line: String,
    /// What to do about it, where that is known.
    pub help: Option<String>,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.name, self.line, self.column, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SyntaxError {}

/// The way in which a top-level name is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BindingKind {
    /// `var`
    Var,
    /// `let`
    Let,
    /// `const`, `using` and `await using`
    Const,
    /// `class`
    Class,
    /// `function`, of any sort
    Function,
    /// A name that an `import` brings in.
    Import,
}

/// A name that the top level declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The name.
    pub name: String,
    /// How it is declared.
    pub kind: BindingKind,
    /// Line, from 1.
    pub line: u32,
    /// Column in UTF-16 code units, from 1.
    pub column: u32,
}

/// A request for another module: an `import` declaration, or an `export .. from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The module's specifier, as written.
    pub specifier: String,
    /// Line of the specifier, from 1.
    pub line: u32,
    /// Column of the specifier in UTF-16 code units, from 1.
    pub column: u32,
}

/// A function that is bound at the top level, by a declaration or by a variable that starts as a function and is never assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The binding's name; `default` for a default export without a name.
    pub name: String,
    /// The number of parameters before the first one that has a default or is a rest: the `length` that JavaScript reports.
    pub length: u32,
    /// The number of parameters as written; a rest parameter is not counted.
    pub parameters: u32,
    /// Whether there is a rest parameter.
    pub has_rest: bool,
    /// Whether it is `async`.
    pub is_async: bool,
    /// Whether it is a generator.
    pub is_generator: bool,
    /// Line of the name, from 1.
    pub line: u32,
    /// Column of the name in UTF-16 code units, from 1.
    pub column: u32,
}

/// State that would outlive a run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFinding {
    /// The sort of state: `reassigned`, `closure`, `generator`, `container` or `private`.
    pub code: &'static str,
    /// The binding, variable or private field that holds the state.
    pub binding: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in UTF-16 code units, from 1.
    pub column: u32,
    /// The text of that line, cut after 200 characters.
    pub source_line: String,
    /// What it is and what to do, in one sentence.
    pub message: String,
}

impl fmt::Display for StateFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} [{}]", self.line, self.column, self.message, self.code)
    }
}

/// What the top level of a script declares, asks for and keeps. Every list is in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// The names that the top level declares.
    pub bindings: Vec<Binding>,
    /// The names that a module exports. An `export * from` adds none, since its names are in the other module.
    pub exports: Vec<String>,
    /// The modules that a module asks for, one entry per declaration.
    pub imports: Vec<Import>,
    /// Each `import(..)` expression.
    pub dynamic_imports: Vec<Place>,
    /// State that would outlive a run; empty for a script that can be sealed.
    pub state: Vec<StateFinding>,
    /// The functions that a caller can name.
    pub functions: Vec<Function>,
    /// The first `await` that is outside of any function.
    pub top_level_await: Option<Place>,
    /// The first direct call of `eval`: code in it escapes this analysis.
    pub direct_eval: Option<Place>,
}

/// Reads `source` and reports what its top level declares and keeps.
///
/// Classic scripts are read in strict mode, with or without the directive. A hashbang line is allowed. Positions count lines as V8
/// does: U+2028 and U+2029 end a line as well.
///
/// # Errors
/// The first syntax error, or a text that nests so deeply that reading it would need an unreasonable stack.
pub fn outline(source: &str, name: &str, kind: SourceKind) -> Result<Outline, SyntaxError> {
    parse::outline(source, name, kind)
}
