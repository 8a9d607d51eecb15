//! Removal of entries whose key occurs again later in the same object.
//!
//! Flattened structs and JSON text may repeat a key; V8 refuses to read such an object.

use super::tag;
use super::writer::Writer;
use std::collections::HashSet;

/// Up to this many entries, comparing all pairs is cheaper than hashing.
const PAIRS: usize = 12;

/// Keeps the last entry of each key among those from `base` on. The object must still be open, and at its end.
pub(super) fn remove(writer: &mut Writer, base: usize) {
    let obsolete = obsolete(&writer.out, &writer.entries[base..]);
    if !obsolete.contains(&true) {
        return;
    }
    let mut kept = base;
    let mut end = writer.entries[base];
    for (index, obsolete) in (base..).zip(obsolete) {
        if obsolete {
            continue;
        }
        let entry = writer.entries[index]..writer.entries.get(index + 1).copied().unwrap_or(writer.out.len());
        let length = entry.len();
        writer.out.copy_within(entry, end);
        writer.entries[kept] = end;
        kept += 1;
        end += length;
    }
    writer.entries.truncate(kept);
    writer.out.truncate(end);
}

/// For each entry, whether its key comes again.
fn obsolete(out: &[u8], entries: &[usize]) -> Vec<bool> {
    if entries.len() <= PAIRS {
        let again = |index: usize| {
            let key = key(out, entries[index]);
            entries[index + 1..].iter().any(|&later| self::key(out, later) == key)
        };
        return (0..entries.len()).map(again).collect();
    }
    let mut seen = HashSet::with_capacity(entries.len());
    let mut obsolete: Vec<bool> = entries.iter().rev().map(|&entry| !seen.insert(key(out, entry))).collect();
    obsolete.reverse();
    obsolete
}

/// An encoded key, tag and length included: equal texts have equal encodings.
fn key(out: &[u8], start: usize) -> &[u8] {
    debug_assert!(matches!(out[start], tag::ONE_BYTE | tag::UTF8));
    let mut length = 0;
    let mut at = start + 1;
    let mut shift = 0;
    while out[at] >= 0x80 {
        length |= usize::from(out[at] & 0x7F) << shift;
        shift += 7;
        at += 1;
    }
    length |= usize::from(out[at]) << shift;
    &out[start..at + 1 + length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Limits, Policy};

    fn write(keys: impl IntoIterator<Item = String>) -> (Vec<String>, Vec<u8>) {
        let mut writer = Writer::new(Policy::default(), Limits::default());
        for (index, key) in keys.into_iter().enumerate() {
            writer.entries.push(writer.out.len());
            writer.text(&key).unwrap();
            writer.int32(index as i32);
        }
        remove(&mut writer, 0);
        let keys = writer.entries.iter().map(|&start| String::from_utf8_lossy(&key(&writer.out, start)[2..]).into());
        (keys.collect(), writer.out.clone())
    }

    #[test]
    fn the_last_of_few_or_many_equal_keys_stays() {
        let (keys, out) = write(["a", "b", "a", "é", "b", "a"].map(String::from));
        assert_eq!(keys, ["é", "b", "a"]);
        assert_eq!(&out[2..], b"S\x02\xc3\xa9I\x06\"\x01bI\x08\"\x01aI\x0a");
        let (keys, _) = write((0..200).map(|n| (n % 40).to_string()));
        assert_eq!(keys.len(), 40);
    }
}
