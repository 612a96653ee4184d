//! Locks on what is posted, keys for what is cancelled or superseded (RFC 8315).

pub use relay::cancel_lock::withdrawn;
use relay::cancel_lock::{ELEMENTS_MAX, Holder, Secret, elements_of};

use crate::draft::Draft;
use crate::poster::Poster;

/// Puts the locks of this site and of the poster before those the poster gave himself.
pub fn lock(draft: &mut Draft, poster: &Poster<'_>, secret: &Secret, id: &[u8]) {
    let holders = [Holder::Site, Holder::User(poster.account)];
    let locks = holders.iter().filter_map(|holder| secret.lock(*holder, id));
    add(draft, "Cancel-Lock", locks);
}

/// Adds the keys for what this post withdraws: the poster's, which fits what he posted himself, and for an administrator the
/// site's, which fits all that was posted here.
pub fn unlock(draft: &mut Draft, poster: &Poster<'_>, secret: &Secret) {
    let control = draft.value("Control").or(draft.value("Also-Control"));
    let Some(id) = withdrawn(control, draft.value("Supersedes")).map(<[u8]>::to_vec) else {
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

/// Ours first, one element a line so that no line becomes too long. Of what the poster gave only locks and keys stay, and not too
/// many: a comment that is never closed, or a heap of them, would take ours out of sight.
fn add(draft: &mut Draft, header: &str, own: impl Iterator<Item = String>) {
    let given = draft.value(header).map(elements_of).unwrap_or_default();
    let given = given.iter().map(ToString::to_string);
    let elements: Vec<String> = own.chain(given).take(ELEMENTS_MAX).collect();
    match elements.is_empty() {
        true => draft.remove(header),
        false => draft.set(header, elements.join("\n\t").as_bytes()),
    }
}
