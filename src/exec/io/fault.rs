//! What a script is told when an operation fails: an `Error` whose `code` is the system's own name of the failure.

use std::fmt::Display;
use std::io;

use crate::vm::{self, HostError};

/// Why an operation has failed.
#[derive(Debug)]
pub(crate) struct Fault {
    error: HostError,
    /// `ENOENT` and its like; empty where the system has nothing to do with it.
    code: &'static str,
}

impl Fault {
    /// The script has asked for what it may not have, or what there is not.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Fault { error: HostError::new(message), code: "" }
    }

    /// An argument makes no sense.
    pub(super) fn argument(message: String) -> Self {
        Fault { error: HostError::type_error(message), code: "" }
    }

    /// The system has refused: what could not be done, and why.
    pub(super) fn system(what: impl Display, error: &io::Error) -> Self {
        Fault { error: HostError::new(format!("{what}: {error}")), code: code(error) }
    }

    pub(super) fn with_code(self, code: &'static str) -> Self {
        Fault { code, ..self }
    }

    /// The exception of JavaScript. `None` when V8 has no memory for it.
    pub(super) fn exception<'s>(&self, scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Value>> {
        let exception = vm::exception_of(scope, &self.error)?;
        if !self.code.is_empty()
            && let Ok(object) = v8::Local::<v8::Object>::try_from(exception)
        {
            let key = v8::String::new(scope, "code")?;
            let code = v8::String::new(scope, self.code)?;
            object.create_data_property(scope, key.into(), code.into())?;
        }
        Some(exception)
    }
}

impl From<HostError> for Fault {
    fn from(error: HostError) -> Self {
        Fault { error, code: "" }
    }
}

/// The names that scripts may want to tell apart.
const CODES: [(i32, &str); 29] = [
    (libc::EACCES, "EACCES"),
    (libc::EADDRINUSE, "EADDRINUSE"),
    (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
    (libc::EBADF, "EBADF"),
    (libc::ECONNABORTED, "ECONNABORTED"),
    (libc::ECONNREFUSED, "ECONNREFUSED"),
    (libc::ECONNRESET, "ECONNRESET"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::EEXIST, "EEXIST"),
    (libc::EFBIG, "EFBIG"),
    (libc::EHOSTUNREACH, "EHOSTUNREACH"),
    (libc::EINVAL, "EINVAL"),
    (libc::EIO, "EIO"),
    (libc::EISDIR, "EISDIR"),
    (libc::ELOOP, "ELOOP"),
    (libc::EMFILE, "EMFILE"),
    (libc::ENAMETOOLONG, "ENAMETOOLONG"),
    (libc::ENETUNREACH, "ENETUNREACH"),
    (libc::ENFILE, "ENFILE"),
    (libc::ENOENT, "ENOENT"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::ENOTCONN, "ENOTCONN"),
    (libc::ENOTDIR, "ENOTDIR"),
    (libc::ENXIO, "ENXIO"),
    (libc::EPERM, "EPERM"),
    (libc::EPIPE, "EPIPE"),
    (libc::EROFS, "EROFS"),
    (libc::ESTALE, "ESTALE"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
];

fn code(error: &io::Error) -> &'static str {
    let number = error.raw_os_error();
    CODES.iter().find(|(code, _)| Some(*code) == number).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_system_have_their_name_and_others_none() {
        assert_eq!(code(&io::Error::from_raw_os_error(libc::EPIPE)), "EPIPE");
        assert_eq!(code(&io::Error::from_raw_os_error(libc::EXDEV)), "");
        assert_eq!(code(&io::Error::other("no")), "");
    }
}
