//! What an article asks the news system to do, besides being filed.
//!
//! | file | idea |
//! |---|---|
//! | [`request`] | a control message, read |
//! | [`policy`] | who may do what: `control.ctl`, `controlperm`, or keys alone |
//! | [`groupinfo`], [`scope`] | what newgroup and checkgroups bring along |
//! | [`judge`](mod@judge) | what a message comes to; pure |
//! | [`changes`] | making it so |
//! | [`events`] | the control log |
//! | [`wanted`] | the ids of ihave and sendme |
//! | [`desk`] | all of it together, for the filer and for commands |

pub mod changes;
pub mod decide;
pub mod events;
pub mod groupinfo;
pub mod policy;
pub mod processor;
pub mod request;
pub mod scope;
pub mod wanted;

use article::{Article, Header};

/// A control message, as far as it is understood here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlMessage<'a> {
    /// Cancel the articles of these ids, which white space separates.
    Cancel(&'a [u8]),
    /// Almost a cancel: the command is missing, or no blank follows it. Logged, and nothing is done.
    MalformedCancel(&'a [u8]),
    /// Anything else: newgroup, rmgroup, sendsys, version, checkgroups, ihave, sendme and whatever
    /// somebody thought of.
    Other(&'a [u8]),
}

impl<'a> ControlMessage<'a> {
    /// The control message of an article: its Control, or else the later of Also-Control and
    /// Supersedes, for C News keeps these two in one place. Supersedes is a cancel of the ids in it.
    pub fn of(article: &Article<'a>) -> Option<ControlMessage<'a>> {
        let value = |header| article.value(header).filter(|value| !value.is_empty());
        if let Some(control) = value(Header::Control) {
            return Some(ControlMessage::parse(control));
        }
        let also = value(Header::AlsoControl);
        let supersedes = value(Header::Supersedes);
        let place = |header| article.line(header).map(|line| line.start);
        match (also, supersedes) {
            (Some(also), Some(_)) if place(Header::AlsoControl) > place(Header::Supersedes) => {
                Some(ControlMessage::parse(also))
            }
            (_, Some(ids)) => Some(ControlMessage::Cancel(ids)),
            (Some(also), None) => Some(ControlMessage::parse(also)),
            (None, None) => None,
        }
    }

    /// Reads the value of a Control header. The command counts in any case (RFC 5536, 3.2.3); C News logged `Cancel` as malformed.
    pub fn parse(value: &'a [u8]) -> ControlMessage<'a> {
        const CANCEL: &[u8] = b"cancel";
        let ids = value
            .split_at_checked(CANCEL.len())
            .filter(|(command, _)| command.eq_ignore_ascii_case(CANCEL))
            .map(|(_, ids)| ids);
        match ids.map(|ids| (ids, ids.first())) {
            Some((ids, Some(byte))) if byte.is_ascii_whitespace() => ControlMessage::Cancel(ids),
            Some((_, next)) if !next.is_some_and(u8::is_ascii_alphabetic) => {
                ControlMessage::MalformedCancel(value)
            }
            _ if value.starts_with(b"<") => ControlMessage::MalformedCancel(value),
            _ => ControlMessage::Other(value),
        }
    }
}

/// The commands besides cancel that something is done about.
const KINDS: &[&[u8]] = &[
    b"newgroup",
    b"rmgroup",
    b"checkgroups",
    b"ihave",
    b"sendme",
    b"sendsys",
    b"version",
    b"senduuname",
];

/// A command in the case it is compared in: small letters where it is one of those known (RFC 5536, 3.2.3: any case), else as it
/// stands.
pub fn kind_of(command: &[u8]) -> &[u8] {
    let is_it = |kind: &&&[u8]| kind.eq_ignore_ascii_case(command);
    KINDS.iter().find(is_it).map_or(command, |kind| kind)
}

/// The ids in the value of a cancel.
pub fn ids(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(u8::is_ascii_whitespace)
        .filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use article::Form;

    #[test]
    fn commands() {
        use ControlMessage::*;
        for (value, wanted) in [
            (&b"cancel <1@a>"[..], Cancel(b" <1@a>")),
            (b"cancel\t<1@a>", Cancel(b"\t<1@a>")),
            (b"cancel", MalformedCancel(b"cancel")),
            (b"Cancel <1@a>", Cancel(b" <1@a>")),
            (b"cancel<1@a>", MalformedCancel(b"cancel<1@a>")),
            (b"<1@a>", MalformedCancel(b"<1@a>")),
            (b"Cancel", MalformedCancel(b"Cancel")),
            (b"cancelled", Other(b"cancelled")),
            (b"newgroup a.b", Other(b"newgroup a.b")),
        ] {
            assert_eq!(ControlMessage::parse(value), wanted);
        }
    }

    #[test]
    fn ids_of_a_folded_cancel() {
        let found: Vec<_> = ids(b" <1@a>\n\t<2@a>  <3@a>").collect();
        assert_eq!(found, [&b"<1@a>"[..], b"<2@a>", b"<3@a>"]);
    }

    fn of(header: &str) -> Option<ControlMessage<'_>> {
        ControlMessage::of(&Article::parse(header.as_bytes(), Form::Native))
    }

    #[test]
    fn the_headers_that_matter() {
        use ControlMessage::*;
        assert_eq!(of("Supersedes: <1@a>\n\n"), Some(Cancel(b"<1@a>")));
        assert_eq!(
            of("Also-Control: cancel <1@a>\n\n"),
            Some(Cancel(b" <1@a>"))
        );
        assert_eq!(
            of("Control: newgroup a\nSupersedes: <1@a>\n\n"),
            Some(Other(b"newgroup a"))
        );
        assert_eq!(
            of("Also-Control: cancel <1@a>\nSupersedes: <2@a>\n\n"),
            Some(Cancel(b"<2@a>"))
        );
        assert_eq!(
            of("Supersedes: <2@a>\nAlso-Control: cancel <1@a>\n\n"),
            Some(Cancel(b" <1@a>"))
        );
        assert_eq!(of("Control:\nSubject: cmsg cancel <1@a>\n\n"), None);
    }
}
