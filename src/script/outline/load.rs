//! Which code runs while a script loads, by the calls that can be followed by name.
//!
//! Two sets of units: those that *may* run at load (`runs`), and those that run *only* then, once (`only`): a function that is
//! called where it stands, or handed to a method that calls it at once and forgets it.
//!
//! It is a best effort with names, not values: `x.make()` stands for every method called `make`. It knows nothing of what the
//! code does.

use oxc_ast::AstKind;
use oxc_ast::ast::{Argument, Expression};
use oxc_semantic::{NodeId, SymbolId};
use oxc_span::GetSpan;
use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::{Facts, PROGRAM, method_name};

/// Methods that call what they are given before they return, and do not keep it.
const CALLS_AT_ONCE: &[&str] = &[
    "forEach",
    "map",
    "filter",
    "reduce",
    "reduceRight",
    "some",
    "every",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "flatMap",
    "sort",
    "toSorted",
    "replace",
    "replaceAll",
];
/// The same for functions of a global object.
const GLOBAL_CALLS_AT_ONCE: &[(&str, &str)] =
    &[("Array", "from"), ("Object", "groupBy"), ("Map", "groupBy"), ("JSON", "stringify"), ("JSON", "parse")];

/// How many callees within callees (`f()()`) are followed.
const CALLEE_STEPS: usize = 64;

pub(super) struct Load<'f, 's, 'a> {
    facts: &'f Facts<'s, 'a>,
    runs: FxHashSet<NodeId>,
    only: FxHashSet<NodeId>,
    methods: FxHashMap<&'a str, Vec<NodeId>>,
    returned: FxHashMap<NodeId, Vec<NodeId>>,
}

/// What a callee can be.
#[derive(Default)]
pub(super) struct Callees {
    pub(super) functions: Vec<NodeId>,
    pub(super) classes: Vec<NodeId>,
}

impl<'f, 's, 'a> Load<'f, 's, 'a> {
    pub(super) fn new(facts: &'f Facts<'s, 'a>) -> Self {
        let mut load = Self {
            facts,
            runs: FxHashSet::default(),
            only: FxHashSet::default(),
            methods: FxHashMap::default(),
            returned: FxHashMap::default(),
        };
        let mut calls: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        load.only.insert(PROGRAM);
        for (id, node) in facts.nodes().iter_enumerated() {
            match node.kind() {
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) => load.note_function(id),
                AstKind::CallExpression(_) | AstKind::NewExpression(_) | AstKind::TaggedTemplateExpression(_) => {
                    calls.entry(facts.unit(id)).or_default().push(id);
                }
                _ => {}
            }
        }
        let mut waiting = vec![PROGRAM];
        while let Some(unit) = waiting.pop() {
            if load.runs.insert(unit) {
                for &call in calls.get(&unit).into_iter().flatten() {
                    load.follow(call, &mut waiting);
                }
            }
        }
        load
    }

    /// Whether a unit may run while the script loads.
    pub(super) fn runs(&self, unit: NodeId) -> bool {
        self.runs.contains(&unit)
    }

    /// Whether a unit runs only while the script loads.
    pub(super) fn only(&self, unit: NodeId) -> bool {
        self.only.contains(&unit)
    }

    fn note_function(&mut self, id: NodeId) {
        let facts = self.facts;
        let parent = facts.parent(id);
        match facts.kind(parent) {
            AstKind::ObjectProperty(property) => {
                if let Some(name) = property.key.static_name() {
                    self.note_method(&name, property.key.span(), id);
                }
            }
            AstKind::MethodDefinition(method) => {
                if let Some(name) = method.key.static_name() {
                    self.note_method(&name, method.key.span(), id);
                }
            }
            AstKind::AssignmentExpression(assignment) => {
                if let Some(oxc_ast::ast::MemberExpression::StaticMemberExpression(member)) =
                    assignment.left.as_member_expression()
                {
                    self.methods.entry(member.property.name.as_str()).or_default().push(id);
                }
            }
            AstKind::ReturnStatement(_) => self.returned.entry(facts.unit(parent)).or_default().push(id),
            AstKind::ArrowFunctionExpression(_) => self.returned.entry(parent).or_default().push(id),
            _ => {}
        }
        if self.runs_once_in_place(id) && self.only.contains(&facts.unit_around(id)) {
            self.only.insert(id);
        }
    }

    /// Files a method by its name; a quoted name is found by its text without quotes.
    fn note_method(&mut self, name: &str, key: oxc_span::Span, id: NodeId) {
        let text = key.source_text(self.facts.nodes().program().source_text);
        let text = text.trim_matches(['\'', '"']);
        if text == name {
            self.methods.entry(text).or_default().push(id);
        }
    }

    fn runs_once_in_place(&self, id: NodeId) -> bool {
        let facts = self.facts;
        let plain = match facts.kind(id) {
            AstKind::ArrowFunctionExpression(arrow) => !arrow.r#async,
            AstKind::Function(function) => {
                let named = function.id.as_ref().and_then(|name| name.symbol_id.get());
                let anonymous = named.is_none_or(|symbol| facts.references(symbol).next().is_none());
                function.is_expression() && !function.r#async && !function.generator && anonymous
            }
            _ => false,
        };
        plain && (is_called_in_place(facts, id) || is_argument_called_at_once(facts, id))
    }

    fn follow(&self, call: NodeId, waiting: &mut Vec<NodeId>) {
        let (callee, arguments) = match self.facts.kind(call) {
            AstKind::CallExpression(call) => (&call.callee, Some(&call.arguments)),
            AstKind::NewExpression(call) => (&call.callee, Some(&call.arguments)),
            AstKind::TaggedTemplateExpression(tagged) => (&tagged.tag, None),
            _ => return,
        };
        let mut found = self.callees(callee);
        for argument in arguments.into_iter().flatten().filter_map(Argument::as_expression) {
            if argument.is_function() || argument.is_identifier_reference() {
                let given = self.callees(argument);
                found.functions.extend(given.functions);
            }
        }
        waiting.extend(found.functions);
        let mut seen = FxHashSet::default();
        while let Some(class) = found.classes.pop() {
            if seen.insert(class) {
                waiting.extend(self.facts.class_units(class));
                found.classes.extend(self.parents_of(class));
            }
        }
    }

    /// The classes that a class extends, as far as they are of this script.
    pub(super) fn parents_of(&self, class: NodeId) -> Vec<NodeId> {
        match self.facts.kind(class) {
            AstKind::Class(node) => {
                node.heritage_expression().map(|parent| self.callees(parent).classes).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// The functions and classes of this script that an expression in the place of a callee can stand for.
    pub(super) fn callees(&self, callee: &Expression<'a>) -> Callees {
        let mut found = Callees::default();
        let mut waiting = vec![callee];
        let mut calls: Vec<&Expression<'a>> = Vec::new();
        let mut steps = 0;
        while let Some(expression) = waiting.pop() {
            steps += 1;
            if steps > CALLEE_STEPS {
                break;
            }
            match expression {
                Expression::FunctionExpression(function) => found.functions.push(function.node_id.get()),
                Expression::ArrowFunctionExpression(arrow) => found.functions.push(arrow.node_id.get()),
                Expression::ClassExpression(class) => found.classes.push(class.node_id.get()),
                Expression::Identifier(_) => {
                    if let Some(symbol) = self.facts.symbol_of(expression) {
                        self.values_of(symbol, &mut found);
                    }
                }
                Expression::StaticMemberExpression(member) => match member.property.name.as_str() {
                    "call" | "apply" => waiting.push(&member.object),
                    name => found.functions.extend(self.methods.get(name).into_iter().flatten()),
                },
                Expression::CallExpression(call) => {
                    calls.push(&call.callee);
                    if method_name(call) == Some("bind")
                        && let Expression::StaticMemberExpression(member) = &call.callee
                    {
                        waiting.push(&member.object);
                    }
                }
                Expression::ConditionalExpression(either) => waiting.extend([&either.consequent, &either.alternate]),
                Expression::LogicalExpression(either) => waiting.extend([&either.left, &either.right]),
                Expression::SequenceExpression(sequence) => waiting.extend(sequence.expressions.last()),
                Expression::AssignmentExpression(assignment) => waiting.push(&assignment.right),
                _ => {}
            }
        }
        if let [inner] = calls[..]
            && !inner.is_call_expression()
        {
            for function in self.callees(inner).functions {
                found.functions.extend(self.returned.get(&function).into_iter().flatten());
            }
        }
        found
    }

    /// The functions and classes that a variable is declared as, starts as, or is assigned.
    fn values_of(&self, symbol: SymbolId, found: &mut Callees) {
        let facts = self.facts;
        for declaration in facts.scoping().symbol_declarations(symbol) {
            match facts.kind(declaration) {
                AstKind::Function(_) => found.functions.push(declaration),
                AstKind::Class(_) => found.classes.push(declaration),
                AstKind::VariableDeclarator(declarator) => match &declarator.init {
                    Some(init) if declarator.id.is_binding_identifier() => direct_value(init, found),
                    _ => {}
                },
                _ => {}
            }
        }
        for reference in facts.references(symbol).filter(|reference| reference.is_write()) {
            if let AstKind::AssignmentExpression(assignment) = facts.nodes().parent_kind(reference.node_id()) {
                direct_value(&assignment.right, found);
            }
        }
    }
}

fn direct_value(expression: &Expression<'_>, found: &mut Callees) {
    match expression {
        Expression::FunctionExpression(function) => found.functions.push(function.node_id.get()),
        Expression::ArrowFunctionExpression(arrow) => found.functions.push(arrow.node_id.get()),
        Expression::ClassExpression(class) => found.classes.push(class.node_id.get()),
        _ => {}
    }
}

/// Whether a function is called right where it stands: `(() => ..)()`, also by way of `call` or `apply`.
fn is_called_in_place(facts: &Facts<'_, '_>, id: NodeId) -> bool {
    let span = facts.kind(id).span();
    match facts.nodes().parent_kind(id) {
        AstKind::CallExpression(call) => call.callee.span() == span,
        AstKind::StaticMemberExpression(_) => matches!(facts.method_called_on(id), Some("call" | "apply")),
        _ => false,
    }
}

/// Whether a value is an argument of a method that calls it at once and does not keep it.
pub(super) fn is_argument_called_at_once(facts: &Facts<'_, '_>, id: NodeId) -> bool {
    let AstKind::CallExpression(call) = facts.nodes().parent_kind(id) else { return false };
    let Expression::StaticMemberExpression(member) = &call.callee else { return false };
    if call.callee.span() == facts.kind(id).span() {
        return false;
    }
    let method = member.property.name.as_str();
    CALLS_AT_ONCE.contains(&method)
        || facts.global_name(&member.object).is_some_and(|object| GLOBAL_CALLS_AT_ONCE.contains(&(object, method)))
}
