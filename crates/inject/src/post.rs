//! All steps of injection: from a draft to an article for the relay, or to a mail for a moderator.
//!
//! The poster's headers keep their order. Path is added before them, other headers after them.

use article::date::{self, LocalZone};
use article::newsgroups;
use groups::Active;
use relay::Rules;
use relay::cancel_lock::Secret;

use crate::draft::Draft;
use crate::moderators::Moderators;
use crate::poster::Poster;
use crate::posting_groups::{PostingGroups, check_groups};
use crate::refusal::{Refusal, shown};
use crate::{cancel_locks, check, mailbox, message_id, submission};

/// The data about its poster that a post reveals, besides the poster's own headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reveal {
    /// The account: `posting-account` in Injection-Info.
    pub account: bool,
    /// The machine: `posting-host` in Injection-Info, and in Path.
    pub host: bool,
    /// `logging-data` in Injection-Info.
    pub logging: bool,
    /// Sender, if From has another address than the poster's own, as in C News.
    pub sender: bool,
}

impl Reveal {
    /// Parses a list of words separated by commas; an empty list reveals nothing.
    ///
    /// # Errors
    /// The unknown word.
    pub fn parse(list: &str) -> Result<Reveal, String> {
        let mut reveal = Reveal::default();
        for word in list.split(',').map(str::trim) {
            match word {
                "" => {}
                "account" => reveal.account = true,
                "host" => reveal.host = true,
                "logging" => reveal.logging = true,
                "sender" => reveal.sender = true,
                other => return Err(other.to_owned()),
            }
        }
        Ok(reveal)
    }
}

/// The injection rules of a site.
#[derive(Debug, Clone)]
pub struct InjectRules {
    /// The limits that the relay will apply; its host is used in Injection-Info.
    pub limits: Rules,
    /// The domain of new ids.
    pub mailname: Vec<u8>,
    /// Organization for posts without one; empty for none.
    pub organization: Vec<u8>,
    /// The address for complaints, `mail-complaints-to`; empty for none.
    pub complaints: Vec<u8>,
    /// The data about the poster that is revealed.
    pub reveal: Reveal,
    /// Classic behaviour: `Subject: cmsg X`, and any subject in a group that ends in `.ctl`, makes a control message. RFC 5537, 5.1
    /// forbids it.
    pub subject_control: bool,
}

/// The state of the site that injection depends on.
#[derive(Clone, Copy)]
pub struct InjectionSite<'a> {
    /// The rules.
    pub rules: &'a InjectRules,
    /// The groups.
    pub active: &'a Active,
    /// Their moderators.
    pub moderators: &'a Moderators,
    /// The secret for Cancel-Locks; without it, none are made.
    pub secret: Option<&'a Secret>,
    /// The zone of dates without a zone.
    pub zone: &'a dyn LocalZone,
}

/// The time of a post, and a random number.
#[derive(Debug, Clone, Copy)]
pub struct InjectionTime {
    /// Seconds since 1970.
    pub seconds: i64,
    /// 64 random bits.
    pub random: u64,
}

impl InjectionTime {
    /// This second, and 64 random bits.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn now() -> std::io::Result<InjectionTime> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        Ok(InjectionTime {
            seconds: relay::Now::read().seconds,
            random: u64::from_le_bytes(random),
        })
    }
}

/// The destination of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The news system: the bytes are an article.
    File,
    /// A moderator: the bytes are a mail.
    Mail {
        /// The first moderated group.
        group: Vec<u8>,
        /// Its moderator.
        address: Vec<u8>,
    },
}

/// An accepted post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// Its message-id.
    pub id: Vec<u8>,
    /// The article, in native form, or the mail.
    pub bytes: Vec<u8>,
    /// Its destination.
    pub route: Route,
    /// The value of its Approved, if it has one.
    pub approved: Option<Vec<u8>>,
    /// Warnings for the poster.
    pub notes: Vec<String>,
}

/// Checks a post and makes an article or a mail of it. [`relay::decide`] accepts such an article unless it knows the id already, or
/// this site does not accept its groups.
///
/// # Errors
/// The reason for refusing the post.
pub fn inject(
    mut draft: Draft,
    poster: &Poster<'_>,
    site: &InjectionSite<'_>,
    now: InjectionTime,
) -> Result<Injected, Refusal> {
    let rules = site.rules;
    check::headers(&draft)?;
    names_without_blanks(&mut draft);
    classic_rewriting(&mut draft, rules);
    check::required(&draft, "Subject")?;
    check::newsgroups(&draft, &rules.limits)?;
    check::optional_headers(&draft)?;
    let path = injection_path(&draft, poster, rules)?;
    let was_complete = draft.value("Message-ID").is_some() && draft.value("Date").is_some();
    add_defaults(&mut draft, poster, rules, now);
    check::addresses(&draft)?;
    check::rights(&draft, poster, site.active)?;
    check::blocks(&draft, poster, &rules.limits.blocks, now.seconds)?;
    let id = check::required(&draft, "Message-ID")?.to_vec();
    check::message_id(&id, &rules.limits)?;
    check_dates(&mut draft, site, now)?;
    check::body(&draft)?;
    if draft.body.last().is_some_and(|&byte| byte != b'\n') {
        draft.body.push(b'\n');
    }
    let newsgroups = check::required(&draft, "Newsgroups")?.to_vec();
    let allowed = match check_groups(&newsgroups, site.active) {
        // A newgroup names the group that it creates. Posters without that right were refused above.
        Err(Refusal::NoGroup(_)) if is_administrative(&draft) => PostingGroups::default(),
        other => other?,
    };
    let unknown = allowed.unknown.iter();
    let notes = unknown
        .map(|name| {
            format!(
                "no such group here: `{}'; the article is filed in the other groups",
                shown(name)
            )
        })
        .collect();
    let moderated = allowed
        .moderated
        .filter(|_| draft.value("Approved").is_none());
    let (bytes, route) = match moderated {
        Some(group) => {
            let address = site.moderators.address(group);
            let address = address.ok_or_else(|| Refusal::NoModerator(shown(group)))?;
            let group = group.to_vec();
            (
                submission::mail(&draft, &address),
                Route::Mail { group, address },
            )
        }
        None => {
            draft.set_first("Path", &path);
            add_injection_headers(&mut draft, poster, site, &id, was_complete, now);
            (draft.write(), Route::File)
        }
    };
    check_sizes(&draft, &bytes, &rules.limits)?;
    Ok(Injected {
        id,
        bytes,
        route,
        approved: draft.value("Approved").map(<[u8]>::to_vec),
        notes,
    })
}

/// Whether the draft is a control message other than cancel.
fn is_administrative(draft: &Draft) -> bool {
    draft
        .value("Control")
        .is_some_and(|control| cancel_locks::withdrawn(Some(control), None).is_none())
}

/// Removes empty names and the white space around the names in Newsgroups and Followup-To, which old relays refuse; an injecting
/// agent may (RFC 5536, 3.1.4). A list of empty names only stays, and is refused.
fn names_without_blanks(draft: &mut Draft) {
    for header in ["Newsgroups", "Followup-To"] {
        let value = draft.value(header).unwrap_or_default();
        let names: Vec<&[u8]> = newsgroups::split(value).collect();
        let clean = names.join(&b","[..]);
        if !names.is_empty() && clean != value {
            draft.set(header, &clean);
        }
    }
}

/// Rewrites headers as C News did: removes `Distribution: world`, which has no effect, and honours old forms of Control.
fn classic_rewriting(draft: &mut Draft, rules: &InjectRules) {
    let distribution = draft.value("Distribution");
    if distribution.is_some_and(|words| words.eq_ignore_ascii_case(b"world")) {
        draft.remove("Distribution");
    }
    if !rules.subject_control || draft.value("Control").is_some() {
        return;
    }
    let subject = draft.value("Subject").unwrap_or_default();
    let in_control_group = draft.value("Newsgroups").is_some_and(|groups| {
        groups
            .split(|&byte| byte == b',')
            .any(|name| name.ends_with(b".ctl"))
    });
    let control = match subject.strip_prefix(b"cmsg ") {
        Some(control) => control.trim_ascii(),
        None if in_control_group => subject,
        None => return,
    };
    let control = control.to_vec();
    draft.set("Control", &control);
}

/// Makes the Path for the relay (RFC 5537, 3.2.1): the injection mark, then the poster's Path or `not-for-mail`. Removes our own
/// name at the start, which some posting programs add; the relay adds it.
fn injection_path(
    draft: &Draft,
    poster: &Poster<'_>,
    rules: &InjectRules,
) -> Result<Vec<u8>, Refusal> {
    let mut tail = draft.value("Path").unwrap_or(b"not-for-mail");
    check::path(tail)?;
    while let Some((host, rest)) = tail.split_at_checked(rules.limits.host.len())
        && host.eq_ignore_ascii_case(&rules.limits.host)
        && let Some(rest) = rest.strip_prefix(b"!")
    {
        tail = rest;
    }
    let mut path = b".POSTED".to_vec();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b".-:".contains(byte);
    if rules.reveal.host && !poster.host.is_empty() && poster.host.iter().all(is_name) {
        path.push(b'.');
        path.extend_from_slice(poster.host);
    }
    path.push(b'!');
    path.extend_from_slice(tail);
    Ok(path)
}

/// Adds missing headers: From, Message-ID, Date, Organization.
fn add_defaults(draft: &mut Draft, poster: &Poster<'_>, rules: &InjectRules, now: InjectionTime) {
    let mut supply = |name: &str, value: &[u8]| {
        if draft.value(name).is_none() && !value.is_empty() {
            draft.set(name, value);
        }
    };
    supply("From", poster.from);
    supply(
        "Message-ID",
        &message_id::new(now.seconds, now.random, &rules.mailname),
    );
    let mut date = Vec::new();
    date::write_utc(&mut date, now.seconds);
    supply("Date", &date);
    supply("Organization", &rules.organization);
    if rules.reveal.sender && draft.value("Sender").is_none() {
        let own = mailbox::address(poster.from);
        let from = draft.value("From").and_then(mailbox::address);
        if let Some(own) = own.filter(|own| Some(own) != from.as_ref()) {
            draft.set("Sender", &own);
        }
    }
}

fn check_dates(
    draft: &mut Draft,
    site: &InjectionSite<'_>,
    now: InjectionTime,
) -> Result<(), Refusal> {
    let limits = &site.rules.limits;
    for header in ["Date", "Injection-Date", "Expires"] {
        let Some(value) = draft.value(header).map(<[u8]>::to_vec) else {
            continue;
        };
        let (seconds, written) = check::date(header, &value, site.zone)?;
        if header != "Expires" {
            check::date_range(header, seconds, &value, now.seconds, limits)?;
        }
        draft.set(header, &written);
    }
    Ok(())
}

/// Adds the headers of the injecting site (RFC 5537, 3.5), and the Cancel-Locks.
fn add_injection_headers(
    draft: &mut Draft,
    poster: &Poster<'_>,
    site: &InjectionSite<'_>,
    id: &[u8],
    was_complete: bool,
    now: InjectionTime,
) {
    // If the poster supplied both Message-ID and Date, another site may be injecting the article as well, and it must be
    // the same everywhere (RFC 5537, 3.5, step 9).
    if !was_complete && draft.value("Injection-Date").is_none() {
        let mut date = Vec::new();
        date::write_utc(&mut date, now.seconds);
        draft.set("Injection-Date", &date);
    }
    draft.set("Injection-Info", &injection_info(poster, site.rules));
    if let Some(secret) = site.secret {
        cancel_locks::lock(draft, poster, secret, id);
        cancel_locks::unlock(draft, poster, secret);
    }
}

/// Makes the value of Injection-Info: `news.example.org; posting-account="jane"` (RFC 5536, 3.2.8).
fn injection_info(poster: &Poster<'_>, rules: &InjectRules) -> Vec<u8> {
    let mut info = rules.limits.host.clone();
    let reveal = rules.reveal;
    for (name, value, is_revealed) in [
        ("posting-account", poster.account, reveal.account),
        ("posting-host", poster.host, reveal.host),
        ("logging-data", poster.logging_data, reveal.logging),
        ("mail-complaints-to", &rules.complaints, true),
    ] {
        if !is_revealed || value.is_empty() {
            continue;
        }
        info.extend_from_slice(b";\n\t");
        info.extend_from_slice(name.as_bytes());
        info.extend_from_slice(b"=\"");
        for &byte in value {
            match byte {
                b'"' | b'\\' => info.extend_from_slice(&[b'\\', byte]),
                b' '..=b'~' => info.push(byte),
                _ => info.push(b'?'),
            }
        }
        info.push(b'"');
    }
    info
}

fn check_sizes(draft: &Draft, bytes: &[u8], limits: &Rules) -> Result<(), Refusal> {
    let mut header = Vec::new();
    draft.write_header(&mut header);
    for (what, bytes, limit) in [
        ("article", bytes.len(), limits.article_bytes_max),
        ("header", header.len(), limits.header_bytes_max),
    ] {
        if bytes > limit {
            return Err(Refusal::TooLarge { what, bytes, limit });
        }
    }
    Ok(())
}
