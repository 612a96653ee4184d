//! Sizes with units: `20 GiB`, `100 kB`, `1.5 TB`, `4096`.

/// The units, for messages.
pub const UNITS: &str = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";

/// Parses a decimal number with a unit to bytes; fractions of a byte are cut. `None` for any other text, and above
/// `u64::MAX`.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let unit: u128 = match unit.trim_start() {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    // Nine digits after the point are finer than a byte in a gigabyte.
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let whole = u128::from(whole.parse::<u64>().ok()?);
    let parts = u128::from(fraction.parse::<u64>().ok()?);
    let bytes = whole.checked_mul(unit)? + parts * unit / scale;
    u64::try_from(bytes).ok()
}

const BINARY: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

/// `8 MiB` when the number is whole in a larger unit, else the plain number.
pub fn bytes(count: u64) -> String {
    match BINARY
        .iter()
        .find(|(_, unit)| count >= *unit && count.is_multiple_of(*unit))
    {
        Some((name, unit)) => format!("{} {name}", count / unit),
        None => count.to_string(),
    }
}

/// `1.5 MiB`: to one decimal, for people.
pub fn rough_bytes(count: u64) -> String {
    match BINARY.iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", count as f64 / *unit as f64),
        None => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_size_survives_writing_and_reading(count: u64) {
            prop_assert_eq!(parse(&bytes(count)), Some(count));
        }
    }

    #[test]
    fn sizes() {
        for (text, want) in [
            ("20 GiB", Some(20 << 30)),
            ("20GiB", Some(20 << 30)),
            ("1.5 TB", Some(1_500_000_000_000)),
            ("0.5 KiB", Some(512)),
            ("512", Some(512)),
            ("7 B", Some(7)),
            (" 3 MB ", Some(3_000_000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("99999999999 TiB", None),
            ("20 G", None),
            ("GiB", None),
            ("", None),
            ("-1", None),
            ("1.", None),
            (".5 GiB", None),
            ("1.2.3", None),
            ("20 GiB free", None),
        ] {
            assert_eq!(parse(text), want, "{text:?}");
        }
    }
}
