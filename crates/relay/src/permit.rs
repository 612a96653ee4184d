//! Checks the permissions of an article's sender.
//!
//! The check uses the parse that is filed, and the groups in which the article is filed. Injection calls the same function before it
//! mails a post to a moderator, and the filer checks again with the bytes that it files.

use article::{Article, Header, newsgroups};
use groups::{Active, Destination, Sender};

use crate::control::ControlMessage;
use crate::short::ShortList;

/// A denied action of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// File in these groups.
    #[error("not allowed to these groups")]
    Groups,
    /// Use Approved.
    #[error("not allowed with Approved")]
    Approved,
    /// Send a control message other than cancel.
    #[error("not allowed as a control message other than cancel")]
    Control,
}

/// Checks the permissions of the sender for an article.
///
/// # Errors
/// What the sender may not do.
pub fn permitted(
    article: &Article<'_>,
    active: &Active,
    sender: &dyn Sender,
) -> Result<(), Denied> {
    let value = |header| article.value(header).filter(|value| !value.is_empty());
    let names = newsgroups::split(value(Header::Newsgroups).unwrap_or_default());
    let none = Destination {
        name: b"",
        filed_in: None,
    };
    let mut destinations = ShortList::<Destination<'_>, 8>::new(none);
    for name in names {
        destinations.push(Destination::of(name, active));
    }
    if !sender.may_file_in(destinations.items()) {
        return Err(Denied::Groups);
    }
    if sender.may_approve() {
        return Ok(());
    }
    if value(Header::Approved).is_some() {
        return Err(Denied::Approved);
    }
    // Each header separately: another site may act on the one that is ignored here.
    let is_order = |header| {
        let message = value(header).map(ControlMessage::parse);
        matches!(message, Some(ControlMessage::Other(_)))
    };
    match is_order(Header::Control) || is_order(Header::AlsoControl) {
        true => Err(Denied::Control),
        false => Ok(()),
    }
}
