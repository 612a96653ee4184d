//! Checks the content of a post (RFC 5536, 3; RFC 5537, 3.4.1 and 3.5). Each check is a function of the draft and of its arguments.

use article::date::{self, LocalZone};
use article::{Article, Form, message_id, newsgroups, syntax};
use groups::{Active, name};
use relay::Rules;
use relay::blocks::{Blocks, SenderNames};
use relay::control::ControlMessage;
use relay::permit::{Denied, permitted};

use crate::cancel_locks;
use crate::draft::{Draft, Field};
use crate::mailbox;
use crate::poster::Poster;
use crate::refusal::{Refusal, shown};

/// Maximum age of the Date of a post, seconds: ten days, as in INN. An older post comes from a
/// forgotten spool, and other sites may have forgotten its id (RFC 5537, 3.5).
pub const DATE_AGE_SECONDS_MAX: i64 = 10 * 86_400;

/// Headers that may occur only once (RFC 5536, 3 and RFC 8315, 2; those of MIME too).
const ONCE: &[&str] = &[
    "Also-Control",
    "Approved",
    "Archive",
    "Cancel-Key",
    "Cancel-Lock",
    "Content-Transfer-Encoding",
    "Content-Type",
    "Control",
    "Date",
    "Distribution",
    "Expires",
    "Followup-To",
    "From",
    "Injection-Date",
    "Injection-Info",
    "Keywords",
    "Lines",
    "MIME-Version",
    "Message-ID",
    "Newsgroups",
    "Organization",
    "Path",
    "References",
    "Reply-To",
    "Sender",
    "Subject",
    "Summary",
    "Supersedes",
    "User-Agent",
];

/// Whether only the news system may write a header (Path is checked separately).
fn is_forbidden(field: &Field) -> bool {
    const WHOLE: &[&[u8]] = &[b"Injection-Info", b"Xref", b"X-Trace"];
    const BEGINNING: &[u8] = b"NNTP-Posting-";
    let begins = field.name.split_at_checked(BEGINNING.len());
    begins.is_some_and(|(start, _)| start.eq_ignore_ascii_case(BEGINNING))
        || WHOLE
            .iter()
            .any(|name| field.name.eq_ignore_ascii_case(name))
}

/// Checks which headers occur, and how often.
///
/// # Errors
/// A header reserved for the news system, or one that occurs twice.
pub fn headers(draft: &Draft) -> Result<(), Refusal> {
    if let Some(field) = draft.fields().iter().find(|field| is_forbidden(field)) {
        return Err(Refusal::Forbidden(shown(&field.name)));
    }
    match ONCE.iter().find(|name| draft.count(name) > 1) {
        Some(name) => Err(Refusal::Twice((*name).to_owned())),
        None => Ok(()),
    }
}

/// Returns the value of a required header.
pub(crate) fn required<'d>(draft: &'d Draft, name: &'static str) -> Result<&'d [u8], Refusal> {
    draft.value(name).ok_or(Refusal::Missing(name))
}

/// Checks Newsgroups: a list of valid names, separated by commas, at most as many as the rules permit.
///
/// # Errors
/// The first violation.
pub fn newsgroups(draft: &Draft, rules: &Rules) -> Result<(), Refusal> {
    let value = required(draft, "Newsgroups")?;
    names("Newsgroups", value)?;
    let groups = newsgroups::split(value).count();
    if groups > rules.groups_max {
        Err(Refusal::TooMany {
            what: "groups",
            limit: rules.groups_max,
        })
    } else {
        Ok(())
    }
}

fn names(header: &'static str, value: &[u8]) -> Result<(), Refusal> {
    if value.iter().any(u8::is_ascii_whitespace) {
        return Err(Refusal::value(header, "the value contains a blank", value));
    }
    match value
        .split(|&byte| byte == b',')
        .find(|name| !name::is_safe(name))
    {
        Some(name) => Err(Refusal::value(header, "this is not a group name", name)),
        None => Ok(()),
    }
}

/// Checks the optional headers Followup-To, Distribution, and Supersedes (also together with Control).
///
/// # Errors
/// The first violation.
pub fn optional_headers(draft: &Draft) -> Result<(), Refusal> {
    if let Some(value) = draft.value("Followup-To")
        && !value.eq_ignore_ascii_case(b"poster")
    {
        names("Followup-To", value)?;
    }
    if let Some(value) = draft.value("Distribution") {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-_.!".contains(byte);
        let is_list = value.split(|&byte| byte == b',').all(|word| {
            let word = word.trim_ascii();
            !word.is_empty() && word.iter().all(is_word)
        });
        if !is_list {
            let why = "it is not a list of words separated by commas";
            return Err(Refusal::value("Distribution", why, value));
        }
    }
    if let Some(value) = draft.value("Supersedes") {
        if draft.value("Control").is_some() || draft.value("Also-Control").is_some() {
            // RFC 5536, 3.2.3.
            return Err(Refusal::value(
                "Supersedes",
                "it is not allowed together with Control or Also-Control",
                value,
            ));
        }
        if message_id::check(value).is_err() {
            return Err(Refusal::value(
                "Supersedes",
                "this is not a Message-ID",
                value,
            ));
        }
    }
    Ok(())
}

/// Checks that From, and Approved if present, are lists of addresses; as lenient about their form as INN. Sender (INN's inews writes `user%host`) and
/// Reply-To may be any text, as in INN, but no comment that hides the rest of the header.
///
/// # Errors
/// A member without an address, or an unclosed comment.
pub fn addresses(draft: &Draft) -> Result<(), Refusal> {
    required(draft, "From")?;
    for header in ["From", "Approved"] {
        let Some(value) = draft.value(header) else {
            continue;
        };
        comments(header, value)?;
        if mailbox::address(value).is_none() {
            let why =
                "it is not an address `user@site', or a list of addresses separated by commas";
            return Err(Refusal::value(header, why, value));
        }
    }
    for header in ["Sender", "Reply-To"] {
        if let Some(value) = draft.value(header) {
            comments(header, value)?;
        }
    }
    Ok(())
}

fn comments(header: &'static str, value: &[u8]) -> Result<(), Refusal> {
    if syntax::has_unclosed_comment(value) {
        Err(Refusal::value(header, "a comment has no `)'", value))
    } else {
        Ok(())
    }
}

/// Checks the rights of the poster on the header as the relay will read it, and that a cancel contains one id.
///
/// # Errors
/// The poster lacks a right, or a cancel contains no id.
pub fn rights(draft: &Draft, poster: &Poster<'_>, active: &Active) -> Result<(), Refusal> {
    let mut header = Vec::new();
    draft.write_header(&mut header);
    let article = Article::parse(&header, Form::Native);
    permitted(&article, active, poster.sender).map_err(|denied| {
        Refusal::NotAllowed(match denied {
            Denied::Groups => "to all of these groups",
            Denied::Approved => "with Approved",
            Denied::Control => "control messages other than cancel",
        })
    })?;
    for header in ["Control", "Also-Control"] {
        let Some(value) = draft.value(header) else {
            continue;
        };
        let is_administrative = matches!(ControlMessage::parse(value), ControlMessage::Other(_));
        if !is_administrative && cancel_locks::withdrawn(Some(value), None).is_none() {
            return Err(Refusal::value(
                "Control",
                "a cancel needs one Message-ID",
                value,
            ));
        }
    }
    Ok(())
}

/// Checks that the administrator does not block the poster, whose host and login the article may not tell.
///
/// # Errors
/// The poster is blocked.
pub fn blocks(
    draft: &Draft,
    poster: &Poster<'_>,
    blocks: &Blocks,
    seconds: i64,
) -> Result<(), Refusal> {
    let names = SenderNames {
        from: draft.value("From").unwrap_or_default(),
        host: poster.host,
        // The identity of a client without a login begins with NUL.
        login: if poster.account.starts_with(b"\0") {
            b""
        } else {
            poster.account
        },
        injector: b"",
    };
    match blocks.find(&names, seconds) {
        None => Ok(()),
        Some((block, value)) => Err(Refusal::Blocked {
            kind: block.kind.word(),
            value: shown(value),
        }),
    }
}

/// Checks Path: no blanks, and no mark of an earlier injection (RFC 5537, 3.4.1).
///
/// # Errors
/// The violation.
pub fn path(value: &[u8]) -> Result<(), Refusal> {
    if value
        .split(|&byte| byte == b'!')
        .any(|part| part.starts_with(b".POSTED"))
    {
        let why = "the article has been injected already (.POSTED)";
        return Err(Refusal::value("Path", why, value));
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_!:+=@%".contains(byte);
    if value.iter().all(is_plain) && !value.ends_with(b"!") {
        Ok(())
    } else {
        Err(Refusal::value(
            "Path",
            "it is not a list of sites with a tail",
            value,
        ))
    }
}

/// Checks the message-id strictly by RFC 5536, 3.1.3, because it is new.
///
/// # Errors
/// The violation.
pub fn message_id(value: &[u8], rules: &Rules) -> Result<(), Refusal> {
    if value.len() > rules.message_id_bytes_max {
        return Err(Refusal::TooLarge {
            what: "Message-ID",
            bytes: value.len(),
            limit: rules.message_id_bytes_max,
        });
    }
    if message_id::valid_strict(value) {
        Ok(())
    } else {
        Err(Refusal::value(
            "Message-ID",
            "it does not have the form `<word.word@site>'",
            value,
        ))
    }
}

/// Returns a date as it will be sent: unchanged if it conforms to RFC 5322, else rewritten
/// (C News's `canonhdr -d`); also its seconds since 1970.
///
/// # Errors
/// The value is not a date, or has an unclosed comment.
pub fn date(
    header: &'static str,
    value: &[u8],
    zone: &dyn LocalZone,
) -> Result<(i64, Vec<u8>), Refusal> {
    comments(header, value)?;
    let seconds = date::parse(value, zone)
        .ok_or_else(|| Refusal::value(header, "this is not a date", value))?;
    if date::parse_strict(value) == Some(seconds) {
        return Ok((seconds, value.to_vec()));
    }
    let mut written = Vec::new();
    date::write_utc(&mut written, seconds);
    Ok((seconds, written))
}

/// Checks that a date is neither too far in the future (RFC 5537, 3.5: one day) nor too old.
///
/// # Errors
/// The date is out of range.
pub fn date_range(
    header: &'static str,
    seconds: i64,
    value: &[u8],
    now: i64,
    rules: &Rules,
) -> Result<(), Refusal> {
    if seconds > now.saturating_add(rules.future_seconds_max) {
        return Err(Refusal::value(header, "it is too far in the future", value));
    }
    let age = rules.age_seconds_max.unwrap_or(DATE_AGE_SECONDS_MAX);
    if seconds < now.saturating_sub(age.min(DATE_AGE_SECONDS_MAX)) {
        Err(Refusal::value(header, "it is too far in the past", value))
    } else {
        Ok(())
    }
}

/// Checks that the body is not empty and contains no NUL. A control message needs no text.
///
/// # Errors
/// The body is empty, or contains a NUL.
pub fn body(draft: &Draft) -> Result<(), Refusal> {
    if draft.body.contains(&0) {
        return Err(Refusal::Nul);
    }
    let is_empty = draft.body.trim_ascii().is_empty();
    if is_empty && draft.value("Control").is_none() {
        Err(Refusal::NoBody)
    } else {
        Ok(())
    }
}
