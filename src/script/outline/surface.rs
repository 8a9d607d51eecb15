//! What the top level shows to the outside: bindings, exports, imports, functions, and the places of `await`, `import()` and `eval`.

use oxc_ast::AstKind;
use oxc_ast::ast::{ExportDefaultDeclarationKind, Expression, FormalParameters};
use oxc_semantic::{NodeId, SymbolId};
use oxc_span::{GetSpan, Span};
use oxc_syntax::module_record::{ExportExportName, ModuleRecord};

use super::facts::{Facts, PROGRAM};
use super::place::{Place, count};
use super::{Binding, BindingKind, Function, Import, Outline};

pub(super) fn surface<'a>(facts: &Facts<'_, 'a>, record: &ModuleRecord<'a>) -> Outline {
    let mut outline = Outline { exports: exports(record), imports: imports(facts, record), ..Outline::default() };
    for symbol in facts.scoping().symbol_ids().filter(|&symbol| facts.is_top_level(symbol)) {
        let place = facts.place(facts.scoping().symbol_span(symbol));
        let name = facts.scoping().symbol_name(symbol).to_owned();
        outline.functions.extend(function(facts, symbol, &name, place));
        outline.bindings.push(Binding {
            name,
            kind: binding_kind(facts, symbol),
            line: place.line,
            column: place.column,
        });
    }
    for (id, node) in facts.nodes().iter_enumerated() {
        match node.kind() {
            AstKind::ImportExpression(import) => outline.dynamic_imports.push(facts.place(import.span)),
            AstKind::AwaitExpression(wait) => first_await(facts, id, wait.span, &mut outline),
            AstKind::ForOfStatement(each) if each.r#await => first_await(facts, id, each.span, &mut outline),
            AstKind::VariableDeclaration(declaration) if declaration.kind.is_await() => {
                first_await(facts, id, declaration.span, &mut outline)
            }
            AstKind::CallExpression(call) if !call.optional && facts.global_name(&call.callee) == Some("eval") => {
                outline.direct_eval.get_or_insert_with(|| facts.place(call.span));
            }
            AstKind::ExportDefaultDeclaration(export) => {
                outline.functions.extend(default_function(facts, &export.declaration))
            }
            _ => {}
        }
    }
    outline.bindings.sort_by_key(|binding| (binding.line, binding.column));
    outline.functions.sort_by_key(|function| (function.line, function.column));
    outline
}

fn first_await(facts: &Facts<'_, '_>, id: NodeId, span: Span, outline: &mut Outline) {
    if facts.unit(id) == PROGRAM {
        outline.top_level_await.get_or_insert_with(|| facts.place(span));
    }
}

fn binding_kind(facts: &Facts<'_, '_>, symbol: SymbolId) -> BindingKind {
    let flags = facts.scoping().symbol_flags(symbol);
    if flags.is_import() {
        BindingKind::Import
    } else if flags.is_class() {
        BindingKind::Class
    } else if flags.is_function() {
        BindingKind::Function
    } else if flags.is_const_variable() {
        BindingKind::Const
    } else if flags.is_block_scoped() {
        BindingKind::Let
    } else {
        BindingKind::Var
    }
}

fn function(facts: &Facts<'_, '_>, symbol: SymbolId, name: &str, place: Place) -> Option<Function> {
    if facts.references(symbol).any(|reference| reference.is_write()) {
        return None;
    }
    // Of several declarations of one name, the last function is the one that holds.
    facts
        .scoping()
        .symbol_declarations(symbol)
        .filter_map(|declaration| match facts.kind(declaration) {
            AstKind::Function(function) => {
                Some(described(name, place, &function.params, function.r#async, function.generator))
            }
            AstKind::VariableDeclarator(declarator) if declarator.id.is_binding_identifier() => {
                from_expression(declarator.init.as_ref()?, name, place)
            }
            _ => None,
        })
        .last()
}

fn default_function(facts: &Facts<'_, '_>, declaration: &ExportDefaultDeclarationKind<'_>) -> Option<Function> {
    let place = facts.place(declaration.span());
    match declaration {
        ExportDefaultDeclarationKind::FunctionDeclaration(function) if function.id.is_none() => {
            Some(described("default", place, &function.params, function.r#async, function.generator))
        }
        other => from_expression(other.as_expression()?, "default", place),
    }
}

fn from_expression(expression: &Expression<'_>, name: &str, place: Place) -> Option<Function> {
    match expression {
        Expression::ArrowFunctionExpression(arrow) => Some(described(name, place, &arrow.params, arrow.r#async, false)),
        Expression::FunctionExpression(function) => {
            Some(described(name, place, &function.params, function.r#async, function.generator))
        }
        _ => None,
    }
}

fn described(
    name: &str,
    place: Place,
    parameters: &FormalParameters<'_>,
    is_async: bool,
    is_generator: bool,
) -> Function {
    Function {
        name: name.to_owned(),
        length: count(parameters.items.iter().take_while(|parameter| parameter.initializer.is_none()).count()),
        parameters: count(parameters.items.len()),
        has_rest: parameters.rest.is_some(),
        is_async,
        is_generator,
        line: place.line,
        column: place.column,
    }
}

fn exports(record: &ModuleRecord<'_>) -> Vec<String> {
    let mut names: Vec<(u32, String)> = record
        .local_export_entries
        .iter()
        .chain(&record.indirect_export_entries)
        .chain(&record.star_export_entries)
        .filter_map(|entry| match &entry.export_name {
            ExportExportName::Name(name) => Some((name.span.start, name.name.as_str().to_owned())),
            ExportExportName::Default(span) => Some((span.start, "default".to_owned())),
            ExportExportName::Null => None,
        })
        .collect();
    names.sort();
    names.into_iter().map(|(_, name)| name).collect()
}

fn imports(facts: &Facts<'_, '_>, record: &ModuleRecord<'_>) -> Vec<Import> {
    let mut imports: Vec<Import> = record
        .requested_modules
        .iter()
        .flat_map(|(specifier, requests)| requests.iter().map(move |request| (specifier, request.span)))
        .map(|(specifier, span)| {
            let place = facts.place(span);
            Import { specifier: specifier.as_str().to_owned(), line: place.line, column: place.column }
        })
        .collect();
    imports.sort_by_key(|import| (import.line, import.column));
    imports
}
