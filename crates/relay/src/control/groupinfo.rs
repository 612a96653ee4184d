//! The description of the group in a newgroup message: its line for the newsgroups file.

use article::Article;

/// The line before the group's line, as in B News and in RFC 5537, 4.2.
const TAG: &[u8] = b"for your newsgroups file:";
/// The media type of RFC 5537, 4.2.
const TYPE: &[u8] = b"application/news-groupinfo";
/// Longest boundary of a multipart message, in bytes (RFC 2046, 5.1.1).
pub const BOUNDARY_BYTES_MAX: usize = 70;

/// The description of the group in the message, unchanged. Returns `None` if it has none for this group. With
/// `trusts_type`, Content-Type selects the part of the body; without (the body is signed, the header is not), it is ignored.
pub fn description<'a>(article: &Article<'a>, group: &[u8], trusts_type: bool) -> Option<&'a [u8]> {
    let body = article.bytes().get(article.body()..).unwrap_or_default();
    let content_type = article.find(b"Content-Type").filter(|_| trusts_type);
    let content_type = content_type.unwrap_or_default();
    let own = if is_groupinfo(content_type) {
        Some(body)
    } else {
        boundary(content_type).and_then(|boundary| groupinfo_part(body, boundary))
    };
    match own {
        // The tag is optional there.
        Some(part) => {
            line_after_tag(part, group).or_else(|| part.split(is_newline).find_map(text_of(group)))
        }
        None => line_after_tag(body, group),
    }
}

fn line_after_tag<'a>(text: &'a [u8], group: &[u8]) -> Option<&'a [u8]> {
    let mut lines = text.split(is_newline);
    lines.find(|line| line.trim_ascii().eq_ignore_ascii_case(TAG))?;
    let line = lines.find(|line| !line.trim_ascii().is_empty())?;
    text_of(group)(line)
}

/// The text after the group, in a line that begins with the group.
fn text_of(group: &[u8]) -> impl Fn(&[u8]) -> Option<&[u8]> {
    move |line| {
        let text = line.strip_prefix(group)?;
        let is_separate = text.first().is_some_and(u8::is_ascii_whitespace);
        let text = text.trim_ascii();
        (is_separate && !text.is_empty()).then_some(text)
    }
}

fn is_newline(byte: &u8) -> bool {
    *byte == b'\n'
}

fn is_groupinfo(content_type: &[u8]) -> bool {
    content_type
        .get(..TYPE.len())
        .is_some_and(|own| own.eq_ignore_ascii_case(TYPE))
}

/// The boundary of a multipart Content-Type.
fn boundary(content_type: &[u8]) -> Option<&[u8]> {
    const NAME: &[u8] = b"boundary=";
    let kind = content_type.get(..b"multipart/".len())?;
    if !kind.eq_ignore_ascii_case(b"multipart/") {
        return None;
    }
    let at = content_type
        .windows(NAME.len())
        .position(|window| window.eq_ignore_ascii_case(NAME))?;
    let value = content_type.get(at.checked_add(NAME.len())?..)?;
    let value = match value.strip_prefix(b"\"") {
        Some(quoted) => quoted.split(|&byte| byte == b'"').next()?,
        None => value
            .split(|&byte| byte == b';' || byte.is_ascii_whitespace())
            .next()?,
    };
    (1..=BOUNDARY_BYTES_MAX)
        .contains(&value.len())
        .then_some(value)
}

/// The text of the first part of the media type. Its transfer encoding is 7bit or 8bit (RFC 5537, 4.2).
fn groupinfo_part<'a>(body: &'a [u8], boundary: &[u8]) -> Option<&'a [u8]> {
    let mut starts = Vec::new();
    let mut offset = 0usize;
    for line in body.split_inclusive(is_newline) {
        let end = offset.saturating_add(line.len());
        let is_boundary = line
            .strip_prefix(b"--")
            .is_some_and(|rest| rest.starts_with(boundary));
        if is_boundary {
            starts.push((offset, end));
        }
        offset = end;
        if starts.len() > PARTS_MAX {
            break;
        }
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start);
    let parts = starts.iter().zip(ends.chain([body.len()]));
    parts
        .filter_map(|((_, start), end)| {
            let part = body.get(*start..end)?;
            let part = Article::parse(part, article::Form::Native);
            let own = is_groupinfo(part.find(b"Content-Type").unwrap_or_default());
            own.then(|| part.bytes().get(part.body()..)).flatten()
        })
        .next()
}

/// Maximum number of parts of a multipart message that are examined.
pub const PARTS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use article::Form;

    fn of(text: &str) -> Option<String> {
        let article = Article::parse(text.as_bytes(), Form::Native);
        description(&article, b"a.b", true).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    #[test]
    fn the_line_after_the_tag() {
        let description_found =
            of("X: y\n\nA charter.\nFor your newsgroups file:\na.b\t\tOf a and b. (Moderated)\n");
        assert_eq!(
            description_found.as_deref(),
            Some("Of a and b. (Moderated)")
        );
        let description_found =
            of("X: y\n\nfor Your Newsgroups file: \n\na.b  Spaced.\na.b Later.\n");
        assert_eq!(description_found.as_deref(), Some("Spaced."));
        for text in [
            "X: y\n\na.b\tNo tag.\n",
            "X: y\n\nFor your newsgroups file:\na.bc\tOther.\n",
            "X: y\n\nFor your newsgroups file:\na.b\n",
            "X: y\n\nFor your newsgroups file:",
            "X: y\n\n",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn the_part_of_a_mime_message() {
        let multi = "Content-Type: multipart/mixed; boundary=\"nxtprt\"\n\n\
             preamble\n--nxtprt\nContent-Type: text/plain\n\nFor your newsgroups file:\na.b\tWrong.\n\
             --nxtprt\nContent-Type: Application/News-Groupinfo; charset=utf-8\n\na.b\tRight.\n--nxtprt--\n";
        assert_eq!(of(multi).as_deref(), Some("Right."));
        // A changed, unsigned Content-Type has no effect.
        let article = Article::parse(multi.as_bytes(), Form::Native);
        let description_found = description(&article, b"a.b", false);
        assert_eq!(description_found, Some(&b"Wrong."[..]));
        let alone =
            "Content-Type: application/news-groupinfo\n\nFor your newsgroups file:\na.b\tAlone.\n";
        assert_eq!(of(alone).as_deref(), Some("Alone."));
        let other = multi.replace("Application/News-Groupinfo", "text/html");
        assert_eq!(of(&other).as_deref(), Some("Wrong."));
        assert_eq!(of("Content-Type: multipart/mixed; boundary=\n\nx\n"), None);
    }
}
