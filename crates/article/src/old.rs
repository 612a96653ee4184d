//! Converts articles of A News and early B News, as found in archives, to the present format.
//!
//! A News: five lines (`A` and the id, groups, path, date, title), then the body. Early B News: a header with
//! `Article-I.D.`, `Posted` and `Title`, which RFC 850 renamed Message-ID, Date and Subject. The conversion adds
//! the missing headers at the front and removes nothing.

use crate::{Article, Form, Header};

/// Longest line of an A News header, bytes; an article with a longer one is not A News.
const A_LINE_BYTES_MAX: usize = 1024;

/// Appends the converted article to `out`. Returns false, with `out` unchanged, if the article is not old or lacks no header.
pub fn convert(article: &Article<'_>, out: &mut Vec<u8>) -> bool {
    if article.form() != Form::Native {
        return false;
    }
    match ANews::of(article.bytes()) {
        Some(old) => {
            old.push(out);
            true
        }
        None => convert_b(article, out),
    }
}

/// An A News article: its five lines and its body.
struct ANews<'a> {
    id: &'a [u8],
    groups: &'a [u8],
    path: &'a [u8],
    date: &'a [u8],
    title: &'a [u8],
    body: &'a [u8],
}

impl<'a> ANews<'a> {
    fn of(bytes: &'a [u8]) -> Option<ANews<'a>> {
        let mut rest = bytes.strip_prefix(b"A")?;
        let mut line = || {
            let window = rest.get(..rest.len().min(A_LINE_BYTES_MAX))?;
            let end = memchr::memchr(b'\n', window)?;
            let line = rest.get(..end)?;
            rest = rest.get(end + 1..)?;
            Some(line)
        };
        let (id, groups, path, date, title) = (line()?, line()?, line()?, line()?, line()?);
        // A present-day header may begin with an A too: `Approved: x`.
        let is_word = |word: &[u8]| {
            !word.is_empty() && !word.iter().any(|b| b.is_ascii_whitespace() || *b == b':')
        };
        (is_word(id) && is_word(groups) && is_word(path) && !date.is_empty()).then_some(ANews {
            id,
            groups,
            path,
            date,
            title,
            body: rest,
        })
    }

    fn push(&self, out: &mut Vec<u8>) {
        push_field(out, "Path", &[self.path]);
        push_from(out, self.path);
        push_field(out, "Newsgroups", &[self.groups]);
        push_field(
            out,
            "Subject",
            &[if self.title.is_empty() {
                b"(none)"
            } else {
                self.title
            }],
        );
        push_id(out, self.id);
        push_field(out, "Date", &[self.date]);
        out.push(b'\n');
        out.extend_from_slice(self.body);
    }
}

/// Appends From: `site!user` becomes `user@site.UUCP`.
fn push_from(out: &mut Vec<u8>, path: &[u8]) {
    let mut parts = path.rsplit(|&b| b == b'!');
    let user = parts.next().unwrap_or(path);
    match parts.next() {
        Some(site) if !site.is_empty() => push_field(out, "From", &[user, b"@", site, b".UUCP"]),
        _ => push_field(out, "From", &[user]),
    }
}

/// Appends Message-ID: `site.123` becomes `<123@site.UUCP>`, as in B News; an id with an `@` only gets brackets.
fn push_id(out: &mut Vec<u8>, id: &[u8]) {
    if id.contains(&b'@') {
        let bare = id
            .strip_prefix(b"<")
            .and_then(|id| id.strip_suffix(b">"))
            .unwrap_or(id);
        push_field(out, "Message-ID", &[b"<", bare, b">"]);
        return;
    }
    match memchr::memchr(b'.', id).and_then(|dot| id.split_at_checked(dot)) {
        Some((site, number)) => {
            let number = number.get(1..).unwrap_or_default();
            push_field(out, "Message-ID", &[b"<", number, b"@", site, b".UUCP>"]);
        }
        None => push_field(out, "Message-ID", &[b"<", id, b"@anews>"]),
    }
}

fn push_field(out: &mut Vec<u8>, name: &str, value: &[&[u8]]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    for part in value {
        out.extend_from_slice(part);
    }
    out.push(b'\n');
}

fn convert_b(article: &Article<'_>, out: &mut Vec<u8>) -> bool {
    let before = out.len();
    let missing = |modern, old| match article.value(modern) {
        Some(_) => None,
        None => article.value(old).filter(|value| !value.is_empty()),
    };
    if let Some(id) = missing(Header::MessageId, Header::ArticleId) {
        push_id(out, id);
    }
    if let Some(date) = missing(Header::Date, Header::Posted) {
        push_field(out, "Date", &[date]);
    }
    if let Some(title) = missing(Header::Subject, Header::Title) {
        push_field(out, "Subject", &[title]);
    }
    if out.len() == before {
        return false;
    }
    out.extend_from_slice(article.bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(text: &str) -> Option<String> {
        let mut out = Vec::new();
        convert(&Article::parse(text.as_bytes(), Form::Native), &mut out)
            .then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn five_lines_become_a_header() {
        let old = "Aucbvax.1234\nNET.general\nucbvax!mark\nSat Apr 16 01:34:35 1983\na title\nbody\n\nmore\n";
        let new = "Path: ucbvax!mark\nFrom: mark@ucbvax.UUCP\nNewsgroups: NET.general\nSubject: a title\n\
                   Message-ID: <1234@ucbvax.UUCP>\nDate: Sat Apr 16 01:34:35 1983\n\nbody\n\nmore\n";
        assert_eq!(converted(old).as_deref(), Some(new));
    }

    #[test]
    fn early_b_headers_get_the_missing_ones() {
        let old = "Relay-Version: B 2.10\nPath: a!u\nFrom: a!u\nNewsgroups: net.x\nTitle: t\nArticle-I.D.: a.12\n\
                   Posted: Sat Apr 16 01:34:35 1983\nReceived: then\n\nbody\n";
        let added = "Message-ID: <12@a.UUCP>\nDate: Sat Apr 16 01:34:35 1983\nSubject: t\n";
        assert_eq!(converted(old), Some(format!("{added}{old}")));
    }

    #[test]
    fn an_id_with_a_domain_only_gets_brackets() {
        let old = "Path: a!u\nArticle-I.D.: 7@host\n\nbody\n";
        assert!(
            converted(old)
                .unwrap()
                .starts_with("Message-ID: <7@host>\n")
        );
    }

    #[test]
    fn present_day_articles_are_unchanged() {
        let new = "Approved: m@x\nPath: a!u\nMessage-ID: <1@a>\nArticle-I.D.: a.1\nDate: d\nSubject: s\n\nb\n";
        assert_eq!(converted(new), None);
        assert_eq!(converted("Archive-name: x\nPath: u\n\nb\n"), None);
        assert_eq!(converted("A"), None);
        assert_eq!(converted(""), None);
    }
}
