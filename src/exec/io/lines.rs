//! Bytes that have arrived, as lines.
//!
//! A line ends with `\n` or `\r\n`; what follows the last one is a line too, unless it is empty. Bytes become text only when the line is
//! whole, so that it does not matter where a character or an end of a line was cut.

use super::Fault;
use crate::units::Bytes;

/// Bytes that were received and not yet asked for.
#[derive(Debug, Default)]
pub(super) struct Received {
    bytes: Vec<u8>,
    /// What was given out already.
    start: usize,
    /// Up to here there is no end of a line.
    searched: usize,
}

impl Received {
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes up to so many bytes.
    pub(super) fn take(&mut self, most: usize) -> Vec<u8> {
        let end = self.bytes.len().min(self.start.saturating_add(most));
        let taken = self.bytes[self.start..end].to_vec();
        self.skip_to(end);
        taken
    }

    /// Takes a line without its end. `None` where there is no whole one.
    pub(super) fn line(&mut self, most: Bytes) -> Result<Option<String>, Fault> {
        let found = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = found.map(|at| self.searched + at) else {
            self.searched = self.bytes.len();
            return if self.searched - self.start > most.as_usize() { Err(too_long(most)) } else { Ok(None) };
        };
        let line = &self.bytes[self.start..end];
        let line = text(line.strip_suffix(b"\r").unwrap_or(line).to_vec(), "a line", most);
        self.skip_to(end + 1);
        line.map(Some)
    }

    /// Nothing more comes: takes what is left as a line.
    pub(super) fn last_line(&mut self, most: Bytes) -> Result<Option<String>, Fault> {
        if self.is_empty() {
            return Ok(None);
        }
        let rest = self.take(usize::MAX);
        let rest = rest.strip_suffix(b"\r").map(<[u8]>::to_vec).unwrap_or(rest);
        text(rest, "a line", most).map(Some)
    }

    fn skip_to(&mut self, at: usize) {
        self.start = at;
        self.searched = self.searched.max(at);
        if self.is_empty() {
            *self = Received::default();
        }
    }
}

fn too_long(most: Bytes) -> Fault {
    Fault::new(format!("a line is longer than {most}, the most that `Io::read_limit` allows"))
}

/// Bytes as text, no longer than that.
pub(super) fn text(bytes: Vec<u8>, what: &str, most: Bytes) -> Result<String, Fault> {
    if bytes.len() > most.as_usize() {
        return Err(Fault::new(format!("{what} is longer than {most}, the most that `Io::read_limit` allows")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Fault::argument(format!("{what} is not UTF-8 at byte {at}; `read` gives the bytes as they are"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Bytes = Bytes::kib(1);

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut received = Received::default();
        let mut lines = Vec::new();
        for chunk in chunks {
            received.add(chunk);
            while let Some(line) = received.line(MOST).unwrap() {
                lines.push(line);
            }
        }
        lines.extend(received.last_line(MOST).unwrap());
        assert!(received.is_empty());
        lines
    }

    #[test]
    fn the_same_lines_wherever_the_chunks_are_cut() {
        let all = "erste\r\nzw\u{e4}ite\n\n\r\n\u{1f600} vier\rte\nlast\r".as_bytes();
        let expected = ["erste", "zw\u{e4}ite", "", "", "\u{1f600} vier\rte", "last"];
        for size in 1..=all.len() {
            let chunks: Vec<_> = all.chunks(size).collect();
            assert_eq!(lines(&chunks), expected, "chunks of {size}");
        }
        assert_eq!(lines(&[b"a\n"]), ["a"]);
        assert!(lines(&[]).is_empty());
    }

    #[test]
    fn bytes_and_lines_can_be_taken_in_turn() {
        let mut received = Received::default();
        received.add(b"head\r\nbody and more\nx");
        assert_eq!(received.line(MOST).unwrap().as_deref(), Some("head"));
        assert_eq!(received.take(5), b"body ");
        assert_eq!(received.line(MOST).unwrap().as_deref(), Some("and more"));
        assert_eq!(received.line(MOST).unwrap(), None);
        received.add(b"y\n");
        assert_eq!(received.line(MOST).unwrap().as_deref(), Some("xy"));
        assert!(received.is_empty());
    }

    #[test]
    fn a_line_beyond_the_limit_and_broken_text_are_errors() {
        let mut received = Received::default();
        received.add(&[b'x'; 1025]);
        assert!(received.line(MOST).is_err());
        let mut received = Received::default();
        received.add(b"\xff\nfine\n");
        assert!(format!("{:?}", received.line(MOST).unwrap_err()).contains("at byte 0"));
        assert_eq!(received.line(MOST).unwrap().as_deref(), Some("fine"));
    }
}
