//! Where an article is filed, and the rights of its sender. Rights concern the groups in which the article is filed,
//! not only the names in Newsgroups, because an alias (`=` in active) has a name of its own.

use std::fmt;

use crate::active::{Active, Flag};

/// A name in Newsgroups, and the group in which the article is filed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destination<'a> {
    /// The name as in the article.
    pub name: &'a [u8],
    /// The group in which the article is filed for this name, with aliases resolved. `None` if it is filed in no group: active has no
    /// such group, or one with the flag x or j, or the alias has no target.
    pub filed_in: Option<&'a [u8]>,
}

impl<'a> Destination<'a> {
    /// The destination of a name according to this table.
    pub fn of(name: &'a [u8], active: &'a Active) -> Destination<'a> {
        let resolved = active.find(name).and_then(|id| active.resolve(id));
        let is_filed = |id: &_| !matches!(active.flag(*id), Flag::Excluded | Flag::Junked);
        Destination {
            name,
            filed_in: resolved.filter(is_filed).map(|id| active.name(id)),
        }
    }
}

/// The rights of a sender: a poster or a peer. The administrator's own batches have no sender.
pub trait Sender: fmt::Debug {
    /// Whether the sender may file one article in all these destinations. An empty list is never allowed.
    fn may_file_in(&self, destinations: &[Destination<'_>]) -> bool;

    /// Whether the sender may use Approved, and send control messages other than cancel.
    fn may_approve(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_followed_to_their_end() {
        let text = b"a.y 0 1 y\na.x 0 1 x\na.j 0 1 j\nb 0 1 =a.y\nc 0 1 =b\nd 0 1 =a.x\ne 0 1 =none\nf 0 1 =f\n";
        let active = Active::parse(text.to_vec()).unwrap();
        let of = |name: &'static str| Destination::of(name.as_bytes(), &active).filed_in;
        for name in ["a.y", "b", "c"] {
            assert_eq!(of(name), Some(&b"a.y"[..]), "{name}");
        }
        for name in ["a.x", "a.j", "d", "e", "f", "none", ""] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
