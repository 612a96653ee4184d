//! The whole way of a post: from a draft to an article that the relay takes, or to a mail for a moderator.
//!
//! The poster's headers keep their order. Path comes in front of them; what else is added comes behind.

use article::date::{self, LocalZone};
use groups::Active;
use relay::Rules;
use relay::cancel_lock::Secret;

use crate::draft::Draft;
use crate::groups_of::{Allowed, allowed};
use crate::moderators::Moderators;
use crate::poster::Poster;
use crate::refusal::{Refusal, shown};
use crate::{check, mailbox, message_id, submission, withdrawal};

/// What a post tells the world about its poster, besides what the poster says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reveal {
    /// The account: `posting-account` in Injection-Info.
    pub account: bool,
    /// The machine: `posting-host` in Injection-Info, and in Path.
    pub host: bool,
    /// `logging-data` in Injection-Info.
    pub logging: bool,
    /// Sender, where From has another address than the poster's own, as C News had it.
    pub sender: bool,
}

impl Reveal {
    /// Reads words with commas between them; none is nothing.
    ///
    /// # Errors
    /// The word that is unknown.
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

/// How a site injects.
#[derive(Debug, Clone)]
pub struct InjectRules {
    /// What the relay will ask of the article; its host stands in Injection-Info.
    pub limits: Rules,
    /// What stands behind the `@` of new ids.
    pub mailname: Vec<u8>,
    /// Organization where the post has none; empty for none.
    pub organization: Vec<u8>,
    /// Who hears complaints: `mail-complaints-to`; empty for nobody.
    pub complaints: Vec<u8>,
    /// What is told of the poster.
    pub reveal: Reveal,
    /// Old news: `Subject: cmsg X`, and any subject in a group that ends in `.ctl`, makes a control message. RFC 5537, 5.1
    /// forbids it.
    pub subject_control: bool,
}

/// What a post depends on besides itself.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The rules.
    pub rules: &'a InjectRules,
    /// The groups.
    pub active: &'a Active,
    /// Their moderators.
    pub moderators: &'a Moderators,
    /// What locks are made from; none are made without.
    pub secret: Option<&'a Secret>,
    /// For dates without a zone.
    pub zone: &'a dyn LocalZone,
}

/// When, and a number that no other post has.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Seconds since 1970.
    pub seconds: i64,
    /// 64 random bits.
    pub chance: u64,
}

/// Where a post goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Into the news system: the bytes are an article.
    File,
    /// To a moderator: the bytes are a mail.
    Mail {
        /// The first moderated group.
        group: Vec<u8>,
        /// Its moderator.
        address: Vec<u8>,
    },
}

/// A post that may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// Its message-id.
    pub id: Vec<u8>,
    /// The article, in native form, or the mail.
    pub bytes: Vec<u8>,
    /// Where it goes.
    pub route: Route,
    /// What the poster should know all the same.
    pub notes: Vec<String>,
}

/// Checks a post and makes an article or a mail of it. An article it makes is one that
/// [`relay::decide`] accepts, unless its id has been seen, or the groups of this site are not its own to take.
///
/// # Errors
/// Why the post is refused.
pub fn inject(
    mut draft: Draft,
    poster: &Poster<'_>,
    site: &Site<'_>,
    now: Moment,
) -> Result<Injected, Refusal> {
    let rules = site.rules;
    check::headers(&draft)?;
    classic_rewriting(&mut draft, rules);
    check::needed(&draft, "Subject")?;
    check::newsgroups(&draft, &rules.limits)?;
    check::sometimes(&draft)?;
    let path = path(&draft, poster, rules)?;
    let was_complete = draft.value("Message-ID").is_some() && draft.value("Date").is_some();
    defaults(&mut draft, poster, rules, now);
    check::addresses(&draft)?;
    check::rights(&draft, poster, site.active)?;
    let id = check::needed(&draft, "Message-ID")?.to_vec();
    check::message_id(&id, &rules.limits)?;
    dates(&mut draft, site, now)?;
    check::body(&draft)?;
    if draft.body.last().is_some_and(|&byte| byte != b'\n') {
        draft.body.push(b'\n');
    }
    let newsgroups = check::needed(&draft, "Newsgroups")?.to_vec();
    let allowed = match allowed(&newsgroups, site.active) {
        // A newgroup names the group that it makes. Whoever may not was refused above.
        Err(Refusal::NoGroup(_)) if is_order(&draft) => Allowed::default(),
        other => other?,
    };
    let unknown = allowed.unknown.iter();
    let notes = unknown
        .map(|name| {
            format!(
                "no such group here: `{}'; the other groups get the article",
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
            trace(&mut draft, poster, site, &id, was_complete, now);
            (draft.write(), Route::File)
        }
    };
    sizes(&draft, &bytes, &rules.limits)?;
    Ok(Injected {
        id,
        bytes,
        route,
        notes,
    })
}

/// A control message other than cancel.
fn is_order(draft: &Draft) -> bool {
    draft
        .value("Control")
        .is_some_and(|control| withdrawal::withdrawn(Some(control), None).is_none())
}

/// What C News did to a header: `Distribution: world` says nothing and goes; old ways to say Control.
fn classic_rewriting(draft: &mut Draft, rules: &InjectRules) {
    if draft.value("Distribution") == Some(b"world") {
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

/// Path as the relay gets it (RFC 5537, 3.2.1): the sign of injection here, then what the poster had or `not-for-mail`. Our own
/// name, which a careless program put in front, is taken off; the relay puts it there.
fn path(draft: &Draft, poster: &Poster<'_>, rules: &InjectRules) -> Result<Vec<u8>, Refusal> {
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

/// What the poster left to us: From, Message-ID, Date, Organization.
fn defaults(draft: &mut Draft, poster: &Poster<'_>, rules: &InjectRules, now: Moment) {
    let mut supply = |name: &str, value: &[u8]| {
        if draft.value(name).is_none() && !value.is_empty() {
            draft.set(name, value);
        }
    };
    supply("From", poster.from);
    supply(
        "Message-ID",
        &message_id::new(now.seconds, now.chance, &rules.mailname),
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

fn dates(draft: &mut Draft, site: &Site<'_>, now: Moment) -> Result<(), Refusal> {
    let limits = &site.rules.limits;
    for header in ["Date", "Injection-Date", "Expires"] {
        let Some(value) = draft.value(header).map(<[u8]>::to_vec) else {
            continue;
        };
        let (seconds, written) = check::date(header, &value, site.zone)?;
        if header != "Expires" {
            check::timely(header, seconds, &value, now.seconds, limits)?;
        }
        draft.set(header, &written);
    }
    Ok(())
}

/// What the injecting site says about the injection (RFC 5537, 3.5), and the locks.
fn trace(
    draft: &mut Draft,
    poster: &Poster<'_>,
    site: &Site<'_>,
    id: &[u8],
    was_complete: bool,
    now: Moment,
) {
    // With both Message-ID and Date from the poster another site may be injecting it as well, and the article must be
    // the same everywhere (RFC 5537, 3.5, step 9).
    if !was_complete && draft.value("Injection-Date").is_none() {
        let mut date = Vec::new();
        date::write_utc(&mut date, now.seconds);
        draft.set("Injection-Date", &date);
    }
    draft.set("Injection-Info", &injection_info(poster, site.rules));
    if let Some(secret) = site.secret {
        withdrawal::lock(draft, poster, secret, id);
        withdrawal::unlock(draft, poster, secret);
    }
}

/// `news.example.org; posting-account="jane"` (RFC 5536, 3.2.8).
fn injection_info(poster: &Poster<'_>, rules: &InjectRules) -> Vec<u8> {
    let mut info = rules.limits.host.clone();
    let reveal = rules.reveal;
    for (name, value, is_told) in [
        ("posting-account", poster.account, reveal.account),
        ("posting-host", poster.host, reveal.host),
        ("logging-data", poster.logging_data, reveal.logging),
        ("mail-complaints-to", &rules.complaints, true),
    ] {
        if !is_told || value.is_empty() {
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

fn sizes(draft: &Draft, bytes: &[u8], limits: &Rules) -> Result<(), Refusal> {
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
