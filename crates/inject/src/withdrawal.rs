//! Locks on what is posted, keys for what is cancelled or superseded (RFC 8315).

pub use relay::cancel_lock::withdrawn;
use relay::cancel_lock::{Holder, Secret};

use crate::draft::Draft;
use crate::post::Poster;

/// Adds the locks of this site and of the poster to those the poster gave himself.
pub fn lock(draft: &mut Draft, poster: &Poster<'_>, secret: &Secret, id: &[u8]) {
    let holders = [Holder::Site, Holder::User(poster.account)];
    let locks = holders.iter().filter_map(|holder| secret.lock(*holder, id));
    add(draft, "Cancel-Lock", locks);
}

/// Adds the keys for what this post withdraws: the poster's, which fits what he posted himself, and for an administrator the
/// site's, which fits all that was posted here.
pub fn unlock(draft: &mut Draft, poster: &Poster<'_>, secret: &Secret) {
    let Some(id) = withdrawn(draft.value("Control"), draft.value("Supersedes")).map(<[u8]>::to_vec)
    else {
        return;
    };
    let site = poster.is_admin.then_some(Holder::Site);
    let holders = [site, Some(Holder::User(poster.account))];
    let keys = holders
        .iter()
        .flatten()
        .filter_map(|holder| secret.key(*holder, &id));
    add(draft, "Cancel-Key", keys);
}

/// One element a line, so that no line becomes too long.
fn add(draft: &mut Draft, header: &str, elements: impl Iterator<Item = String>) {
    let given = draft.value(header).map(<[u8]>::to_vec).unwrap_or_default();
    let value = elements.fold(given, |mut value, element| {
        if !value.is_empty() {
            value.extend_from_slice(b"\n\t");
        }
        value.extend_from_slice(element.as_bytes());
        value
    });
    if !value.is_empty() {
        draft.set(header, &value);
    }
}
