//! Converts a wildmat pattern to C News patterns that match exactly the same groups.
//!
//! In a wildmat `*` matches any text, dots included, and a pattern must match
//! the whole name; in C News `all` is one whole word and a pattern matches all
//! groups below it. Equivalent are:
//!
//! | wildmat | C News |
//! |---|---|
//! | `*` | `all` |
//! | `a.b.*` | `a.b.all` |
//! | `a.b` | `a.b,!a.b.all` |
//! | `!X` | `all,` and the opposite of X |

/// Returns the C News patterns equivalent to a wildmat (with `!` in front: to its opposite).
///
/// # Errors
/// The reason why there are none.
pub(super) fn translate(wildmat: &[u8]) -> Result<Vec<u8>, String> {
    let (negated, pattern) = match wildmat.strip_prefix(b"!") {
        Some(pattern) => (true, pattern),
        None => (false, wildmat),
    };
    let none = |why: &str| {
        let shown = groups::shown(wildmat);
        Err(format!(
            "pattern `{shown}' {why}; write rules for its groups"
        ))
    };
    if negated && pattern == b"*" {
        return none("matches no group");
    }
    if pattern == b"*" {
        return Ok(b"all".to_vec());
    }
    if pattern.iter().any(|byte| b"?[]\\^".contains(byte)) {
        return none("uses ?, [ ] or \\, which C News patterns do not have");
    }
    if pattern
        .iter()
        .any(|byte| b"@!/".contains(byte) || byte.is_ascii_whitespace())
    {
        return none("is not a pattern for group names");
    }
    let (stem, stars) = split_stars(pattern);
    if stem.contains(&b'*') {
        return none("has a * inside a word, but C News's `all' is one whole word");
    }
    if stem
        .split(|byte| *byte == b'.')
        .any(|word| word.is_empty() || word == b"all")
    {
        return none("has an empty word or the word `all'");
    }
    Ok(match (stars, negated) {
        (0, false) => [stem, b",!", stem, b".all"].concat(),
        (0, true) => [b"all,!", stem, b",", stem, b".all"].concat(),
        (stars, false) => [stem, &b".all".repeat(stars)].concat(),
        (stars, true) => [b"all,!", stem, &b".all".repeat(stars)].concat(),
    })
}

/// Strips the last words that are `*`, and counts them.
fn split_stars(pattern: &[u8]) -> (&[u8], usize) {
    let (mut stem, mut stars) = (pattern, 0);
    while let Some(rest) = stem.strip_suffix(b".*") {
        stem = rest;
        stars += 1;
    }
    (stem, stars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groups::pattern::Pattern;
    use proptest::prelude::*;

    /// Matches a wildmat of literals and `*` in the slow, obvious way.
    fn wildmat(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), None) => wildmat(rest, text),
            (Some((b'*', rest)), Some((_, later))) => {
                wildmat(rest, text) || wildmat(pattern, later)
            }
            (Some((a, pattern)), Some((b, text))) => a == b && wildmat(pattern, text),
            _ => false,
        }
    }

    #[test]
    fn patterns_without_an_equivalent_are_rejected() {
        for text in [
            "comp*",
            "*.comp",
            "comp.*.x",
            "comp.?",
            "comp.[ab]",
            "comp.\\*",
            "@comp",
            "!*",
            "comp..x",
            "all",
            "comp.all.*",
            "",
            "!",
            "**",
            ".*",
            "*.*",
        ] {
            assert!(translate(text.as_bytes()).is_err(), "{text}");
        }
    }

    fn words() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "ab", "c"]), 1..4)
    }

    proptest! {
        #[test]
        fn a_translation_matches_the_same_groups(
            stem in words(), stars in 0..3usize, negated: bool, groups in prop::collection::vec(words(), 1..20)
        ) {
            let wild = [stem.join("."), ".*".repeat(stars)].concat();
            let written = if negated { format!("!{wild}") } else { wild.clone() };
            let same = translate(written.as_bytes()).unwrap();
            let pattern = Pattern::parse(&same);
            for group in groups {
                let group = group.join(".");
                prop_assert_eq!(
                    pattern.matches(group.as_bytes()),
                    wildmat(wild.as_bytes(), group.as_bytes()) != negated,
                    "{} against {}", written, group
                );
            }
        }
    }
}
