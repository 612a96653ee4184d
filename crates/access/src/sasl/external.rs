//! EXTERNAL (RFC 4422, appendix A): TLS has proved the identity; the client only names a user.

use super::step::Step;
use crate::client_identity::ClientIdentity;
use crate::outcome::Outcome;
use crate::prepared::is_same_name;
use crate::users::UsersFile;

/// The user whose certificate the client has. A certificate in an entry of [`Tables`](crate::Tables) only makes that entry match, as an
/// address does: it identifies no user, and the client has not logged in.
pub(crate) fn name(users: &UsersFile, client: &ClientIdentity<'_>) -> Option<String> {
    let certificate = client.certificate.as_ref()?;
    let users = users.now().ok()?;
    Some(users.certified(certificate)?.name.clone())
}

pub(super) fn take(name: Option<String>, wanted: &[u8]) -> Step {
    match name {
        None => Step::refused("no certificate, or a certificate of no user"),
        Some(name) if wanted.is_empty() || is_same_name(wanted, name.as_bytes()) => {
            Step::Done(Outcome::LoggedIn {
                user: name,
                data: None,
            })
        }
        Some(name) => Step::refused(format!("{name} cannot log in for another user")),
    }
}
