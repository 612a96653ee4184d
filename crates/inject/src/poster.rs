//! Who posts.

/// Who posts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Poster<'a> {
    /// A name no other poster has: for locks, and for Injection-Info where the site tells it. May be empty.
    pub account: &'a [u8],
    /// From where the post has none: `user@site (Name)`. May be empty.
    pub from: &'a [u8],
    /// The machine the post comes from; empty for this one.
    pub host: &'a [u8],
    /// What finds the poster again in the site's own log; empty for nothing.
    pub logging_data: &'a [u8],
    /// May give Approved, and post control messages other than cancel.
    pub may_approve: bool,
    /// May cancel what others posted here.
    pub is_admin: bool,
}
