//! A pattern of group names on the command line.

use groups::{Matcher, Pattern, Wildmat};

use crate::flags::Given;

/// A pattern in the language that `--wildmat` chooses.
pub fn matcher(given: &Given, pattern: &[u8]) -> Matcher {
    if given.has("wildmat") {
        Matcher::Wildmat(Wildmat::parse(pattern))
    } else {
        Matcher::CNews(Pattern::parse(pattern))
    }
}
