//! Header-only feeds, as Diablo has them: after `MODE HEADFEED` (250) articles come without their bodies, and `Bytes` has the size that
//! was left out. Control messages come whole: their signature covers the body.

use article::{Article, Form, Header};

/// Appends the header of an article in wire form, with the line of one dot at its end; a control message as a whole. `wire`: the article
/// with its line of one dot.
pub(super) fn push(wire: &[u8], out: &mut Vec<u8>) {
    let whole = wire.strip_suffix(b".\r\n").unwrap_or(wire);
    let article = Article::parse(whole, Form::Wire);
    let is_control = article.line(Header::Control).is_some();
    let Some(header) = whole.get(..article.header_len()).filter(|_| !is_control) else {
        out.extend_from_slice(wire);
        return;
    };
    out.extend_from_slice(header);
    let mut fields = article.fields();
    if !fields.any(|(_, name, _)| name.eq_ignore_ascii_case(b"Bytes")) {
        out.extend_from_slice(format!("Bytes: {}\r\n", whole.len()).as_bytes());
    }
    out.extend_from_slice(b"\r\n.\r\n");
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
            "From: a@b\r\nSubject: x\r\nBytes: 38\r\n\r\n.\r\n"
        );
        assert_eq!(
            pushed("From: a@b\r\nbytes: 7\r\n\r\nbody\r\n.\r\n"),
            "From: a@b\r\nbytes: 7\r\n\r\n.\r\n"
        );
        let control = "From: a@b\r\nControl: cancel <x@y>\r\n\r\nwhy\r\n.\r\n";
        assert_eq!(pushed(control), control);
        assert_eq!(
            pushed("From: a@b\r\n.\r\n"),
            "From: a@b\r\nBytes: 11\r\n\r\n.\r\n"
        );
    }
}
