//! Whether an article is accepted, and where it goes: a pure function.
//!
//! The tests run in the order of relaynews, and the first that fails gives the reason. Limits of our
//! own stand where they protect the tests after them: sizes first, the length of the id after its
//! form, the number of groups before any of them is looked up.
//!
//! *Architecture Invariant:* nothing here does I/O or knows the time. Whether an id has been seen is
//! asked through a closure; the rest is a function of the article, the moment, the active file, the
//! sys file and the rules (the matrix is changed only to remember what it has worked out). Two nodes
//! that decide in the same order decide alike.

use article::path::Path;
use article::scan::lowest;
use article::{Article, Header, date, message_id, newsgroups};
use groups::Sender;
use groups::active::{Active, Flag, GroupId};
use groups::matrix::{ME_BIT, Matrix, SiteSet};

use crate::permit::permitted;
use crate::reason::Reason;
use crate::rules::Rules;
use crate::short::ShortList;
use crate::sites::is_any_moderated;

/// The group that control messages are filed in.
pub const CONTROL: &[u8] = b"control";
/// The group for articles whose groups are all unknown, though our subscription has one of them.
pub const JUNK: &[u8] = b"junk";

/// When an article came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Seconds since the epoch.
    pub seconds: i64,
}

/// What the decision depends on besides the article.
pub struct State<'a> {
    /// The active file.
    pub active: &'a Active,
    /// Which sites subscribe to which groups: the sys file, worked out.
    pub matrix: &'a mut Matrix,
    /// Local time, for dates without a zone.
    pub zone: &'a dyn date::LocalZone,
    /// Who sent it, where that does not let it do everything.
    pub sender: Option<&'a dyn Sender>,
}

/// The decision. The groups of an accepted article are in the [`Scratch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<'a> {
    /// File it.
    Accept {
        /// It has a Control header and goes to the group `control` only.
        control: bool,
        /// It goes to `junk` only.
        junk: bool,
    },
    /// Refuse it.
    Refuse {
        /// Why.
        reason: Reason<'a>,
        /// Whether a history line is written, so that the next copy is a duplicate.
        remember: bool,
    },
}

impl<'a> Decision<'a> {
    fn refuse(reason: Reason<'a>, rules: &Rules) -> Decision<'a> {
        Decision::Refuse {
            reason,
            remember: rules.remember_refused && reason.is_remembered(),
        }
    }
}

/// Room for one article's groups and sites, used again for the next article.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The groups of Newsgroups that active has, aliases not followed.
    named: Vec<GroupId>,
    filed: Vec<GroupId>,
    excluded: Vec<GroupId>,
    selected: SiteSet,
}

impl Scratch {
    /// The groups that an accepted article is filed in: aliases followed, sorted by name, each once.
    pub fn filed(&self) -> &[GroupId] {
        &self.filed
    }

    /// The x'ed groups that it is not filed in, sorted by name; each is worth an `a` line. Also set
    /// when the article is refused because of them.
    pub fn excluded(&self) -> &[GroupId] {
        &self.excluded
    }

    /// The lines of sys that want an accepted article, Path and hops aside.
    pub fn selected(&self) -> &SiteSet {
        &self.selected
    }
}

/// Decides on one article. `seen` tells whether an id is in the history: filed, refused and
/// remembered, or cancelled in advance.
///
/// # Errors
/// Those of `seen`, when the history cannot be read. The article is then neither accepted nor refused.
pub fn decide<'a, E>(
    article: &Article<'a>,
    arrival: Arrival,
    state: &mut State<'_>,
    rules: &Rules,
    seen: impl Fn(&[u8]) -> Result<bool, E>,
    scratch: &mut Scratch,
) -> Result<Decision<'a>, E> {
    scratch.filed.clear();
    scratch.excluded.clear();
    let refuse = |reason| Ok(Decision::refuse(reason, rules));
    let required = match required(article, rules) {
        Ok(required) => required,
        Err(reason) => return refuse(reason),
    };
    let unknown = match look_up_groups(required.newsgroups, state.active, rules, scratch) {
        Ok(unknown) => unknown,
        Err(reason) => return refuse(reason),
    };
    // Before all that depends on what groups there are, and before anything is remembered.
    if let Some(sender) = state.sender
        && let Err(denied) = permitted(article, state.active, sender)
    {
        return refuse(Reason::NotPermitted(denied));
    }
    let moderated = is_any_moderated(state.active, &scratch.named);
    if let Err(reason) = may_come_in(article, &required, moderated, arrival, state.zone, rules) {
        return refuse(reason);
    }
    if seen(required.id)? {
        return refuse(Reason::Duplicate);
    }
    state.matrix.select(
        state.active,
        &scratch.named,
        unknown.items(),
        article.value(Header::Distribution),
        moderated,
        &mut scratch.selected,
    );
    if !scratch.selected.contains(ME_BIT) && hop_count(article) > 0 {
        // A local article goes on: it is refused below if none of its groups is in active.
        return refuse(Reason::NotSubscribed(required.newsgroups));
    }
    let is_control = article
        .value(Header::Control)
        .is_some_and(|value| !value.is_empty());
    let is_junkable = if is_control {
        !file_in(state.active, state.active.find(CONTROL), scratch)
    } else {
        file_in_named(state, unknown.items(), scratch)
    };
    sort_by_name(state.active, &mut scratch.filed);
    let junk = if scratch.filed.is_empty() {
        if !is_junkable {
            sort_by_name(state.active, &mut scratch.excluded);
            return refuse(Reason::AllExcluded(required.newsgroups));
        }
        if let Err(reason) = file_in_junk(state.active, required.newsgroups, scratch) {
            return refuse(reason);
        }
        true
    } else {
        false
    };
    sort_by_name(state.active, &mut scratch.excluded);
    Ok(Decision::Accept {
        control: is_control,
        junk,
    })
}

/// The values the tests need, none of them empty.
struct Required<'a> {
    id: &'a [u8],
    newsgroups: &'a [u8],
    date: &'a [u8],
}

/// The tests of form: sizes, the header itself, the required headers, the message-id.
fn required<'a>(article: &Article<'a>, rules: &Rules) -> Result<Required<'a>, Reason<'a>> {
    at_most(article.bytes().len(), rules.article_bytes_max)
        .map_err(|(bytes, limit)| Reason::ArticleBytes { bytes, limit })?;
    at_most(article.header_len(), rules.header_bytes_max)
        .map_err(|(bytes, limit)| Reason::HeaderBytes { bytes, limit })?;
    if let Some(fault) = article.error() {
        return Err(Reason::Header(*fault));
    }
    let value = |header| match article.value(header) {
        None => Err(Reason::Missing(header)),
        Some([]) => Err(Reason::Empty(header)),
        Some(value) => Ok(value),
    };
    let id = value(Header::MessageId)?;
    let newsgroups = value(Header::Newsgroups)?;
    value(Header::Path)?;
    value(Header::Subject)?;
    let date = value(Header::Date)?;
    value(Header::From)?;
    message_id::check(id).map_err(Reason::MessageId)?;
    at_most(id.len(), rules.message_id_bytes_max)
        .map_err(|(bytes, limit)| Reason::MessageIdBytes { bytes, limit })?;
    Ok(Required {
        id,
        newsgroups,
        date,
    })
}

fn at_most(bytes: usize, limit: usize) -> Result<(), (usize, usize)> {
    if bytes <= limit {
        Ok(())
    } else {
        Err((bytes, limit))
    }
}

/// The names of the groups that active has not.
type Unknown<'a> = ShortList<&'a [u8], 8>;

/// Finds every group of Newsgroups in active, once; gives the names of those that are not there.
fn look_up_groups<'a>(
    newsgroups: &'a [u8],
    active: &Active,
    rules: &Rules,
    scratch: &mut Scratch,
) -> Result<Unknown<'a>, Reason<'a>> {
    scratch.named.clear();
    let mut unknown = Unknown::new(b"");
    let mut groups: usize = 0;
    for name in newsgroups::split(newsgroups) {
        groups = groups.saturating_add(1);
        if groups > rules.groups_max {
            continue;
        }
        match active.find(name) {
            Some(id) => scratch.named.push(id),
            None => unknown.push(name),
        }
    }
    at_most(groups, rules.groups_max)
        .map_err(|(groups, limit)| Reason::GroupCount { groups, limit })?;
    Ok(unknown)
}

/// The tests between the message-id and the history: approval, dates, blanks.
fn may_come_in<'a>(
    article: &Article<'a>,
    required: &Required<'a>,
    moderated: bool,
    arrival: Arrival,
    zone: &dyn date::LocalZone,
    rules: &Rules,
) -> Result<(), Reason<'a>> {
    let approved = article.value(Header::Approved);
    if moderated && approved.is_none_or(<[u8]>::is_empty) {
        return Err(Reason::Unapproved(required.newsgroups));
    }
    let date = required.date;
    let seconds = date::parse(date, zone).ok_or(Reason::UnparsableDate(date))?;
    if seconds > arrival.seconds.saturating_add(rules.future_seconds_max) {
        return Err(Reason::FutureDate(date));
    }
    if let Some(age) = rules.age_seconds_max
        && seconds < arrival.seconds.saturating_sub(age)
    {
        return Err(Reason::AncientDate(date));
    }
    // The value was trimmed, so this finds blanks between groups, and folds.
    if lowest(required.newsgroups) <= b' '
        && required.newsgroups.iter().any(u8::is_ascii_whitespace)
    {
        return Err(Reason::SpaceInGroups(required.newsgroups));
    }
    Ok(())
}

/// How many sites the article came through.
pub(crate) fn hop_count(article: &Article<'_>) -> usize {
    Path::of(article).map_or(0, |path| path.hop_count())
}

/// Files in each group after `=`, x'ed ones aside. Tells whether `junk` may take the article if none
/// is left: when some group is unknown though our subscription has it. An alias that leads nowhere
/// is unknown by its own name; a j group is as good as unknown, for INN files it in junk only.
fn file_in_named(state: &mut State<'_>, unknown: &[&[u8]], scratch: &mut Scratch) -> bool {
    let mut is_junkable = false;
    for at in 0..scratch.named.len() {
        if let Some(id) = scratch.named.get(at).copied()
            && !file_in(state.active, Some(id), scratch)
        {
            is_junkable |= state.matrix.accepts(state.active, id);
        }
    }
    // Asked only if it matters: the usual article has a group that is filed.
    is_junkable
        || (scratch.filed.is_empty()
            && unknown
                .iter()
                .any(|name| state.matrix.accepts_unknown(name)))
}

/// Puts a group where it belongs; false if it is one for `junk`.
fn file_in(active: &Active, named: Option<GroupId>, scratch: &mut Scratch) -> bool {
    let Some(id) = named.and_then(|id| active.resolve(id)) else {
        return false;
    };
    match active.flag(id) {
        Flag::Excluded => scratch.excluded.push(id),
        Flag::Junked => return false,
        _ => scratch.filed.push(id),
    }
    true
}

fn file_in_junk<'a>(
    active: &Active,
    newsgroups: &'a [u8],
    scratch: &mut Scratch,
) -> Result<(), Reason<'a>> {
    match active.find(JUNK).and_then(|id| active.resolve(id)) {
        None => Err(Reason::NoJunk(newsgroups)),
        Some(id) if active.flag(id) == Flag::Excluded => {
            scratch.excluded.push(id);
            Err(Reason::JunkExcluded(newsgroups))
        }
        Some(id) => {
            scratch.filed.push(id);
            Ok(())
        }
    }
}

fn sort_by_name(active: &Active, groups: &mut Vec<GroupId>) {
    if groups.len() > 1 {
        groups.sort_unstable_by(|a, b| active.name(*a).cmp(active.name(*b)));
        groups.dedup();
    }
}
