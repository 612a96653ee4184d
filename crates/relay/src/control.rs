//! Control messages: articles that ask the news system to act.
//!
//! | file | idea |
//! |---|---|
//! | [`request`] | a parsed control message |
//! | [`policy`] | the permissions: `control.ctl`, `controlperm`, or keys alone |
//! | [`groupinfo`], [`scope`] | the contents of newgroup and checkgroups messages |
//! | [`decide`](mod@decide) | the decision on a message; pure |
//! | [`changes`] | changes of groups, and applying them |
//! | [`events`] | the control log |
//! | [`ihave`] | the ids of ihave and sendme |
//! | [`processor`] | all of it together, for the filer and for commands |

pub mod changes;
pub mod decide;
pub mod events;
pub mod groupinfo;
pub mod ihave;
pub mod policy;
pub mod processor;
pub mod request;
pub mod scope;

use article::{Article, Header};

/// A control message, by its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlMessage<'a> {
    /// Cancel the articles with these ids, which are separated by white space.
    Cancel(&'a [u8]),
    /// Almost a cancel: the command is missing, or no blank follows it. It is logged and ignored.
    MalformedCancel(&'a [u8]),
    /// Any other command: newgroup, rmgroup, sendsys, version, checkgroups, ihave, sendme or an unknown one.
    Other(&'a [u8]),
}

impl<'a> ControlMessage<'a> {
    /// The control message of an article: its Control, or else the later of Also-Control and Supersedes, because C News stores
    /// these two in one variable. Supersedes cancels the ids in it.
    pub fn of(article: &Article<'a>) -> Option<ControlMessage<'a>> {
        let value = |header| article.value(header).filter(|value| !value.is_empty());
        if let Some(control) = value(Header::Control) {
            return Some(ControlMessage::parse(control));
        }
        let also = value(Header::AlsoControl);
        let supersedes = value(Header::Supersedes);
        let start = |header| article.line(header).map(|line| line.start);
        match (also, supersedes) {
            (Some(also), Some(_)) if start(Header::AlsoControl) > start(Header::Supersedes) => {
                Some(ControlMessage::parse(also))
            }
            (_, Some(ids)) => Some(ControlMessage::Cancel(ids)),
            (Some(also), None) => Some(ControlMessage::parse(also)),
            (None, None) => None,
        }
    }

    /// Parses the value of a Control header. The case of the command is ignored (RFC 5536, 3.2.3); C News logged `Cancel` as malformed.
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

/// The known commands other than cancel.
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

/// Returns a known command in lower case (RFC 5536, 3.2.3: any case is valid), and any other one unchanged.
pub fn kind_of(command: &[u8]) -> &[u8] {
    let is_same = |kind: &&&[u8]| kind.eq_ignore_ascii_case(command);
    KINDS.iter().find(is_same).map_or(command, |kind| kind)
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
