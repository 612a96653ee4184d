//! The login by which the servers accept each other. A server that joins them may append to the log like any of them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The name of the user.
pub const ROUTE_USER: &str = "broadsheet";
/// The begin of the signed text. Other texts that are signed with the login of the nodes begin otherwise.
const LABEL: &[u8] = b"broadsheet routes\0";

/// The password, in hexadecimal digits: all nodes have the same login, so all derive the same password from it, and nobody can derive the login
/// from the password. `None` never comes: every key has a length that HMAC takes.
pub fn route_password(login: &str) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(login.as_bytes()).ok()?;
    mac.update(LABEL);
    let digest = mac.finalize().into_bytes();
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_depends_on_the_login_alone() {
        let password = route_password("SUA1").unwrap_or_default();
        assert_eq!(password.len(), 64);
        assert!(password.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(route_password("SUA1"), Some(password.clone()));
        assert_ne!(route_password("SUA2"), Some(password));
    }
}
