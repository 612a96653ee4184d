//! PLAIN (RFC 4616): `[authzid] NUL name NUL password`.

use super::step::Step;
use crate::allowed::Access;
use crate::prepared::is_same_name;
use crate::program::Connection;

pub(super) fn take(access: &Access, response: &[u8], connection: &Connection) -> Step {
    let mut parts = response.split(|byte| *byte == 0);
    let (Some(authzid), Some(name), Some(password), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Step::malformed("PLAIN needs a name and a password, each after a NUL");
    };
    if name.is_empty() || password.is_empty() {
        return Step::malformed("PLAIN without a name or password");
    }
    if !authzid.is_empty() && !is_same_name(authzid, name) {
        return Step::refused("logging in for another user is not supported");
    }
    Step::Wait(access.check_password(name, password, connection))
}
