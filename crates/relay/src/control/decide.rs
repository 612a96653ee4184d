//! What a control message comes to: a function of the message, the policy, the keys and the groups there are.
//!
//! *Architecture Invariant:* nothing is changed here, and nothing of a message gets further than names that pass the rules for
//! new groups, and descriptions.

use std::collections::{BTreeMap, BTreeSet};

use article::Article;
use groups::{Active, Flag, Newsgroups, Pattern, name};
use store::{Serial, Serials};

use super::changes::Changes;
use super::groupinfo;
use super::policy::{Action, ForCheckgroups, Policy, Ruling};
use super::request::Request;
use super::scope::{LISTED_MAX, Listed, Scope, listed};
use crate::keyring::Keyring;
use crate::verify::{Unverified, Verified, verify};

/// A checkgroups message removes, or makes moderated or unmoderated, at most this part of the groups that its sender may act on;
/// beyond it waits for the administrator.
pub const CHECKGROUPS_REMOVED_PERCENT_MAX: u64 = 10;
/// So many it may remove or change whatever part that is.
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
pub struct ControlOutcome {
    /// What is done.
    pub done: Done,
    /// What changes; also where it waits, so that it can be shown.
    pub changes: Changes,
    /// Why, or what was done, in words.
    pub why: String,
    /// The key that signed it and for what, `no: REASON`, or `-` where nobody asked.
    pub verified: String,
    /// The serial number to be remembered once it is acted upon.
    pub serial: Option<Serial>,
}

/// An end before anything is planned.
type Stop = (Done, String);

/// Judges a message in native form.
pub fn decide(article: &Article<'_>, request: &Request<'_>, state: &State<'_>) -> ControlOutcome {
    let about_groups = matches!(request.kind, b"newgroup" | b"rmgroup" | b"checkgroups");
    let signature = about_groups.then(|| verify(article, state.keyring, state.now));
    let mut judged = ControlOutcome {
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
                // Whoever has such a message could send it again and again; history knows signed ids.
                (Some(verified), _) if !verified.is_id_signed => {
                    refuse("its signature does not cover Message-ID")
                }
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

/// Whether no message makes or removes the group: the news system's own, and those that stand for no group (RFC 5536, 3.1.4).
fn is_reserved(group: &[u8]) -> bool {
    let first = group.split(|&byte| byte == b'.').next();
    matches!(first, Some(b"control" | b"junk" | b"to" | b"example")) || group == b"poster"
}

/// Whether a group may be made: C News's rules for names, and our own subscription.
fn may_be_made(group: &[u8], state: &State<'_>) -> Result<(), Stop> {
    if is_reserved(group) {
        return Err((Done::Refused, "that name is reserved".to_owned()));
    }
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

/// A flag that the administrator gave for reasons of his own: no message gives it, and none takes it or its group away.
fn is_own_choice(flag: Flag<'_>) -> bool {
    !matches!(flag, Flag::Open | Flag::Moderated)
}

/// The end of a message about such a group.
fn own_choice() -> Stop {
    (
        Done::Nothing,
        "its flag is the administrator's own".to_owned(),
    )
}

fn newgroup(
    article: &Article<'_>,
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
    judged: &mut ControlOutcome,
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
        Some(flag) if is_own_choice(flag) => return Err(own_choice()),
        Some(flag) if (flag == Flag::Moderated) != moderated => {
            changes.flagged.push((group.to_vec(), moderated));
            format!("changed to {word}")
        }
        Some(_) => "described anew".to_owned(),
    };
    let trusts_type = signature.is_none_or(|verified| verified.is_type_signed);
    if let Some(text) = groupinfo::description(article, group, trusts_type) {
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
    judged: &mut ControlOutcome,
) -> Result<(), Stop> {
    permitted(request, state, signature)?;
    let group = request.group();
    if is_reserved(group) {
        return Err((Done::Refused, "that name is reserved".to_owned()));
    }
    match state.active.find(group).map(|id| state.active.flag(id)) {
        None => return Err((Done::Nothing, "there is no such group".to_owned())),
        Some(flag) if is_own_choice(flag) => return Err(own_choice()),
        Some(_) => {}
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
    judged: &mut ControlOutcome,
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
    if list.len() > LISTED_MAX {
        let why = format!("it lists more than {LISTED_MAX} groups");
        return Err((Done::Refused, why));
    }
    let scope = Scope::of(request, &list);
    let Ok(serial) = scope.serial else {
        return Err((Done::Refused, "its serial number is none".to_owned()));
    };
    let acts = |group: &[u8]| -> Result<(), Done> {
        if state.trust {
            return Ok(());
        }
        let ruling = rules.rule(group).ok_or(Done::Dropped)?;
        permits(ruling, signature).map_err(|(done, _)| done)?;
        let is_ours = signature.is_none_or(|verified| verified.key.speaks_for(&[group]).is_ok());
        match ruling.action {
            Action::Verify(_) if !is_ours => Err(Done::Refused),
            _ => Ok(()),
        }
    };
    let compared = compare(&list, &scope, state, acts);
    judged.changes = compared.changes;
    if let Some(number) = serial
        && !compared.hierarchies.is_empty()
    {
        let serial = Serial {
            hierarchies: compared.hierarchies.into_iter().collect(),
            key: match signature {
                Some(verified) => verified.key.id(),
                None => request.sender.escape_ascii().to_string().replace(' ', ""),
            },
            number,
        };
        if let Some(known) = state.serials.newer(&serial)
            && !state.trust
        {
            judged.changes = Changes::default();
            let why = format!("its serial number {number} is older than {known}");
            return Err((Done::Refused, why));
        }
        judged.serial = Some(serial);
    }
    judged.why = judged.changes.told();
    let (waiting, refused) = (compared.waiting, compared.refused);
    if judged.changes.is_empty() {
        return Err(if !waiting.is_empty() {
            let why = format!("left to the administrator: {}", waiting.told());
            judged.changes = waiting;
            (Done::Waits, why)
        } else if !refused.is_empty() {
            let why = format!("no rule lets it act: {}", refused.told());
            (Done::Refused, why)
        } else {
            (Done::Nothing, "all is as it lists".to_owned())
        });
    }
    if !waiting.is_empty() {
        let left = format!("; left to the administrator: {}", waiting.told());
        judged.why.push_str(&left);
    }
    match state.trust {
        true => Ok(()),
        false => is_moderate(&judged.changes, compared.there, &rules),
    }
}

/// What a list asks for.
#[derive(Debug, Default)]
struct Compared {
    /// What its sender may do.
    changes: Changes,
    /// What is left to the administrator.
    waiting: Changes,
    /// What its sender may not do.
    refused: Changes,
    /// Groups that there are and that its sender may remove.
    there: u64,
    /// Hierarchies of those groups, and of those that are made.
    hierarchies: BTreeSet<Vec<u8>>,
}

impl Compared {
    /// Where a change to a group belongs; `None`: nobody asks.
    fn place(&mut self, may: Result<(), Done>) -> Option<&mut Changes> {
        match may {
            Ok(()) => Some(&mut self.changes),
            Err(Done::Waits) => Some(&mut self.waiting),
            Err(Done::Refused) => Some(&mut self.refused),
            Err(_) => None,
        }
    }

    fn notes(&mut self, may: Result<(), Done>, hierarchy: &[u8]) {
        if may.is_ok() && !self.hierarchies.contains(hierarchy) {
            self.hierarchies.insert(hierarchy.to_vec());
        }
    }
}

/// Finds what differs.
fn compare(
    list: &BTreeMap<&[u8], Listed<'_>>,
    scope: &Scope<'_>,
    state: &State<'_>,
    acts: impl Fn(&[u8]) -> Result<(), Done>,
) -> Compared {
    let mut compared = Compared::default();
    for (group, listed) in list {
        let Some(hierarchy) = scope.hierarchy(group) else {
            continue;
        };
        let may = acts(group);
        let Some(changes) = compared.place(may) else {
            continue;
        };
        let moderated = listed.is_moderated();
        match state.active.find(group).map(|id| state.active.flag(id)) {
            None if may_be_made(group, state).is_err() => continue,
            None => changes.added.push((group.to_vec(), moderated)),
            Some(flag) if is_own_choice(flag) => continue,
            Some(flag) if (flag == Flag::Moderated) != moderated => {
                changes.flagged.push((group.to_vec(), moderated));
            }
            Some(_) => {}
        }
        describe(group, listed.description, state, changes);
        compared.notes(may, hierarchy);
    }
    for id in state.active.ids() {
        let group = state.active.name(id);
        let Some(hierarchy) = scope.hierarchy(group) else {
            continue;
        };
        if is_own_choice(state.active.flag(id)) || is_reserved(group) {
            continue;
        }
        let may = acts(group);
        compared.notes(may, hierarchy);
        compared.there = compared.there.saturating_add(u64::from(may.is_ok()));
        if !list.contains_key(group)
            && let Some(changes) = compared.place(may)
        {
            changes.removed.push(group.to_vec());
        }
    }
    compared
}

/// Whether the changes are few enough to be made without a look.
fn is_moderate(changes: &Changes, there: u64, rules: &ForCheckgroups<'_>) -> Result<(), Stop> {
    let (removed, flagged) = (changes.removed.len() as u64, changes.flagged.len() as u64);
    let free = there.saturating_mul(CHECKGROUPS_REMOVED_PERCENT_MAX) / 100;
    if removed.saturating_add(flagged) > free.max(CHECKGROUPS_REMOVED_FREE) {
        let why = format!(
            "{}: it would remove {removed} and change {flagged} of {there} groups, more than \
             {CHECKGROUPS_REMOVED_PERCENT_MAX} in a hundred; look at it with `control run --dry-run', do it with \
             `control run --trust'",
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
