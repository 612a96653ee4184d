//! Finds the known word nearest to a mistyped one, for "did you mean".

/// Returns the candidate closest to `word`, or `None` if no candidate is close enough:
/// at most a third of the letters (two for short words) may differ. Swapped neighbours count as one difference. A candidate that ends
/// with the word, after an underscore, is close as well (`fingerprint` for `tls_fingerprint`).
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let is_end = |candidate: &str| {
        let before = candidate.strip_suffix(word).filter(|_| !word.is_empty());
        before.is_some_and(|before| before.ends_with('_'))
    };
    let distance = |candidate| {
        if is_end(candidate) {
            1
        } else {
            strsim::osa_distance(word, candidate)
        }
    };
    let allowed = (word.len() / 3).max(2);
    candidates
        .map(|candidate| (distance(candidate), candidate))
        .filter(|&(distance, candidate)| distance <= allowed && distance < candidate.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Formats `; did you mean X?`, or an empty string.
pub fn hint<'a>(word: &str, prefix: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    match nearest(word, candidates) {
        Some(found) => format!("; did you mean {prefix}{found}?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[&str] = &["article_bytes_max", "header_bytes_max", "name", "sync"];

    fn of(word: &str) -> Option<&'static str> {
        nearest(word, KEYS.iter().copied())
    }

    #[test]
    fn a_typo_finds_its_word() {
        assert_eq!(of("article_byte_max"), Some("article_bytes_max"));
        assert_eq!(of("nmae"), Some("name"));
        assert_eq!(of("snyc"), Some("sync"));
        assert_eq!(of("bytes_max"), Some("article_bytes_max"));
    }

    #[test]
    fn an_unrelated_word_finds_nothing() {
        assert_eq!(of("telephone"), None);
        assert_eq!(of(""), None);
    }
}
