//! A pattern of group names on the command line.

use groups::{Matcher, Pattern, Wildmat};

use crate::flags::{Given, UsageError};

/// A pattern in the language that `--wildmat` chooses; a group for which a pattern with `@` decides does not match. Without it, a character that only wildmats have (`*`, `?`, `[`) tells.
///
/// # Errors
/// Such a character and the word `all`, which only C News patterns have, in one list.
pub fn matcher(given: &Given, pattern: &[u8]) -> Result<Matcher, UsageError> {
    let is_starred = pattern.iter().any(|byte| b"*?[".contains(byte));
    if !given.has("wildmat") && is_starred && has_all(pattern) {
        return Err(given.usage(format!(
            "`{}' mixes a wildmat (`comp.*') with a C News pattern (`comp.all'): write it as one of them; --wildmat reads it as a wildmat",
            pattern.escape_ascii()
        )));
    }
    Ok(match given.has("wildmat") || is_starred {
        true => Matcher::Wildmat(Wildmat::parse(pattern)),
        false => Matcher::CNews(Pattern::parse_poison(pattern)),
    })
}

/// Whether a word between dots of the list is `all`.
fn has_all(pattern: &[u8]) -> bool {
    let mut words = pattern.split(|byte| b",!.".contains(byte));
    words.any(|word| word == b"all")
}
