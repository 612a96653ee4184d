//! What the groups of a post allow: the dominating flag, as C News's `actflag` finds it.

use article::newsgroups;
use groups::{Active, Flag};

use crate::refusal::{Refusal, shown};

/// What to do with a post, by its groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allowed<'a> {
    /// The first moderated group of Newsgroups, by the name active knows it by (RFC 5537, 3.5.1).
    pub moderated: Option<&'a [u8]>,
    /// Groups that are not known here; the others take the article, as in C News.
    pub unknown: Vec<&'a [u8]>,
}

/// Looks at every group of a Newsgroups value: any that is closed (n, x or j) rules, then any that is moderated. Aliases are
/// followed.
///
/// # Errors
/// A closed group, or none that is known.
pub fn allowed<'a>(value: &'a [u8], active: &'a Active) -> Result<Allowed<'a>, Refusal> {
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
            // What lies in junk nobody reads, so a j group is closed too, as INN's nnrpd has it.
            Flag::NoPosting | Flag::Excluded | Flag::Junked => {
                return Err(Refusal::NoPosting(shown(name)));
            }
            Flag::Moderated => moderated = moderated.or(Some(active.name(id))),
            _ => {}
        }
    }
    match is_known {
        true => Ok(Allowed { moderated, unknown }),
        false => Err(Refusal::NoGroup(shown(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dominating_flag() {
        let text = b"a.y 0 1 y\na.m 0 1 m\na.n 0 1 n\na.x 0 1 x\na.j 0 1 j\na.toy 0 1 =a.y\na.tom 0 1 =a.m\na.toz 0 1 =a.z\n";
        let active = Active::parse(text.to_vec()).unwrap();
        let of = |value: &'static str| allowed(value.as_bytes(), &active);
        assert_eq!(of("a.y").unwrap().moderated, None);
        assert_eq!(of("a.y,a.tom").unwrap().moderated, Some(&b"a.m"[..]));
        assert_eq!(of("a.toy,q.q").unwrap().unknown, [b"q.q"]);
        assert_eq!(of("a.y,a.m,a.n").unwrap_err().code(), "no-posting");
        assert_eq!(of("a.x").unwrap_err().code(), "no-posting");
        assert_eq!(of("a.j").unwrap_err().code(), "no-posting");
        assert_eq!(of("a.toz,q.q").unwrap_err().code(), "no-such-group");
    }
}
