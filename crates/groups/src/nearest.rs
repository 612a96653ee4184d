//! The nearest known word to a mistyped one, for "did you mean".

/// The candidate closest to `word`, or `None` when nothing is close enough to be meant:
/// at most a third of the letters (two for short words) may differ. A swap of neighbours counts one.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.len() / 3).max(2);
    candidates
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= allowed && distance < candidate.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean X?`, or nothing.
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
    }

    #[test]
    fn a_stranger_finds_nothing() {
        assert_eq!(of("telephone"), None);
        assert_eq!(of(""), None);
    }
}
