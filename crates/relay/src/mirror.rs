//! A mirror: takes groups and numbers from the Xref of the mirrored site (`-b SITE` of relaynews).
//!
//! C News left `active` unchanged, since it was copied from the other site. Here the high marks follow the incoming numbers. Articles may
//! come in any order: a number below the high mark is taken if it is free ([`Spool::is_free`]).

use article::xref::Xref;
use article::{Article, Header};
use groups::active::{Flag, READABLE_NUMBER_MAX};
use store::Spool;

use crate::compose::NewLines;

/// Why an article cannot be filed by its Xref, with the texts of C News.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MirrorError {
    /// It has no Xref.
    #[error("no Xref: in believe-Xref mode")]
    NoXref,
    /// The Xref was written by another site.
    #[error("article received from wrong site `{0}' in believe-Xref mode")]
    WrongSite(String),
    /// The number is not free.
    #[error("article #{number} in group `{group}' supplied but occupied!")]
    Occupied {
        /// The group.
        group: String,
        /// The number.
        number: u64,
    },
    /// Newsreaders could use no number after it.
    #[error(
        "article #{number} in group `{group}' is too high: the next one must be at most {READABLE_NUMBER_MAX}"
    )]
    AboveAll {
        /// The group.
        group: String,
        /// The number.
        number: u64,
    },
    /// An element of Xref for a group of ours has no number.
    #[error("`{0}' in Xref: is no group with a number, in believe-Xref mode")]
    NoNumber(String),
    /// The group has had the highest number; not a mirror's.
    #[error(
        "no number left in group `{0}': clients understand none above {READABLE_NUMBER_MAX} (RFC 3977, 6); give it a successor"
    )]
    UsedUp(String),
    /// None of the groups is known.
    #[error("no known groups in Xref: in believe-Xref mode")]
    NoGroups,
}

impl MirrorError {
    /// Whether the article must be kept for the administrator. One in unknown groups only is refused: a mirror may have fewer groups.
    pub fn is_kept(&self) -> bool {
        !matches!(self, MirrorError::NoGroups)
    }
}

/// Copies the groups and numbers of the incoming Xref to `lines` and raises the high marks. Unknown and x'ed groups are skipped. Returns
/// whether a number was not above the high mark. After an error no high mark has changed.
///
/// # Errors
/// The store cannot tell whether a number is free; the inner one, see [`MirrorError`].
pub fn take_numbers(
    article: &Article<'_>,
    site: &[u8],
    spool: &mut Spool,
    lines: &mut NewLines,
) -> Result<Result<bool, MirrorError>, store::Error> {
    let Some(value) = article.value(Header::Xref) else {
        return Ok(Err(MirrorError::NoXref));
    };
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).escape_debug().to_string();
    let xref = Xref::parse(value);
    if xref.host() != site {
        return Ok(Err(MirrorError::WrongSite(shown(xref.host()))));
    }
    let known = |spool: &Spool, group: &[u8]| {
        let active = spool.active();
        let id = active.find(group).and_then(|id| active.resolve(id))?;
        (active.flag(id) != Flag::Excluded).then_some(id)
    };
    // Filed without it, the article would be missing in that group for good.
    let mut malformed = xref.malformed();
    if let Some((element, _)) = malformed.find(|(_, group)| known(spool, group).is_some()) {
        return Ok(Err(MirrorError::NoNumber(shown(element))));
    }
    let mut links = Vec::new();
    for (group, number) in xref.links() {
        let Some(id) = known(spool, group) else {
            continue;
        };
        let active = spool.active();
        if number >= READABLE_NUMBER_MAX {
            return Ok(Err(MirrorError::AboveAll {
                group: shown(group),
                number,
            }));
        }
        let name = active.name(id).to_vec();
        if !spool.is_free(&name, number)? {
            return Ok(Err(MirrorError::Occupied {
                group: shown(group),
                number,
            }));
        }
        links.push((id, number));
    }
    let active = spool.active_mut();
    links.sort_unstable_by(|(a, _), (b, _)| active.name(*a).cmp(active.name(*b)));
    links.dedup_by_key(|(id, _)| *id);
    if links.is_empty() {
        return Ok(Err(MirrorError::NoGroups));
    }
    let mut is_late = false;
    for (id, number) in links {
        if number > active.high(id) {
            let _ = active.set_high(id, number);
        } else {
            is_late = true
        }
        lines.push_link(active.name(id), number);
    }
    Ok(Ok(is_late))
}
