//! The checks of articles that later builds have added or dropped. A cluster begins them at an entry of its log, so that all nodes
//! decide alike; everybody else has the newest.

/// The checks in force; each has those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Checks {
    /// A Path without a site makes an article that a peer announced one that was posted here, a CR without LF may be in its header, and
    /// the limits of size are compared with its wire form. White space around the names in Newsgroups is an error, as in C News.
    First,
    /// An article that a peer announced never counts as posted here, has no CR without LF in its header, and is measured in native form.
    OfPeers,
    /// The names in Newsgroups may have white space around them (RFC 5536, 3.1.4).
    #[default]
    FoldedGroups,
}
