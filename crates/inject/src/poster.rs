//! The poster of an article.

use groups::{Destination, Sender};

/// The poster of an article.
#[derive(Debug, Clone, Copy)]
pub struct Poster<'a> {
    /// A unique name of the poster, for Cancel-Locks, and for Injection-Info if the site reveals it. May be empty.
    pub account: &'a [u8],
    /// From for posts without one: `user@site (Name)`. May be empty.
    pub from: &'a [u8],
    /// The host that the post comes from; empty for this one.
    pub host: &'a [u8],
    /// A key to the poster in the site's own log; empty for none.
    pub logging_data: &'a [u8],
    /// The rights of the poster.
    pub sender: &'a dyn Sender,
    /// Whether the poster may cancel posts of others at this site.
    pub is_admin: bool,
}

/// The rights of a sender who may post to every group, such as an account of this machine.
#[derive(Debug, Clone, Copy)]
pub struct EveryGroup {
    /// Whether Approved and control messages other than cancel are allowed.
    pub may_approve: bool,
}

impl Sender for EveryGroup {
    fn may_file_in(&self, destinations: &[Destination<'_>]) -> bool {
        !destinations.is_empty()
    }

    fn may_approve(&self) -> bool {
        self.may_approve
    }
}

/// An anonymous poster, who may post to every group, but not approve.
impl Default for Poster<'_> {
    fn default() -> Self {
        Poster {
            account: b"",
            from: b"",
            host: b"",
            logging_data: b"",
            sender: &EveryGroup { may_approve: false },
            is_admin: false,
        }
    }
}
