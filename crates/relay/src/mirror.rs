//! A mirror: takes groups and numbers from the Xref of the mirrored site (`-b SITE` of relaynews).
//!
//! C News left `active` unchanged, since it was copied from the other site. Here the high marks follow the incoming numbers. A number at
//! or below the high mark counts as assigned: the mirrored site files in order, and its articles arrive in that order.

use article::xref::Xref;
use article::{Article, Header};
use groups::active::{Active, Flag};

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
    /// The number is already assigned.
    #[error("article #{number} in group `{group}' supplied but occupied!")]
    Occupied {
        /// The group.
        group: String,
        /// The number.
        number: u64,
    },
    /// None of the groups is known.
    #[error("no known groups in Xref: in believe-Xref mode")]
    NoGroups,
}

/// Copies the groups and numbers of the incoming Xref to `lines` and raises the high marks. Unknown and x'ed groups are skipped. After an
/// error no high mark has changed.
///
/// # Errors
/// See [`MirrorError`].
pub fn take_numbers(
    article: &Article<'_>,
    site: &[u8],
    active: &mut Active,
    lines: &mut NewLines,
) -> Result<(), MirrorError> {
    let value = article.value(Header::Xref).ok_or(MirrorError::NoXref)?;
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let xref = Xref::parse(value);
    if xref.host() != site {
        return Err(MirrorError::WrongSite(shown(xref.host())));
    }
    let mut links = Vec::new();
    for (group, number) in xref.links() {
        let Some(id) = active.find(group).and_then(|id| active.resolve(id)) else {
            continue;
        };
        if active.flag(id) == Flag::Excluded {
            continue;
        }
        if number <= active.high(id) {
            return Err(MirrorError::Occupied {
                group: shown(group),
                number,
            });
        }
        links.push((id, number));
    }
    links.sort_unstable_by(|(a, _), (b, _)| active.name(*a).cmp(active.name(*b)));
    links.dedup_by_key(|(id, _)| *id);
    if links.is_empty() {
        return Err(MirrorError::NoGroups);
    }
    for (id, number) in links {
        active.set_high(id, number);
        lines.push_link(active.name(id), number);
    }
    Ok(())
}
