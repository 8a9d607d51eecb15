//! From byte offsets to the positions that people and V8 use.
//!
//! Lines end at LF, CR, CR LF, U+2028 and U+2029; columns count UTF-16 code units. Both start at 1. Any offset is accepted: one
//! beyond the end or within a character is moved back to the nearest boundary.

/// A position in a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column in UTF-16 code units, from 1.
    pub column: u32,
}

/// The most characters of a line that a report shows.
const LINE_TEXT: usize = 200;

/// The distance in bytes between two known UTF-16 counts: a text that is one long line stays cheap.
const STRIDE: usize = 1024;

/// The line starts of one source text.
pub(super) struct Lines<'s> {
    source: &'s str,
    starts: Vec<usize>,
    /// UTF-16 code units before every multiple of [`STRIDE`].
    units: Vec<usize>,
}

impl<'s> Lines<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        let bytes = source.as_bytes();
        let mut starts = vec![0];
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let width = match byte {
                b'\n' => 1,
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
                b'\r' => 1,
                0xE2 if is_separator(&bytes[at..]) => 3,
                _ => 0,
            };
            at += width.max(1);
            if width > 0 {
                starts.push(at);
            }
        }
        let mut total = 0;
        let mut units = vec![0];
        for chunk in bytes.chunks(STRIDE) {
            total += utf16_units(chunk);
            units.push(total);
        }
        Self { source, starts, units }
    }

    pub(super) fn place(&self, offset: usize) -> Place {
        let offset = floor_boundary(self.source, offset);
        let index = self.starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let column = self.units_before(offset) - self.units_before(self.starts[index]);
        Place { line: count(index + 1), column: count(column + 1) }
    }

    fn units_before(&self, offset: usize) -> usize {
        let known = offset / STRIDE;
        self.units[known] + utf16_units(&self.source.as_bytes()[known * STRIDE..offset])
    }

    /// The text of the line at `offset`, without its end, cut after 200 characters.
    pub(super) fn text(&self, offset: usize) -> String {
        let offset = floor_boundary(self.source, offset);
        let index = self.starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let end = self.starts.get(index + 1).copied().unwrap_or(self.source.len());
        let line = self.source[self.starts[index]..end].trim_end_matches(['\n', '\r', '\u{2028}', '\u{2029}']);
        match line.char_indices().nth(LINE_TEXT) {
            Some((cut, _)) => line[..cut].to_owned(),
            None => line.to_owned(),
        }
    }
}

/// Whether the text starts with U+2028 or U+2029.
pub(super) fn is_separator(bytes: &[u8]) -> bool {
    matches!(bytes, [0xE2, 0x80, 0xA8 | 0xA9, ..])
}

pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// UTF-16 code units of a piece of UTF-8: one per leading byte, and one more for each character outside of the first plane.
fn utf16_units(bytes: &[u8]) -> usize {
    bytes.iter().map(|&byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, offset: usize) -> (u32, u32) {
        let place = Lines::new(text).place(offset);
        (place.line, place.column)
    }

    #[test]
    fn lines_end_where_v8_ends_them() {
        let text = "a\nb\r\nc\rd\u{2028}e\u{2029}f";
        for (letter, line) in ('a'..='f').zip(1..) {
            assert_eq!(at(text, text.find(letter).unwrap()), (line, 1), "{letter}");
        }
    }

    #[test]
    fn columns_count_utf16_units() {
        let text = "\u{feff}é😀x";
        assert_eq!(at(text, text.len() - 1), (1, 5));
        assert_eq!(at(text, text.len() - 2), (1, 3));
        assert_eq!(at(text, 1000), (1, 6));
        assert_eq!(at("", 7), (1, 1));
    }

    #[test]
    fn long_lines_agree_with_counting() {
        let text = "aé😀".repeat(2000);
        let lines = Lines::new(&text);
        for (offset, _) in text.char_indices().step_by(97) {
            assert_eq!(lines.place(offset).column as usize, text[..offset].encode_utf16().count() + 1);
        }
    }

    #[test]
    fn line_text_is_cut_and_has_no_end() {
        let long = "ü".repeat(300);
        let text = format!("first\r\n{long}\u{2028}last");
        let lines = Lines::new(&text);
        assert_eq!(lines.text(0), "first");
        assert_eq!(lines.text(20), "ü".repeat(200));
        assert_eq!(lines.text(usize::MAX), "last");
    }
}
