//! Findings about variables: top-level ones that a function assigns, and local ones that a closure carries out of loading.
//!
//! A top-level object that is changed in place is no finding here, since the engine freezes it. An object that only a closure can
//! reach cannot be frozen, so changes in place count there.

use oxc_ast::AstKind;
use oxc_ast::ast::{BindingPattern, Expression};
use oxc_semantic::SymbolId;
use oxc_span::GetSpan;

use super::StateFinding;
use super::container::{Container, container_of, is_generator_call};
use super::facts::{Facts, PROGRAM};
use super::flow::Flow;
use super::load::Load;

/// Methods that change an array.
const ARRAY_CHANGES: &[&str] = &["push", "pop", "shift", "unshift", "splice", "sort", "reverse", "fill", "copyWithin"];

pub(super) fn find(facts: &Facts<'_, '_>, load: &Load<'_, '_, '_>) -> Vec<StateFinding> {
    let mut found = Vec::new();
    let mut flow = None;
    for symbol in facts.scoping().symbol_ids() {
        if facts.is_top_level(symbol) {
            reassigned(facts, load, symbol, &mut found);
        } else if load.runs(facts.symbol_unit(symbol)) {
            closed_over(facts, &mut flow, symbol, &mut found);
        }
    }
    found
}

fn reassigned(facts: &Facts<'_, '_>, load: &Load<'_, '_, '_>, symbol: SymbolId, found: &mut Vec<StateFinding>) {
    let flags = facts.scoping().symbol_flags(symbol);
    if flags.is_const_variable() || flags.is_import() {
        return;
    }
    let name = facts.scoping().symbol_name(symbol);
    for reference in facts.references(symbol).filter(|reference| reference.is_write()) {
        if !load.only(facts.unit(reference.node_id())) {
            let message = format!(
                "the top-level binding `{name}` is assigned in a function, so one run would see what another left; declare it in the \
                 function that runs, pass it as an argument, or ask for `Isolation::Shared`"
            );
            found.push(facts.finding("reassigned", name, facts.kind(reference.node_id()).span(), message));
        }
    }
}

/// Whether a variable that a unit makes while loading is changed by a function that can run later.
fn closed_over<'f, 's, 'a>(
    facts: &'f Facts<'s, 'a>,
    flow: &mut Option<Flow<'f, 's, 'a>>,
    symbol: SymbolId,
    found: &mut Vec<StateFinding>,
) {
    let outer = facts.symbol_unit(symbol);
    let constant = facts.scoping().symbol_flags(symbol).is_const_variable();
    let mut origin = None;
    for reference in facts.references(symbol) {
        let node = reference.node_id();
        if facts.unit(node) == outer {
            continue;
        }
        let changes = if reference.is_write() {
            !constant
        } else {
            facts.is_changed(node)
                || facts.method_called_on(node).is_some_and(|method| {
                    changes_value(*origin.get_or_insert_with(|| Origin::of(facts, symbol)), method)
                })
        };
        if !changes || !flow.get_or_insert_with(|| Flow::new(facts)).later_within(facts.unit(node), outer) {
            continue;
        }
        let name = facts.scoping().symbol_name(symbol);
        let made = if outer == PROGRAM {
            "in a block of the top level"
        } else {
            "in a function that runs while the script loads"
        };
        let message = format!(
            "`{name}` is made {made} and changed by a function that outlives it, so one run would see what another left; make it in the \
             function that runs, pass it as an argument, or ask for `Isolation::Shared`"
        );
        found.push(facts.finding("closure", name, facts.kind(node).span(), message));
    }
}

/// What a variable starts as, as far as that decides which methods change it.
#[derive(Clone, Copy)]
enum Origin {
    Array,
    Container(Container),
    Generator,
    Other,
}

impl Origin {
    fn of(facts: &Facts<'_, '_>, symbol: SymbolId) -> Self {
        let AstKind::VariableDeclarator(declarator) = facts.kind(facts.scoping().symbol_declaration(symbol)) else {
            return Self::Other;
        };
        let (BindingPattern::BindingIdentifier(_), Some(init)) = (&declarator.id, &declarator.init) else {
            return Self::Other;
        };
        if let Some(container) = container_of(facts, init) {
            return Self::Container(container);
        }
        if is_generator_call(facts, init) {
            return Self::Generator;
        }
        match init {
            Expression::ArrayExpression(_) => Self::Array,
            Expression::NewExpression(new) if facts.global_name(&new.callee) == Some("Array") => Self::Array,
            Expression::CallExpression(call) if facts.global_name(&call.callee) == Some("Array") => Self::Array,
            Expression::CallExpression(call) => match &call.callee {
                Expression::StaticMemberExpression(member) if facts.global_name(&member.object) == Some("Array") => {
                    Self::Array
                }
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

fn changes_value(origin: Origin, method: &str) -> bool {
    match origin {
        Origin::Array => ARRAY_CHANGES.contains(&method),
        Origin::Container(container) => container.changes(method),
        Origin::Generator => matches!(method, "next" | "return" | "throw"),
        Origin::Other => false,
    }
}
