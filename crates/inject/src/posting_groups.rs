//! Checks the groups of a post: the dominating flag, as in C News's `actflag`.

use article::newsgroups;
use groups::{Active, Flag};

use crate::refusal::{Refusal, shown};

/// The groups of a post, by their flags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PostingGroups<'a> {
    /// The first moderated group of Newsgroups, by its name in active (RFC 5537, 3.5.1).
    pub moderated: Option<&'a [u8]>,
    /// Groups that are not in active; the article is filed in the others, as in C News.
    pub unknown: Vec<&'a [u8]>,
}

/// Checks every group of a Newsgroups value: any closed group (n, x or j) refuses the post, else any moderated one makes it
/// moderated. Aliases are resolved.
///
/// # Errors
/// A closed group, or no known group.
pub fn check_groups<'a>(value: &'a [u8], active: &'a Active) -> Result<PostingGroups<'a>, Refusal> {
    let mut moderated = None;
    let mut unknown = Vec::new();
    let mut is_known = false;
    for name in newsgroups::split(value) {
        let found = active.find(name).and_then(|id| active.resolve(id));
        let Some(id) = found else {
            unknown.push(name);
            continue;
        };
        is_known = true;
        match active.flag(id) {
            // Nobody reads articles in junk, so a j group is closed too, as in INN's nnrpd.
            Flag::NoPosting | Flag::Excluded | Flag::Junked => {
                return Err(Refusal::NoPosting(shown(name)));
            }
            Flag::Moderated => moderated = moderated.or(Some(active.name(id))),
            _ => {}
        }
    }
    if is_known {
        Ok(PostingGroups { moderated, unknown })
    } else {
        Err(Refusal::NoGroup(shown(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dominating_flag() {
        let text = b"a.y 0 1 y\na.m 0 1 m\na.n 0 1 n\na.x 0 1 x\na.j 0 1 j\na.toy 0 1 =a.y\na.tom 0 1 =a.m\na.toz 0 1 =a.z\n";
        let active = Active::parse(text.to_vec()).unwrap();
        let of = |value: &'static str| check_groups(value.as_bytes(), &active);
        assert_eq!(of("a.y").unwrap().moderated, None);
        assert_eq!(of("a.y,a.tom").unwrap().moderated, Some(&b"a.m"[..]));
        assert_eq!(of("a.toy,q.q").unwrap().unknown, [b"q.q"]);
        assert_eq!(of("a.y,a.m,a.n").unwrap_err().code(), "no-posting");
        assert_eq!(of("a.x").unwrap_err().code(), "no-posting");
        assert_eq!(of("a.j").unwrap_err().code(), "no-posting");
        assert_eq!(of("a.toz,q.q").unwrap_err().code(), "no-such-group");
    }
}
