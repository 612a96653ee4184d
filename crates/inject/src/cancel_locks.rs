//! Cancel-Locks of posts, and Cancel-Keys of posts that cancel or supersede (RFC 8315).

pub use relay::cancel_lock::withdrawn;
use relay::cancel_lock::{ELEMENTS_MAX, Holder, Secret, elements_of};

use crate::draft::Draft;
use crate::poster::Poster;

/// Adds the locks of this site and of the poster before the poster's own ones.
pub fn lock(draft: &mut Draft, poster: &Poster<'_>, secret: &Secret, id: &[u8]) {
    let holders = [Holder::Site, Holder::User(poster.account)];
    let locks = holders.iter().filter_map(|holder| secret.lock(*holder, id));
    add(draft, "Cancel-Lock", locks);
}

/// Adds the keys for the article that this post withdraws: the poster's key, which matches the poster's own articles, and for an administrator the
/// site's key, which matches all articles posted here.
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
        .flat_map(|holder| secret.keys(*holder, &id));
    add(draft, "Cancel-Key", keys);
}

/// Sets a header with our elements first, one per line so that no line becomes too long. Of the poster's value only locks and keys stay, up to
/// a maximum: an unclosed comment, or very many of them, could hide our own.
fn add(draft: &mut Draft, header: &str, own: impl Iterator<Item = String>) {
    let given = draft.value(header).map(elements_of).unwrap_or_default();
    let given = given.iter().map(ToString::to_string);
    let elements: Vec<String> = own.chain(given).take(ELEMENTS_MAX).collect();
    if elements.is_empty() {
        draft.remove(header)
    } else {
        draft.set(header, elements.join("\n\t").as_bytes())
    }
}
