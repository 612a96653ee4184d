//! Missing headers of archived articles: what is added, each as a sentence for the report.

use article::date::{self, Utc};
use article::{Article, Form, Header, message_id};
use store::seen_hashes;

/// Other fields with the time of a post, in the order in which they are believed.
const OTHER_DATES: [&[u8]; 4] = [
    b"NNTP-Posting-Date",
    b"Injection-Date",
    b"X-Google-ArrivalTime",
    b"Delivery-Date",
];

/// The values from outside for a mended article.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The name of this site, for message-ids.
    pub host: &'a [u8],
    /// The `From ` line.
    pub from_line: &'a [u8],
    /// The group for an article without Newsgroups.
    pub group: Option<&'a [u8]>,
}

/// Adds the required headers that are missing, empty or unusable, as far as they can be known; the old ones stay as `X-Original-...`. Returns what was
/// done; nothing, with `out` empty, if nothing was missing or can be added, or if the header has lines that are no fields.
pub fn mend(article: &Article<'_>, with: Surroundings<'_>, out: &mut Vec<u8>) -> Vec<String> {
    out.clear();
    let mut done = Vec::new();
    // A line in front of a wrong header could change what it says.
    if article.form() != Form::Native || article.error().is_some() {
        return done;
    }
    let mut replaced = Vec::new();
    for header in Header::ALL.iter().take(Header::REQUIRED) {
        let old = article.value(*header).filter(|value| !value.is_empty());
        if old.is_some_and(|value| is_usable(*header, value)) {
            continue;
        }
        let Some((value, source)) = value_for(*header, old, article, with) else {
            continue;
        };
        let name = header.name();
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(&value);
        out.push(b'\n');
        done.push(format!(
            "{name} {} ({source})",
            if old.is_some() { "replaced" } else { "added" }
        ));
        replaced.extend(article.line(*header).map(|line| (line, old.is_some())));
    }
    if done.is_empty() {
        return done;
    }
    replaced.sort_by_key(|(line, _)| line.start);
    let bytes = article.bytes();
    let mut at = 0;
    for (line, is_kept) in replaced {
        out.extend_from_slice(bytes.get(at..line.start).unwrap_or_default());
        if is_kept {
            out.extend_from_slice(b"X-Original-");
            out.extend_from_slice(bytes.get(line.clone()).unwrap_or_default());
        }
        at = line.end;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    done
}

fn is_usable(header: Header, value: &[u8]) -> bool {
    match header {
        Header::MessageId => message_id::check(value).is_ok(),
        Header::Date => date::parse(value, &Utc).is_some(),
        _ => true,
    }
}

/// A value, and where it comes from.
fn value_for(
    header: Header,
    old: Option<&[u8]>,
    article: &Article<'_>,
    with: Surroundings<'_>,
) -> Option<(Vec<u8>, &'static str)> {
    let is_line = |value: &[u8]| !value.iter().any(u8::is_ascii_control);
    match header {
        Header::MessageId => {
            // Archives of Deja News have `<id>#1/1'.
            let cut = old.and_then(|old| old.get(..=memchr::memchr(b'>', old)?));
            if let Some(cut) = cut.filter(|cut| is_line(cut) && message_id::check(cut).is_ok()) {
                return Some((cut.to_vec(), "what follows it was cut off"));
            }
            let digits = seen_hashes::md5_of(article.bytes());
            let digits: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
            let id = [b"<", digits.as_bytes(), b"@mbox.", with.host, b">"].concat();
            Some((id, "made of the MD5 of the article"))
        }
        Header::Date => {
            let mut words = with.from_line.splitn(3, |&byte| byte == b' ');
            let of_line = words.nth(2).unwrap_or_default();
            let others = OTHER_DATES.iter().filter_map(|name| article.find(name));
            let dates = others
                .map(|value| (value, "from another header"))
                .chain([(of_line, "from the line before the article")]);
            let mut dates = dates.filter_map(|(text, source)| {
                Some((
                    date::parse(text, &Utc).filter(|_| !text.is_empty())?,
                    source,
                ))
            });
            let (seconds, source) = dates.next()?;
            let mut value = Vec::new();
            date::write_numeric(&mut value, seconds, 0, "UTC");
            Some((value, source))
        }
        Header::Path => Some((b"not-for-mail".to_vec(), "without a host")),
        Header::Newsgroups => Some((with.group?.to_vec(), "of --group")),
        Header::From => {
            let address = with.from_line.split(|&byte| byte == b' ').nth(1)?;
            let is_address = address.contains(&b'@') && is_line(address);
            is_address.then(|| (address.to_vec(), "from the line before the article"))
        }
        Header::Subject => Some((b"(none)".to_vec(), "there is none")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &[u8], from_line: &[u8], group: Option<&[u8]>) -> (String, Vec<String>) {
        let mut out = Vec::new();
        let with = Surroundings {
            host: b"news.example.org",
            from_line,
            group,
        };
        let done = mend(&Article::parse(text, Form::Native), with, &mut out);
        (String::from_utf8(out).unwrap(), done)
    }

    #[test]
    fn a_whole_article_stays() {
        let whole = b"Path: a\nMessage-ID: <1@a>\nNewsgroups: b\nSubject: s\nDate: 20 Dec 1993 04:39:21 GMT\nFrom: f@g\n\nx\n";
        assert_eq!(mended(whole, b"From x", None), (String::new(), Vec::new()));
    }

    #[test]
    fn what_is_missing_is_added_and_what_cannot_be_used_is_kept_beside() {
        let deja =
            b"From: f@g\nSubject: s\nDate: 1997/11/17\nMessage-ID: <1@a>#1/1\nNewsgroups: b\n\nx\n";
        let (text, done) = mended(deja, b"From -1", None);
        assert_eq!(
            text,
            "Message-ID: <1@a>\nPath: not-for-mail\nFrom: f@g\nSubject: s\nDate: 1997/11/17\nX-Original-Message-ID: <1@a>#1/1\nNewsgroups: b\n\nx\n"
        );
        assert_eq!(done.len(), 2, "{done:?}");
        let (text, done) = mended(
            b"X: y\nDate: \n\nx\n",
            b"From f@g Mon Dec 20 04:39:21 1993",
            Some(b"b.c"),
        );
        assert!(text.starts_with("Message-ID: <"), "{text}");
        for part in [
            "@mbox.news.example.org>\n",
            "\nNewsgroups: b.c\n",
            "\nPath: not-for-mail\n",
            "\nSubject: (none)\n",
            "\nDate: Mon, 20 Dec 1993 04:39:21 -0000 (UTC)",
            "\nFrom: f@g\nX: y\n\nx\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(done.len(), 6);
        // The same article gets the same id.
        assert_eq!(
            mended(
                b"X: y\nDate: \n\nx\n",
                b"From f@g Mon Dec 20 04:39:21 1993",
                Some(b"b.c")
            )
            .0,
            text
        );
        // Nothing says when, for which groups, or by whom.
        let (_, done) = mended(b"X: y\n\n", b"From -1", None);
        assert_eq!(done.len(), 3, "{done:?}");
    }
}
