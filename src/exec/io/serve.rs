//! What `js/io.js` calls: the services behind the one native function, each of which gives a promise.

use std::future::Future;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use super::files::{self, File};
use super::grants::{Mode, granted};
use super::handles::{Resource, Side};
use super::lines::text;
use super::sockets::{Listener, Socket};
use super::{Answer, Fault, Io};
use crate::channel::Blocking;
use crate::exec::{OpId, Ops, Outcome, TaskId};
use crate::vm::HostError;

/// The services, as `js/io.js` numbers them.
const OPEN: u32 = 0;
const LISTEN: u32 = 1;
const CONNECT: u32 = 2;
const ACCEPT: u32 = 3;
const READ: u32 = 4;
const TEXT: u32 = 5;
const LINE: u32 = 6;
const WRITE: u32 = 7;
const CLOSE: u32 = 8;
const ADDRESS: u32 = 9;

/// How an operation goes on after its begin: settled already, or to be settled later.
enum Begun<'s> {
    Now(Answer),
    Later(v8::Local<'s, v8::Promise>),
}

type Beginning<'s> = Result<Begun<'s>, Fault>;

/// One call of the native function. An error of the script's is a promise that is rejected, but for what gives no promise.
pub(in crate::exec) fn serve<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    ops: &Ops,
    service: u32,
    arguments: &v8::FunctionCallbackArguments<'s>,
) -> Result<v8::Local<'s, v8::Value>, HostError> {
    let answer = match begin(scope, ops, service, arguments) {
        Ok(Begun::Later(promise)) => return Ok(promise.into()),
        Ok(Begun::Now(answer)) => Ok(answer),
        Err(fault) => Err(fault),
    };
    if service == ADDRESS {
        return Ok(match ops.io.value(scope, ops.current(), answer) {
            Ok(value) => value,
            Err(exception) => {
                if let Some(exception) = exception {
                    scope.throw_exception(exception);
                }
                v8::undefined(scope).into()
            }
        });
    }
    let Some(resolver) = v8::PromiseResolver::new(scope) else {
        return Err(HostError::new("the run is being stopped"));
    };
    ops.resolve(scope, resolver, Some(Outcome::Io(answer)));
    Ok(resolver.get_promise(scope).into())
}

fn begin<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    ops: &Ops,
    service: u32,
    arguments: &v8::FunctionCallbackArguments<'s>,
) -> Beginning<'s> {
    let Some(task) = ops.current() else {
        return Err(Fault::new(
            "there are no files and sockets while a script is loaded: call this inside of a function",
        ));
    };
    let io = ops.io.grant();
    let io = granted(io.as_ref())?;
    let (first, second) = (arguments.get(1), arguments.get(2));
    let run = Run { ops, io, task };
    match service {
        OPEN => {
            let path = string(scope, first, "io.open: the path")?;
            let mode = string(scope, second, "io.open: the mode")?;
            run.open(scope, path, &mode)
        }
        LISTEN => {
            let address = string(scope, first, "io.listen: the address")?;
            run.listen(scope, &address)
        }
        CONNECT => {
            let address = string(scope, first, "io.connect: the address")?;
            run.connect(scope, &address)
        }
        _ => {
            let number = first.number_value(scope).filter(|number| *number >= 0.0);
            let number = number.ok_or_else(|| Fault::argument("a handle is expected".into()))? as u64;
            match service {
                ACCEPT => run.accept(scope, number),
                READ => run.read(scope, number, second),
                TEXT => run.text(scope, number),
                LINE => run.line(scope, number),
                WRITE => run.write(scope, number, second),
                CLOSE => run.close(scope, number),
                ADDRESS => run.address(number),
                _ => Err(Fault::argument("there is no such service".into())),
            }
        }
    }
}

/// The run whose slice goes on.
struct Run<'r> {
    ops: &'r Ops,
    io: &'r Io,
    task: TaskId,
}

impl Run<'_> {
    fn open<'s>(&self, scope: &mut v8::PinScope<'s, '_>, path: String, mode: &str) -> Beginning<'s> {
        let mode = Mode::from_str(mode)?;
        let directory = self.io.directory(&path, mode)?;
        self.check_room()?;
        let pool = self.ops.io.pool.clone();
        let its_pool = pool.clone();
        let open = move || File::open(&directory, &path, mode, its_pool);
        self.later(scope, async move {
            match pool.run(open) {
                Ok(opening) => done(opening).await.map(|file| Answer::Opened(Resource::File(file))),
                Err(error) => Err(Fault::new(error.to_string())),
            }
        })
    }

    fn listen<'s>(&self, scope: &mut v8::PinScope<'s, '_>, address: &str) -> Beginning<'s> {
        let target = self.io.listening(address)?;
        self.check_room()?;
        let ip = target.ip().ok_or_else(|| Fault::argument("io.listen: an IP address is expected".into()))?;
        let address = SocketAddr::new(ip, target.port);
        self.later(scope, async move { Ok(Answer::Opened(Resource::Listener(Listener::bind(address)?))) })
    }

    fn connect<'s>(&self, scope: &mut v8::PinScope<'s, '_>, address: &str) -> Beginning<'s> {
        let target = self.io.connecting(address)?;
        self.check_room()?;
        let pool = self.ops.io.pool.clone();
        self.later(scope, async move {
            let addresses = match target.ip() {
                Some(ip) => vec![SocketAddr::new(ip, target.port)],
                None => {
                    let name = (target.host(), target.port);
                    // The system's resolver blocks.
                    let resolve = move || {
                        let found = name.to_socket_addrs().map(Iterator::collect);
                        found.map_err(|error| Fault::system(format_args!("io.connect: `{}`", name.0), &error))
                    };
                    done(pool.run(resolve).map_err(|error| Fault::new(error.to_string()))?).await?
                }
            };
            Ok(Answer::Opened(Resource::Socket(Socket::connect(&target, &addresses).await?)))
        })
    }

    fn accept<'s>(&self, scope: &mut v8::PinScope<'s, '_>, number: u64) -> Beginning<'s> {
        let Resource::Listener(listener) = self.take_side(number, Side::Read)? else {
            return Err(wrong("accepts clients"));
        };
        self.check_room()?;
        if self.ops.io.may_go_on()
            && let Some(accepted) = listener.accept_at_once()
        {
            return Ok(Begun::Now(Answer::Opened(Resource::Socket(accepted?))));
        }
        self.later_on(scope, number, Side::Read, async move {
            Ok(Answer::Opened(Resource::Socket(listener.accept().await?)))
        })
    }

    fn read<'s>(&self, scope: &mut v8::PinScope<'s, '_>, number: u64, size: v8::Local<'s, v8::Value>) -> Beginning<'s> {
        let resource = self.take_side(number, Side::Read)?;
        let most = self.size(scope, size)?;
        let at_once = self.ops.io.may_go_on();
        match resource {
            Resource::File(file) => {
                file.check(false)?;
                if at_once && let Some(bytes) = file.read_at_once(most) {
                    return Ok(Begun::Now(Answer::Bytes(bytes)));
                }
                self.blocking(scope, number, Side::Read, move || match file.read_at_once(most) {
                    Some(bytes) => Ok(Answer::Bytes(bytes)),
                    None => file.read(most).map(bytes_or_end),
                })
            }
            Resource::Socket(socket) => {
                if at_once && let Some(read) = socket.read_at_once(most) {
                    return Ok(Begun::Now(bytes_or_end(read?)));
                }
                self.later_on(scope, number, Side::Read, async move { Ok(bytes_or_end(socket.read(most).await?)) })
            }
            Resource::Listener(_) => Err(wrong("is read")),
        }
    }

    fn text<'s>(&self, scope: &mut v8::PinScope<'s, '_>, number: u64) -> Beginning<'s> {
        let most = self.io.max_read();
        match self.take_side(number, Side::Read)? {
            Resource::File(file) => {
                file.check(false)?;
                self.blocking(scope, number, Side::Read, move || file.read_text(most).map(Answer::Text))
            }
            Resource::Socket(socket) => self.later_on(scope, number, Side::Read, async move {
                let all = socket.read_all(most).await?;
                text(all, "the text", most).map(Answer::Text)
            }),
            Resource::Listener(_) => Err(wrong("is read")),
        }
    }

    fn line<'s>(&self, scope: &mut v8::PinScope<'s, '_>, number: u64) -> Beginning<'s> {
        let most = self.io.max_read();
        let resource = self.take_side(number, Side::Read)?;
        let arrived = match &resource {
            _ if !self.ops.io.may_go_on() => None,
            Resource::File(file) => file.line_at_once(most)?,
            Resource::Socket(socket) => socket.line_at_once(most)?,
            Resource::Listener(_) => None,
        };
        if let Some(line) = arrived {
            return Ok(Begun::Now(Answer::Text(line)));
        }
        match resource {
            Resource::File(file) => {
                file.check(false)?;
                self.blocking(scope, number, Side::Read, move || Ok(text_or_end(file.line(most)?)))
            }
            Resource::Socket(socket) => {
                self.later_on(scope, number, Side::Read, async move { Ok(text_or_end(socket.line(most).await?)) })
            }
            Resource::Listener(_) => Err(wrong("is read")),
        }
    }

    fn write<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        number: u64,
        data: v8::Local<'s, v8::Value>,
    ) -> Beginning<'s> {
        let resource = self.take_side(number, Side::Write)?;
        let mut bytes = content(scope, data)?;
        let length = bytes.len();
        match resource {
            Resource::File(file) => {
                file.check(true)?;
                self.blocking(scope, number, Side::Write, move || {
                    file.write(&bytes)?;
                    Ok(Answer::Count(length))
                })
            }
            Resource::Socket(socket) => {
                if self.ops.io.may_go_on() {
                    let done = socket.write_at_once(&bytes)?;
                    if done == bytes.len() {
                        return Ok(Begun::Now(Answer::Count(length)));
                    }
                    bytes.drain(..done);
                }
                self.later_on(scope, number, Side::Write, async move {
                    socket.write(&bytes).await?;
                    Ok(Answer::Count(length))
                })
            }
            Resource::Listener(_) => Err(wrong("is written to")),
        }
    }

    /// What is pending on the handle is rejected.
    fn close<'s>(&self, scope: &mut v8::PinScope<'s, '_>, number: u64) -> Beginning<'s> {
        let Some((resource, pending)) = self.ops.io.handles.remove(self.task, number)? else {
            return Ok(Begun::Now(Answer::Done));
        };
        for op in pending {
            self.ops.give_up(scope, op, Fault::new("the handle was closed meanwhile").with_code("EBADF"));
        }
        match resource {
            Resource::File(file) => {
                let pool = self.ops.io.pool.clone();
                self.later(scope, async move {
                    match pool.run(move || file.close()) {
                        Ok(closing) => closing.await.map_or_else(|| Err(gone()), |()| Ok(Answer::Done)),
                        Err(error) => Err(Fault::new(error.to_string())),
                    }
                })
            }
            Resource::Socket(_) | Resource::Listener(_) => Ok(Begun::Now(Answer::Done)),
        }
    }

    fn address<'s>(&self, number: u64) -> Beginning<'s> {
        let address = match self.ops.io.handles.get(self.task, number, Side::Read)?.0 {
            Resource::Socket(socket) => socket.peer(),
            Resource::Listener(listener) => listener.local,
            Resource::File(_) => return Err(wrong("has an address")),
        };
        Ok(Begun::Now(Answer::Text(address.to_string())))
    }

    fn check_room(&self) -> Result<(), Fault> {
        self.ops.io.handles.check_room(self.task, self.io.max_handles())
    }

    /// What a handle stands for, unless something is under way on that side of it.
    fn take_side(&self, number: u64, side: Side) -> Result<Resource, Fault> {
        let (resource, op) = self.ops.io.handles.get(self.task, number, side)?;
        if self.ops.is_pending(op) {
            let what = if side == Side::Read { "a read or an accept" } else { "a write" };
            return Err(Fault::new(format!("{what} on this handle is still pending: await it first")));
        }
        Ok(resource)
    }

    fn size(&self, scope: &mut v8::PinScope<'_, '_>, size: v8::Local<'_, v8::Value>) -> Result<usize, Fault> {
        let most = self.io.max_read();
        if size.is_undefined() {
            return Ok(files::CHUNK.min(most.as_usize()));
        }
        match size.number_value(scope) {
            Some(number) if size.is_number() && number >= 1.0 && number.fract() == 0.0 => {
                if number <= most.as_usize() as f64 { Ok(number as usize) } else { Err(files::too_large(most)) }
            }
            _ => Err(Fault::argument("read: the size has to be a whole number from 1 on".into())),
        }
    }

    fn later<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        future: impl Future<Output = Result<Answer, Fault>> + Send + 'static,
    ) -> Beginning<'s> {
        Ok(Begun::Later(self.spawn(scope, future)?.1))
    }

    /// The same for a side of a handle.
    fn later_on<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        number: u64,
        side: Side,
        future: impl Future<Output = Result<Answer, Fault>> + Send + 'static,
    ) -> Beginning<'s> {
        let (op, promise) = self.spawn(scope, future)?;
        self.ops.io.handles.begun(number, side, op);
        Ok(Begun::Later(promise))
    }

    /// The same, by a call that blocks.
    fn blocking<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        number: u64,
        side: Side,
        call: impl FnOnce() -> Result<Answer, Fault> + Send + 'static,
    ) -> Beginning<'s> {
        let called = self.ops.io.pool.run(call).map_err(|error| Fault::new(error.to_string()))?;
        self.later_on(scope, number, side, done(called))
    }

    fn spawn<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        future: impl Future<Output = Result<Answer, Fault>> + Send + 'static,
    ) -> Result<(OpId, v8::Local<'s, v8::Promise>), Fault> {
        Ok(self.ops.spawn(scope, &self.ops.io.name, async move { Outcome::Io(future.await) })?)
    }
}

/// What a call that blocks has brought.
async fn done<T>(called: Blocking<Result<T, Fault>>) -> Result<T, Fault> {
    called.await.unwrap_or_else(|| Err(gone()))
}

fn gone() -> Fault {
    Fault::new("the engine has ended before the operation had")
}

fn wrong(what: &str) -> Fault {
    Fault::argument(format!("this is no handle that {what}"))
}

fn bytes_or_end(read: Option<Vec<u8>>) -> Answer {
    read.map_or(Answer::End, Answer::Bytes)
}

fn text_or_end(line: Option<String>) -> Answer {
    line.map_or(Answer::End, Answer::Text)
}

fn string(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>, what: &str) -> Result<String, Fault> {
    match v8::Local::<v8::String>::try_from(value) {
        Ok(text) => Ok(text.to_rust_string_lossy(scope)),
        Err(_) => Err(Fault::argument(format!("{what} has to be a string"))),
    }
}

/// The bytes that a script wants to write: a string as UTF-8, or what a view of a buffer shows.
fn content(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> Result<Vec<u8>, Fault> {
    if let Ok(text) = v8::Local::<v8::String>::try_from(value) {
        return Ok(text.to_rust_string_lossy(scope).into_bytes());
    }
    let view = v8::Local::<v8::ArrayBufferView>::try_from(value)
        .map_err(|_| Fault::argument("write: a string or a Uint8Array is expected".into()))?;
    let mut bytes = vec![0; view.byte_length()];
    let copied = view.copy_contents(&mut bytes);
    bytes.truncate(copied);
    Ok(bytes)
}
