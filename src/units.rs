//! Sizes as a type of their own, so that no limit is a bare integer.

use std::fmt;

/// A number of bytes.
///
/// ```
/// use jsmill::Bytes;
/// assert_eq!(Bytes::mib(2), Bytes::new(2 * 1024 * 1024));
/// assert_eq!(Bytes::mib(2).to_string(), "2 MiB");
/// assert_eq!(Bytes::new(1500).to_string(), "1500 B");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// This many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// This many KiB (1,024 bytes). Saturates at `u64::MAX` bytes.
    pub const fn kib(kib: u64) -> Self {
        Self(kib.saturating_mul(1 << 10))
    }

    /// This many MiB (1,024 KiB). Saturates at `u64::MAX` bytes.
    pub const fn mib(mib: u64) -> Self {
        Self(mib.saturating_mul(1 << 20))
    }

    /// This many GiB (1,024 MiB). Saturates at `u64::MAX` bytes.
    pub const fn gib(gib: u64) -> Self {
        Self(gib.saturating_mul(1 << 30))
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bytes as the platform's size type; saturates where that type is smaller.
    pub const fn as_usize(self) -> usize {
        if self.0 > usize::MAX as u64 { usize::MAX } else { self.0 as usize }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        for (size, unit) in UNITS {
            if self.0 >= size && self.0.is_multiple_of(size) {
                return write!(f, "{} {unit}", self.0 / size);
            }
        }
        write!(f, "{} B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturates_instead_of_wrapping() {
        assert_eq!(Bytes::gib(u64::MAX).get(), u64::MAX);
    }

    #[test]
    fn prints_the_largest_whole_unit() {
        assert_eq!(Bytes::new(0).to_string(), "0 B");
        assert_eq!(Bytes::kib(1).to_string(), "1 KiB");
        assert_eq!(Bytes::kib(1536).to_string(), "1536 KiB");
        assert_eq!(Bytes::gib(3).to_string(), "3 GiB");
    }
}
