//! ihave and sendme messages (RFC 5537, 5.6): extracts their ids, and builds them.

use std::io::Write;

use article::{Article, Header, message_id};

/// Maximum number of ids in a message that is built.
pub const IDS_MAX: usize = 1_000;

/// The ids in Control and in the body of an ihave or sendme message, including repeated ones.
pub fn ids_of<'a>(article: &Article<'a>) -> impl Iterator<Item = &'a [u8]> {
    let control = article.value(Header::Control).unwrap_or_default();
    let body = article.bytes().get(article.body()..).unwrap_or_default();
    control
        .split(u8::is_ascii_whitespace)
        .chain(body.split(u8::is_ascii_whitespace))
        .filter(|word| word.starts_with(b"<") && message_id::check(word).is_ok())
}

/// The common header values of the messages.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// The name of this site.
    pub host: &'a [u8],
    /// The site that receives the message.
    pub peer: &'a [u8],
    /// The current time, seconds since 1970.
    pub seconds: i64,
    /// Makes the message-id unique, together with the time.
    pub sequence: u64,
}

impl Envelope<'_> {
    /// Builds a message. `kind` is `ihave` or `sendme`; the body has one id on each line. The group `to.PEER` sends it to that
    /// site only.
    pub fn message(&self, kind: &str, date: &str, ids: &[&[u8]]) -> Vec<u8> {
        let (host, peer) = (
            String::from_utf8_lossy(self.host),
            String::from_utf8_lossy(self.peer),
        );
        let mut out = Vec::new();
        // Writing to a vector cannot fail.
        let _ = write!(
            out,
            "Path: {host}!not-for-mail\nFrom: news@{host}\nNewsgroups: to.{peer}\nSubject: cmsg {kind} {host}\n\
             Control: {kind} {host}\nMessage-ID: <{kind}.{}.{}@{host}>\nDate: {date}\n\n",
            self.seconds, self.sequence
        );
        for id in ids {
            out.extend_from_slice(id);
            out.push(b'\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use article::Form;

    #[test]
    fn ids_of_a_built_message_are_found() {
        let envelope = Envelope {
            host: b"us.example",
            peer: b"them.example",
            seconds: 5,
            sequence: 1,
        };
        let text = envelope.message(
            "ihave",
            "Thu, 1 Jan 1970 00:00:05 GMT",
            &[b"<1@a>", b"<2@a>"],
        );
        let article = Article::parse(&text, Form::Native);
        let ids: Vec<_> = ids_of(&article).collect();
        assert_eq!(ids, [&b"<1@a>"[..], b"<2@a>"]);
        assert_eq!(
            article.value(Header::Control),
            Some(&b"ihave us.example"[..])
        );
        assert_eq!(
            article.value(Header::Newsgroups),
            Some(&b"to.them.example"[..])
        );
        let both = Article::parse(
            b"Control: sendme <3@a> x <bad us\n\n<4@a> >\n",
            Form::Native,
        );
        let ids: Vec<_> = ids_of(&both).collect();
        assert_eq!(ids, [&b"<3@a>"[..], b"<4@a>"]);
    }
}
