//! Logins by password, and the slow jobs that check them.

use std::fmt;

use crate::outcome::Outcome;
use crate::password::{Hash, PASSWORD_BYTES_MAX, forms};
use crate::program::{Authenticator, Connection};
use crate::users::{UsersFile, check_name, new_name};

/// The ways to log in.
#[derive(Debug)]
pub struct Login {
    /// The users of the news directory.
    pub users: UsersFile,
    /// A program that knows further users.
    pub program: Option<Authenticator>,
    /// Passwords are accepted without TLS.
    pub plaintext_passwords: bool,
}

impl Login {
    /// No users: nobody can log in.
    pub fn none() -> Login {
        Login {
            users: UsersFile::none(),
            program: None,
            plaintext_passwords: false,
        }
    }
}

/// A slow check of a password, to be run on a thread that may block.
pub struct PasswordCheck {
    users: UsersFile,
    program: Option<Authenticator>,
    connection: Connection,
    name: Vec<u8>,
    password: Vec<u8>,
}

/// Omits the password, which must not reach a log.
impl fmt::Debug for PasswordCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = shown(&self.name);
        f.debug_struct("PasswordCheck")
            .field("name", &name)
            .finish_non_exhaustive()
    }
}

impl PasswordCheck {
    pub(crate) fn password(
        login: &Login,
        name: &[u8],
        password: &[u8],
        connection: &Connection,
    ) -> PasswordCheck {
        PasswordCheck {
            users: login.users.clone(),
            program: login.program.clone(),
            connection: connection.clone(),
            name: name.to_vec(),
            password: password.to_vec(),
        }
    }

    /// Checks the password. It takes some tens of milliseconds for a hash, and up to its time limit for a program.
    pub fn run(self) -> Outcome {
        let users = match self.users.now() {
            Ok(users) => users,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let name = str::from_utf8(&self.name).ok();
        let name = name.filter(|name| check_name(name).is_ok());
        let is_short_enough = self.password.len() <= PASSWORD_BYTES_MAX;
        let user = name.and_then(|name| users.named(name));
        // A name that SASLprep rejects belongs to no user (RFC 4643, 2.4.2).
        let name = name.and_then(|name| new_name(name).ok());
        if let (Some(program), Some(name), None, true) =
            (&self.program, &name, user, is_short_enough)
        {
            return program.check(name, &self.password, &self.connection);
        }
        let hash = user.and_then(|user| user.password.clone());
        let is_known = hash.is_some();
        // An unknown user takes as long as a known one.
        let hash = hash.unwrap_or_else(Hash::no_user);
        let password: &[u8] = if is_short_enough { &self.password } else { b"" };
        match (is_of(&hash, password), user) {
            (None, _) => Outcome::Failed("no memory to check a password".to_owned()),
            (Some(true), Some(user)) if is_known && is_short_enough => Outcome::LoggedIn {
                user: user.name.clone(),
                data: None,
            },
            _ => Outcome::Refused(match (user, is_known) {
                (Some(user), true) => format!("wrong password for user {}", user.name),
                (Some(user), false) => format!("user {} has no password", user.name),
                (None, _) => "no such user".to_owned(),
            }),
        }
    }
}

/// Whether this is the hash of one of the forms of a password. The time depends on the password alone, not on the user.
fn is_of(hash: &Hash, password: &[u8]) -> Option<bool> {
    for form in forms(password) {
        if hash.is_of(&form)? {
            return Some(true);
        }
    }
    Some(false)
}

/// An unchecked name for debug output. No log has it: it may be a password typed in the wrong place.
fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let most = crate::users::NAME_BYTES_MAX;
    format!(
        "`{}'",
        name.chars().take(most).map(plain).collect::<String>()
    )
}
