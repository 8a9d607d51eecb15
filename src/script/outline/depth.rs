//! How much stack a recursive parser can need for a text, worked out by a scan that does not recurse.
//!
//! The parser's recursion, and that of the passes over its tree, grows with two things: brackets that are open, and chains that
//! nest without brackets (`a + a + ..`, `!!!a`, `a => b => ..`, `else if`, `a.b.c`, `a()()`). The scan keeps a cost for both.
//!
//! The invariant: the cost is an upper bound. Where the scan cannot tell how the parser will read on (a `/` after `}` may start a
//! regular expression), it stops reading structure, and from there on counts all that could nest as nested. The weights are
//! about twice what an unoptimised build needs. The scan knows nothing of grammar, and says nothing about validity.

#[cfg(test)]
mod tests;

use super::place::is_separator;

/// What a text needs, or why it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Bytes of stack, at most [`STACK_LIMIT`] above [`STACK_BASE`].
    Stack(usize),
    /// More than [`NESTING_LIMIT`] brackets are open at this offset.
    Nesting(usize),
    /// Brackets and chains together are too deep at this offset.
    Chain(usize),
}

/// The most brackets that may be open at once.
pub(super) const NESTING_LIMIT: usize = 500;
/// The stack that even an empty text gets.
const STACK_BASE: usize = 2 << 20;
/// The most stack that nesting may need.
const STACK_LIMIT: usize = if cfg!(target_pointer_width = "64") { 128 << 20 } else { 32 << 20 };

/// Stack for one open bracket.
const BRACKET: usize = 5 << 10;
/// Stack for one link of a chain.
const LINK: usize = 768;
/// Stack for a link whose frames are larger: half of `**` or `=>`, a default, `new`, a loop without braces.
const HEAVY: usize = 1280;

/// The cost of a link for which scope analysis takes time that grows with the square of their number: `=>`, `await`. It is far more
/// than the stack needs, so that a chain of some thousands is refused rather than read for many seconds.
const SLOW: usize = 16 << 10;

/// Whether a `/` after this word starts a regular expression.
fn is_before_regex(word: &[u8]) -> bool {
    matches!(
        word,
        b"return"
            | b"typeof"
            | b"case"
            | b"in"
            | b"instanceof"
            | b"new"
            | b"delete"
            | b"void"
            | b"throw"
            | b"do"
            | b"else"
            | b"default"
            | b"extends"
    )
}

/// Whether this word may end an expression or a statement, so that the meaning of a `/` after it depends on more.
#[rustfmt::skip]
fn is_unclear(word: &[u8]) -> bool {
    matches!(
        word,
        b"yield" | b"await" | b"of" | b"break" | b"continue" | b"debugger" | b"export" | b"import" | b"let" | b"static" | b"async"
            | b"finally" | b"try" | b"function" | b"class" | b"const" | b"var" | b"catch" | b"if" | b"for" | b"while" | b"with"
            | b"switch" | b"enum"
    )
}

/// What came before the current byte, as far as the meaning of a `/` depends on it.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// A `/` starts a regular expression.
    Operator,
    /// A `/` divides.
    Value,
    /// It depends on grammar.
    Unclear,
    /// A `.` or `#`: the next word is a name, whatever its letters.
    Dot,
}

/// An open bracket.
struct Level {
    open: u8,
    /// For `(`: follows `if`, `while`, `for` or `with`. For `{`: opened by `${`.
    special: bool,
    /// Cost of the chain of expressions since the last `,` or `;`.
    links: usize,
    /// Cost of the chain of statements.
    statements: usize,
}

impl Level {
    fn new(open: u8, special: bool) -> Self {
        Self { open, special, links: 0, statements: 0 }
    }
}

pub(super) fn depth(source: &str) -> Depth {
    Scan {
        bytes: source.as_bytes(),
        source,
        at: 0,
        levels: vec![Level::new(0, false)],
        outer: 0,
        peak: 0,
        before: Before::Operator,
        condition: false,
        line_start: true,
    }
    .run()
}

struct Scan<'s> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
    levels: Vec<Level>,
    /// Cost of all levels but the innermost, brackets included.
    outer: usize,
    peak: usize,
    before: Before,
    /// The last word was `if`, `while`, `for` or `with`.
    condition: bool,
    line_start: bool,
}

/// Why the scan of structure ends before the text does.
enum Stop {
    Refused(Depth),
    Unclear,
}

impl Scan<'_> {
    fn run(mut self) -> Depth {
        if self.bytes.starts_with(b"#!") {
            self.skip_line();
        }
        loop {
            if self.at >= self.bytes.len() {
                return Depth::Stack(STACK_BASE + self.peak);
            }
            match self.step() {
                Ok(()) => {}
                Err(Stop::Refused(refused)) => return refused,
                Err(Stop::Unclear) => return self.count_rest(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn step(&mut self) -> Result<(), Stop> {
        let byte = self.bytes[self.at];
        match byte {
            b'\n' | b'\r' => {
                self.line_start = true;
                self.at += 1;
                return Ok(());
            }
            b' ' | b'\t' | 0x0B | 0x0C => {
                self.at += 1;
                return Ok(());
            }
            b'/' if self.peek(1) == b'/' => {
                self.skip_line();
                return Ok(());
            }
            b'/' if self.peek(1) == b'*' => return self.skip_block(),
            b'<' if self.bytes[self.at..].starts_with(b"<!--") => return Err(Stop::Unclear),
            b'-' if self.line_start && self.bytes[self.at..].starts_with(b"-->") => return Err(Stop::Unclear),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' => self.word()?,
            0x80.. => return self.other(),
            b'"' | b'\'' => self.string(byte)?,
            b'`' => self.template()?,
            b'/' => self.slash()?,
            b'(' | b'[' | b'{' => self.open(byte, byte == b'(' && self.condition)?,
            b')' | b']' | b'}' => self.close(byte)?,
            b'\\' => return Err(Stop::Unclear),
            _ => self.punctuation(byte)?,
        }
        self.line_start = false;
        Ok(())
    }

    fn word(&mut self) -> Result<(), Stop> {
        let start = self.at;
        while matches!(self.peek(0), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$') {
            self.at += 1;
        }
        let word = &self.bytes[start..self.at];
        let name = self.before == Before::Dot || self.peek(0) >= 0x80 || (start > 0 && self.bytes[start - 1] >= 0x80);
        self.condition = false;
        // A number may run into a name only in a text that the parser refuses, so that `3in x` needs no care.
        if name {
            self.before = if self.before == Before::Dot { Before::Value } else { Before::Unclear };
            return Ok(());
        }
        self.condition = matches!(word, b"if" | b"while" | b"for" | b"with") || (word == b"await" && self.condition);
        self.before = if is_before_regex(word) {
            Before::Operator
        } else if is_unclear(word) {
            Before::Unclear
        } else {
            Before::Value
        };
        match word {
            b"await" | b"yield" => self.link(SLOW),
            b"typeof" | b"void" | b"delete" | b"in" | b"instanceof" | b"async" | b"of" => self.link(LINK),
            b"new" | b"extends" | b"function" | b"class" | b"import" => self.link(2 * HEAVY),
            b"if" | b"else" | b"do" | b"try" | b"switch" => self.statement(LINK),
            b"for" | b"while" | b"with" => self.statement(2 * HEAVY),
            // These start a statement, so that the expression before them has ended, with or without a `;`.
            b"const" | b"var" | b"return" | b"throw" => {
                self.innermost().links = 0;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A character outside of ASCII: white space, a line end, or a part of a name.
    fn other(&mut self) -> Result<(), Stop> {
        if is_separator(&self.bytes[self.at..]) {
            self.line_start = true;
            self.at += 3;
            return Ok(());
        }
        let Some(letter) = self.source[self.at..].chars().next() else {
            return Err(Stop::Unclear);
        };
        self.at += letter.len_utf8();
        if !letter.is_whitespace() && letter != '\u{feff}' {
            self.before = if self.before == Before::Dot { Before::Dot } else { Before::Value };
            self.condition = false;
            self.line_start = false;
        }
        Ok(())
    }

    fn punctuation(&mut self, byte: u8) -> Result<(), Stop> {
        self.at += 1;
        self.condition = false;
        let twice = (byte == b'+' || byte == b'-') && self.peek(0) == byte;
        match byte {
            b',' => self.innermost().links = 0,
            b';' => self.innermost().links = 0,
            b'>' if self.at >= 2 && self.bytes[self.at - 2] == b'=' => self.link(SLOW)?,
            b'*' | b'=' | b'>' => self.link(HEAVY)?,
            b':' => {
                self.statement(LINK)?;
                self.link(LINK)?;
            }
            b'#' | b'@' => {}
            _ => self.link(LINK)?,
        }
        self.before = match byte {
            b'.' if self.peek(0) == b'.' => Before::Operator,
            b'.' if self.before == Before::Operator && self.at >= 2 && self.bytes[self.at - 2] == b'.' => {
                Before::Operator
            }
            b'.' | b'#' => Before::Dot,
            _ if twice => {
                self.at += 1;
                self.link(LINK)?;
                Before::Unclear
            }
            _ => Before::Operator,
        };
        Ok(())
    }

    fn string(&mut self, quote: u8) -> Result<(), Stop> {
        self.at += 1;
        loop {
            match self.peek(0) {
                b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => self.at += 3,
                b'\\' => self.at += 2,
                b'\n' | b'\r' => return Err(Stop::Unclear),
                byte if byte == quote => break,
                _ if self.at >= self.bytes.len() => return Ok(()),
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.before = Before::Value;
        self.condition = false;
        Ok(())
    }

    /// A template from its start, or from the end of a substitution.
    fn template(&mut self) -> Result<(), Stop> {
        self.at += 1;
        self.condition = false;
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\\' => self.at += 2,
                b'`' => {
                    self.at += 1;
                    self.before = Before::Value;
                    return self.link(LINK);
                }
                b'$' if self.peek(1) == b'{' => {
                    self.at += 1;
                    return self.open(b'{', true);
                }
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    fn slash(&mut self) -> Result<(), Stop> {
        self.condition = false;
        match self.before {
            Before::Value => {
                self.at += 1;
                self.before = Before::Operator;
                self.link(LINK)
            }
            Before::Unclear | Before::Dot => Err(Stop::Unclear),
            Before::Operator => self.regex(),
        }
    }

    fn regex(&mut self) -> Result<(), Stop> {
        self.at += 1;
        let mut class = false;
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\\'
                    if matches!(self.peek(1), b'\n' | b'\r')
                        || is_separator(&self.bytes[(self.at + 1).min(self.bytes.len())..]) =>
                {
                    return Err(Stop::Unclear);
                }
                b'\\' => self.at += 1,
                b'\n' | b'\r' => return Err(Stop::Unclear),
                0xE2 if is_separator(&self.bytes[self.at..]) => return Err(Stop::Unclear),
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => {
                    self.at += 1;
                    while self.peek(0).is_ascii_alphanumeric() {
                        self.at += 1;
                    }
                    self.before = Before::Value;
                    return Ok(());
                }
                _ => {}
            }
            self.at += 1;
        }
        Err(Stop::Unclear)
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\n' | b'\r' => return,
                0xE2 if is_separator(&self.bytes[self.at..]) => return,
                _ => self.at += 1,
            }
        }
    }

    fn skip_block(&mut self) -> Result<(), Stop> {
        self.at += 2;
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'*' if self.peek(1) == b'/' => {
                    self.at += 2;
                    return Ok(());
                }
                b'\n' | b'\r' | 0xE2 => self.line_start = true,
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn innermost(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::new(0, false));
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn link(&mut self, cost: usize) -> Result<(), Stop> {
        self.innermost().links += cost;
        self.check()
    }

    fn statement(&mut self, cost: usize) -> Result<(), Stop> {
        self.innermost().statements += cost;
        self.check()
    }

    fn check(&mut self) -> Result<(), Stop> {
        let level = self.innermost();
        let cost = level.links + level.statements + self.outer;
        self.peak = self.peak.max(cost);
        if cost > STACK_LIMIT { Err(Stop::Refused(Depth::Chain(self.at))) } else { Ok(()) }
    }

    fn open(&mut self, open: u8, special: bool) -> Result<(), Stop> {
        // What is closed again still nests what comes before it: `a()()()` is a chain.
        self.innermost().links += LINK;
        let level = self.innermost();
        self.outer += level.links + level.statements + BRACKET;
        if self.levels.len() > NESTING_LIMIT {
            return Err(Stop::Refused(Depth::Nesting(self.at)));
        }
        self.levels.push(Level::new(open, special));
        self.at += 1;
        self.before = Before::Operator;
        self.condition = false;
        self.check()
    }

    fn close(&mut self, close: u8) -> Result<(), Stop> {
        let open = match close {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        if self.levels.len() < 2 || self.innermost().open != open {
            return Err(Stop::Unclear);
        }
        let special = self.innermost().special;
        self.levels.pop();
        let level = self.innermost();
        let freed = level.links + level.statements + BRACKET;
        self.outer = self.outer.saturating_sub(freed);
        self.condition = false;
        if close == b'}' && special {
            return self.template();
        }
        self.at += 1;
        self.before = match close {
            b']' => Before::Value,
            b')' if special => Before::Operator,
            b')' => Before::Value,
            _ => Before::Unclear,
        };
        Ok(())
    }

    /// Counts whatever could nest in the rest of the text, wherever it stands.
    fn count_rest(&mut self) -> Depth {
        let level = self.innermost();
        let mut cost = level.links + level.statements + self.outer;
        let mut word_start = true;
        for at in self.at..self.bytes.len() {
            let byte = self.bytes[at];
            let in_word = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
            cost += match byte {
                b'(' | b'[' | b'{' => BRACKET,
                b'd' | b't' | b'v' | b'a' | b'y' | b'i' | b'o' | b'e' | b's' if word_start => LINK,
                b'n' | b'f' | b'c' | b'w' if word_start => 2 * HEAVY,
                b'*' | b'=' | b'>' | b'\\' => HEAVY,
                b'!' | b'~' | b'+' | b'-' | b'%' | b'&' | b'|' | b'^' | b'<' | b'?' | b':' | b'.' | b'/' | b'`' => LINK,
                _ => 0,
            };
            word_start = !in_word;
            if cost > STACK_LIMIT {
                return Depth::Chain(at);
            }
        }
        self.peak = self.peak.max(cost);
        Depth::Stack(STACK_BASE + self.peak)
    }
}
