//! PLAIN (RFC 4616): `[authzid] NUL name NUL password`.

use super::step::Step;
use crate::allowed::Access;
use crate::prepared::is_same_name;
use crate::program::Connection;

pub(super) fn take(access: &Access, response: &[u8], connection: &Connection) -> Step {
    let mut parts = response.split(|byte| *byte == 0);
    let (Some(for_whom), Some(name), Some(password), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Step::malformed("PLAIN is a name and a password after a NUL each");
    };
    if name.is_empty() || password.is_empty() {
        return Step::malformed("PLAIN without a name or password");
    }
    if !for_whom.is_empty() && !is_same_name(for_whom, name) {
        return Step::refused("nobody may log in for somebody else");
    }
    Step::Wait(access.check_password(name, password, connection))
}
