//! The bytes that introduce each kind of value in the stream, and the bounds that V8 sets.

/// Introduces the version at the start of a stream.
pub(super) const VERSION: u8 = 0xFF;
/// The version written here: the lowest that has all the tags below. V8 reads any version up to its own.
pub(super) const WRITTEN: u8 = 15;
/// The versions that are read: 16 only widened lengths, which are read wide in any case.
pub(super) const READABLE: std::ops::RangeInclusive<u8> = 15..=16;
/// How many bytes the header takes.
pub(super) const HEADER: usize = 2;

pub(super) const PADDING: u8 = 0;
pub(super) const HOLE: u8 = b'-';
pub(super) const UNDEFINED: u8 = b'_';
pub(super) const NULL: u8 = b'0';
pub(super) const TRUE: u8 = b'T';
pub(super) const FALSE: u8 = b'F';
pub(super) const INT32: u8 = b'I';
pub(super) const UINT32: u8 = b'U';
pub(super) const DOUBLE: u8 = b'N';
pub(super) const BIG_INT: u8 = b'Z';
pub(super) const UTF8: u8 = b'S';
pub(super) const ONE_BYTE: u8 = b'"';
pub(super) const TWO_BYTE: u8 = b'c';
pub(super) const REFERENCE: u8 = b'^';
pub(super) const OBJECT: u8 = b'o';
pub(super) const END_OBJECT: u8 = b'{';
pub(super) const SPARSE: u8 = b'a';
pub(super) const END_SPARSE: u8 = b'@';
pub(super) const DENSE: u8 = b'A';
pub(super) const END_DENSE: u8 = b'$';
pub(super) const DATE: u8 = b'D';
pub(super) const TRUE_OBJECT: u8 = b'y';
pub(super) const FALSE_OBJECT: u8 = b'x';
pub(super) const NUMBER_OBJECT: u8 = b'n';
pub(super) const BIG_INT_OBJECT: u8 = b'z';
pub(super) const STRING_OBJECT: u8 = b's';
pub(super) const REG_EXP: u8 = b'R';
pub(super) const MAP: u8 = b';';
pub(super) const END_MAP: u8 = b':';
pub(super) const SET: u8 = b'\'';
pub(super) const END_SET: u8 = b',';
pub(super) const BUFFER: u8 = b'B';
pub(super) const IMMUTABLE_BUFFER: u8 = b'C';
pub(super) const RESIZABLE_BUFFER: u8 = b'~';
pub(super) const TRANSFER: u8 = b't';
pub(super) const VIEW: u8 = b'V';
pub(super) const SHARED_BUFFER: u8 = b'u';
pub(super) const SHARED_OBJECT: u8 = b'p';
pub(super) const WASM_MODULE: u8 = b'w';
pub(super) const WASM_MEMORY: u8 = b'm';
pub(super) const HOST_OBJECT: u8 = b'\\';
pub(super) const ERROR: u8 = b'r';
/// Ends an Error; only ever read after its fields.
pub(super) const END_ERROR: u8 = b'.';

/// The largest integer that a JavaScript number holds without doubt.
pub(super) const MAX_SAFE: u64 = (1 << 53) - 1;
/// The longest string of V8, in UTF-16 units.
pub(super) const MAX_STRING: usize = (1 << 29) - 24;
/// The longest array that V8 reads in the dense form.
pub(super) const MAX_ARRAY: usize = 1 << 27;
/// Byte strings from this length on travel beside the stream, so that V8 adopts them without a copy.
pub(super) const BLOB: usize = 4096;
/// The name by which `serde_json` marks raw JSON text.
pub(super) const RAW_VALUE: &str = "$serde_json::private::RawValue";
