//! Lines for people: wrapping, aligned columns, sizes with units.

use std::fmt::Write as _;

pub use groups::size::{bytes, rough_bytes};
pub use settings::wrap;

/// Columns a line of help may take.
pub const WIDTH: usize = 79;

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
