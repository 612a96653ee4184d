//! The content of the usual entry: articles that arrived together, each with the permissions of its sender. Nodes file them in this order.

/// Size from which an entry takes no further article, bytes. A larger article is an entry of its own.
pub const ENTRY_FULL_BYTES: usize = 256 << 10;

/// An article on its way into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its form, and where it is from.
    pub source: Source<'a>,
    /// The permissions of the sender; `None`: everything.
    pub rights: Option<ItemRights<'a>>,
    /// The largest age that the sender asked for in place of the limit of the settings, days (`rnews` of a sealed batch); `None`: the
    /// limit.
    pub age_days_max: Option<u32>,
    /// The article: in wire form without its terminator if announced, else in native form.
    pub article: &'a [u8],
}

/// The way on which an article came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// A peer announced it by this message-id (RFC 3977, 6.3.2; RFC 4644).
    Announced(&'a [u8]),
    /// The article is from a batch, or was posted and injected.
    Native,
}

/// The permissions of a sender, for one article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemRights<'a> {
    /// The sender posts; else it is a peer.
    pub is_post: bool,
    /// Whether it may use Approved.
    pub may_approve: bool,
    /// The groups, as a wildmat of `[[access]]`.
    pub groups: &'a [u8],
}

const ANNOUNCED: u8 = 1;
const HAS_RIGHTS: u8 = 2;
const IS_POST: u8 = 4;
const MAY_APPROVE: u8 = 8;
const HAS_AGE: u8 = 16;
const KNOWN: u8 = 31;

/// Appends an item to the payload of an entry.
pub fn push(out: &mut Vec<u8>, item: &Item<'_>) {
    let (is_announced, id) = match item.source {
        Source::Announced(id) => (ANNOUNCED, id),
        Source::Native => (0, &b""[..]),
    };
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    let rights = item.rights.as_ref();
    out.push(
        is_announced
            | flag(rights.is_some(), HAS_RIGHTS)
            | flag(rights.is_some_and(|rights| rights.is_post), IS_POST)
            | flag(rights.is_some_and(|rights| rights.may_approve), MAY_APPROVE)
            | flag(item.age_days_max.is_some(), HAS_AGE),
    );
    let groups = rights.map_or(&b""[..], |rights| rights.groups);
    for number in [id.len(), groups.len(), item.article.len()] {
        out.extend_from_slice(&(number as u32).to_le_bytes());
    }
    out.extend_from_slice(&item.age_days_max.unwrap_or(0).to_le_bytes());
    for bytes in [id, groups, item.article] {
        out.extend_from_slice(bytes);
    }
}

/// Takes an item from the start of a payload; `None` where it is damaged. The checksum of the entry was right, so only a fault of a
/// program does that.
fn take<'a>(payload: &mut &'a [u8]) -> Option<Item<'a>> {
    let (&flags, mut rest) = payload.split_first()?;
    if flags & !KNOWN != 0 {
        return None;
    }
    let mut lengths = [0_usize; 4];
    for length in &mut lengths {
        let (number, after) = rest.split_first_chunk::<4>()?;
        *length = u32::from_le_bytes(*number) as usize;
        rest = after;
    }
    let [id, groups, article, age] = lengths;
    let (id, rest) = rest.split_at_checked(id)?;
    let (groups, rest) = rest.split_at_checked(groups)?;
    let (article, rest) = rest.split_at_checked(article)?;
    *payload = rest;
    Some(Item {
        source: if flags & ANNOUNCED != 0 {
            Source::Announced(id)
        } else {
            Source::Native
        },
        rights: (flags & HAS_RIGHTS != 0).then_some(ItemRights {
            is_post: flags & IS_POST != 0,
            may_approve: flags & MAY_APPROVE != 0,
            groups,
        }),
        age_days_max: (flags & HAS_AGE != 0).then_some(age as u32),
        article,
    })
}

/// The items of a payload; the last is `Err` if the payload is damaged.
pub fn items(mut payload: &[u8]) -> impl Iterator<Item = Result<Item<'_>, Damaged>> {
    std::iter::from_fn(move || {
        if payload.is_empty() {
            return None;
        }
        let item = take(&mut payload).ok_or(Damaged);
        if item.is_err() {
            payload = &[];
        }
        Some(item)
    })
}

/// The payload of an entry is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the content of an entry is damaged")]
pub struct Damaged;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn rights() -> impl Strategy<Value = Option<(bool, bool, Vec<u8>)>> {
        prop::option::of(any::<(bool, bool, Vec<u8>)>())
    }

    proptest! {
        #[test]
        fn what_was_pushed_is_taken(made in prop::collection::vec((any::<Option<Vec<u8>>>(), rights(), any::<Option<u32>>(), any::<Vec<u8>>()), 0..9)) {
            let items_of: Vec<Item<'_>> = made.iter().map(|(id, rights, age, article)| Item {
                source: id.as_ref().map_or(Source::Native, |id| Source::Announced(id)),
                rights: rights.as_ref().map(|(is_post, may_approve, groups)| ItemRights { is_post: *is_post, may_approve: *may_approve, groups }),
                age_days_max: *age,
                article,
            }).collect();
            let mut payload = Vec::new();
            items_of.iter().for_each(|item| push(&mut payload, item));
            let taken: Result<Vec<_>, _> = items(&payload).collect();
            prop_assert_eq!(taken.unwrap(), items_of);
        }

        #[test]
        fn anything_is_answered(payload: Vec<u8>) {
            prop_assert!(items(&payload).count() <= payload.len());
        }
    }
}
