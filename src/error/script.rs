//! What a script threw, as plain data.

use std::fmt;

/// An exception that nothing in the script caught.
///
/// Names and messages come from the script and may be anything; lone surrogates in them are replaced by U+FFFD.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScriptError {
    /// The error's `name`, such as `TypeError`; `Error` for a thrown value that is no error object.
    pub name: String,
    /// The error's `message`; the text of the thrown value for a value that is no error object.
    pub message: String,
    /// The script or module, where it is known.
    pub script: Option<String>,
    /// The line, from 1, where it is known.
    pub line: Option<u32>,
    /// The column, from 1, in UTF-16 code units.
    pub column: Option<u32>,
    /// The text of that line.
    pub source_line: Option<String>,
    /// The frames of the stack, innermost first, ten at most.
    pub frames: Vec<Frame>,
}

/// One frame of a JavaScript stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// The function; empty for code at the top level and for anonymous functions.
    pub function: String,
    /// The script or module.
    pub script: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl ScriptError {
    /// An error with this name and message and no place.
    pub fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        ScriptError { name: name.into(), message: message.into(), ..Default::default() }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.as_str(), self.message.as_str()) {
            ("", "") => f.write_str("an error without a message")?,
            ("", message) => f.write_str(message)?,
            (name, "") => f.write_str(name)?,
            (name, message) => write!(f, "{name}: {message}")?,
        }
        if let (Some(script), Some(line)) = (&self.script, self.line) {
            write!(f, " at {script}:{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        match self.source_line.as_deref().map(str::trim) {
            Some(text) if !text.is_empty() => write!(f, " in `{text}`"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ScriptError {}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = if self.function.is_empty() { "<top level>" } else { &self.function };
        write!(f, "{function} ({}:{}:{})", self.script, self.line, self.column)
    }
}
