//! The tree of one script as flat tables: which unit of execution and which class each node is in.
//!
//! A *unit* is a piece of code that runs as one: the program, a function or arrow, or the initialiser of an instance field, which
//! runs when an object is made. Static blocks and static initialisers run where their class is defined, and are of that unit.
//!
//! The invariant: node ids are in order of the text's tree, parents first, so that one forward pass fills each table, and nothing
//! here recurses. Units and classes are named by the id of their node; the program is both unit 0 and "no class".

use oxc_ast::AstKind;
use oxc_ast::ast::{CallExpression, ClassElement, Expression, MethodDefinitionKind};
use oxc_semantic::{AstNodes, NodeId, Reference, Scoping, Semantic, SymbolId};
use oxc_span::{GetSpan, Span};

use super::StateFinding;
use super::place::{Lines, Place};

pub(super) const PROGRAM: NodeId = NodeId::ROOT;

pub(super) struct Facts<'s, 'a> {
    semantic: &'s Semantic<'a>,
    lines: &'s Lines<'s>,
    shift: usize,
    units: Vec<NodeId>,
    classes: Vec<NodeId>,
}

impl<'s, 'a> Facts<'s, 'a> {
    pub(super) fn new(semantic: &'s Semantic<'a>, lines: &'s Lines<'s>, shift: usize) -> Self {
        let nodes = semantic.nodes();
        let mut units = Vec::with_capacity(nodes.len());
        let mut classes = Vec::with_capacity(nodes.len());
        for (id, node) in nodes.iter_enumerated() {
            let parent = nodes.parent_id(id);
            let inherited = if id == PROGRAM { PROGRAM } else { units[parent.index()] };
            units.push(match node.kind() {
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) => id,
                kind if is_field_value(nodes.kind(parent), kind) => parent,
                _ => inherited,
            });
            let inherited = if id == PROGRAM { PROGRAM } else { classes[parent.index()] };
            classes.push(if matches!(node.kind(), AstKind::Class(_)) { id } else { inherited });
        }
        Self { semantic, lines, shift, units, classes }
    }

    pub(super) fn nodes(&self) -> &'s AstNodes<'a> {
        self.semantic.nodes()
    }

    pub(super) fn scoping(&self) -> &'s Scoping {
        self.semantic.scoping()
    }

    pub(super) fn kind(&self, id: NodeId) -> AstKind<'a> {
        self.nodes().kind(id)
    }

    pub(super) fn parent(&self, id: NodeId) -> NodeId {
        self.nodes().parent_id(id)
    }

    /// The unit that a node runs in; for a function, the function itself.
    pub(super) fn unit(&self, id: NodeId) -> NodeId {
        self.units[id.index()]
    }

    /// The unit around a unit: the one that makes it.
    pub(super) fn unit_around(&self, unit: NodeId) -> NodeId {
        if unit == PROGRAM { PROGRAM } else { self.unit(self.parent(unit)) }
    }

    /// The class around a node, or for a class the class itself.
    pub(super) fn class(&self, id: NodeId) -> Option<NodeId> {
        Some(self.classes[id.index()]).filter(|&class| class != PROGRAM)
    }

    /// The unit that makes a symbol anew each time it runs.
    pub(super) fn symbol_unit(&self, symbol: SymbolId) -> NodeId {
        let scope = self.scoping().symbol_scope_id(symbol);
        self.unit(self.scoping().get_node_id(scope))
    }

    pub(super) fn is_top_level(&self, symbol: SymbolId) -> bool {
        self.scoping().symbol_scope_id(symbol) == self.scoping().root_scope_id()
    }

    pub(super) fn references(&self, symbol: SymbolId) -> impl Iterator<Item = &'s Reference> + use<'s> {
        self.scoping().get_resolved_references(symbol)
    }

    /// The symbol that an identifier stands for; none for a global.
    pub(super) fn symbol_of(&self, expression: &Expression<'_>) -> Option<SymbolId> {
        let identifier = expression.get_identifier_reference()?;
        self.scoping().get_reference(identifier.reference_id.get()?).symbol_id()
    }

    /// The name of a global that no declaration of the script hides.
    pub(super) fn global_name<'e>(&self, expression: &'e Expression<'a>) -> Option<&'e str> {
        let identifier = expression.get_identifier_reference()?;
        let reference = identifier.reference_id.get()?;
        self.scoping().get_reference(reference).symbol_id().is_none().then(|| identifier.name.as_str())
    }

    pub(super) fn place(&self, span: Span) -> Place {
        self.lines.place(self.offset(span))
    }

    pub(super) fn finding(&self, code: &'static str, binding: &str, span: Span, message: String) -> StateFinding {
        let place = self.place(span);
        StateFinding {
            code,
            binding: binding.to_owned(),
            line: place.line,
            column: place.column,
            source_line: self.lines.text(self.offset(span)),
            message,
        }
    }

    fn offset(&self, span: Span) -> usize {
        (span.start as usize).saturating_sub(self.shift)
    }

    /// A name for a class: its own, or that of the variable it is put in.
    pub(super) fn class_name(&self, class: NodeId) -> &'a str {
        let AstKind::Class(node) = self.kind(class) else { return "class" };
        if let Some(name) = node.name() {
            return name.as_str();
        }
        match self.nodes().parent_kind(class) {
            AstKind::VariableDeclarator(declarator) => {
                declarator.id.get_identifier_name().map_or("class", |name| name.as_str())
            }
            _ => "class",
        }
    }

    /// What runs when a class is instantiated: its constructor and its instance fields.
    pub(super) fn class_units(&self, class: NodeId) -> Vec<NodeId> {
        let AstKind::Class(node) = self.kind(class) else { return Vec::new() };
        node.body
            .body
            .iter()
            .filter_map(|element| match element {
                ClassElement::MethodDefinition(method) if method.kind == MethodDefinitionKind::Constructor => {
                    Some(method.value.node_id.get())
                }
                ClassElement::PropertyDefinition(field) if !field.r#static && field.value.is_some() => {
                    Some(field.node_id.get())
                }
                ClassElement::AccessorProperty(field) if !field.r#static && field.value.is_some() => {
                    Some(field.node_id.get())
                }
                _ => None,
            })
            .collect()
    }

    /// Whether the thing that a reference or member expression names is changed there: assigned, updated, deleted, or a part of it.
    pub(super) fn is_changed(&self, id: NodeId) -> bool {
        let (target, member) = self.member_top(id);
        let at = self.kind(target).span();
        match self.nodes().parent_kind(target) {
            AstKind::AssignmentExpression(assignment) => assignment.left.span() == at,
            AstKind::UpdateExpression(_) => true,
            AstKind::UnaryExpression(unary) => member && unary.operator == oxc_syntax::operator::UnaryOperator::Delete,
            AstKind::ForInStatement(each) => each.left.span() == at,
            AstKind::ForOfStatement(each) => each.left.span() == at,
            AstKind::ArrayAssignmentTarget(_)
            | AstKind::AssignmentTargetRest(_)
            | AstKind::AssignmentTargetPropertyIdentifier(_) => true,
            AstKind::AssignmentTargetWithDefault(target) => target.binding.span() == at,
            AstKind::AssignmentTargetPropertyProperty(property) => property.binding.span() == at,
            _ => false,
        }
    }

    /// The method's name, when a node is the object of a method call.
    pub(super) fn method_called_on(&self, id: NodeId) -> Option<&'a str> {
        let member = self.parent(id);
        let (AstKind::StaticMemberExpression(access), AstKind::CallExpression(call)) =
            (self.kind(member), self.nodes().parent_kind(member))
        else {
            return None;
        };
        (access.object.span() == self.kind(id).span() && call.callee.span() == access.span)
            .then(|| access.property.name.as_str())
    }

    /// The outermost member expression that reaches into a node, and whether there is one.
    fn member_top(&self, id: NodeId) -> (NodeId, bool) {
        let mut at = id;
        loop {
            let parent = self.parent(at);
            let inside = match self.kind(parent) {
                AstKind::StaticMemberExpression(member) => &member.object,
                AstKind::ComputedMemberExpression(member) => &member.object,
                AstKind::PrivateFieldExpression(member) => &member.object,
                _ => return (at, at != id),
            };
            if inside.span() != self.kind(at).span() {
                return (at, at != id);
            }
            at = parent;
        }
    }
}

/// Whether a node is the value of the instance field `parent`.
fn is_field_value(parent: AstKind<'_>, node: AstKind<'_>) -> bool {
    let (is_static, value) = match parent {
        AstKind::PropertyDefinition(field) => (field.r#static, &field.value),
        AstKind::AccessorProperty(field) => (field.r#static, &field.value),
        _ => return false,
    };
    !is_static && value.as_ref().is_some_and(|value| value.span() == node.span())
}

/// The name of the method that a call goes to.
pub(super) fn method_name<'a>(call: &CallExpression<'a>) -> Option<&'a str> {
    match &call.callee {
        Expression::StaticMemberExpression(member) => Some(member.property.name.as_str()),
        _ => None,
    }
}
