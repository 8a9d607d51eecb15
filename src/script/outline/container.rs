//! Findings about values that freezing does not stop, where the text shows that the top level keeps one: maps, sets, dates, typed
//! arrays and the like, regular expressions that remember where they stopped, and generators.
//!
//! The engine refuses the same values when it meets them after loading; finding them in the text gives the position, and covers
//! private static fields, which it cannot see.

use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument, ArrayExpressionElement, AssignmentTarget, BindingPattern, ChainElement, Expression, ObjectPropertyKind,
    RegExpFlags,
};
use oxc_span::GetSpan;

use super::StateFinding;
use super::facts::Facts;
use super::flow::is_freeze;
use super::load::Load;

/// A value that can be changed although it is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// An object of this built-in class.
    Object(&'static str),
    /// A regular expression with the flag `g` or `y`.
    RegExp,
}

const CLASSES: &[&str] = &[
    "Map",
    "Set",
    "WeakMap",
    "WeakSet",
    "WeakRef",
    "FinalizationRegistry",
    "Date",
    "ArrayBuffer",
    "SharedArrayBuffer",
    "DataView",
    "Int8Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "Int16Array",
    "Uint16Array",
    "Int32Array",
    "Uint32Array",
    "BigInt64Array",
    "BigUint64Array",
    "Float16Array",
    "Float32Array",
    "Float64Array",
    "DisposableStack",
    "AsyncDisposableStack",
];

impl Container {
    /// Whether a method of the container changes it.
    pub(super) fn changes(self, method: &str) -> bool {
        match self {
            Self::RegExp => matches!(method, "exec" | "test"),
            Self::Object(_) => {
                method.starts_with("set")
                    || method.starts_with("getOrInsert")
                    || matches!(
                        method,
                        "add"
                            | "delete"
                            | "clear"
                            | "fill"
                            | "copyWithin"
                            | "sort"
                            | "reverse"
                            | "resize"
                            | "transfer"
                            | "use"
                            | "defer"
                            | "adopt"
                            | "register"
                    )
            }
        }
    }

    fn advice(self) -> String {
        match self {
            Self::Object("Date") => "a `Date`, which cannot be frozen; keep the number of milliseconds".to_owned(),
            Self::Object(class @ ("Map" | "WeakMap")) => {
                format!("a `{class}`, which cannot be frozen; use a plain object")
            }
            Self::Object(class @ ("Set" | "WeakSet")) => {
                format!("a `{class}`, which cannot be frozen; use a plain object or an array")
            }
            Self::Object(class) => format!("a `{class}`, which cannot be frozen; use a plain array"),
            Self::RegExp => {
                "a regular expression with the flag `g` or `y`, which remembers where it stopped; drop the flag"
                    .to_owned()
            }
        }
    }
}

pub(super) fn find<'a>(facts: &Facts<'_, 'a>, load: &Load<'_, '_, 'a>) -> Vec<StateFinding> {
    let mut found = Vec::new();
    for (id, node) in facts.nodes().iter_enumerated() {
        if !load.only(facts.unit(id)) {
            continue;
        }
        match node.kind() {
            AstKind::VariableDeclarator(declarator) => {
                let Some(name) = first_name(&declarator.id) else { continue };
                if name.symbol_id.get().is_some_and(|symbol| facts.is_top_level(symbol))
                    && let Some(init) = &declarator.init
                {
                    inspect(facts, name.name.as_str(), init, &mut found);
                }
            }
            AstKind::AssignmentExpression(assignment) => {
                let AssignmentTarget::AssignmentTargetIdentifier(name) = &assignment.left else { continue };
                let symbol =
                    name.reference_id.get().and_then(|reference| facts.scoping().get_reference(reference).symbol_id());
                if symbol.is_some_and(|symbol| facts.is_top_level(symbol)) {
                    inspect(facts, name.name.as_str(), &assignment.right, &mut found);
                }
            }
            AstKind::PropertyDefinition(field) if field.r#static => {
                let (Some(value), Some(class)) = (&field.value, facts.class(id)) else { continue };
                let key = field.key.span().source_text(facts.nodes().program().source_text);
                inspect(facts, &format!("{}.{key}", facts.class_name(class)), value, &mut found);
            }
            AstKind::ExportDefaultDeclaration(export) => {
                if let Some(value) = export.declaration.as_expression() {
                    inspect(facts, "default", value, &mut found);
                }
            }
            _ => {}
        }
    }
    found
}

fn first_name<'p, 'a>(pattern: &'p BindingPattern<'a>) -> Option<&'p oxc_ast::ast::BindingIdentifier<'a>> {
    match pattern {
        BindingPattern::BindingIdentifier(name) => Some(name),
        other => other.get_binding_identifiers().into_iter().next(),
    }
}

/// Looks at a value and at what it holds.
fn inspect<'a>(facts: &Facts<'_, 'a>, binding: &str, value: &Expression<'a>, found: &mut Vec<StateFinding>) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        if let Some(container) = container_of(facts, value) {
            let message = format!(
                "the top-level binding `{binding}` holds {}, make it in the function that runs, pass it as a value, or ask for `Isolation::Shared`",
                container.advice()
            );
            found.push(facts.finding("container", binding, value.span(), message));
            continue;
        }
        if is_generator_call(facts, value) {
            let message = format!(
                "the top-level binding `{binding}` holds a generator, which moves on with each use; call the generator function in the \
                 function that runs, spread it into an array, or ask for `Isolation::Shared`"
            );
            found.push(facts.finding("generator", binding, value.span(), message));
            continue;
        }
        match value {
            Expression::ArrayExpression(array) => {
                waiting.extend(array.elements.iter().filter_map(ArrayExpressionElement::as_expression))
            }
            Expression::ObjectExpression(object) => {
                waiting.extend(object.properties.iter().filter_map(|property| match property {
                    ObjectPropertyKind::ObjectProperty(property) => Some(&property.value),
                    ObjectPropertyKind::SpreadProperty(_) => None,
                }))
            }
            Expression::ConditionalExpression(either) => waiting.extend([&either.consequent, &either.alternate]),
            Expression::LogicalExpression(either) => waiting.extend([&either.left, &either.right]),
            Expression::SequenceExpression(sequence) => waiting.extend(sequence.expressions.last()),
            Expression::AssignmentExpression(assignment) => waiting.push(&assignment.right),
            Expression::AwaitExpression(wait) => waiting.push(&wait.argument),
            Expression::CallExpression(call) if is_freeze(facts, &call.callee) => {
                waiting.extend(call.arguments.first().and_then(Argument::as_expression));
            }
            _ => {}
        }
    }
}

/// The container that an expression makes.
pub(super) fn container_of<'a>(facts: &Facts<'_, 'a>, value: &Expression<'a>) -> Option<Container> {
    match value {
        Expression::RegExpLiteral(regex) => {
            regex.regex.flags.intersects(RegExpFlags::G | RegExpFlags::Y).then_some(Container::RegExp)
        }
        Expression::NewExpression(new) => made_by(facts, &new.callee, &new.arguments, true),
        Expression::CallExpression(call) => made_by(facts, &call.callee, &call.arguments, false),
        _ => None,
    }
}

fn made_by<'a>(
    facts: &Facts<'_, 'a>,
    callee: &Expression<'a>,
    arguments: &[Argument<'a>],
    is_new: bool,
) -> Option<Container> {
    if let Expression::StaticMemberExpression(member) = callee {
        // `Uint8Array.from`, `Map.groupBy` and the like.
        let class = facts.global_name(&member.object)?;
        let makes =
            !is_new && matches!(member.property.name.as_str(), "from" | "of" | "groupBy" | "fromBase64" | "fromHex");
        return class_named(class).filter(|_| makes).map(Container::Object);
    }
    match facts.global_name(callee)? {
        "RegExp" => match arguments.get(1)?.as_expression()? {
            Expression::StringLiteral(flags) => flags.value.contains(['g', 'y']).then_some(Container::RegExp),
            _ => None,
        },
        class if is_new => class_named(class).map(Container::Object),
        _ => None,
    }
}

fn class_named(name: &str) -> Option<&'static str> {
    CLASSES.iter().copied().find(|&class| class == name)
}

/// Whether an expression calls a generator function of the script.
pub(super) fn is_generator_call<'a>(facts: &Facts<'_, 'a>, value: &Expression<'a>) -> bool {
    let call = match value {
        Expression::CallExpression(call) => call,
        Expression::ChainExpression(chain) => match &chain.expression {
            ChainElement::CallExpression(call) => call,
            _ => return false,
        },
        _ => return false,
    };
    match &call.callee {
        Expression::FunctionExpression(function) => function.generator,
        callee @ Expression::Identifier(_) => {
            let Some(symbol) = facts.symbol_of(callee) else { return false };
            facts.scoping().symbol_declarations(symbol).any(|declaration| match facts.kind(declaration) {
                AstKind::Function(function) => function.generator,
                AstKind::VariableDeclarator(declarator) => {
                    matches!(&declarator.init, Some(Expression::FunctionExpression(function)) if function.generator)
                }
                _ => false,
            })
        }
        _ => false,
    }
}
