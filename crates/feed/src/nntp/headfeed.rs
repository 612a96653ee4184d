//! Header-only feeds, as Diablo has them: after `MODE HEADFEED` (250) articles come without their bodies; `Bytes` and `Lines` have the
//! size of the whole article, as overview tells it. Control messages come whole: their signature covers the body.

use article::left_out::{BYTES, LINES};
use article::wire_facts::LineCounts;
use article::{Article, Form, LeftOut, decimal};

/// Appends the header of an article in wire form, with the line of one dot at its end; a control message as a whole. `wire`: the article
/// with its line of one dot. An article that came without its body goes on as it is.
pub(super) fn push(wire: &[u8], out: &mut Vec<u8>) {
    let whole = wire.strip_suffix(b".\r\n").unwrap_or(wire);
    let article = Article::parse(whole, Form::Wire);
    let is_without = article.is_header_alone() && LeftOut::stated_in(&article).is_some();
    if article.has_body_in_header_feed() || is_without {
        return out.extend_from_slice(wire);
    }
    let header = whole.get(..article.header_len()).unwrap_or(whole);
    // A size that the author states may be anything.
    let is_size =
        |name: &[u8]| name.eq_ignore_ascii_case(BYTES) || name.eq_ignore_ascii_case(LINES);
    let mut from = 0;
    for (line, name, _) in article.fields() {
        if is_size(name) {
            out.extend_from_slice(header.get(from..line.start).unwrap_or_default());
            from = line.end;
        }
    }
    out.extend_from_slice(header.get(from..).unwrap_or_default());
    if !header.is_empty() && !header.ends_with(b"\r\n") {
        out.extend_from_slice(b"\r\n");
    }
    let counts = LineCounts::of(whole);
    let bytes = whole.len().saturating_sub(counts.doubled_dots);
    push_field(BYTES, bytes, out);
    push_field(LINES, article.body_counts().line_feeds, out);
    out.extend_from_slice(b"\r\n.\r\n");
}

fn push_field(name: &[u8], value: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    decimal::push(out, value as u64);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(wire: &str) -> String {
        let mut out = Vec::new();
        push(wire.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn bodies_are_left_out_but_for_control_messages() {
        assert_eq!(
            pushed("From: a@b\r\nSubject: x\r\n\r\nbody\r\n..dot\r\n.\r\n"),
            "From: a@b\r\nSubject: x\r\nBytes: 37\r\nLines: 2\r\n\r\n.\r\n"
        );
        let control = "From: a@b\r\nControl: cancel <x@y>\r\n\r\nwhy\r\n.\r\n";
        assert_eq!(pushed(control), control);
        assert_eq!(
            pushed("From: a@b\r\n.\r\n"),
            "From: a@b\r\nBytes: 11\r\nLines: 0\r\n\r\n.\r\n"
        );
    }

    #[test]
    fn sizes_that_an_author_states_do_not_count() {
        assert_eq!(
            pushed("Lines: 7000\r\nFrom: a@b\r\nbytes: 7\r\n 1\r\nX: y\r\n\r\nbody\r\n.\r\n"),
            "From: a@b\r\nX: y\r\nBytes: 52\r\nLines: 1\r\n\r\n.\r\n"
        );
    }

    #[test]
    fn what_came_without_its_body_goes_on_as_it_is() {
        let header = "From: a@b\r\nBytes: 7000\r\nLines: 3\r\n\r\n.\r\n";
        assert_eq!(pushed(header), header);
    }
}
