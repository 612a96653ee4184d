//! EXTERNAL (RFC 4422, appendix A): TLS has proved who the client is; it only says whom it wants to be.

use super::step::Step;
use crate::allowed::Access;
use crate::client_identity::ClientIdentity;
use crate::outcome::Outcome;
use crate::prepared::is_same_name;

/// The name of the user whose certificate the client has shown. A certificate in an entry of [`Tables`](crate::Tables) is another
/// matter: it is why that entry fits, as an address may be, and makes nobody a user. A peer that has one has not logged in.
pub(crate) fn name(access: &Access, client: &ClientIdentity<'_>) -> Option<String> {
    let certificate = client.certificate.as_ref()?;
    let users = access.login.users.now().ok()?;
    Some(users.certified(certificate)?.name.clone())
}

pub(super) fn take(name: Option<String>, wanted: &[u8]) -> Step {
    match name {
        None => Step::refused("no certificate, or one of nobody's"),
        Some(name) if wanted.is_empty() || is_same_name(wanted, name.as_bytes()) => {
            Step::Done(Outcome::LoggedIn {
                user: name,
                data: None,
            })
        }
        Some(name) => Step::refused(format!("{name} may not log in for somebody else")),
    }
}
