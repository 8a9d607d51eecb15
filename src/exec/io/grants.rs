//! What a run may do with files and sockets.
//!
//! Invariant: what was not granted is refused before the system is asked, and a file is opened by the directory's own descriptor, beneath
//! which the system keeps it.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use cap_std::fs::Dir;

use super::Fault;
use super::rule::{Rule, Target};
use crate::error::{Error, Result};
use crate::units::Bytes;

/// Files and sockets that scripts may use: for all runs of an engine ([`EngineBuilder::io`](crate::EngineBuilder::io)), or for one call
/// ([`TaskBuilder::io`](crate::TaskBuilder::io)), whose own grant takes the place of the engine's.
///
/// Nothing is granted at first. See [`files`](crate::files) for what scripts do with it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> jsmill::Result<()> {
/// use jsmill::{Engine, Io, Script};
/// let engine = Engine::builder().workers(1).build()?;
/// let script = Script::new("first.js", "const first = async (path) => (await io.open(path)).lines().next();")?;
/// let readable = Io::new().files(env!("CARGO_MANIFEST_DIR"));
/// let line: serde_json::Value = engine.task(&script).io(readable).call_async("first", ("Cargo.toml",)).await?;
/// assert_eq!(line["value"], "[package]");
/// assert!(engine.task(&script).call_async::<()>("first", ("Cargo.toml",)).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Io {
    grants: Arc<Grants>,
}

#[derive(Clone, Debug)]
struct Grants {
    files: Option<Arc<Directory>>,
    listen: Vec<Rule>,
    connect: Vec<Rule>,
    handles: usize,
    read_limit: Bytes,
    /// What was said that makes no sense.
    faults: Vec<String>,
}

impl Default for Io {
    fn default() -> Self {
        let grants = Grants {
            files: None,
            listen: Vec::new(),
            connect: Vec::new(),
            handles: 1024,
            read_limit: Bytes::mib(16),
            faults: Vec::new(),
        };
        Io { grants: Arc::new(grants) }
    }
}

impl Io {
    /// Whether that is the same grant, shared.
    pub(crate) fn is_same(&self, other: &Io) -> bool {
        Arc::ptr_eq(&self.grants, &other.grants)
    }

    /// Nothing yet.
    pub fn new() -> Self {
        Io::default()
    }

    fn with(mut self, change: impl FnOnce(&mut Grants)) -> Self {
        change(Arc::make_mut(&mut self.grants));
        self
    }

    /// The files beneath a directory, to be read. Links that lead out of it, absolute paths and `..` are refused. One directory: the last
    /// one named counts. It is opened when a script first opens a file, and has to exist by then.
    pub fn files(self, directory: impl Into<PathBuf>) -> Self {
        let directory = Directory { path: directory.into(), writable: false, opened: OnceLock::new() };
        self.with(|grants| grants.files = Some(Arc::new(directory)))
    }

    /// The same, to be read, written and made.
    pub fn writable_files(self, directory: impl Into<PathBuf>) -> Self {
        let directory = Directory { path: directory.into(), writable: true, opened: OnceLock::new() };
        self.with(|grants| grants.files = Some(Arc::new(directory)))
    }

    /// An address where scripts may listen: `127.0.0.1:8080`, `[::1]:8080`. Port 0 covers every port, the address `0.0.0.0` or `[::]` all of
    /// its family. May be called several times.
    pub fn listen(self, address: impl AsRef<str>) -> Self {
        let address = address.as_ref();
        self.with(|grants| match Rule::from_str(address) {
            Ok(rule) if rule.is_local() => grants.listen.push(rule),
            _ => grants
                .faults
                .push(format!("`Io::listen`: `{address}` is no address of the form 127.0.0.1:8080 or [::1]:8080")),
        })
    }

    /// An address that scripts may connect to: `10.0.0.7:5432`, `example.org:443`; a `*` is any port, or any host. May be called several times.
    ///
    /// A name is compared as the script writes it, and resolved by the system then: who rules the name says where it leads.
    pub fn connect(self, address: impl AsRef<str>) -> Self {
        let address = address.as_ref();
        self.with(|grants| match Rule::from_str(address) {
            Ok(rule) => grants.connect.push(rule),
            Err(()) => grants.faults.push(format!(
                "`Io::connect`: `{address}` is no address of the form example.org:443, 10.0.0.7:* or *:443"
            )),
        })
    }

    /// How many files, sockets and listeners a run may have open at a time. Default: 1,024. Does not raise what the system allows the process.
    pub fn handles(self, handles: usize) -> Self {
        self.with(|grants| grants.handles = handles)
    }

    /// The most that one `read`, `readText` or line may bring. Default: 16 MiB. A `read` that asks for no size gets up to 64 KiB.
    pub fn read_limit(self, limit: Bytes) -> Self {
        self.with(|grants| grants.read_limit = limit)
    }

    /// # Errors
    /// `Config` with the first thing that makes no sense.
    pub(crate) fn check(&self) -> Result<()> {
        let grants = &self.grants;
        if let Some(fault) = grants.faults.first() {
            return Err(Error::config(fault.clone()));
        }
        if grants.read_limit.get() == 0 || grants.read_limit > Bytes::gib(1) {
            return Err(Error::config(format!(
                "`Io::read_limit` is {}: it must be between 1 B and 1 GiB",
                grants.read_limit
            )));
        }
        Ok(())
    }

    pub(super) fn max_handles(&self) -> usize {
        self.grants.handles
    }

    pub(super) fn max_read(&self) -> Bytes {
        self.grants.read_limit
    }
}

const NO_GRANT: &str =
    "nothing was granted to this run: the host gives files and sockets by `EngineBuilder::io` or `TaskBuilder::io`";

/// The grant of a run, where it has one.
pub(super) fn granted(io: Option<&Io>) -> std::result::Result<&Io, Fault> {
    io.ok_or_else(|| Fault::new(NO_GRANT).with_code("EACCES"))
}

impl Io {
    /// The directory in which a file may be opened like that.
    pub(super) fn directory(&self, path: &str, mode: Mode) -> std::result::Result<Arc<Directory>, Fault> {
        let directory = self.grants.files.as_ref().ok_or_else(|| {
            Fault::new("no files were granted to this run: the host does it by `Io::files` or `Io::writable_files`")
                .with_code("EACCES")
        })?;
        check_path(path)?;
        if mode.writes() && !directory.writable {
            let message = format!(
                "`{path}`: files were granted to be read only; the host grants writing by `Io::writable_files`"
            );
            return Err(Fault::new(message).with_code("EACCES"));
        }
        Ok(directory.clone())
    }

    /// Whether a socket may listen there.
    pub(super) fn listening(&self, address: &str) -> std::result::Result<Target, Fault> {
        let target = Target::from_str(address).ok().filter(|target| target.ip().is_some()).ok_or_else(|| {
            Fault::argument(format!("io.listen: `{address}` is no address of the form 127.0.0.1:8080 or [::1]:8080"))
        })?;
        if self.grants.listen.iter().any(|rule| rule.covers_listening(&target)) {
            return Ok(target);
        }
        let message = format!("io.listen: `{address}` was not granted to this run; the host does it by `Io::listen`");
        Err(Fault::new(message).with_code("EACCES"))
    }

    /// Whether a connection may go there.
    pub(super) fn connecting(&self, address: &str) -> std::result::Result<Target, Fault> {
        let target = Target::from_str(address).map_err(|()| {
            Fault::argument(format!(
                "io.connect: `{address}` is no address of the form example.org:443 or 127.0.0.1:80"
            ))
        })?;
        if self.grants.connect.iter().any(|rule| rule.covers(&target)) {
            return Ok(target);
        }
        let message = format!("io.connect: `{address}` was not granted to this run; the host does it by `Io::connect`");
        Err(Fault::new(message).with_code("EACCES"))
    }
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    /// Made where there is none, emptied where there is one.
    Write,
    /// The same, and kept where there is one.
    Append,
    /// To be read and written, where there is one.
    Update,
    /// Made, where there is none.
    Create,
}

impl FromStr for Mode {
    type Err = Fault;

    fn from_str(text: &str) -> std::result::Result<Self, Fault> {
        Ok(match text {
            "r" => Mode::Read,
            "w" => Mode::Write,
            "a" => Mode::Append,
            "r+" => Mode::Update,
            "x" => Mode::Create,
            _ => {
                return Err(Fault::argument(format!("io.open: the mode `{text}` is none of 'r', 'w', 'a', 'r+', 'x'")));
            }
        })
    }
}

impl Mode {
    pub(super) fn reads(self) -> bool {
        matches!(self, Mode::Read | Mode::Update)
    }

    pub(super) fn writes(self) -> bool {
        self != Mode::Read
    }
}

/// A directory that is granted.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    writable: bool,
    opened: OnceLock<Dir>,
}

impl Directory {
    /// Opens a file beneath it. Blocks.
    pub(super) fn open(&self, path: &str, mode: Mode) -> std::result::Result<std::fs::File, Fault> {
        let dir = match self.opened.get() {
            Some(dir) => dir,
            None => {
                let dir = Dir::open_ambient_dir(&self.path, cap_std::ambient_authority())
                    .map_err(|error| Fault::system("the directory that was granted could not be opened", &error))?;
                self.opened.get_or_init(|| dir)
            }
        };
        let mut options = cap_std::fs::OpenOptions::new();
        match mode {
            Mode::Read => options.read(true),
            Mode::Write => options.write(true).create(true).truncate(true),
            Mode::Append => options.append(true).create(true),
            Mode::Update => options.read(true).write(true),
            Mode::Create => options.write(true).create_new(true),
        };
        let file = dir.open_with(path, &options).map_err(|error| refused(path, &error))?.into_std();
        let meta = file.metadata().map_err(|error| refused(path, &error))?;
        if meta.is_dir() {
            return Err(Fault::new(format!("`{path}` is a directory")).with_code("EISDIR"));
        }
        Ok(file)
    }
}

fn refused(path: &str, error: &io::Error) -> Fault {
    // The library's own verdict, or that of the system, has no number.
    if error.raw_os_error().is_none() && error.kind() == io::ErrorKind::PermissionDenied {
        return Fault::new(format!("`{path}` leads out of the directory that was granted")).with_code("EACCES");
    }
    Fault::system(format_args!("`{path}` could not be opened"), error)
}

fn check_path(path: &str) -> std::result::Result<(), Fault> {
    let refuse = |why: &str| Err(Fault::new(format!("io.open: the path `{path}` {why}")).with_code("EACCES"));
    for component in Path::new(path).components() {
        match component {
            Component::RootDir | Component::Prefix(_) => {
                return refuse("is absolute: name a file beneath the directory that was granted");
            }
            Component::ParentDir => {
                return refuse("goes up by `..`: name a file beneath the directory that was granted");
            }
            Component::CurDir | Component::Normal(_) => {}
        }
    }
    if path.is_empty() || path.contains('\0') {
        return Err(Fault::argument("io.open: a path is expected".into()));
    }
    Ok(())
}
