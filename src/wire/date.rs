//! A moment, in milliseconds since 1970, as the text that `Date.prototype.toISOString` gives.

/// The text in UTC, or `None` for a value that no valid Date has.
pub(super) fn iso(milliseconds: f64) -> Option<String> {
    // The range that ECMAScript gives to Date.
    if milliseconds.is_nan() || milliseconds.abs() > 8.64e15 || milliseconds.trunc() != milliseconds {
        return None;
    }
    let milliseconds = milliseconds as i64;
    let (days, rest) = (milliseconds.div_euclid(86_400_000), milliseconds.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    let time = format!("{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z");
    Some(match year {
        0..=9999 => format!("{year:04}-{time}"),
        _ => format!("{year:+07}-{time}"),
    })
}

/// Year, month and day of the Gregorian calendar, by counting in 400-year cycles that begin in March, so that the
/// leap day comes last.
fn civil(days: i64) -> (i64, i64, i64) {
    const CYCLE: i64 = 146_097;
    // From the first of March of the year 0 to 1970-01-01.
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
    let year = (day - day / 1460 + day / 36_524 - day / (CYCLE - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * cycle + year + carry, month, day)
}

#[cfg(test)]
mod tests {
    use super::iso;

    #[test]
    fn dates_read_as_in_javascript() {
        let cases = [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (-1.0, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000.0, "2100-03-01T00:00:00.000Z"),
            (1_785_585_785_007.0, "2026-08-01T12:03:05.007Z"),
            (-62_198_755_200_000.0, "-000001-01-01T00:00:00.000Z"),
            (253_402_300_800_000.0, "+010000-01-01T00:00:00.000Z"),
            (8.64e15, "+275760-09-13T00:00:00.000Z"),
            (-8.64e15, "-271821-04-20T00:00:00.000Z"),
        ];
        for (milliseconds, text) in cases {
            assert_eq!(iso(milliseconds).as_deref(), Some(text));
        }
        for invalid in [f64::NAN, f64::INFINITY, 8.64e15 + 1.0, 0.5] {
            assert_eq!(iso(invalid), None);
        }
    }
}
