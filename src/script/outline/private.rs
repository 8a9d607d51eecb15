//! Findings about private fields, which neither freezing nor a look at an object can reach.
//!
//! A private static field is as good as a variable of the class. A private instance field counts where an object of its class is
//! made while loading and kept.

use oxc_ast::AstKind;
use oxc_ast::ast::{ClassElement, Expression, MethodDefinitionKind, PropertyKey};
use oxc_semantic::NodeId;
use oxc_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use super::StateFinding;
use super::container::container_of;
use super::facts::Facts;
use super::flow::Flow;
use super::load::Load;

/// A private field, as its class declares it.
struct Field {
    class: NodeId,
    is_static: bool,
    holds: Holds,
}

#[derive(Clone, Copy)]
enum Holds {
    Array,
    Container(super::container::Container),
    Other,
}

pub(super) fn find<'a>(facts: &Facts<'_, 'a>, load: &Load<'_, '_, 'a>) -> Vec<StateFinding> {
    let fields = fields(facts);
    let mut found = Vec::new();
    let mut by_class: FxHashMap<NodeId, Vec<(&'a str, Span)>> = FxHashMap::default();
    if fields.is_empty() {
        return found;
    }
    for (id, node) in facts.nodes().iter_enumerated() {
        let AstKind::PrivateFieldExpression(access) = node.kind() else { continue };
        let name = access.field.name.as_str();
        let Some(field) = declaring(facts, &fields, id, name) else { continue };
        let unit = facts.unit(id);
        if !load.runs(facts.unit(field.class)) || !changes(facts, id, field.holds) {
            continue;
        }
        if field.is_static {
            if !load.only(unit) {
                found.push(static_finding(facts, field.class, name, access.span));
            }
        } else if !makes_object(facts, unit, field.class) {
            by_class.entry(field.class).or_default().push((name, access.span));
        }
    }
    if by_class.is_empty() {
        return found;
    }
    for (class, made_at) in kept_classes(facts, load) {
        for (name, span) in by_class.remove(&class).into_iter().flatten() {
            let class_name = facts.class_name(class);
            let line = facts.place(made_at).line;
            let binding = format!("{class_name}.#{name}");
            let message = format!(
                "the private field `#{name}` of `{class_name}` is changed by a method, and line {line} makes an object of that class while the \
                 script loads, so one run would see what another left; make the object in the function that runs, or ask for \
                 `Isolation::Shared`"
            );
            found.push(facts.finding("private", &binding, span, message));
        }
    }
    found
}

fn static_finding(facts: &Facts<'_, '_>, class: NodeId, name: &str, span: Span) -> StateFinding {
    let class_name = facts.class_name(class);
    let message = format!(
        "the private static field `#{name}` of `{class_name}` is changed in a function, so one run would see what another left; keep the value \
         in the function that runs, or ask for `Isolation::Shared`"
    );
    facts.finding("reassigned", &format!("{class_name}.#{name}"), span, message)
}

fn fields<'a>(facts: &Facts<'_, 'a>) -> FxHashMap<(NodeId, &'a str), Field> {
    let mut fields = FxHashMap::default();
    for (id, node) in facts.nodes().iter_enumerated() {
        let AstKind::Class(class) = node.kind() else { continue };
        for element in &class.body.body {
            let (key, is_static, value) = match element {
                ClassElement::PropertyDefinition(field) => (&field.key, field.r#static, &field.value),
                ClassElement::AccessorProperty(field) => (&field.key, field.r#static, &field.value),
                _ => continue,
            };
            if let PropertyKey::PrivateIdentifier(name) = key {
                let holds = value.as_ref().map_or(Holds::Other, |value| match value {
                    Expression::ArrayExpression(_) => Holds::Array,
                    value => container_of(facts, value).map_or(Holds::Other, Holds::Container),
                });
                fields.insert((id, name.name.as_str()), Field { class: id, is_static, holds });
            }
        }
    }
    fields
}

/// The field that a private name stands for at a node: that of the innermost class that declares it.
fn declaring<'m, 'a>(
    facts: &Facts<'_, 'a>,
    fields: &'m FxHashMap<(NodeId, &'a str), Field>,
    id: NodeId,
    name: &'a str,
) -> Option<&'m Field> {
    let mut class = facts.class(id);
    while let Some(at) = class {
        if let Some(field) = fields.get(&(at, name)) {
            return Some(field);
        }
        class = facts.class(facts.parent(at));
    }
    None
}

fn changes(facts: &Facts<'_, '_>, id: NodeId, holds: Holds) -> bool {
    facts.is_changed(id)
        || facts.method_called_on(id).is_some_and(|method| match holds {
            Holds::Array => matches!(
                method,
                "push" | "pop" | "shift" | "unshift" | "splice" | "sort" | "reverse" | "fill" | "copyWithin"
            ),
            Holds::Container(container) => container.changes(method),
            Holds::Other => false,
        })
}

/// Whether a unit is the constructor or a field initialiser of a class.
fn makes_object(facts: &Facts<'_, '_>, unit: NodeId, class: NodeId) -> bool {
    let own = match facts.kind(unit) {
        AstKind::PropertyDefinition(_) | AstKind::AccessorProperty(_) => true,
        _ => {
            matches!(facts.nodes().parent_kind(unit), AstKind::MethodDefinition(method) if method.kind == MethodDefinitionKind::Constructor)
        }
    };
    own && facts.class(unit) == Some(class)
}

/// The classes of which an object is made while loading and kept, parents included, with the place of the first.
fn kept_classes<'a>(facts: &Facts<'_, 'a>, load: &Load<'_, '_, 'a>) -> Vec<(NodeId, Span)> {
    let mut seen = FxHashSet::default();
    let mut kept = Vec::new();
    let mut flow = None;
    for (id, node) in facts.nodes().iter_enumerated() {
        let AstKind::NewExpression(new) = node.kind() else { continue };
        if !load.runs(facts.unit(id)) {
            continue;
        }
        let mut classes = load.callees(&new.callee).classes;
        if classes.is_empty() || !flow.get_or_insert_with(|| Flow::new(facts)).keeps(id) {
            continue;
        }
        while let Some(class) = classes.pop() {
            if seen.insert(class) {
                kept.push((class, new.span));
                classes.extend(load.parents_of(class));
            }
        }
    }
    kept
}
