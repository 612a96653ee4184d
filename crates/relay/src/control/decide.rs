//! Decides on a control message: a function of the message, the policy, the keys and the existing groups.
//!
//! *Architecture Invariant:* this file changes nothing. The only parts of a message that leave it are group names that follow the
//! rules for new groups, and descriptions.

use std::collections::{BTreeMap, BTreeSet};

use article::Article;
use groups::{Active, Flag, Newsgroups, Pattern, name};
use store::{Serial, Serials};

use super::changes::Changes;
use super::groupinfo;
use super::policy::{Action, ForCheckgroups, Policy, Ruling};
use super::request::Request;
use super::scope::{LISTED_MAX, Listed, Scope, listed, mentioned, without_moderated};
use crate::keyring::Keyring;
use crate::verify::{Unverified, Verified, verify};

/// Largest share of its sender's groups that a checkgroups message may remove or change between moderated and unmoderated,
/// percent. A message above it waits for the administrator.
pub const CHECKGROUPS_REMOVED_PERCENT_MAX: u64 = 10;
/// Number of groups that a checkgroups message may always remove or change, whatever their share.
pub const CHECKGROUPS_REMOVED_FREE: u64 = 2;

/// Everything that the decision depends on besides the message.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    /// The permissions.
    pub policy: &'a Policy,
    /// The trusted keys.
    pub keyring: &'a Keyring,
    /// The existing groups.
    pub active: &'a Active,
    /// The subscription of this site.
    pub subscription: &'a Pattern,
    /// The descriptions of the groups; rmgroup does not need them.
    pub descriptions: Option<&'a Newsgroups>,
    /// Serial numbers of the applied lists.
    pub serials: &'a Serials,
    /// The current time, seconds since 1970.
    pub now: i64,
    /// Maximum age of a message, seconds; `None` for any age.
    pub age_seconds_max: Option<i64>,
    /// Longest part between dots of a new group's name, bytes.
    pub name_part_bytes_max: usize,
    /// The administrator vouches for the message: its sender, age and signature are not checked.
    pub trust: bool,
}

/// The treatment of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Its request is applied.
    Acted,
    /// Its request changes nothing.
    Nothing,
    /// It waits for the administrator.
    Waits,
    /// It is ignored.
    Refused,
    /// It is ignored and not logged in the control log.
    Dropped,
}

impl Disposition {
    /// The word in the control log.
    pub fn word(self) -> &'static str {
        match self {
            Disposition::Acted => "acted",
            Disposition::Nothing => "nothing",
            Disposition::Waits => "waits",
            Disposition::Refused => "refused",
            Disposition::Dropped => "dropped",
        }
    }
}

/// The decision on a control message.
#[derive(Debug)]
pub struct ControlOutcome {
    /// The treatment.
    pub disposition: Disposition,
    /// The changes; also of a message that waits, to show them.
    pub changes: Changes,
    /// The reason or the result, as text.
    pub why: String,
    /// The key that signed it and its hierarchies, `no: REASON`, or `-` if the signature was not checked.
    pub verified: String,
    /// The serial number to remember after it is applied.
    pub serial: Option<Serial>,
}

/// A decision without changes: the treatment and its reason.
type Rejection = (Disposition, String);

/// Decides on a message in native form.
pub fn decide(article: &Article<'_>, request: &Request<'_>, state: &State<'_>) -> ControlOutcome {
    let about_groups = matches!(request.kind, b"newgroup" | b"rmgroup" | b"checkgroups");
    let signature = about_groups.then(|| verify(article, state.keyring, state.now));
    let mut outcome = ControlOutcome {
        disposition: Disposition::Acted,
        changes: Changes::default(),
        why: String::new(),
        verified: signature_text(signature.as_ref()),
        serial: None,
    };
    let signature = signature.and_then(Result::ok);
    let ended = match request.kind {
        b"newgroup" => newgroup(article, request, state, signature.as_ref(), &mut outcome),
        b"rmgroup" => rmgroup(request, state, signature.as_ref(), &mut outcome),
        b"checkgroups" => checkgroups(article, request, state, signature.as_ref(), &mut outcome),
        _ => Err(other(request, state)),
    };
    if let Err((disposition, why)) = ended {
        outcome.disposition = disposition;
        outcome.why = why;
    }
    outcome
}

/// The signature, for the control log.
fn signature_text(signature: Option<&Result<Verified<'_>, Unverified>>) -> String {
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

/// Decides on sendsys, version, senduuname and unknown commands, which are never answered.
fn other(request: &Request<'_>, state: &State<'_>) -> Rejection {
    let ruling = state.policy.rule(request.kind, &request.sender, b"");
    match (request.kind, ruling.action) {
        // If sys has a site HOST.ihave or HOST.sendme, its batches answer them.
        (b"ihave" | b"sendme", _) => (Disposition::Dropped, "for the batcher".to_owned()),
        (_, Action::Drop) => (Disposition::Dropped, format!("dropped: {}", ruling.origin)),
        (b"sendsys" | b"version" | b"senduuname", Action::Log) => (
            Disposition::Refused,
            "Broadsheet never answers by mail".to_owned(),
        ),
        (b"sendsys" | b"version" | b"senduuname", _) => (
            Disposition::Waits,
            "Broadsheet never answers by mail; the administrator may answer".to_owned(),
        ),
        (_, Action::Log) => (Disposition::Refused, "unknown control message".to_owned()),
        _ => (Disposition::Waits, "unknown control message".to_owned()),
    }
}

/// Checks the approval and the age of a message about groups.
fn check_approval_and_age(
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
) -> Result<(), Rejection> {
    if state.trust {
        return Ok(());
    }
    let refuse = |why: String| Err((Disposition::Refused, why));
    if request.approved.is_none() {
        return refuse("it has no Approved header".to_owned());
    }
    if let Some(age) = state.age_seconds_max {
        let signed = signature.and_then(|verified| verified.signed.seconds);
        let dates = [request.seconds, signed.map(i64::from)];
        let oldest = dates.into_iter().flatten().min();
        if oldest.is_none_or(|seconds| seconds < state.now.saturating_sub(age)) {
            return refuse(format!(
                "it is more than {} days old; apply it with `control run --trust' if it is still wanted",
                age / 86_400
            ));
        }
    }
    Ok(())
}

/// Checks whether a rule allows a message to act.
fn check_rule(ruling: &Ruling, signature: Option<&Verified<'_>>) -> Result<(), Rejection> {
    match &ruling.action {
        Action::Act => Ok(()),
        Action::Drop => Err((Disposition::Dropped, format!("dropped: {}", ruling.origin))),
        Action::Log => Err((
            Disposition::Refused,
            format!("only logged: {}", ruling.origin),
        )),
        Action::Report => Err((
            Disposition::Waits,
            format!("left to the administrator: {}", ruling.origin),
        )),
        Action::Verify(wanted) => {
            let refuse =
                |why: &str| Err((Disposition::Refused, format!("{why}: {}", ruling.origin)));
            match (signature, wanted) {
                (None, _) => refuse("it is not signed by a trusted key"),
                // Otherwise anybody could repeat the message with another id; the history refuses a signed id.
                (Some(verified), _) if !verified.is_id_signed => {
                    refuse("its signature does not cover Message-ID")
                }
                (Some(verified), Some(name)) if !verified.key.matches(name) => {
                    refuse(&format!("only the key of {name} is allowed"))
                }
                _ => Ok(()),
            }
        }
    }
}

/// Checks the permissions of a message about one group.
fn check_group_message(
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
) -> Result<(), Rejection> {
    if request.group().is_empty() {
        return Err((Disposition::Refused, "it names no group".to_owned()));
    }
    if !state.trust {
        let ruling = state
            .policy
            .rule(request.kind, &request.sender, request.group());
        check_rule(&ruling, signature)?;
    }
    check_approval_and_age(request, state, signature)
}

/// Whether control messages never create or remove the group: groups of the news system, and reserved names (RFC 5536, 3.1.4).
fn is_reserved(group: &[u8]) -> bool {
    let first = group.split(|&byte| byte == b'.').next();
    matches!(first, Some(b"control" | b"junk" | b"to" | b"example")) || group == b"poster"
}

/// Checks a new group by C News's rules for names and by the subscription of this site.
fn check_new_group(group: &[u8], state: &State<'_>) -> Result<(), Rejection> {
    if is_reserved(group) {
        return Err((
            Disposition::Refused,
            "the name of the group is reserved".to_owned(),
        ));
    }
    if let Err(error) = name::check_new_within(group, state.name_part_bytes_max) {
        return Err((Disposition::Refused, error.to_string()));
    }
    if state.subscription.matches(group) {
        Ok(())
    } else {
        Err((
            Disposition::Refused,
            "the ME line of sys does not accept the group".to_owned(),
        ))
    }
}

/// Whether only the administrator sets this flag: control messages never set or remove it, and never remove its group.
fn is_set_by_administrator(flag: Flag<'_>) -> bool {
    !matches!(flag, Flag::Open | Flag::Moderated)
}

/// The rejection of a message about such a group.
fn set_by_administrator() -> Rejection {
    (
        Disposition::Nothing,
        "the administrator has set the flag of the group".to_owned(),
    )
}

fn newgroup(
    article: &Article<'_>,
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
    outcome: &mut ControlOutcome,
) -> Result<(), Rejection> {
    check_group_message(request, state, signature)?;
    let group = request.group();
    let moderated = match request.words.get(1) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case(b"unmoderated") => false,
        Some(word) if word.eq_ignore_ascii_case(b"moderated") => true,
        Some(other) => {
            let why = format!("its flag is `{}'", groups::escaped(other));
            return Err((Disposition::Refused, why));
        }
    };
    check_new_group(group, state)?;
    let word = if moderated {
        "moderated"
    } else {
        "unmoderated"
    };
    let changes = &mut outcome.changes;
    outcome.why = match state.active.find(group).map(|id| state.active.flag(id)) {
        None => {
            changes.added.push((group.to_vec(), moderated));
            format!("made, {word}")
        }
        Some(flag) if is_set_by_administrator(flag) => return Err(set_by_administrator()),
        Some(flag) if (flag == Flag::Moderated) != moderated => {
            changes.flagged.push((group.to_vec(), moderated));
            format!("changed to {word}")
        }
        Some(_) => "new description".to_owned(),
    };
    let trusts_type = signature.is_none_or(|verified| verified.is_type_signed);
    let text = groupinfo::description(article, group, trusts_type);
    describe(group, text.unwrap_or_default(), moderated, state, changes);
    if changes.is_empty() {
        Err((
            Disposition::Nothing,
            format!("the group exists already, {word}"),
        ))
    } else {
        Ok(())
    }
}

/// Without a text the group keeps its description. Only that of a moderated group ends in `(Moderated)`.
fn describe(group: &[u8], text: &[u8], moderated: bool, state: &State<'_>, changes: &mut Changes) {
    let known = state
        .descriptions
        .and_then(|descriptions| descriptions.description(group));
    let text = match (text, moderated) {
        (b"", true) => return,
        (b"", false) => match known.and_then(without_moderated) {
            Some(text) => text,
            None => return,
        },
        (text, true) => text,
        (text, false) => without_moderated(text).unwrap_or(text),
    };
    // The text as it would be written, so that an unchanged one is not a change.
    let written = Newsgroups::parse(Vec::new()).and_then(|mut one| {
        one.set(group, text)?;
        Ok(one.description(group).unwrap_or_default().to_vec())
    });
    if let Ok(written) = written
        && !written.is_empty()
        && known != Some(&written)
    {
        changes.described.push((group.to_vec(), written));
    }
}

fn rmgroup(
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
    outcome: &mut ControlOutcome,
) -> Result<(), Rejection> {
    check_group_message(request, state, signature)?;
    let group = request.group();
    if is_reserved(group) {
        return Err((
            Disposition::Refused,
            "the name of the group is reserved".to_owned(),
        ));
    }
    match state.active.find(group).map(|id| state.active.flag(id)) {
        None => return Err((Disposition::Nothing, "no such group".to_owned())),
        Some(flag) if is_set_by_administrator(flag) => return Err(set_by_administrator()),
        Some(_) => {}
    }
    outcome.changes.removed.push(group.to_vec());
    if let Some(aliases) = state.active.aliases_shown(group) {
        // Without the group they would lead nowhere.
        let why = format!(
            "left to the administrator: {aliases} is an alias of the group; remove it or change its flag, then run `control run --trust'"
        );
        return Err((Disposition::Waits, why));
    }
    outcome.why = "removed".to_owned();
    Ok(())
}

fn checkgroups(
    article: &Article<'_>,
    request: &Request<'_>,
    state: &State<'_>,
    signature: Option<&Verified<'_>>,
    outcome: &mut ControlOutcome,
) -> Result<(), Rejection> {
    let rules = state.policy.for_checkgroups(&request.sender);
    // Checks first whether any rule allows the message, because its list may be long.
    let results = rules.rulings().map(|ruling| check_rule(ruling, signature));
    let results: Vec<Result<(), Rejection>> = results.collect();
    let waits = |result: &Result<(), Rejection>| matches!(result, Err((Disposition::Waits, _)));
    if !state.trust && !results.iter().any(Result::is_ok) {
        let rejection = results
            .iter()
            .find(|result| waits(result))
            .or(results.first());
        return match rejection {
            Some(Err(rejection)) => Err(rejection.clone()),
            _ => Err((
                Disposition::Dropped,
                "no line of control.ctl matches".to_owned(),
            )),
        };
    }
    check_approval_and_age(request, state, signature)?;
    let list = listed(article);
    if list.is_empty() {
        return Err((Disposition::Refused, "its list has no groups".to_owned()));
    }
    if list.len() > LISTED_MAX {
        let why = format!("its list has more than {LISTED_MAX} groups");
        return Err((Disposition::Refused, why));
    }
    let scope = Scope::of(request, &list);
    let Ok(serial) = scope.serial else {
        return Err((
            Disposition::Refused,
            "its serial number is invalid".to_owned(),
        ));
    };
    if !list.keys().any(|group| scope.hierarchy(group).is_some()) {
        return Err((
            Disposition::Refused,
            "none of the groups of its list is in the hierarchies that it names".to_owned(),
        ));
    }
    let permission = |group: &[u8]| -> Result<(), Disposition> {
        if state.trust {
            return Ok(());
        }
        let ruling = rules.rule(group).ok_or(Disposition::Dropped)?;
        check_rule(ruling, signature).map_err(|(disposition, _)| disposition)?;
        let is_trusted =
            signature.is_none_or(|verified| verified.key.check_groups(&[group]).is_ok());
        match ruling.action {
            Action::Verify(_) if !is_trusted => Err(Disposition::Refused),
            _ => Ok(()),
        }
    };
    let mentioned = mentioned(article, state.active);
    let compared = compare((&list, &mentioned), &scope, state, permission);
    let (kept, kept_count) = (compared.kept_text(), compared.kept_count());
    outcome.changes = compared.changes;
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
            replaces: state.trust,
        };
        if let Some(known) = state.serials.newer(&serial)
            && !state.trust
        {
            outcome.changes = Changes::default();
            let why = format!(
                "its serial number {number} is older than {known}; if that one was an error, apply the message with `control run --trust', which sets its number"
            );
            return Err((Disposition::Refused, why));
        }
        outcome.serial = Some(serial);
    }
    outcome.why = outcome.changes.summary();
    let (waiting, refused) = (compared.waiting, compared.refused);
    let is_left = !waiting.is_empty() || kept.is_some();
    let summary = (!waiting.is_empty()).then(|| waiting.summary());
    let left: Vec<String> = summary.into_iter().chain(kept).collect();
    let left = format!("left to the administrator: {}", left.join("; "));
    if outcome.changes.is_empty() {
        return Err(if is_left {
            outcome.changes = waiting;
            if state.trust {
                (Disposition::Nothing, left)
            } else {
                (Disposition::Waits, left)
            }
        } else if !refused.is_empty() {
            let why = format!("no rule allows it: {}", refused.summary());
            (Disposition::Refused, why)
        } else {
            (
                Disposition::Nothing,
                "the groups are already as listed".to_owned(),
            )
        });
    }
    if is_left {
        outcome.why.push_str("; ");
        outcome.why.push_str(&left);
    }
    if state.trust {
        Ok(())
    } else {
        check_change_count((&outcome.changes, kept_count), compared.group_count, &rules)
    }
}

/// The differences between a list and the existing groups.
#[derive(Debug, Default)]
struct Compared {
    /// Changes that its sender may make.
    changes: Changes,
    /// Changes left to the administrator.
    waiting: Changes,
    /// Changes that its sender may not make.
    refused: Changes,
    /// Groups that the list lacks and that stay all the same: the first with its reason, and the number of others.
    kept: Option<(String, u64)>,
    /// Number of existing groups that its sender may remove.
    group_count: u64,
    /// Hierarchies of those groups and of the new ones.
    hierarchies: BTreeSet<Vec<u8>>,
}

impl Compared {
    /// The set for a change with this permission; `None` if the change is dropped.
    fn changes_for(&mut self, may: Result<(), Disposition>) -> Option<&mut Changes> {
        match may {
            Ok(()) => Some(&mut self.changes),
            Err(Disposition::Waits) => Some(&mut self.waiting),
            Err(Disposition::Refused) => Some(&mut self.refused),
            Err(_) => None,
        }
    }

    fn keep(&mut self, why: impl FnOnce() -> String) {
        match &mut self.kept {
            Some((_, others)) => *others = others.saturating_add(1),
            None => self.kept = Some((why(), 0)),
        }
    }

    fn kept_count(&self) -> u64 {
        let others = self.kept.as_ref().map(|(_, others)| *others);
        others.map_or(0, |others| others.saturating_add(1))
    }

    fn kept_text(&self) -> Option<String> {
        let (first, others) = self.kept.as_ref()?;
        Some(match others {
            0 => first.clone(),
            others => format!("{first}; {others} more such groups stay"),
        })
    }

    fn note_hierarchy(&mut self, may: Result<(), Disposition>, hierarchy: &[u8]) {
        if may.is_ok() && !self.hierarchies.contains(hierarchy) {
            self.hierarchies.insert(hierarchy.to_vec());
        }
    }
}

/// Compares a list, and the groups that other lines mention, with the existing groups.
fn compare(
    (list, mentioned): (&BTreeMap<&[u8], Listed<'_>>, &BTreeSet<&[u8]>),
    scope: &Scope<'_>,
    state: &State<'_>,
    permission: impl Fn(&[u8]) -> Result<(), Disposition>,
) -> Compared {
    let mut compared = Compared::default();
    for (group, listed) in list {
        let Some(hierarchy) = scope.hierarchy(group) else {
            continue;
        };
        let may = permission(group);
        let Some(changes) = compared.changes_for(may) else {
            continue;
        };
        let moderated = listed.is_moderated();
        match state.active.find(group).map(|id| state.active.flag(id)) {
            None => match check_new_group(group, state) {
                Ok(()) => changes.added.push((group.to_vec(), moderated)),
                // A group that this site does not subscribe to is nobody's mistake.
                Err(_) if !state.subscription.matches(group) => continue,
                Err((_, why)) => {
                    changes.left_out.push((group.to_vec(), why));
                    continue;
                }
            },
            Some(flag) if is_set_by_administrator(flag) || is_reserved(group) => continue,
            Some(flag) if (flag == Flag::Moderated) != moderated => {
                changes.flagged.push((group.to_vec(), moderated));
            }
            Some(_) => {}
        }
        describe(group, listed.description, moderated, state, changes);
        compared.note_hierarchy(may, hierarchy);
    }
    let behind_aliases: BTreeSet<&[u8]> = state.active.aliases().map(|(_, group)| group).collect();
    for id in state.active.ids() {
        let group = state.active.name(id);
        let Some(hierarchy) = scope.hierarchy(group) else {
            continue;
        };
        if is_set_by_administrator(state.active.flag(id)) || is_reserved(group) {
            continue;
        }
        let may = permission(group);
        compared.note_hierarchy(may, hierarchy);
        compared.group_count = compared.group_count.saturating_add(u64::from(may.is_ok()));
        if list.contains_key(group) {
            continue;
        }
        let name = || groups::escaped(group);
        if may.is_ok() && mentioned.contains(group) {
            compared.keep(|| {
                let name = name();
                format!(
                    "{name} stays, because a line with blanks in place of the tab begins with it"
                )
            });
        } else if may.is_ok() && behind_aliases.contains(group) {
            compared.keep(|| {
                let aliases = state.active.aliases_shown(group).unwrap_or_default();
                format!("{} stays, because {aliases} is an alias of it", name())
            });
        } else if let Some(changes) = compared.changes_for(may) {
            changes.removed.push(group.to_vec());
        }
    }
    compared
}

/// Checks that the changes are few enough to apply them without the administrator; groups that it would remove if nothing kept them
/// count.
fn check_change_count(
    (changes, kept): (&Changes, u64),
    group_count: u64,
    rules: &ForCheckgroups<'_>,
) -> Result<(), Rejection> {
    let removed = kept.saturating_add(changes.removed.len() as u64);
    let flagged = changes.flagged.len() as u64;
    let share = group_count.saturating_mul(CHECKGROUPS_REMOVED_PERCENT_MAX) / 100;
    if removed.saturating_add(flagged) > share.max(CHECKGROUPS_REMOVED_FREE) {
        let why = format!(
            "{}: it would remove {removed} and change {flagged} of {group_count} groups, more than \
             {CHECKGROUPS_REMOVED_PERCENT_MAX} %; check it with `control run --dry-run', apply it with \
             `control run --trust'",
            changes.summary()
        );
        return Err((Disposition::Waits, why));
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
                "{}: more than the {changes_max} changes that /maxdocheckgroups/ allows; check it with \
                `control run --dry-run', apply it with `control run --trust'",
                changes.summary()
            );
            return Err((Disposition::Waits, why));
        }
    }
    Ok(())
}
