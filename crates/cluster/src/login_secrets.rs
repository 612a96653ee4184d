//! Secrets that all nodes derive from their login, so that all have the same. Nobody can derive the login from them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The name of the user by which the servers accept each other. A server that joins them may append to the log like any of them.
pub const ROUTE_USER: &str = "broadsheet";
/// The begin of the signed text. Other texts that are signed with the login of the nodes begin otherwise.
const ROUTES: &[u8] = b"broadsheet routes\0";
/// The begin of the signed text for Cancel-Locks.
const CANCEL_LOCKS: &[u8] = b"broadsheet cancel locks\0";

/// The password of this user, in hexadecimal digits. `None` never comes: every key has a length that HMAC takes.
pub fn route_password(login: &str) -> Option<String> {
    secret(login, ROUTES)
}

/// The secret of the Cancel-Locks of posts, in hexadecimal digits. `None` never comes.
pub fn cancel_secret(login: &str) -> Option<String> {
    secret(login, CANCEL_LOCKS)
}

fn secret(login: &str, label: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(login.as_bytes()).ok()?;
    mac.update(label);
    let digest = mac.finalize().into_bytes();
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_depend_on_the_login_and_their_use_alone() {
        let password = route_password("SUA1").unwrap_or_default();
        assert_eq!(password.len(), 64);
        assert!(password.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(route_password("SUA1"), Some(password.clone()));
        assert_ne!(route_password("SUA2"), Some(password.clone()));
        assert_ne!(cancel_secret("SUA1"), Some(password));
        assert_ne!(cancel_secret("SUA1"), cancel_secret("SUA2"));
    }
}
