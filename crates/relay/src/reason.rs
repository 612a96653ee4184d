//! Why an article is refused, in C News's words.

use std::io::Write;

use article::message_id::IdError;
use article::{Header, HeaderError};

use crate::permit::Denied;

/// The reason for a refusal, borrowing what it quotes from the article.
///
/// The texts are those of relaynews, so that programs that read its log read ours. The reasons of
/// our own (the sizes and counts) are worded in the same manner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason<'a> {
    /// Ours: the article is larger than the limit, in bytes.
    ArticleBytes {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Ours: the header is larger than the limit, in bytes.
    HeaderBytes {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The header is not one: a duplicate required field, or a line that is no field.
    Header(HeaderError<'a>),
    /// A required header is absent.
    Missing(Header),
    /// A required header has nothing but blanks.
    Empty(Header),
    /// The message-id is none.
    MessageId(IdError),
    /// Ours: the message-id is longer than the limit, in bytes.
    MessageIdBytes {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Ours: Newsgroups names more groups than the limit.
    GroupCount {
        /// How many it names.
        groups: usize,
        /// The limit.
        limit: usize,
    },
    /// Ours: its sender may not do this.
    NotPermitted(Denied),
    /// A moderated group among these, and no Approved header.
    Unapproved(&'a [u8]),
    /// No date can be read from this.
    UnparsableDate(&'a [u8]),
    /// This Date is ahead of our clock by more than is allowed.
    FutureDate(&'a [u8]),
    /// This Date is older than is allowed.
    AncientDate(&'a [u8]),
    /// White space inside the value of Newsgroups.
    SpaceInGroups(&'a [u8]),
    /// The id is in the history.
    Duplicate,
    /// From another site, and our subscription has none of these groups.
    NotSubscribed(&'a [u8]),
    /// Every group is x'ed, or unknown and not in our subscription.
    AllExcluded(&'a [u8]),
    /// The groups are unknown, and `junk` is x'ed.
    JunkExcluded(&'a [u8]),
    /// The groups are unknown, and there is no `junk`.
    NoJunk(&'a [u8]),
}

/// What a refusal is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RefusalKind {
    /// The article, its header or its id is too large, or it names too many groups.
    Size,
    /// Its header is no header, lacks something, or has a bad id.
    Malformed,
    /// Its date is none, too old or ahead of the clock.
    Date,
    /// It is in a moderated group without approval.
    Unapproved,
    /// None of its groups is subscribed to, or here.
    Groups,
    /// Its sender may not do that.
    NotPermitted,
    /// Another one.
    #[default]
    Other,
}

impl Reason<'_> {
    /// What it is counted as.
    pub fn kind(&self) -> RefusalKind {
        match self {
            Reason::ArticleBytes { .. }
            | Reason::HeaderBytes { .. }
            | Reason::MessageIdBytes { .. }
            | Reason::GroupCount { .. } => RefusalKind::Size,
            Reason::Header(_)
            | Reason::Missing(_)
            | Reason::Empty(_)
            | Reason::MessageId(_)
            | Reason::SpaceInGroups(_) => RefusalKind::Malformed,
            Reason::UnparsableDate(_) | Reason::FutureDate(_) | Reason::AncientDate(_) => {
                RefusalKind::Date
            }
            Reason::NotPermitted(_) => RefusalKind::NotPermitted,
            Reason::Unapproved(_) => RefusalKind::Unapproved,
            Reason::NotSubscribed(_)
            | Reason::AllExcluded(_)
            | Reason::JunkExcluded(_)
            | Reason::NoJunk(_) => RefusalKind::Groups,
            Reason::Duplicate => RefusalKind::Other,
        }
    }

    /// Appends the text as logged after `-`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Reason::ArticleBytes { bytes, limit } => over(out, "article too large", bytes, limit),
            Reason::HeaderBytes { bytes, limit } => over(out, "header too large", bytes, limit),
            // Quoted byte for byte, where Display would have to be UTF-8.
            Reason::Header(HeaderError::NotAHeader(line)) => quote(
                out,
                b"article \"header\" contains non-RFC-1036-header line `",
                line,
                b"'",
            ),
            Reason::Header(ref fault) => push(out, fault),
            Reason::Missing(header) => push(out, &format_args!("no {}: header", header.name())),
            Reason::Empty(header) => push(out, &format_args!("empty {}: header", header.name())),
            Reason::MessageId(ref fault) => push(out, fault),
            Reason::MessageIdBytes { bytes, limit } => {
                over(out, "Message-ID too long", bytes, limit);
            }
            Reason::GroupCount { groups, limit } => push(
                out,
                &format_args!("too many groups: {groups}, the limit is {limit}"),
            ),
            Reason::NotPermitted(ref denied) => push(out, denied),
            Reason::Unapproved(groups) => quote(
                out,
                b"unapproved article in moderated group(s) `",
                groups,
                b"'",
            ),
            Reason::UnparsableDate(date) => quote(out, b"unparsable Date: `", date, b"'"),
            Reason::FutureDate(date) => {
                quote(out, b"Date: too far in the future: `", date, b"'");
            }
            Reason::AncientDate(date) => quote(out, b"ancient date `", date, b"'"),
            Reason::SpaceInGroups(groups) => quote(out, b"space in groups `", groups, b"'"),
            Reason::Duplicate => out.extend_from_slice(b"duplicate"),
            Reason::NotSubscribed(groups) => {
                quote(out, b"no subscribed groups in `", groups, b"'");
            }
            Reason::AllExcluded(groups) => {
                quote(out, b"all groups `", groups, b"' excluded in active");
            }
            Reason::JunkExcluded(groups) => quote(
                out,
                b"no known groups in `",
                groups,
                b"' and junk group is excluded in active",
            ),
            Reason::NoJunk(groups) => {
                quote(out, b"no known groups in `", groups, b"' and no junk group");
            }
        }
    }

    /// The text as a vector of its own.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.write(&mut text);
        text
    }

    /// Whether C News writes a history line for an article refused for this reason, so that the
    /// next copy is a duplicate: where the groups are at fault, which every copy has alike.
    pub fn is_remembered(&self) -> bool {
        matches!(self, Reason::NotSubscribed(_) | Reason::AllExcluded(_))
    }
}

fn quote(out: &mut Vec<u8>, before: &[u8], quoted: &[u8], after: &[u8]) {
    out.extend_from_slice(before);
    out.extend_from_slice(quoted);
    out.extend_from_slice(after);
}

fn over(out: &mut Vec<u8>, what: &str, bytes: usize, limit: usize) {
    push(
        out,
        &format_args!("{what}: {bytes} bytes, the limit is {limit}"),
    );
}

fn push(out: &mut Vec<u8>, text: &dyn std::fmt::Display) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{text}");
}
