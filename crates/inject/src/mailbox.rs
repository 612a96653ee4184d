//! Mail addresses, parsed as leniently as in INN.

use article::syntax::{has_unclosed_comment, strip_cfws};

/// The first address in the value of From, Sender or Approved. `None` if a member of the list has no address, or a comment is not
/// closed.
pub fn address(value: &[u8]) -> Option<Vec<u8>> {
    if has_unclosed_comment(value) {
        return None;
    }
    let words = strip_cfws(&without_quotes(value));
    let mut members = words.split(|&byte| byte == b',').map(member_address);
    let first = members.next()??;
    members
        .all(|address| address.is_some())
        .then(|| first.to_vec())
}

/// The address of one member of a list: `local@domain`, bare, or in brackets after a name.
fn member_address(member: &[u8]) -> Option<&[u8]> {
    let member = member.trim_ascii();
    let found = match member.iter().position(|&byte| byte == b'<') {
        None => member,
        Some(open) => {
            let inside = member.get(open + 1..)?;
            let close = inside.iter().position(|&byte| byte == b'>')?;
            let behind = inside.get(close + 1..)?;
            behind.is_empty().then_some(())?;
            inside.get(..close)?
        }
    };
    is_address(found).then_some(found)
}

/// Replaces the content of quoted strings (a name or a local part) by a plain word. In a comment, a quote is text.
fn without_quotes(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut is_quoted = false;
    let mut depth = 0usize;
    let mut bytes = value.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' if depth == 0 => {
                is_quoted = !is_quoted;
                out.push(b'"');
            }
            b'\\' if is_quoted => {
                bytes.next();
            }
            b'\\' if depth > 0 => {
                out.push(byte);
                out.extend(bytes.next());
            }
            b'(' if !is_quoted => {
                depth += 1;
                out.push(byte);
            }
            b')' if !is_quoted => {
                depth = depth.saturating_sub(1);
                out.push(byte);
            }
            _ if is_quoted => {
                let is_plain = byte.is_ascii_alphanumeric();
                out.push(if is_plain { byte } else { b'_' });
            }
            _ => out.push(byte),
        }
    }
    out
}

/// Whether this is `local@domain` without blanks; the domain is letters, digits, dots, hyphens and underscores, or a
/// literal in brackets.
fn is_address(text: &[u8]) -> bool {
    let Some(at) = text.iter().rposition(|&byte| byte == b'@') else {
        return false;
    };
    let Some((local, domain)) = text.split_at_checked(at) else {
        return false;
    };
    let domain = domain.get(1..).unwrap_or_default();
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"<>(),;:\\".contains(byte);
    !local.is_empty() && local.iter().all(is_plain) && is_domain(domain)
}

fn is_domain(domain: &[u8]) -> bool {
    if let [b'[', inside @ .., b']'] = domain {
        let is_literal = |byte: &u8| byte.is_ascii_alphanumeric() || b".:-".contains(byte);
        return !inside.is_empty() && inside.iter().all(is_literal);
    }
    let is_part = |part: &[u8]| {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        !part.is_empty() && part.iter().all(is_plain)
    };
    domain.split(|&byte| byte == b'.').all(is_part)
}

/// Whether a program that reads a To header can safely send mail to this address: a single address without characters that
/// have a meaning in a header, a list of addresses or a command line. Bang paths (`site!user`) are allowed.
pub fn is_safe_recipient(text: &[u8]) -> bool {
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_{}~.@".contains(byte);
    (1..=RECIPIENT_BYTES_MAX).contains(&text.len())
        && text.iter().all(is_plain)
        && !matches!(text.first(), Some(b'-' | b'|' | b'/' | b'@'))
        && text.contains(&b'@') | text.contains(&b'!')
}

/// Longest address for mail, bytes (RFC 5321, 4.5.3.1).
pub const RECIPIENT_BYTES_MAX: usize = 254;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found() {
        for (value, wanted) in [
            ("a@b", "a@b"),
            ("a@b.c (A B)", "a@b.c"),
            ("A B <a@b.c>", "a@b.c"),
            ("\"A, B <x>\" <a@b.c>", "a@b.c"),
            ("a@b, c@d", "a@b"),
            ("A (x <y@z>) <a@b>", "a@b"),
            ("=?utf-8?q?A?= <a@b>", "a@b"),
            ("\"a b\"@c", "\"a_b\"@c"),
            ("a@[127.0.0.1]", "a@[127.0.0.1]"),
            ("site!user@host.UUCP", "site!user@host.UUCP"),
            ("a@b (5\" long)", "a@b"),
            ("a@b (c \\( d)", "a@b"),
            ("\"A (B\" <a@b>, C <c@d> (e, f)", "a@b"),
            // RFC 5322 permits hyphens anywhere, and addresses made useless for spam have them there.
            ("a@-nospam-.example", "a@-nospam-.example"),
        ] {
            let found = address(value.as_bytes());
            assert_eq!(found.as_deref(), Some(wanted.as_bytes()), "{value}");
        }
        for bad in [
            "",
            "a",
            "a@",
            "@b",
            "a b@c",
            "A <a>",
            "<a@b",
            "a@b>",
            "A <a@b> c",
            "a@b..c",
            "a@b c",
            "a@b (",
            "a@b ((((",
            "a@b (c (d)",
            "a@b (c\\)",
            "a@b, ,;garbage",
            "a@b, c",
            "a@b,",
            "A <a@b>, C",
        ] {
            assert_eq!(address(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn recipients_cannot_inject_headers_or_options() {
        for good in [
            "moderator@site.example",
            "comp-lang-c@mods.example",
            "hub!mod",
        ] {
            assert!(is_safe_recipient(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "mod",
            "a@b,c@d",
            "a@b c@d",
            "a@b\nBcc: c@d",
            "-oQ/tmp@x",
            "|sh@x",
            "a@b;c",
            "<a@b>",
            "\"a\"@b",
            "/etc/x@y",
            ":include:x@y",
            "a(b)@c",
        ] {
            assert!(!is_safe_recipient(bad.as_bytes()), "{bad}");
        }
    }
}
