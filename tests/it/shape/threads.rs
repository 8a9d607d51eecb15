//! Which public types cross threads: checked when this compiles.

use jsmill::*;

/// Has one candidate for a type that is not `Send`, and two, which is an error, for one that is.
trait AmbiguousIfSend<Marker> {
    fn check() {}
}
impl<T: ?Sized> AmbiguousIfSend<()> for T {}
struct IsSend;
impl<T: ?Sized + Send> AmbiguousIfSend<IsSend> for T {}

trait AmbiguousIfSync<Marker> {
    fn check() {}
}
impl<T: ?Sized> AmbiguousIfSync<()> for T {}
struct IsSync;
impl<T: ?Sized + Sync> AmbiguousIfSync<IsSync> for T {}

macro_rules! table {
    ($($type:ty: $send:tt $sync:tt,)*) => {
        #[test]
        fn types_cross_threads_as_the_table_says() {
            fn is_send<T: ?Sized + Send>() {}
            fn is_sync<T: ?Sized + Sync>() {}
            $(table!(@send $send $type); table!(@sync $sync $type);)*
        }
    };
    (@send Send $type:ty) => { is_send::<$type>() };
    (@send NotSend $type:ty) => { <$type as AmbiguousIfSend<_>>::check() };
    (@sync Sync $type:ty) => { is_sync::<$type>() };
    (@sync NotSync $type:ty) => { <$type as AmbiguousIfSync<_>>::check() };
}

/// A result that may be sent and not shared.
type OneThread = std::cell::Cell<u8>;

table! {
    Engine: Send Sync,
    EngineBuilder: Send Sync,
    TaskBuilder<'static>: Send Sync,
    CallFuture<u8>: Send NotSync,
    CallFuture<OneThread>: Send NotSync,
    Prepared<(u8,), u8>: Send Sync,
    Prepared<(OneThread,), OneThread>: Send Sync,
    Rejected<(u8,)>: Send Sync,
    Live<Script>: Send Sync,
    Watch<Script>: Send Sync,
    Script: Send Sync,
    ScriptBuilder: Send Sync,
    Shared<u8>: Send Sync,
    Error: Send Sync,
    ErrorKind: Send Sync,
    ScriptError: Send Sync,
    Finding: Send Sync,
    HostError: Send Sync,
    Caching: Send Sync,
    Limits: Send Sync,
    Policy: Send Sync,
    Priority: Send Sync,
    Bytes: Send Sync,
    Stats: Send Sync,
    WorkerStats: Send Sync,
    LogLine: Send Sync,
    dyn Logger: Send Sync,
    dyn ExceptionHandler: Send Sync,
    dyn Snapshot: Send Sync,
    Composition<Box<u8>, strategy::OneOff, cache::Memory>: Send Sync,
    Scope<'static, 'static, 'static>: NotSend NotSync,
}

#[cfg(feature = "io")]
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Io>();
};

#[test]
fn futures_of_the_engine_can_be_spawned() {
    fn is_send(_: &impl Send) {}
    let engine = crate::support::engine();
    let script = Live::new(crate::support::script("const main = () => 1;"));
    is_send(&engine.task(&script).call::<u8>("main", ()));
    is_send(&engine.prepare::<(), u8>(&script, "main"));
    is_send(&engine.shutdown());
    is_send(&script.store(&engine, script.load()));
    let mut watch = script.watch();
    is_send(&watch.changed());
    fn unpin<T: Unpin>() {}
    unpin::<CallFuture<u8>>();
}
