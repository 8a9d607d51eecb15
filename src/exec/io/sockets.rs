//! Sockets and listeners.
//!
//! Both are the system's own, and do not block. What can be done at once is done on the worker; only what has to wait goes to the runtime,
//! and only from then on does its reactor know the socket. So a socket that never waits costs its descriptor and some 100 bytes.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::io::Interest;
use tokio::net::{TcpSocket, TcpStream};

use super::lines::Received;
use super::rule::Target;
use super::{Fault, files};
use crate::units::Bytes;

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

/// How much is read when a line is looked for.
const CHUNK: usize = 8 * 1024;

/// The system holds hardly more for a socket.
const MOST: usize = 256 * 1024;

/// A connection of the system: of the standard library's type at first, and of tokio's from the first wait on.
#[derive(Debug)]
struct Stream {
    plain: Mutex<Option<std::net::TcpStream>>,
    known: OnceLock<Box<TcpStream>>,
}

impl Stream {
    fn new(plain: std::net::TcpStream) -> Self {
        Stream { plain: Mutex::new(Some(plain)), known: OnceLock::new() }
    }

    /// Makes it known to the reactor. To be called within the runtime.
    fn known(&self) -> io::Result<&TcpStream> {
        let mut plain = self.plain.lock();
        if let Some(known) = self.known.get() {
            return Ok(known);
        }
        let plain = plain.take().ok_or(io::ErrorKind::NotConnected)?;
        let known = Box::new(TcpStream::from_std(plain)?);
        Ok(self.known.get_or_init(|| known))
    }

    /// Does it without waiting.
    fn attempt<R>(
        &self,
        plain: impl FnOnce(&std::net::TcpStream) -> io::Result<R>,
        known: impl FnOnce(&TcpStream) -> io::Result<R>,
    ) -> io::Result<R> {
        if let Some(it) = self.known.get() {
            return known(it);
        }
        let guard = self.plain.lock();
        match (&*guard, self.known.get()) {
            (Some(it), _) => plain(it),
            (None, Some(it)) => known(it),
            (None, None) => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    /// Made when a line is first looked for: what only writes costs no buffer.
    received: Mutex<Option<Box<Received>>>,
    peer: SocketAddr,
}

/// A socket that listens.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: std::net::TcpListener,
    /// A second descriptor of it, from the first wait on. A stream by name only: tokio's listener cannot be waited for without an accept, whose
    /// stream the reactor would know at once.
    waiting: OnceLock<TcpStream>,
    pub(super) local: SocketAddr,
}

/// `None` where it would block.
fn at_once<T>(result: io::Result<T>) -> Option<io::Result<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        result => Some(result),
    }
}

/// Again, where a signal came in between.
fn whole<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn reading(error: io::Error) -> Fault {
    Fault::system("reading from the socket", &error)
}

fn writing(error: io::Error) -> Fault {
    Fault::system("writing to the socket", &error)
}

impl Socket {
    fn new(stream: std::net::TcpStream, peer: SocketAddr) -> io::Result<Arc<Self>> {
        stream.set_nonblocking(true)?;
        // A script that writes a line and waits wants it to go out.
        stream.set_nodelay(true)?;
        Ok(Arc::new(Socket { stream: Stream::new(stream), received: Mutex::default(), peer }))
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn receive(&self, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        let buffer = std::cell::RefCell::new(buffer);
        at_once(self.stream.attempt(
            |mut plain| whole(|| plain.read(&mut buffer.borrow_mut())),
            |known| whole(|| known.try_read(&mut buffer.borrow_mut())),
        ))
    }

    async fn receive_later(&self, buffer: &mut [u8]) -> Result<usize, Fault> {
        loop {
            self.readable().await?;
            if let Some(received) = self.receive(buffer) {
                return received.map_err(reading);
            }
        }
    }

    async fn readable(&self) -> Result<(), Fault> {
        self.stream.known().map_err(reading)?.readable().await.map_err(reading)
    }

    /// Up to so many bytes; none at the end. `None` where nothing is there yet.
    pub(super) fn read_at_once(&self, most: usize) -> Option<Result<Option<Vec<u8>>, Fault>> {
        if let Some(received) = self.received.lock().as_mut().filter(|received| !received.is_empty()) {
            return Some(Ok(Some(received.take(most))));
        }
        let mut buffer = vec![0; most.min(MOST)];
        let read = self.receive(&mut buffer)?;
        Some(read.map(|count| files::filled(buffer, count)).map_err(reading))
    }

    pub(super) async fn read(&self, most: usize) -> Result<Option<Vec<u8>>, Fault> {
        loop {
            if let Some(result) = self.read_at_once(most) {
                return result;
            }
            // Without a buffer while there is nothing to put into it.
            self.readable().await?;
        }
    }

    /// All that comes until the end.
    pub(super) async fn read_all(&self, most: Bytes) -> Result<Vec<u8>, Fault> {
        let mut all = self.received.lock().as_mut().map(|received| received.take(usize::MAX)).unwrap_or_default();
        let mut buffer = vec![0; files::CHUNK];
        loop {
            match self.receive_later(&mut buffer).await? {
                0 => return Ok(all),
                count => all.extend_from_slice(&buffer[..count]),
            }
            if all.len() > most.as_usize() {
                return Err(files::too_much(most));
            }
        }
    }

    /// A line that has arrived whole.
    pub(super) fn line_at_once(&self, most: Bytes) -> Result<Option<String>, Fault> {
        self.received.lock().as_mut().map_or(Ok(None), |received| received.line(most))
    }

    pub(super) async fn line(&self, most: Bytes) -> Result<Option<String>, Fault> {
        let mut buffer = vec![0; CHUNK];
        loop {
            if let Some(line) = self.line_at_once(most)? {
                return Ok(Some(line));
            }
            match self.receive_later(&mut buffer).await? {
                0 => return self.received.lock().get_or_insert_default().last_line(most),
                count => self.received.lock().get_or_insert_default().add(&buffer[..count]),
            }
        }
    }

    /// How many bytes the system takes at once.
    pub(super) fn write_at_once(&self, bytes: &[u8]) -> Result<usize, Fault> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = &bytes[done..];
            let written =
                self.stream.attempt(|mut plain| whole(|| plain.write(rest)), |known| whole(|| known.try_write(rest)));
            match at_once(written) {
                None | Some(Ok(0)) => break,
                Some(Ok(count)) => done += count,
                Some(Err(error)) => return Err(writing(error)),
            }
        }
        Ok(done)
    }

    pub(super) async fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        let mut done = 0;
        loop {
            done += self.write_at_once(&bytes[done..])?;
            if done == bytes.len() {
                return Ok(());
            }
            self.stream.known().map_err(writing)?.writable().await.map_err(writing)?;
        }
    }

    /// Connects to one of the addresses, in their order.
    pub(super) async fn connect(target: &Target, addresses: &[SocketAddr]) -> Result<Arc<Self>, Fault> {
        let what = format!("io.connect: `{}:{}`", target.host(), target.port);
        let mut last = None;
        for address in addresses {
            let connected = TcpStream::connect(address).await;
            match connected.and_then(TcpStream::into_std).and_then(|stream| Socket::new(stream, *address)) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = Some(error),
            }
        }
        let last = last.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        Err(Fault::system(what, &last))
    }
}

impl Listener {
    /// To be called within the runtime.
    pub(super) fn bind(address: SocketAddr) -> Result<Arc<Self>, Fault> {
        let bind = || {
            let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            let socket = socket.listen(BACKLOG)?.into_std()?;
            let local = socket.local_addr()?;
            Ok(Arc::new(Listener { socket, waiting: OnceLock::new(), local }))
        };
        bind().map_err(|error| Fault::system(format_args!("io.listen: `{address}`"), &error))
    }

    /// A client that is there.
    pub(super) fn accept_at_once(&self) -> Option<Result<Arc<Socket>, Fault>> {
        let accepted = loop {
            match self.socket.accept() {
                // A client that has left again is none.
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => {
                }
                accepted => break at_once(accepted)?,
            }
        };
        Some(accepted.and_then(|(stream, peer)| Socket::new(stream, peer)).map_err(accepting))
    }

    pub(super) async fn accept(&self) -> Result<Arc<Socket>, Fault> {
        let waiting = self.waiting().map_err(accepting)?;
        loop {
            let attempt = || self.accept_at_once().ok_or_else(|| io::ErrorKind::WouldBlock.into());
            match waiting.try_io(Interest::READABLE, attempt) {
                Ok(accepted) => return accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(accepting(error)),
            }
            waiting.readable().await.map_err(accepting)?;
        }
    }

    /// To be called within the runtime, by one accept at a time.
    fn waiting(&self) -> io::Result<&TcpStream> {
        if let Some(waiting) = self.waiting.get() {
            return Ok(waiting);
        }
        let second = OwnedFd::from(self.socket.try_clone()?);
        let waiting = TcpStream::from_std(second.into())?;
        Ok(self.waiting.get_or_init(|| waiting))
    }
}

fn accepting(error: io::Error) -> Fault {
    Fault::system("accepting a client", &error)
}
