//! Files: each call of the system is made on a thread that may block.

use std::io::{self, Read, Write};
use std::sync::Arc;

use parking_lot::Mutex;

use super::Fault;
use super::grants::{Directory, Mode};
use super::lines::{Received, text};
use crate::channel::BlockingPool;
use crate::units::Bytes;

/// How much is read at a time, where the size is not given.
pub(super) const CHUNK: usize = 64 * 1024;

/// An open file.
#[derive(Debug)]
pub(crate) struct File {
    /// Gone while it is being closed.
    file: Option<std::fs::File>,
    mode: Mode,
    received: Mutex<Received>,
    pool: Arc<BlockingPool>,
}

/// Bytes of which so many were read; none at the end.
pub(super) fn filled(mut buffer: Vec<u8>, count: usize) -> Option<Vec<u8>> {
    if count == 0 {
        return None;
    }
    buffer.truncate(count);
    // Scripts may keep it: not the whole buffer for the sake of a few bytes.
    if count < buffer.capacity() / 2 {
        buffer.shrink_to_fit();
    }
    Some(buffer)
}

pub(super) fn too_much(most: Bytes) -> Fault {
    Fault::new(format!("there is more than {most} to be read, the most that `Io::read_limit` allows at a time"))
}

pub(super) fn too_large(most: Bytes) -> Fault {
    Fault::argument(format!("read: the size is more than {most}, the most that `Io::read_limit` allows"))
}

impl File {
    /// Blocks, as all that follows does.
    pub(super) fn open(
        directory: &Directory,
        path: &str,
        mode: Mode,
        pool: Arc<BlockingPool>,
    ) -> Result<Arc<Self>, Fault> {
        let file = Some(directory.open(path, mode)?);
        Ok(Arc::new(File { file, mode, received: Mutex::default(), pool }))
    }

    fn raw(&self) -> io::Result<&std::fs::File> {
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn fill(&self, buffer: &mut [u8]) -> Result<usize, Fault> {
        loop {
            match self.raw().and_then(|mut file| file.read(buffer)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(|error| Fault::system("reading from the file", &error)),
            }
        }
    }

    /// Whether it was opened for that.
    pub(super) fn check(&self, write: bool) -> Result<(), Fault> {
        if if write { self.mode.writes() } else { self.mode.reads() } {
            return Ok(());
        }
        let what = if write { "writing" } else { "reading" };
        Err(Fault::new(format!("the file was not opened for {what}")).with_code("EBADF"))
    }

    /// What was read before and not asked for.
    pub(super) fn read_at_once(&self, most: usize) -> Option<Vec<u8>> {
        let mut received = self.received.lock();
        if received.is_empty() { None } else { Some(received.take(most)) }
    }

    /// Up to so many bytes; none at the end.
    pub(super) fn read(&self, most: usize) -> Result<Option<Vec<u8>>, Fault> {
        let mut buffer = vec![0; most];
        let count = self.fill(&mut buffer)?;
        Ok(filled(buffer, count))
    }

    /// All that is left.
    pub(super) fn read_text(&self, most: Bytes) -> Result<String, Fault> {
        let mut all = self.received.lock().take(usize::MAX);
        let mut buffer = vec![0; CHUNK];
        loop {
            match self.fill(&mut buffer)? {
                0 => return text(all, "the text", most),
                count => all.extend_from_slice(&buffer[..count]),
            }
            if all.len() > most.as_usize() {
                return Err(too_much(most));
            }
        }
    }

    /// A line that was read before.
    pub(super) fn line_at_once(&self, most: Bytes) -> Result<Option<String>, Fault> {
        self.received.lock().line(most)
    }

    pub(super) fn line(&self, most: Bytes) -> Result<Option<String>, Fault> {
        let mut buffer = vec![0; CHUNK];
        loop {
            if let Some(line) = self.line_at_once(most)? {
                return Ok(Some(line));
            }
            match self.fill(&mut buffer)? {
                0 => return self.received.lock().last_line(most),
                count => self.received.lock().add(&buffer[..count]),
            }
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        let written = self.raw().and_then(|mut file| file.write_all(bytes));
        written.map_err(|error| Fault::system("writing to the file", &error))
    }

    /// Closes it here, where that may block, unless a call of the system is still under way.
    pub(super) fn close(self: Arc<Self>) {
        if let Some(mut file) = Arc::into_inner(self) {
            drop(file.file.take());
        }
    }
}

impl Drop for File {
    /// A file system may take its time for closing as well.
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            self.pool.detach(move || drop(file));
        }
    }
}
