//! Whether a function or object that is made while loading can still be reached afterwards.
//!
//! A value is followed from where it is made: through conditions and local variables, to a place that keeps it (a return, a
//! property, an element, a top-level binding, an argument of a function that might) or to one that does not. A function is *later*
//! when it can run after loading: its value is kept, or it is used within a function that is later.
//!
//! It knows nothing of what is in the function. Where a value might be kept, it is taken to be.

use oxc_ast::AstKind;
use oxc_ast::ast::{AssignmentTarget, BindingPattern, Expression};
use oxc_semantic::{NodeId, SymbolId};
use oxc_span::GetSpan;
use rustc_hash::FxHashSet;

use super::facts::{Facts, PROGRAM};
use super::load::is_argument_called_at_once;

pub(super) struct Flow<'f, 's, 'a> {
    facts: &'f Facts<'s, 'a>,
    later: FxHashSet<NodeId>,
}

/// What one step of following a value finds.
enum Step {
    /// The value is used up here.
    Ends,
    /// The value is kept, or may be.
    Kept,
    /// The value becomes that of this node.
    Becomes(NodeId),
    /// The value is put in this local variable, and becomes that of the node as well.
    Named(SymbolId, Option<NodeId>),
}

impl<'f, 's, 'a> Flow<'f, 's, 'a> {
    pub(super) fn new(facts: &'f Facts<'s, 'a>) -> Self {
        let mut flow = Self { facts, later: FxHashSet::default() };
        let mut open: Vec<NodeId> = facts
            .nodes()
            .iter_enumerated()
            .map(|(id, _)| id)
            .filter(|&id| id != PROGRAM && facts.unit(id) == id)
            .collect();
        // A function can be later because of one that comes after it in the text.
        loop {
            let before = open.len();
            open.retain(|&unit| {
                let later = flow.is_later(unit);
                if later {
                    flow.later.insert(unit);
                }
                !later
            });
            if open.len() == before {
                break;
            }
        }
        for (id, node) in facts.nodes().iter_enumerated() {
            if matches!(node.kind(), AstKind::PropertyDefinition(_) | AstKind::AccessorProperty(_)) {
                flow.later.insert(id);
            }
        }
        flow
    }

    /// Whether code in `unit` can run after loading, by way of a function made within `outer`.
    pub(super) fn later_within(&self, unit: NodeId, outer: NodeId) -> bool {
        let mut at = unit;
        while at != outer && at != PROGRAM {
            if self.later.contains(&at)
                || !matches!(self.facts.kind(at), AstKind::Function(_) | AstKind::ArrowFunctionExpression(_))
            {
                return true;
            }
            at = self.facts.unit_around(at);
        }
        false
    }

    fn is_later(&self, unit: NodeId) -> bool {
        let facts = self.facts;
        let (symbol, expression, generator) = match facts.kind(unit) {
            AstKind::ArrowFunctionExpression(_) => (None, true, false),
            AstKind::Function(function) => (
                function.id.as_ref().and_then(|name| name.symbol_id.get()),
                !function.is_function_declaration(),
                function.generator,
            ),
            _ => return true,
        };
        if matches!(facts.nodes().parent_kind(unit), AstKind::ExportDefaultDeclaration(_)) {
            return true;
        }
        if symbol.is_some_and(|symbol| facts.is_top_level(symbol)) {
            return true;
        }
        self.is_kept(expression.then_some(unit), symbol, generator)
    }

    /// Whether the value of a node can be reached after loading.
    pub(super) fn keeps(&self, node: NodeId) -> bool {
        self.is_kept(Some(node), None, false)
    }

    fn is_kept(&self, node: Option<NodeId>, symbol: Option<SymbolId>, generator: bool) -> bool {
        let mut values: Vec<NodeId> = node.into_iter().collect();
        let mut names: Vec<SymbolId> = symbol.into_iter().collect();
        let mut seen: FxHashSet<SymbolId> = names.iter().copied().collect();
        loop {
            if let Some(value) = values.pop() {
                match self.step(value, generator) {
                    Step::Ends => {}
                    Step::Kept => return true,
                    Step::Becomes(node) => values.push(node),
                    Step::Named(symbol, node) => {
                        values.extend(node);
                        if self.facts.is_top_level(symbol) {
                            return true;
                        }
                        if seen.insert(symbol) {
                            names.push(symbol);
                        }
                    }
                }
            } else if let Some(symbol) = names.pop() {
                let outer = self.facts.symbol_unit(symbol);
                for reference in self.facts.references(symbol).filter(|reference| reference.is_read()) {
                    if self.later_within(self.facts.unit(reference.node_id()), outer) {
                        return true;
                    }
                    values.push(reference.node_id());
                }
            } else {
                return false;
            }
        }
    }

    fn step(&self, value: NodeId, generator: bool) -> Step {
        let facts = self.facts;
        let span = facts.kind(value).span();
        let parent = facts.parent(value);
        let ends_if = |ends: bool| if ends { Step::Ends } else { Step::Becomes(parent) };
        match facts.kind(parent) {
            AstKind::ChainExpression(_) | AstKind::AwaitExpression(_) | AstKind::LogicalExpression(_) => {
                Step::Becomes(parent)
            }
            AstKind::ConditionalExpression(either) => ends_if(either.test.span() == span),
            AstKind::SequenceExpression(sequence) => {
                ends_if(sequence.expressions.last().is_none_or(|last| last.span() != span))
            }
            AstKind::AssignmentExpression(assignment) if assignment.right.span() == span => match &assignment.left {
                AssignmentTarget::AssignmentTargetIdentifier(name) => {
                    match name
                        .reference_id
                        .get()
                        .and_then(|reference| facts.scoping().get_reference(reference).symbol_id())
                    {
                        Some(symbol) => Step::Named(symbol, Some(parent)),
                        None => Step::Kept,
                    }
                }
                _ => Step::Kept,
            },
            AstKind::VariableDeclarator(declarator) => match &declarator.id {
                BindingPattern::BindingIdentifier(name) => {
                    name.symbol_id.get().map_or(Step::Kept, |symbol| Step::Named(symbol, None))
                }
                _ => Step::Ends,
            },
            AstKind::CallExpression(call) => {
                if call.callee.span() == span {
                    ends_if(!generator)
                } else if is_argument_called_at_once(facts, value) {
                    Step::Ends
                } else if is_freeze(facts, &call.callee) {
                    Step::Becomes(parent)
                } else {
                    Step::Kept
                }
            }
            AstKind::NewExpression(new) => {
                if new.callee.span() == span {
                    Step::Ends
                } else {
                    Step::Kept
                }
            }
            AstKind::StaticMemberExpression(_) => match facts.method_called_on(value) {
                Some("bind") => Step::Becomes(facts.parent(parent)),
                Some("call" | "apply") if generator => Step::Becomes(facts.parent(parent)),
                _ => Step::Ends,
            },
            AstKind::TemplateLiteral(_) => {
                if matches!(facts.nodes().parent_kind(parent), AstKind::TaggedTemplateExpression(_)) {
                    Step::Kept
                } else {
                    Step::Ends
                }
            }
            AstKind::ObjectProperty(property) => {
                if property.value.span() == span {
                    Step::Kept
                } else {
                    Step::Ends
                }
            }
            AstKind::PropertyDefinition(field) => {
                if field.value.as_ref().is_some_and(|init| init.span() == span) {
                    Step::Kept
                } else {
                    Step::Ends
                }
            }
            AstKind::ArrayExpression(_)
            | AstKind::ReturnStatement(_)
            | AstKind::ArrowFunctionExpression(_)
            | AstKind::YieldExpression(_)
            | AstKind::ThrowStatement(_)
            | AstKind::ExportDefaultDeclaration(_)
            | AstKind::AssignmentPattern(_)
            | AstKind::AssignmentTargetWithDefault(_)
            | AstKind::FormalParameter(_)
            | AstKind::MethodDefinition(_)
            | AstKind::AccessorProperty(_)
            | AstKind::Class(_)
            | AstKind::ExportSpecifier(_) => Step::Kept,
            _ => Step::Ends,
        }
    }
}

/// Whether a callee gives its argument back: `Object.freeze` and its relatives.
pub(super) fn is_freeze<'a>(facts: &Facts<'_, 'a>, callee: &Expression<'a>) -> bool {
    match callee {
        Expression::StaticMemberExpression(member) => {
            matches!(member.property.name.as_str(), "freeze" | "seal" | "preventExtensions")
                && facts.global_name(&member.object) == Some("Object")
        }
        _ => false,
    }
}
