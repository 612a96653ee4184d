//! What a post may say (RFC 5536, 3; RFC 5537, 3.4.1 and 3.5). Each check is a function of the draft and what is handed in.

use article::date::{self, LocalZone};
use article::{Article, Form, message_id, newsgroups};
use groups::{Active, name};
use relay::Rules;
use relay::control::ControlMessage;
use relay::permit::{Denied, permitted};

use crate::draft::{Draft, Field};
use crate::mailbox;
use crate::poster::Poster;
use crate::refusal::{Refusal, shown};
use crate::withdrawal;

/// How far back the Date of a post may lie, in seconds: ten days, as INN has it. Older ones come from a spool
/// that somebody forgot, and other sites may have forgotten the id (RFC 5537, 3.5).
pub const DATE_AGE_SECONDS_MAX: i64 = 10 * 86_400;

/// Headers that may stand once (RFC 5536, 3 and RFC 8315, 2; those of MIME too).
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

/// Headers that only the news system writes, Path aside.
fn is_forbidden(field: &Field) -> bool {
    const WHOLE: &[&[u8]] = &[b"Injection-Info", b"Xref", b"X-Trace"];
    const BEGINNING: &[u8] = b"NNTP-Posting-";
    let begins = field.name.split_at_checked(BEGINNING.len());
    begins.is_some_and(|(start, _)| start.eq_ignore_ascii_case(BEGINNING))
        || WHOLE
            .iter()
            .any(|name| field.name.eq_ignore_ascii_case(name))
}

/// Which headers stand, and how often.
///
/// # Errors
/// One of the news system's own, or one that stands twice.
pub fn headers(draft: &Draft) -> Result<(), Refusal> {
    if let Some(field) = draft.fields().iter().find(|field| is_forbidden(field)) {
        return Err(Refusal::Forbidden(shown(&field.name)));
    }
    match ONCE.iter().find(|name| draft.count(name) > 1) {
        Some(name) => Err(Refusal::Twice((*name).to_owned())),
        None => Ok(()),
    }
}

/// The value of a header that must be there.
pub(crate) fn needed<'d>(draft: &'d Draft, name: &'static str) -> Result<&'d [u8], Refusal> {
    draft.value(name).ok_or(Refusal::Missing(name))
}

/// Newsgroups: names with commas between them and no blanks, every one of them a name, not too many.
///
/// # Errors
/// What is wrong with it.
pub fn newsgroups(draft: &Draft, rules: &Rules) -> Result<(), Refusal> {
    let value = needed(draft, "Newsgroups")?;
    names("Newsgroups", value)?;
    let groups = newsgroups::split(value).count();
    match groups > rules.groups_max {
        true => Err(Refusal::TooLarge {
            what: "number of groups",
            bytes: groups,
            limit: rules.groups_max,
        }),
        false => Ok(()),
    }
}

fn names(header: &'static str, value: &[u8]) -> Result<(), Refusal> {
    if value.iter().any(u8::is_ascii_whitespace) {
        return Err(Refusal::value(
            header,
            "there may be no blanks in it",
            value,
        ));
    }
    match value
        .split(|&byte| byte == b',')
        .find(|name| !name::is_safe(name))
    {
        Some(name) => Err(Refusal::value(header, "this is no group name", name)),
        None => Ok(()),
    }
}

/// Followup-To, Distribution, Control with Supersedes: what stands in some posts only.
///
/// # Errors
/// What is wrong with them.
pub fn sometimes(draft: &Draft) -> Result<(), Refusal> {
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
            let why = "it is no list of words with commas between them";
            return Err(Refusal::value("Distribution", why, value));
        }
    }
    if let Some(value) = draft.value("Supersedes") {
        if draft.value("Control").is_some() || draft.value("Also-Control").is_some() {
            // RFC 5536, 3.2.3.
            return Err(Refusal::value(
                "Supersedes",
                "it cannot stand beside Control or Also-Control",
                value,
            ));
        }
        if message_id::check(value).is_err() {
            return Err(Refusal::value("Supersedes", "this is no Message-ID", value));
        }
    }
    Ok(())
}

/// From, and Sender and Approved where they stand, hold an address. INN is as lenient about its form.
///
/// # Errors
/// One that holds none.
pub fn addresses(draft: &Draft) -> Result<(), Refusal> {
    needed(draft, "From")?;
    for header in ["From", "Sender", "Approved"] {
        if let Some(value) = draft.value(header)
            && mailbox::address(value).is_none()
        {
            let why = "there is no address `user@site' in it";
            return Err(Refusal::value(header, why, value));
        }
    }
    Ok(())
}

/// The rights of the poster, asked about the header as the relay will read it; and a cancel names one id.
///
/// # Errors
/// This poster may not, or a cancel that names no id.
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
        let is_order = matches!(ControlMessage::parse(value), ControlMessage::Other(_));
        if !is_order && withdrawal::withdrawn(Some(value), None).is_none() {
            return Err(Refusal::value(
                "Control",
                "cancel wants one Message-ID",
                value,
            ));
        }
    }
    Ok(())
}

/// Path: no blanks, and no sign of an injection before (RFC 5537, 3.4.1).
///
/// # Errors
/// What is wrong with it.
pub fn path(value: &[u8]) -> Result<(), Refusal> {
    if value
        .split(|&byte| byte == b'!')
        .any(|part| part.starts_with(b".POSTED"))
    {
        let why = "it has been injected already (.POSTED)";
        return Err(Refusal::value("Path", why, value));
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_!:+=@%".contains(byte);
    match value.iter().all(is_plain) && !value.ends_with(b"!") {
        true => Ok(()),
        false => Err(Refusal::value(
            "Path",
            "it is no list of sites with a tail",
            value,
        )),
    }
}

/// The message-id: by the letter of RFC 5536, 3.1.3, for it is new.
///
/// # Errors
/// What is wrong with it.
pub fn message_id(value: &[u8], rules: &Rules) -> Result<(), Refusal> {
    if value.len() > rules.message_id_bytes_max {
        return Err(Refusal::TooLarge {
            what: "Message-ID",
            bytes: value.len(),
            limit: rules.message_id_bytes_max,
        });
    }
    match message_id::valid_strict(value) {
        true => Ok(()),
        false => Err(Refusal::value(
            "Message-ID",
            "it is not `<word.word@site>'",
            value,
        )),
    }
}

/// A date as it will be sent: as it stands where that is by the letter of RFC 5322, else written anew
/// (C News's `canonhdr -d`). Gives its seconds as well.
///
/// # Errors
/// It is no date.
pub fn date(
    header: &'static str,
    value: &[u8],
    zone: &dyn LocalZone,
) -> Result<(i64, Vec<u8>), Refusal> {
    let seconds =
        date::parse(value, zone).ok_or_else(|| Refusal::value(header, "this is no date", value))?;
    if date::parse_strict(value) == Some(seconds) {
        return Ok((seconds, value.to_vec()));
    }
    let mut written = Vec::new();
    date::write_utc(&mut written, seconds);
    Ok((seconds, written))
}

/// Neither too far ahead (RFC 5537, 3.5: a day) nor too long ago.
///
/// # Errors
/// It is.
pub fn timely(
    header: &'static str,
    seconds: i64,
    value: &[u8],
    now: i64,
    rules: &Rules,
) -> Result<(), Refusal> {
    if seconds > now.saturating_add(rules.future_seconds_max) {
        return Err(Refusal::value(
            header,
            "it lies too far in the future",
            value,
        ));
    }
    let age = rules.age_seconds_max.unwrap_or(DATE_AGE_SECONDS_MAX);
    match seconds < now.saturating_sub(age.min(DATE_AGE_SECONDS_MAX)) {
        true => Err(Refusal::value(header, "it lies too far in the past", value)),
        false => Ok(()),
    }
}

/// The body: something, and no NUL. A control message needs no text.
///
/// # Errors
/// There is none, or a NUL.
pub fn body(draft: &Draft) -> Result<(), Refusal> {
    if draft.body.contains(&0) {
        return Err(Refusal::Nul);
    }
    let is_empty = draft.body.trim_ascii().is_empty();
    match is_empty && draft.value("Control").is_none() {
        true => Err(Refusal::NoBody),
        false => Ok(()),
    }
}
