//! Decides whether an article is accepted and which groups and sites get it: a pure function.
//!
//! The tests run in the order of relaynews, and the first failure gives the reason; rnews looks the id up before them
//! (`Filer::file_from_batch`). Additional limits run where they protect later tests: sizes first, the length of the id after its
//! form, the number of groups before the look-up of groups.
//!
//! *Architecture Invariant:* this file does no I/O and reads no clock. A closure tells whether an id is known; the rest is a
//! function of the article, the arrival time, the active file, the sys file and the rules (the matrix changes only as a cache).
//! Two servers that decide in the same order get the same results.

use article::path::Path;
use article::scan::has_below;
use article::{Article, Header, date, message_id, newsgroups};
use groups::Sender;
use groups::active::{Active, Flag, GroupId};
use groups::matrix::{ME_BIT, Matrix, SiteSet};

use crate::permit::permitted;
use crate::reason::Reason;
use crate::rules::Rules;
use crate::short::ShortList;
use crate::sites::is_any_moderated;

/// The group of control messages.
pub const CONTROL: &[u8] = b"control";
/// The group of articles whose groups are all unknown, if our subscription has one of them.
pub const JUNK: &[u8] = b"junk";

/// Arrival time of an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Seconds since 1970.
    pub seconds: i64,
}

/// Everything that the decision depends on besides the article.
pub struct State<'a> {
    /// The active file.
    pub active: &'a Active,
    /// The subscriptions of sites to groups, computed from the sys file.
    pub matrix: &'a mut Matrix,
    /// Local time, for dates without a zone.
    pub zone: &'a dyn date::LocalZone,
    /// The sender of the article, if its permissions are limited.
    pub sender: Option<&'a dyn Sender>,
    /// A peer announced the article: it is from another site, whatever its Path says, and its sizes are those in native form.
    pub is_announced: bool,
}

/// The decision. [`Scratch`] has the groups of an accepted article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<'a> {
    /// File it.
    Accept {
        /// It has a Control header and is filed in `control` only.
        control: bool,
        /// It is filed in `junk` only.
        junk: bool,
    },
    /// Refuse it.
    Refuse {
        /// The reason.
        reason: Reason<'a>,
        /// Whether the history gets a line, so that the next copy is a duplicate.
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

/// Buffers for the groups and sites of one article, reused for the next article.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The known groups of Newsgroups, without following aliases.
    named: Vec<GroupId>,
    filed: Vec<GroupId>,
    excluded: Vec<GroupId>,
    selected: SiteSet,
}

impl Scratch {
    /// The groups of an accepted article: aliases followed, sorted by name, each once.
    pub fn filed(&self) -> &[GroupId] {
        &self.filed
    }

    /// The x'ed groups in which the article is not filed, sorted by name; each gets an `a` line. Also set if the article is
    /// refused because of them.
    pub fn excluded(&self) -> &[GroupId] {
        &self.excluded
    }

    /// The sites that subscribe to an accepted article; Path and hops are not checked yet.
    pub fn selected(&self) -> &SiteSet {
        &self.selected
    }
}

/// Decides on one article. `seen` returns whether the history has an id: filed, refused and remembered, or cancelled in advance.
///
/// # Errors
/// Errors of `seen`, if the history cannot be read. The article is then neither accepted nor refused.
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
    let is_local = hop_count(article, state.is_announced) == 0;
    let required = match required(article, state.is_announced, rules) {
        Ok(required) => required,
        Err(reason) => return refuse(reason),
    };
    if let Some((kind, value)) = rules.blocks.find_for(article, arrival.seconds) {
        return refuse(Reason::Blocked(kind, value));
    }
    let unknown = match look_up_groups(required.newsgroups, state.active, rules, scratch) {
        Ok(unknown) => unknown,
        Err(reason) => return refuse(reason),
    };
    // Before every test whose result would reveal existing groups, and before anything is remembered.
    if let Some(sender) = state.sender
        && let Err(denied) = permitted(article, state.active, sender)
    {
        return refuse(Reason::NotPermitted(denied));
    }
    let moderated = is_any_moderated(state.active, &scratch.named);
    if let Err(reason) =
        check_approval_and_dates(article, &required, moderated, arrival, state.zone, rules)
            .and_then(|()| check_blanks(required.newsgroups))
    {
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
    if !scratch.selected.contains(ME_BIT) && !is_local {
        // A local article is refused below, if active has none of its groups.
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
            return refuse(if is_control {
                Reason::NoControl
            } else {
                Reason::AllExcluded(required.newsgroups)
            });
        }
        let is_unknown = scratch.named.is_empty() && !is_control;
        if is_unknown && !rules.junk && !is_local {
            return refuse(Reason::UnknownGroups(required.newsgroups));
        }
        if let Err(reason) = file_in_junk(state.active, required.newsgroups, scratch) {
            return refuse(if is_control {
                Reason::NoControl
            } else {
                reason
            });
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

/// The values that the tests need; none is empty.
struct Required<'a> {
    id: &'a [u8],
    newsgroups: &'a [u8],
    date: &'a [u8],
}

/// Tests the form: sizes, the header, the required headers, the message-id.
fn required<'a>(
    article: &Article<'a>,
    is_announced: bool,
    rules: &Rules,
) -> Result<Required<'a>, Reason<'a>> {
    let (bytes, header_bytes) = if is_announced {
        (article.native_len(), article.native_header_len())
    } else {
        (article.bytes().len(), article.header_len())
    };
    at_most(bytes, rules.article_bytes_max)
        .map_err(|(bytes, limit)| Reason::ArticleBytes { bytes, limit })?;
    at_most(header_bytes, rules.header_bytes_max)
        .map_err(|(bytes, limit)| Reason::HeaderBytes { bytes, limit })?;
    if let Some(error) = article.error() {
        return Err(Reason::Header(*error));
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

/// The names of unknown groups.
type Unknown<'a> = ShortList<&'a [u8], 4>;

/// Looks up each group of Newsgroups in active, once. Returns the names of the unknown ones, with the aliases that lead nowhere.
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
        match active.find(name).filter(|id| active.resolve(*id).is_some()) {
            Some(id) => scratch.named.push(id),
            None => unknown.push(name),
        }
    }
    at_most(groups, rules.groups_max)
        .map_err(|(groups, limit)| Reason::GroupCount { groups, limit })?;
    Ok(unknown)
}

/// Runs the tests between the message-id and the blanks in Newsgroups: approval and dates.
fn check_approval_and_dates<'a>(
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
    let written = date::parse(date, zone).ok_or(Reason::UnparsableDate(date))?;
    // RFC 5537, 3.6: an article that waited for its moderator has an old Date.
    let (date, seconds) = match article.value(Header::InjectionDate) {
        Some(injected) if !injected.is_empty() => {
            let seconds = date::parse(injected, zone).ok_or(Reason::UnparsableDate(injected))?;
            (injected, seconds)
        }
        _ => (date, written),
    };
    if seconds > arrival.seconds.saturating_add(rules.future_seconds_max) {
        return Err(Reason::FutureDate(date));
    }
    if let Some(age) = rules.age_seconds_max
        && seconds < arrival.seconds.saturating_sub(age)
    {
        return Err(Reason::AncientDate(date));
    }
    Ok(())
}

/// Refuses blanks and line ends within a name. RFC 5536, 3.1.4 allows them around one; C News refused those, too.
fn check_blanks(newsgroups: &[u8]) -> Result<(), Reason<'_>> {
    // The value is trimmed, and most have no blank.
    if !has_below(newsgroups, b'!') {
        return Ok(());
    }
    let has_blank = |text: &[u8]| text.iter().any(u8::is_ascii_whitespace);
    if newsgroups::split(newsgroups).any(has_blank) {
        return Err(Reason::SpaceInGroups(newsgroups));
    }
    Ok(())
}

/// Number of sites that the article has passed; 0 for one that was posted here, which one of a peer never was.
pub(crate) fn hop_count(article: &Article<'_>, is_announced: bool) -> usize {
    let hops = Path::of(article).map_or(0, |path| path.hop_count());
    hops.max(usize::from(is_announced))
}

/// Selects the groups, after following aliases and without x'ed ones. Returns whether `junk` may get the article if no group
/// is left: our subscription has one of the unknown groups. A group with flag j counts as unknown, because INN files its articles in junk only.
fn file_in_named(state: &mut State<'_>, unknown: &[&[u8]], scratch: &mut Scratch) -> bool {
    let mut is_junkable = false;
    for at in 0..scratch.named.len() {
        if let Some(id) = scratch.named.get(at).copied()
            && !file_in(state.active, Some(id), scratch)
        {
            is_junkable |= state.matrix.accepts(state.active, id);
        }
    }
    // Checked only if necessary: most articles have a known group.
    is_junkable
        || (scratch.filed.is_empty()
            && unknown
                .iter()
                .any(|name| state.matrix.accepts_unknown(name)))
}

/// Adds a group to the filed or excluded ones; returns false if its articles belong in `junk`.
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
