//! Texts that leafnode shows in place of articles that it does not have.

/// The begin of the message-id of the only article that leafnode shows in a group that nobody has read.
const PLACEHOLDER: &[u8] = b"<leafnode:placeholder:";

/// A reply for a message: leafnode shows an article before it has the body.
pub(crate) const WITHOUT_BODY: &str = "220, but leafnode has not fetched the body yet";

/// Whether leafnode made an article for a group that nobody has read; it fetches the group's articles afterwards. The colons are in no valid
/// message-id (RFC 5536, 3.1.3).
pub(crate) fn is_placeholder(id: &[u8]) -> bool {
    id.starts_with(PLACEHOLDER)
}

/// Whether the body of an article in wire form is only leafnode's message that it has marked the article for download (its setting `delaybody`).
pub(crate) fn is_without_body(wire: &[u8]) -> bool {
    let mut windows = wire.windows(4);
    let Some(end) = windows.position(|window| window == b"\r\n\r\n") else {
        return false;
    };
    let body = wire.get(end..).unwrap_or_default().trim_ascii();
    let body = body.strip_suffix(b"\r\n.").unwrap_or(body);
    let mut lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let is_leafnode = matches!(lines.next(), Some(b"[ Leafnode: ]" | b"[Leafnode:]"));
    let is_bracketed = |line: &[u8]| line.starts_with(b"[") && line.ends_with(b"]");
    is_leafnode && lines.all(is_bracketed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_leafnode_is_no_body() {
        let of = |body: &str| is_without_body(format!("Subject: a\r\n\r\n{body}.\r\n").as_bytes());
        for body in [
            "\r\n\r\n\t[ Leafnode: ]\r\n\t[ Message 7 of comp.test ]\r\n\t[ has been marked for download. ]\r\n",
            "\t[Leafnode:]\r\n\t[This message has already been marked for download.]\r\n",
        ] {
            assert!(of(body), "{body}");
        }
        for body in [
            "",
            "text\r\n",
            "\t[ Leafnode: ]\r\n\t[ Message 7 of comp.test ]\r\nThis is what I see. Why?\r\n",
            "I see:\r\n\t[ Leafnode: ]\r\n\t[ Message 7 of comp.test ]\r\n",
        ] {
            assert!(!of(body), "{body}");
        }
        assert!(is_placeholder(b"<leafnode:placeholder:comp.test@x>"));
        assert!(!is_placeholder(b"<1@leafnode.example>"));
    }
}
