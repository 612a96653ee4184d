//! A post as mail to a moderator (RFC 5537, 3.5.1): the article's own header and body, with our To at the start, as
//! moderators' programs expect and INN sends it.

use crate::draft::{Draft, Field};

/// Makes the mail. The caller has checked `address` with [`mailbox::is_safe_recipient`](crate::mailbox::is_safe_recipient).
///
/// Removes all headers that could redirect the mail (To, Cc, Bcc and the like), and those that the
/// site that files the article writes itself.
pub fn mail(draft: &Draft, address: &[u8]) -> Vec<u8> {
    let mut draft = draft.clone();
    draft.retain(|field| !is_dropped(field));
    draft.set_first("To", address);
    draft.write()
}

fn is_dropped(field: &Field) -> bool {
    const WHOLE: &[&[u8]] = &[
        b"To",
        b"Cc",
        b"Bcc",
        b"Apparently-To",
        b"Errors-To",
        b"Return-Path",
        b"Return-Receipt-To",
        b"Disposition-Notification-To",
        b"Received",
        b"Path",
        b"Lines",
        b"Injection-Date",
        b"Cancel-Lock",
        b"Cancel-Key",
    ];
    const BEGINNING: &[u8] = b"Resent-";
    let begins = field.name.split_at_checked(BEGINNING.len());
    begins.is_some_and(|(start, _)| start.eq_ignore_ascii_case(BEGINNING))
        || WHOLE
            .iter()
            .any(|name| field.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mail_goes_only_to_the_moderator() {
        let text = b"From: a@b\nTO: x@y\nBcc: q@r\nResent-to: s@t\nPath: u\nNewsgroups: m.m\nSubject: s\n\n.\nFrom here\n";
        let draft = Draft::parse(text).unwrap();
        assert_eq!(
            String::from_utf8(mail(&draft, b"mod@site.example")).unwrap(),
            "To: mod@site.example\nFrom: a@b\nNewsgroups: m.m\nSubject: s\n\n.\nFrom here\n"
        );
    }
}
