//! What a control message comes to: a function of the message, the policy, the keys and the groups there are.
//!
//! *Architecture Invariant:* nothing is changed here, and nothing of a message gets further than names that pass the rules for
//! new groups, and descriptions.

use std::collections::BTreeMap;

use article::Article;
use groups::{Active, Flag, Newsgroups, Pattern, name};

use super::changes::Changes;
use super::groupinfo;
use super::policy::{Action, ForCheckgroups, Policy, Ruling};
use super::request::Request;
use super::scope::{Listed, Scope, listed};
use super::serials::Serials;
use crate::keyring::Keyring;
use crate::verify::{Unverified, Verified, verify};

/// A checkgroups message removes at most this part of the groups of its hierarchies; beyond it waits for the administrator.
pub const CHECKGROUPS_REMOVED_PERCENT_MAX: u64 = 10;
/// So many it may remove whatever part that is.
pub const CHECKGROUPS_REMOVED_FREE: u64 = 2;

/// What a judgement depends on besides the message.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    /// Who may do what.
    pub policy: &'a Policy,
    /// The trusted keys.
    pub keyring: &'a Keyring,
    /// The groups there are.
    pub active: &'a Active,
    /// What we take.
    pub subscription: &'a Pattern,
    /// What the groups are about; not asked for by rmgroup.
    pub descriptions: Option<&'a Newsgroups>,
    /// Serial numbers of lists acted upon.
    pub serials: &'a Serials,
    /// Now, in seconds since 1970.
    pub now: i64,
    /// An older message is not acted upon, in seconds; `None`: any age.
    pub age_seconds_max: Option<i64>,
    /// Longest part between dots of a new group's name, in bytes.
    pub name_part_bytes_max: usize,
    /// The administrator answers for the message: who sent it, when, and its signature do not count.
    pub trust: bool,
}

/// What is done about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// What it asks for.
    Acted,
    /// It asks for nothing that is not so already.
    Nothing,
    /// It waits for the administrator.
    Waits,
    /// It is not acted upon.
    Refused,
    /// The same, and the control log is silent about it.
    Dropped,
}

impl Done {
    /// The word in the control log.
    pub fn word(self) -> &'static str {
        match self {
            Done::Acted => "acted",
            Done::Nothing => "nothing",
            Done::Waits => "waits",
            Done::Refused => "refused",
            Done::Dropped => "dropped",
        }
    }
}

/// The judgement.
#[derive(Debug)]
pub struct Judged {
    /// What is done.
    pub done: Done,
    /// What changes; also where it waits, so that it can be shown.
    pub changes: Changes,
    /// Why, or what was done, in words.
    pub why: String,
    /// The key that signed it and for what, `no: REASON`, or `-` where nobody asked.
    pub verified: String,
    /// Hierarchies and serial number to be remembered once it is acted upon.
    pub serial: Option<(Vec<Vec<u8>>, u64)>,
}

/// An end before anything is planned.
type Stop = (Done, String);

/// Judges a message in native form.
pub fn judge(article: &Article<'_>, request: &Request<'_>, state: &State<'_>) -> Judged {
    let about_groups = matches!(request.kind, b"newgroup" | b"rmgroup" | b"checkgroups");
    let signature = about_groups.then(|| verify(article, state.keyring, state.now));
    let mut judged = Judged {
        done: Done::Acted,
        changes: Changes::default(),
        why: String::new(),
        verified: told(signature.as_ref()),
        serial: None,
    };
    let signature = signature.and_then(Result::ok);
    let ended = match request.kind {
        b"newgroup" => newgroup(article, request, state, signature.as_ref(), &mut judged),
        b"rmgroup" => rmgroup(request, state, signature.as_ref(), &mut judged),
        b"checkgroups" => checkgroups(article, request, state, signature.as_ref(), &mut judged),
        _ => Err(other(request, state)),
    };
    if let Err((done, why)) = ended {
        judged.done = done;
        judged.why = why;
    }
    judged
}

fn told(signature: Option<&Result<Verified<'_>, Unverified>>) -> String {
    match signature {
        None => "-".to_owned(),
        Some(Err(why)) => format!("no: {why}"),
        Some(Ok(verified)) => format!(
            "{} {} ({})",
            verified.key.id(),
            verified.key.user_id(),
            verified.hierarchies.join(",")
        ),
    }
}

/// sendsys, version, senduuname and what nobody knows: never answered.
fn other(request: &Request<'_>, state: &State<'_>) -> Stop {
    let ruling = state.policy.rule(request.kind, &request.sender, b"");
    match (request.kind, ruling.action) {
        // Batches answer them, where sys has a site HOST.ihave or HOST.sendme.
        (b"ihave" | b"sendme", _) => (Done::Dropped, "for the batcher".to_owned()),
        (_, Action::Drop) => (Done::Dropped, format!("dropped: {}", ruling.place)),
        (b"sendsys" | b"version" | b"senduuname", Action::Log) => {
            (Done::Refused, "nothing is ever answered by mail".to_owned())
        }
        (b"sendsys" | b"version" | b"senduuname", _) => (
            Done::Waits,
            "nothing is ever answered by mail: the administrator may".to_owned(),
        ),
        (_, Action::Log) => (Done::Refused, "unknown control message".to_owned()),
        _ => (Done::Waits, "unknown control message".to_owned()),
    }
}

/// What every message about groups must have.
fn may_count(
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
) -> Result<(), Stop> {
    if state.trust {
        return Ok(());
    }
    let refuse = |why: String| Err((Done::Refused, why));
    if request.approved.is_none() {
        return refuse("it has no Approved header".to_owned());
    }
    if let Some(age) = state.age_seconds_max {
        let signed = signature.and_then(|verified| verified.signed.seconds);
        let dates = [request.seconds, signed.map(i64::from)];
        let oldest = dates.into_iter().flatten().min();
        if oldest.is_none_or(|seconds| seconds < state.now.saturating_sub(age)) {
            return refuse(format!(
                "it is more than {} days old; the administrator may act (`control run --trust')",
                age / 86_400
            ));
        }
    }
    Ok(())
}

/// Whether a rule lets a message act.
fn permits(ruling: &Ruling, signature: Option<&Verified<'_>>) -> Result<(), Stop> {
    match &ruling.action {
        Action::Act => Ok(()),
        Action::Drop => Err((Done::Dropped, format!("dropped: {}", ruling.place))),
        Action::Log => Err((Done::Refused, format!("only logged: {}", ruling.place))),
        Action::Report => Err((
            Done::Waits,
            format!("left to the administrator: {}", ruling.place),
        )),
        Action::Verify(wanted) => {
            let refuse = |why: &str| Err((Done::Refused, format!("{why}: {}", ruling.place)));
            match (signature, wanted) {
                (None, _) => refuse("no trusted key speaks for it"),
                (Some(verified), Some(name)) if !verified.key.is_meant_by(name) => {
                    refuse(&format!("only the key of {name} may speak"))
                }
                _ => Ok(()),
            }
        }
    }
}

/// Whether a message about one group may act.
fn permitted(
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
) -> Result<(), Stop> {
    if request.group().is_empty() {
        return Err((Done::Refused, "it names no group".to_owned()));
    }
    if !state.trust {
        let ruling = state
            .policy
            .rule(request.kind, &request.sender, request.group());
        permits(&ruling, signature)?;
    }
    may_count(request, state, signature)
}

/// Whether a group may be made: C News's rules for names, and our own subscription.
fn may_be_made(group: &[u8], state: &State<'_>) -> Result<(), Stop> {
    if let Err(fault) = name::check_new_within(group, state.name_part_bytes_max) {
        return Err((Done::Refused, fault.to_string()));
    }
    match state.subscription.matches(group) {
        true => Ok(()),
        false => Err((
            Done::Refused,
            "our own line in sys does not take that group".to_owned(),
        )),
    }
}

/// A flag that the administrator gave for reasons of his own, which no message changes.
fn is_own_choice(flag: Flag<'_>) -> bool {
    matches!(flag, Flag::Excluded | Flag::Junked | Flag::Alias(_))
}

fn newgroup(
    article: &Article<'_>,
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
    judged: &mut Judged,
) -> Result<(), Stop> {
    permitted(request, state, signature)?;
    let group = request.group();
    let moderated = match request.words.get(1) {
        None | Some(&b"unmoderated") => false,
        Some(&b"moderated") => true,
        Some(other) => {
            let why = format!("its flag is `{}'", other.escape_ascii());
            return Err((Done::Refused, why));
        }
    };
    may_be_made(group, state)?;
    let word = if moderated {
        "moderated"
    } else {
        "unmoderated"
    };
    let changes = &mut judged.changes;
    judged.why = match state.active.find(group).map(|id| state.active.flag(id)) {
        None => {
            changes.added.push((group.to_vec(), moderated));
            format!("made, {word}")
        }
        Some(flag) if is_own_choice(flag) => {
            return Err((
                Done::Nothing,
                "its flag is the administrator's own".to_owned(),
            ));
        }
        Some(flag) if (flag == Flag::Moderated) != moderated => {
            changes.flagged.push((group.to_vec(), moderated));
            format!("changed to {word}")
        }
        Some(_) => "described anew".to_owned(),
    };
    if let Some(text) = groupinfo::description(article, group) {
        describe(group, text, state, changes);
    }
    match changes.is_empty() {
        true => Err((Done::Nothing, format!("it is there already, {word}"))),
        false => Ok(()),
    }
}

fn describe(group: &[u8], text: &[u8], state: &State<'_>, changes: &mut Changes) {
    // As it would be written, so that the same text comes to nothing.
    let written = Newsgroups::parse(Vec::new()).and_then(|mut one| {
        one.set(group, text)?;
        Ok(one.description(group).unwrap_or_default().to_vec())
    });
    if let Ok(written) = written
        && !written.is_empty()
        && state
            .descriptions
            .and_then(|there| there.description(group))
            != Some(&written)
    {
        changes.described.push((group.to_vec(), written));
    }
}

fn rmgroup(
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
    judged: &mut Judged,
) -> Result<(), Stop> {
    permitted(request, state, signature)?;
    let group = request.group();
    if matches!(group, b"control" | b"junk") {
        return Err((Done::Refused, "a news system needs that group".to_owned()));
    }
    if state.active.find(group).is_none() {
        return Err((Done::Nothing, "there is no such group".to_owned()));
    }
    judged.changes.removed.push(group.to_vec());
    judged.why = "removed".to_owned();
    Ok(())
}

fn checkgroups(
    article: &Article<'_>,
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
    judged: &mut Judged,
) -> Result<(), Stop> {
    let rules = state.policy.for_checkgroups(&request.sender);
    // Before the list is looked at, which may be long: does any rule let the message act, or be shown?
    let worst = rules.rulings().map(|ruling| permits(ruling, signature));
    let stops: Vec<Result<(), Stop>> = worst.collect();
    let waits = |stop: &Result<(), Stop>| matches!(stop, Err((Done::Waits, _)));
    if !state.trust && !stops.iter().any(Result::is_ok) {
        let waiting = stops.iter().find(|stop| waits(stop)).or(stops.first());
        return match waiting {
            Some(Err(stop)) => Err(stop.clone()),
            _ => Err((Done::Dropped, "no line of control.ctl fits".to_owned())),
        };
    }
    may_count(request, state, signature)?;
    let list = listed(article);
    if list.is_empty() {
        return Err((Done::Refused, "it lists no group".to_owned()));
    }
    let scope = Scope::of(request, &list);
    if let Some(serial) = scope.serial
        && !state.trust
    {
        if let Some(known) = state.serials.newer(scope.hierarchies(), serial) {
            let why = format!("its serial number {serial} is older than {known}");
            return Err((Done::Refused, why));
        }
        let hierarchies = scope.hierarchies().into_iter().map(<[u8]>::to_vec);
        judged.serial = Some((hierarchies.collect(), serial));
    }
    let acts = |group: &[u8]| {
        state.trust || {
            let is_ours =
                signature.is_none_or(|verified| verified.key.speaks_for(&[group]).is_ok());
            match rules.rule(group) {
                Some(ruling) => {
                    let needs_key = matches!(ruling.action, Action::Verify(_));
                    permits(ruling, signature).is_ok() && (is_ours || !needs_key)
                }
                None => false,
            }
        }
    };
    let there = compare(&list, &scope, state, acts, &mut judged.changes);
    judged.why = judged.changes.told();
    if judged.changes.is_empty() {
        return Err((Done::Nothing, "all is as it lists".to_owned()));
    }
    match state.trust {
        true => Ok(()),
        false => is_moderate(&judged.changes, there, &rules),
    }
}

/// Finds what differs; gives how many groups of the scope there are.
fn compare(
    list: &BTreeMap<&[u8], Listed<'_>>,
    scope: &Scope<'_>,
    state: &State<'_>,
    acts: impl Fn(&[u8]) -> bool,
    changes: &mut Changes,
) -> u64 {
    for (group, listed) in list {
        if !scope.has(group) || !acts(group) {
            continue;
        }
        match state.active.find(group).map(|id| state.active.flag(id)) {
            None if may_be_made(group, state).is_err() => continue,
            None => changes.added.push((group.to_vec(), listed.is_moderated())),
            Some(flag) if is_own_choice(flag) => continue,
            Some(flag) if (flag == Flag::Moderated) != listed.is_moderated() => {
                changes
                    .flagged
                    .push((group.to_vec(), listed.is_moderated()));
            }
            Some(_) => {}
        }
        describe(group, listed.description, state, changes);
    }
    let mut there = 0u64;
    for id in state.active.ids() {
        let group = state.active.name(id);
        if !scope.has(group) || is_own_choice(state.active.flag(id)) {
            continue;
        }
        there = there.saturating_add(1);
        if !list.contains_key(group) && !matches!(group, b"control" | b"junk") && acts(group) {
            changes.removed.push(group.to_vec());
        }
    }
    there
}

/// Whether the changes are few enough to be made without a look.
fn is_moderate(changes: &Changes, there: u64, rules: &ForCheckgroups<'_>) -> Result<(), Stop> {
    let removed = changes.removed.len() as u64;
    let removable = there.saturating_mul(CHECKGROUPS_REMOVED_PERCENT_MAX) / 100;
    if removed > removable.max(CHECKGROUPS_REMOVED_FREE) {
        let why = format!(
            "{}: it would remove {removed} of {there} groups, more than {CHECKGROUPS_REMOVED_PERCENT_MAX} in a hundred; \
             look at it with `control run --dry-run', do it with `control run --trust'",
            changes.told()
        );
        return Err((Done::Waits, why));
    }
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    let set = changes.added.iter().chain(&changes.flagged);
    let names = set
        .map(|(group, _)| group.as_slice())
        .chain(changes.removed.iter().map(Vec::as_slice));
    for group in names {
        let Some((limit, changes_max)) = rules.limit(group) else {
            continue;
        };
        let count = counts.entry(limit).or_default();
        *count = count.saturating_add(1);
        if *count > changes_max {
            let why = format!(
                "{}: more than the {changes_max} changes of /maxdocheckgroups/; look at it with \
                 `control run --dry-run', do it with `control run --trust'",
                changes.told()
            );
            return Err((Done::Waits, why));
        }
    }
    Ok(())
}
