//! The line that `expire -p` prints for each archived copy.

use article::{Article, Form, Header, decimal};

/// Longest subject printed, bytes, as in C News; a longer one ends in `...`.
pub const SUBJECT_BYTES_MAX: usize = 199;

/// Appends `group/as/directories/number TAB id TAB d-Mon-yyyy TAB subject`. `arrival` is in seconds since 1970, the date in UTC.
/// The subject is the first line of the header, with tabs and other control characters as blanks, or `???` if there is none (C News's getsubj).
pub fn push_index_line(
    out: &mut Vec<u8>,
    (group, number): (&[u8], u64),
    id: &[u8],
    arrival: i64,
    native: &[u8],
) {
    let slashes = |&b: &u8| if b == b'.' { b'/' } else { b };
    out.extend(group.iter().map(slashes));
    out.push(b'/');
    decimal::push(out, number);
    out.push(b'\t');
    out.extend_from_slice(id);
    out.push(b'\t');
    push_date(out, arrival);
    out.push(b'\t');
    push_subject(out, native);
    out.push(b'\n');
}

/// Appends the middle of `Mon, 20 Dec 1993 04:39:21 GMT` as `20-Dec-1993`.
fn push_date(out: &mut Vec<u8>, seconds: i64) {
    let mut text = Vec::new();
    article::date::write_utc(&mut text, seconds);
    let words = text.split(|&b| b == b' ').skip(1).take(3);
    for (target, word) in words.enumerate() {
        if target > 0 {
            out.push(b'-');
        }
        out.extend_from_slice(word);
    }
}

fn push_subject(out: &mut Vec<u8>, native: &[u8]) {
    let article = Article::parse(native, Form::Native);
    let value = article.value(Header::Subject).unwrap_or_default();
    let line = value.split(|&b| b == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        out.extend_from_slice(b"???");
        return;
    }
    let (shown, dots) = match line.split_at_checked(SUBJECT_BYTES_MAX) {
        Some((_, rest)) if !rest.is_empty() => {
            let kept = line.get(..SUBJECT_BYTES_MAX - 3).unwrap_or(line);
            (kept, &b"..."[..])
        }
        _ => (line, &b""[..]),
    };
    for chunk in shown.utf8_chunks() {
        let text = chunk.valid().replace(char::is_control, " ");
        out.extend_from_slice(text.as_bytes());
        out.extend(chunk.invalid().iter().map(|&byte| match byte {
            // Control bytes of ISO 8859.
            0x80..=0x9f => b' ',
            byte => byte,
        }));
    }
    out.extend_from_slice(dots);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(arrival: i64, native: &str) -> String {
        let mut out = Vec::new();
        let link = (&b"bar.ugh"[..], 5);
        push_index_line(&mut out, link, b"<5@a>", arrival, native.as_bytes());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_has_four_fields() {
        let report = line(746_021_362, "suBJect:  a\tb\n c\n\nSubject: no\n");
        assert_eq!(report, "bar/ugh/5\t<5@a>\t22-Aug-1993\ta b\n");
        for without in ["From: x\n\nSubject: no\n", "Subject:\n\n", ""] {
            assert_eq!(line(0, without), "bar/ugh/5\t<5@a>\t1-Jan-1970\t???\n");
        }
    }

    #[test]
    fn control_characters_of_a_subject_are_blanks() {
        let mut out = Vec::new();
        let native = b"Subject: \x1b[2Jgr\xc3\xbc\xc3\x9fe \xc2\x9b \x9b\xfc\n\n";
        push_index_line(&mut out, (b"a", 1), b"<1@a>", 0, native);
        assert!(
            out.ends_with(b"\t [2Jgr\xc3\xbc\xc3\x9fe    \xfc\n"),
            "{}",
            out.escape_ascii()
        );
    }

    #[test]
    fn a_long_subject_is_cut() {
        let subject = |length: usize| {
            let report = line(0, &format!("Subject: {}\n\n", "x".repeat(length)));
            report.trim_end().rsplit('\t').next().unwrap().to_owned()
        };
        assert_eq!(subject(199), "x".repeat(199));
        assert_eq!(subject(200), "x".repeat(196) + "...");
    }
}
