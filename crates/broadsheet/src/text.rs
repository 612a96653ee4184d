//! Lines for people: wrapping, aligned columns, sizes with units.

use std::fmt::Write as _;

/// Columns a line of help may take.
pub const WIDTH: usize = 79;

/// Breaks `text` at blanks into lines of at most `width` characters; a longer word stands alone.
/// Blank lines (paragraphs) and lines that begin with two blanks (examples) stay as they are.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for source in text.lines() {
        let kept = source.is_empty() || source.starts_with("  ");
        if kept {
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            lines.push(source.to_owned());
            continue;
        }
        for word in source.split_ascii_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Two columns: `left` in `width` characters, then `right` wrapped beside it. Ends with a newline.
pub fn beside(left: &str, width: usize, right: &str) -> String {
    let mut out = String::new();
    let mut lines = wrap(right, WIDTH.saturating_sub(width + 4).max(20)).into_iter();
    let first = lines.next().unwrap_or_default();
    if left.chars().count() <= width {
        let _ = writeln!(out, "  {left:<width$}  {first}");
    } else {
        let _ = writeln!(out, "  {left}\n  {:width$}  {first}", "");
    }
    for line in lines {
        let _ = writeln!(out, "  {:width$}  {line}", "");
    }
    out
}

const UNITS: &[(&str, u64)] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// `8 MiB` when the number is whole in a larger unit, else the plain number.
pub fn bytes(count: u64) -> String {
    match UNITS
        .iter()
        .find(|(_, unit)| count >= *unit && count.is_multiple_of(*unit))
    {
        Some((name, unit)) => format!("{} {name}", count / unit),
        None => count.to_string(),
    }
}

/// `1.5 MiB`: to one decimal, for people.
pub fn rough_bytes(count: u64) -> String {
    match UNITS.iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", count as f64 / *unit as f64),
        None => format!("{count} bytes"),
    }
}

/// `1 article`, `2 articles`; a word that ends in `ch` gets `es`.
pub fn counted(count: u64, what: &str) -> String {
    let ending = match what.ends_with("ch") {
        _ if count == 1 => "",
        true => "es",
        false => "s",
    };
    format!("{count} {what}{ending}")
}

/// A moment, seconds since 1970, as news writes it: `Mon, 20 Dec 1993 04:39:21 GMT`.
pub fn utc(seconds: i64) -> String {
    let mut text = Vec::new();
    article::date::write_utc(&mut text, seconds);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wrapping_keeps_paragraphs_and_examples() {
        assert_eq!(
            wrap("one two three\n\n  a  b\nx", 8),
            ["one two", "three", "", "  a  b", "x"]
        );
    }

    proptest! {
        #[test]
        fn a_size_survives_writing_and_reading(count: u64) {
            prop_assert_eq!(groups::size::parse(&bytes(count)), Some(count));
        }
    }
}
