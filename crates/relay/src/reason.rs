//! The reasons for refusing an article, with C News's texts.

use std::io::Write;

use article::message_id::{self, IdError};
use article::parse::BAD_LINE_SHOWN_BYTES_MAX;
use article::{Article, Header, HeaderError};

use crate::blocks::BlockKind;
use crate::permit::Denied;

/// The text of [`Reason::Duplicate`].
pub const DUPLICATE: &[u8] = b"duplicate";

/// The reason for a refusal. It borrows the quoted text from the article.
///
/// The texts are those of relaynews, so that programs that read its log can read ours. Additional reasons (sizes and counts) have
/// similar texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason<'a> {
    /// Additional: the article is larger than the limit, bytes.
    ArticleBytes {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Additional: the header is larger than the limit, bytes.
    HeaderBytes {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The header is invalid: a duplicate required field, or a line that is not a field.
    Header(HeaderError<'a>),
    /// A required header is missing.
    Missing(Header),
    /// A required header is empty.
    Empty(Header),
    /// The message-id is invalid.
    MessageId(IdError),
    /// Additional: the message-id is longer than the limit, bytes.
    MessageIdBytes {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Additional: Newsgroups has more groups than the limit.
    GroupCount {
        /// Their number.
        groups: usize,
        /// The limit.
        limit: usize,
    },
    /// Additional: its sender has no permission for this.
    NotPermitted(Denied),
    /// Additional: the administrator blocks this sender (the file `blocks`).
    Blocked(BlockKind, &'a [u8]),
    /// One of these groups is moderated, and the article has no Approved header.
    Unapproved(&'a [u8]),
    /// This Date is invalid.
    UnparsableDate(&'a [u8]),
    /// This Date is too far ahead of the clock.
    FutureDate(&'a [u8]),
    /// This Date is too old.
    AncientDate(&'a [u8]),
    /// White space inside the value of Newsgroups.
    SpaceInGroups(&'a [u8]),
    /// The history has the id.
    Duplicate,
    /// The article comes from another site, and our subscription has none of these groups.
    NotSubscribed(&'a [u8]),
    /// Every group is x'ed, or unknown and not in our subscription.
    AllExcluded(&'a [u8]),
    /// The article comes from another site, and active has none of these groups.
    UnknownGroups(&'a [u8]),
    /// The groups are unknown, and `junk` is x'ed.
    JunkExcluded(&'a [u8]),
    /// The groups are unknown, and there is no `junk`.
    NoJunk(&'a [u8]),
    /// Additional: a control message, and `control` is x'ed, or neither it nor `junk` can be used.
    NoControl,
}

/// The category of a refusal, for counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RefusalKind {
    /// The article, its header or its id is too large, or it has too many groups.
    Size,
    /// Its header is invalid or incomplete.
    Malformed,
    /// Its date is invalid, too old or ahead of the clock.
    Date,
    /// It is in a moderated group without approval.
    Unapproved,
    /// None of its groups is subscribed or known.
    Groups,
    /// Its sender has no permission.
    NotPermitted,
    /// Any other reason.
    #[default]
    Other,
}

impl RefusalKind {
    /// The category of a reason by its text in the log ([`Reason::write`]); texts of C News have theirs, too.
    pub fn of_text(text: &[u8]) -> RefusalKind {
        const BEGINNINGS: &[(&[u8], RefusalKind)] = &[
            (b"article too large", RefusalKind::Size),
            (b"header too large", RefusalKind::Size),
            (b"Message-ID too long", RefusalKind::Size),
            (b"too many groups", RefusalKind::Size),
            (b"not allowed", RefusalKind::NotPermitted),
            (b"blocked ", RefusalKind::NotPermitted),
            (b"unapproved article", RefusalKind::Unapproved),
            (b"unparsable Date", RefusalKind::Date),
            (b"Date: too far", RefusalKind::Date),
            (b"ancient date", RefusalKind::Date),
            (b"no subscribed groups", RefusalKind::Groups),
            (b"all groups", RefusalKind::Groups),
            (b"no known groups", RefusalKind::Groups),
            (b"group control", RefusalKind::Groups),
            (b"no @ in Message-ID", RefusalKind::Malformed),
            (b"whitespace in Message-ID", RefusalKind::Malformed),
            (b"Message-ID not bracketed", RefusalKind::Malformed),
            (b"control character", RefusalKind::Malformed),
            (b"space in groups", RefusalKind::Malformed),
            (b"no ", RefusalKind::Malformed),
            (b"empty ", RefusalKind::Malformed),
            (b"article \"header\"", RefusalKind::Malformed),
            (b"duplicate required header", RefusalKind::Malformed),
            (b"header longer", RefusalKind::Malformed),
        ];
        let found = BEGINNINGS
            .iter()
            .find(|(beginning, _)| text.starts_with(beginning));
        found.map_or(RefusalKind::Other, |(_, kind)| *kind)
    }
}

impl Reason<'_> {
    /// The category of the reason.
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
            Reason::NotPermitted(_) | Reason::Blocked(..) => RefusalKind::NotPermitted,
            Reason::Unapproved(_) => RefusalKind::Unapproved,
            Reason::NotSubscribed(_)
            | Reason::AllExcluded(_)
            | Reason::UnknownGroups(_)
            | Reason::JunkExcluded(_)
            | Reason::NoJunk(_)
            | Reason::NoControl => RefusalKind::Groups,
            Reason::Duplicate => RefusalKind::Other,
        }
    }

    /// The text for an article whose Message-ID is not the announced one: the error in its form, if it has one.
    #[cold]
    pub fn of_unannounced(article: &Article<'_>) -> Vec<u8> {
        match article.value(Header::MessageId) {
            None => Reason::Missing(Header::MessageId).text(),
            Some([]) => Reason::Empty(Header::MessageId).text(),
            Some(own) => match message_id::check(own) {
                Err(error) => Reason::MessageId(error).text(),
                Ok(()) => b"Message-ID differs from the announced one".to_vec(),
            },
        }
    }

    /// Appends the text as logged after `-`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Reason::ArticleBytes { bytes, limit } => {
                too_large(out, "article too large", bytes, limit)
            }
            Reason::HeaderBytes { bytes, limit } => {
                too_large(out, "header too large", bytes, limit)
            }
            // Display would require UTF-8.
            Reason::Header(HeaderError::NotAHeader(line)) => quote(
                out,
                b"article \"header\" contains non-RFC-1036-header line `",
                line.get(..BAD_LINE_SHOWN_BYTES_MAX).unwrap_or(line),
                b"'",
            ),
            Reason::Header(ref error) => push(out, error),
            Reason::Missing(header) => push(out, &format_args!("no {}: header", header.name())),
            Reason::Empty(header) => push(out, &format_args!("empty {}: header", header.name())),
            Reason::MessageId(ref error) => push(out, error),
            Reason::MessageIdBytes { bytes, limit } => {
                too_large(out, "Message-ID too long", bytes, limit);
            }
            Reason::GroupCount { groups, limit } => push(
                out,
                &format_args!("too many groups: {groups}, the limit is {limit}"),
            ),
            Reason::NotPermitted(ref denied) => push(out, denied),
            Reason::Blocked(kind, value) => {
                push(out, &format_args!("blocked {} ", kind.word()));
                quote(out, b"`", value, b"'");
            }
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
            Reason::Duplicate => out.extend_from_slice(DUPLICATE),
            Reason::NotSubscribed(groups) => {
                quote(out, b"no subscribed groups in `", groups, b"'");
            }
            Reason::AllExcluded(groups) => {
                quote(out, b"all groups `", groups, b"' excluded in active");
            }
            Reason::UnknownGroups(groups) => quote(out, b"no known groups in `", groups, b"'"),
            Reason::JunkExcluded(groups) => quote(
                out,
                b"no known groups in `",
                groups,
                b"' and junk group is excluded in active",
            ),
            Reason::NoJunk(groups) => {
                quote(out, b"no known groups in `", groups, b"' and no junk group");
            }
            Reason::NoControl => {
                out.extend_from_slice(b"group control is excluded in active, or missing");
            }
        }
    }

    /// Returns the text as logged after `-`.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.write(&mut text);
        text
    }

    /// Whether an article refused for this reason gets a history line as in C News, so that the next copy is a duplicate: only for
    /// reasons about the groups, which are the same in every copy.
    pub fn is_remembered(&self) -> bool {
        matches!(
            self,
            Reason::NotSubscribed(_) | Reason::AllExcluded(_) | Reason::UnknownGroups(_)
        )
    }
}

fn quote(out: &mut Vec<u8>, before: &[u8], quoted: &[u8], after: &[u8]) {
    out.extend_from_slice(before);
    out.extend_from_slice(quoted);
    out.extend_from_slice(after);
}

fn too_large(out: &mut Vec<u8>, what: &str, bytes: usize, limit: usize) {
    push(
        out,
        &format_args!("{what}: {bytes} bytes, the limit is {limit}"),
    );
}

fn push(out: &mut Vec<u8>, text: &dyn std::fmt::Display) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_reason_tells_its_kind() {
        let large = (7, 5);
        let reasons = [
            Reason::ArticleBytes {
                bytes: large.0,
                limit: large.1,
            },
            Reason::HeaderBytes {
                bytes: large.0,
                limit: large.1,
            },
            Reason::MessageIdBytes {
                bytes: large.0,
                limit: large.1,
            },
            Reason::GroupCount {
                groups: large.0,
                limit: large.1,
            },
            Reason::Header(HeaderError::Duplicate(Header::Path)),
            Reason::Header(HeaderError::NotAHeader(b"x")),
            Reason::Header(HeaderError::HeaderTooLong),
            Reason::Missing(Header::Path),
            Reason::Empty(Header::Path),
            Reason::MessageId(IdError::NoAt),
            Reason::MessageId(IdError::Whitespace),
            Reason::MessageId(IdError::NotBracketed),
            Reason::MessageId(IdError::Unusable),
            Reason::NotPermitted(Denied::Groups),
            Reason::NotPermitted(Denied::Approved),
            Reason::NotPermitted(Denied::Control),
            Reason::Blocked(BlockKind::From, b"a@b"),
            Reason::Unapproved(b"a.b"),
            Reason::UnparsableDate(b"x"),
            Reason::FutureDate(b"x"),
            Reason::AncientDate(b"x"),
            Reason::SpaceInGroups(b"a b"),
            Reason::Duplicate,
            Reason::NotSubscribed(b"a"),
            Reason::AllExcluded(b"a"),
            Reason::UnknownGroups(b"a"),
            Reason::JunkExcluded(b"a"),
            Reason::NoJunk(b"a"),
            Reason::NoControl,
        ];
        for reason in reasons {
            assert_eq!(
                RefusalKind::of_text(&reason.text()),
                reason.kind(),
                "{reason:?}"
            );
        }
        assert_eq!(RefusalKind::of_text(b"later"), RefusalKind::Other);
    }
}
