//! Who posts.

use groups::{Destination, Sender};

/// Who posts.
#[derive(Debug, Clone, Copy)]
pub struct Poster<'a> {
    /// A name no other poster has: for locks, and for Injection-Info where the site tells it. May be empty.
    pub account: &'a [u8],
    /// From where the post has none: `user@site (Name)`. May be empty.
    pub from: &'a [u8],
    /// The machine the post comes from; empty for this one.
    pub host: &'a [u8],
    /// What finds the poster again in the site's own log; empty for nothing.
    pub logging_data: &'a [u8],
    /// The rights of the poster.
    pub sender: &'a dyn Sender,
    /// May cancel what others posted here.
    pub is_admin: bool,
}

/// The rights of somebody who may post to every group, such as an account of this machine.
#[derive(Debug, Clone, Copy)]
pub struct EveryGroup {
    /// May give Approved, and post control messages other than cancel.
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

/// A nameless poster, who may post to every group, but not approve.
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
