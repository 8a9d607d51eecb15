//! Rules for every source file.

use super::sources;

#[test]
fn unsafe_code_is_in_one_folder_and_says_why() {
    for source in sources() {
        let lines: Vec<_> = source.text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap();
            let blocks = ["unsafe {", "unsafe impl", "unsafe fn", "unsafe extern"];
            let Some(block) = blocks.iter().find(|block| code.contains(**block)) else { continue };
            assert_eq!(source.module(), "vm", "{}:{}: unsafe code", source.path, index + 1);
            if *block == "unsafe fn" || *block == "unsafe extern" {
                continue;
            }
            // The note is the comment right above the statement; a statement may have begun some lines before.
            let above = &lines[index.saturating_sub(6)..index];
            assert!(
                above.iter().any(|line| line.contains("// SAFETY: ")),
                "{}:{}: no SAFETY note",
                source.path,
                index + 1
            );
        }
    }
}

#[test]
fn files_have_a_head_and_a_bearable_length() {
    for source in sources() {
        assert!(source.text.starts_with("//! "), "{} has no head", source.path);
        let lines = source.text.lines().count();
        assert!(lines <= 800, "{} has {lines} lines", source.path);
    }
}

#[test]
fn nothing_is_printed_or_left_to_do() {
    let marks = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]].map(|parts| parts.concat());
    for source in sources() {
        for word in ["println!", "eprintln!", "dbg!", "todo!", "unimplemented!"] {
            assert!(source.is_test() || !source.code.contains(word), "{}: {word}", source.path);
        }
        for mark in &marks {
            assert!(!source.text.contains(mark.as_str()), "{}: {mark}", source.path);
        }
        assert!(!source.text.contains("#[ignore"), "{}: an ignored test", source.path);
    }
}
