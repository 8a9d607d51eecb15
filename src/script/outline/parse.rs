//! Runs the parser and the scope analysis on a thread whose stack is large enough, and turns their complaints into errors.
//!
//! A classic script is parsed with a directive in front of it, so that strict mode holds; every offset is moved back by its
//! length, and nothing outside of this file sees the directive.

use std::thread;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

use super::depth::{Depth, NESTING_LIMIT, depth};
use super::facts::Facts;
use super::place::Lines;
use super::{Outline, SourceKind, SyntaxError, container, load, private, state, surface};

const STRICT: &str = "'use strict';";

/// The error that comes first in the text, from parts that oxc's diagnostics can be taken apart into: message, offsets, help.
macro_rules! first_complaint {
    ($diagnostics:expr, $shift:expr) => {
        $diagnostics
            .errors()
            .map(|error| {
                let repeated = error.message.ends_with("has already been declared");
                let mut labels = error.labels.iter().map(|label| label.offset() as usize);
                let offset = if repeated { labels.next_back() } else { labels.next() };
                Complaint {
                    message: error.message.clone().into_owned(),
                    offset: offset.unwrap_or(0).saturating_sub($shift),
                    help: error.help.clone().map(|help| help.into_owned()),
                }
            })
            .min_by_key(|complaint| complaint.offset)
    };
}

/// A complaint with the byte offset in the text as the caller gave it.
struct Complaint {
    message: String,
    offset: usize,
    help: Option<String>,
}

pub(super) fn outline(source: &str, name: &str, kind: SourceKind) -> Result<Outline, SyntaxError> {
    let lines = Lines::new(source);
    run(source, kind, &lines).map_err(|complaint| {
        let place = lines.place(complaint.offset);
        SyntaxError {
            name: name.to_owned(),
            message: complaint.message,
            line: place.line,
            column: place.column,
            source_line: lines.text(complaint.offset),
            help: complaint.help,
        }
    })
}

fn run(source: &str, kind: SourceKind, lines: &Lines<'_>) -> Result<Outline, Complaint> {
    let stack = match depth(source) {
        Depth::Stack(bytes) => bytes,
        Depth::Nesting(offset) => {
            return Err(Complaint {
                message: format!("more than {NESTING_LIMIT} brackets are open at once"),
                offset,
                help: Some(
                    "move inner parts into variables or functions of their own, or pass large data as a value"
                        .to_owned(),
                ),
            });
        }
        Depth::Chain(offset) => {
            return Err(Complaint {
                message: "an expression or statement is chained too deeply to be read".to_owned(),
                offset,
                help: Some("split the chain over several variables, or build it with a loop".to_owned()),
            });
        }
    };
    thread::scope(|scope| {
        let handle = thread::Builder::new()
            .name("jsmill-outline".to_owned())
            .stack_size(stack)
            .spawn_scoped(scope, || analyse(source, kind, lines))
            .map_err(|error| Complaint {
                message: format!("no thread with {stack} bytes of stack to read the script: {error}"),
                offset: 0,
                help: Some("raise the limits on memory or threads of the process".to_owned()),
            })?;
        handle.join().unwrap_or_else(|_| {
            Err(Complaint {
                message: "the parser failed on this text, which is an error in the parser".to_owned(),
                offset: 0,
                help: Some("please report it, with the script".to_owned()),
            })
        })
    })
}

fn analyse(source: &str, kind: SourceKind, lines: &Lines<'_>) -> Result<Outline, Complaint> {
    let (text, shift, source_type) = match kind {
        SourceKind::Module => (None, 0, SourceType::mjs()),
        SourceKind::Classic => (Some(strict_copy(source)), STRICT.len(), SourceType::script()),
    };
    let text = text.as_deref().unwrap_or(source);
    let allocator = Allocator::default();
    let options = ParseOptions { preserve_parens: false, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, text, source_type).with_options(options).parse();
    if let Some(complaint) = first_complaint!(parsed.diagnostics, shift) {
        return Err(complaint);
    }
    let program: &Program<'_> = allocator.alloc(parsed.program);
    let built = SemanticBuilder::new().with_check_syntax_error(true).with_build_nodes(true).build(program);
    if let Some(complaint) = first_complaint!(built.diagnostics, shift) {
        return Err(complaint);
    }
    let facts = Facts::new(&built.semantic, lines, shift);
    let mut outline = surface::surface(&facts, &parsed.module_record);
    let load = load::Load::new(&facts);
    let mut found = state::find(&facts, &load);
    found.extend(container::find(&facts, &load));
    found.extend(private::find(&facts, &load));
    found.sort_by_key(|finding| (finding.line, finding.column, finding.code));
    found.dedup_by(|a, b| (a.line, a.column, a.code) == (b.line, b.column, b.code));
    outline.state = found;
    Ok(outline)
}

/// The text behind the directive; a hashbang, which is allowed only at the very start, becomes a comment of the same length.
fn strict_copy(source: &str) -> String {
    match source.strip_prefix("#!") {
        Some(rest) => [STRICT, "//", rest].concat(),
        None => [STRICT, source].concat(),
    }
}
