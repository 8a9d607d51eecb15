//! Spans and events: their names, fields and parents, as a subscriber sees them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use jsmill::{Priority, Script};
use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::support::{engine, eventually, in_child};

type Fields = BTreeMap<String, String>;

#[derive(Default)]
struct Seen {
    spans: BTreeMap<u64, Span>,
    events: Vec<(String, Fields)>,
}

#[derive(Clone, Debug, Default)]
struct Span {
    name: String,
    target: String,
    parent: Option<u64>,
    fields: Fields,
}

#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Seen>>);

struct Into<'a>(&'a mut Fields);

impl Visit for Into<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Capture {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        if !metadata.target().starts_with("jsmill") {
            return;
        }
        let parent = context.span(id).and_then(|span| span.parent().map(|parent| parent.id().into_u64()));
        let mut span =
            Span { name: metadata.name().into(), target: metadata.target().into(), parent, fields: Fields::new() };
        attributes.record(&mut Into(&mut span.fields));
        self.0.lock().spans.insert(id.into_u64(), span);
    }
    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        if let Some(span) = self.0.lock().spans.get_mut(&id.into_u64()) {
            values.record(&mut Into(&mut span.fields));
        }
    }
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut fields = Fields::from([("level".to_owned(), event.metadata().level().to_string())]);
        event.record(&mut Into(&mut fields));
        self.0.lock().events.push((event.metadata().target().to_owned(), fields));
    }
}

#[test]
fn each_call_has_a_span_and_its_slice_one_below() {
    in_child("observe::spans::each_call_has_a_span_and_its_slice_one_below", || {
        let capture = Capture::default();
        // Identifiers of spans are used again when one is closed; a span that is held keeps its own.
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(capture.clone()))
            .expect("the first");
        let engine = engine();
        let script = Script::builder("span.js")
            .source("const main = () => { console.warn('careful', 1); return 1; }; const spin = () => { for (;;); };")
            .version("v7")
            .build()
            .unwrap();
        let take = |function: &str, outcome: &str| {
            let mut found = (Span::default(), Span::default());
            eventually("both spans are there", || {
                let seen = capture.0.lock();
                let call = seen.spans.iter().find(|(_, span)| {
                    span.name == "call" && span.fields.get("task").is_some_and(|task| task == function)
                });
                let Some((id, call)) = call else { return false };
                let slice = seen.spans.values().find(|span| {
                    span.name == "slice" && span.parent == Some(*id) && span.fields.contains_key("outcome")
                });
                let Some(slice) = slice else { return false };
                found = (call.clone(), slice.clone());
                slice.fields["outcome"] == outcome
            });
            capture.0.lock().spans.clear();
            found
        };

        engine.task(&script).priority(Priority::Critical).call_blocking::<u32>("main", ()).unwrap();
        let (call, slice) = take("main", "done");
        let fields = |list: &[(&str, &str)]| -> Fields {
            list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        assert_eq!(
            call.fields,
            fields(&[("script", "span.js"), ("version", "v7"), ("task", "main"), ("priority", "critical")])
        );
        assert_eq!((call.target.as_str(), slice.target.as_str()), ("jsmill", "jsmill"));
        assert_eq!(
            slice.fields.keys().map(String::as_str).collect::<Vec<_>>(),
            ["cached", "cpu_us", "outcome", "queue_us", "worker"]
        );
        assert_eq!((slice.fields["cached"].as_str(), slice.fields["worker"].as_str()), ("false", "0"));
        assert!(
            slice.fields["queue_us"].parse::<u64>().is_ok() && slice.fields["cpu_us"].parse::<u64>().is_ok(),
            "{slice:?}"
        );

        engine.task(&script).call_blocking::<u32>("main", ()).unwrap();
        let (call, slice) = take("main", "done");
        assert_eq!((call.fields["priority"].as_str(), slice.fields["cached"].as_str()), ("normal", "true"));

        engine.task(&script).timeout(Duration::from_millis(30)).call_blocking::<u32>("spin", ()).unwrap_err();
        take("spin", "slice_timeout");

        let events = capture.0.lock();
        let logged: Vec<_> = events
            .events
            .iter()
            .filter(|(target, _)| target == "jsmill::console")
            .map(|(_, fields)| fields.clone())
            .collect();
        let line = fields(&[("level", "WARN"), ("message", "careful 1"), ("script", "span.js"), ("line", "1")]);
        assert_eq!(logged, [line.clone(), line]);
    });
}

#[test]
fn a_panic_of_the_host_goes_to_the_log_and_not_to_the_script() {
    use jsmill::{Composition, HostError, OneOff, Result, Scope, Task};
    struct Panics(Arc<Script>);
    impl Task for Panics {
        fn script(&self) -> &Arc<Script> {
            &self.0
        }
        fn initialize(&self, scope: &mut Scope<'_, '_, '_>) -> Result<()> {
            scope.define_function("boom", || -> Result<(), HostError> { panic!("internal secret") })
        }
    }
    impl OneOff for Panics {
        type Output = String;
        fn run(&self, scope: &mut Scope<'_, '_, '_>) -> Result<String> {
            let main = scope.function("main")?;
            let result = scope.call(main, &[])?;
            scope.from_js(result)
        }
    }
    in_child("observe::spans::a_panic_of_the_host_goes_to_the_log_and_not_to_the_script", || {
        let capture = Capture::default();
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(capture.clone()))
            .expect("the first");
        let engine = engine();
        let script =
            Script::new("p.js", "const main = () => { try { boom(); } catch (e) { return String(e); } };").unwrap();
        let error = engine.run_blocking(Composition::new(Panics(script)).one_off()).unwrap_err();
        assert!(matches!(error.kind(), jsmill::ErrorKind::HostPanicked { .. }), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        let seen = capture.0.lock();
        let logged = seen.events.iter().any(|(target, fields)| {
            target == "jsmill"
                && fields["level"] == "ERROR"
                && fields.values().any(|text| text.contains("internal secret"))
        });
        assert!(logged, "{:?}", seen.events);
    });
}
