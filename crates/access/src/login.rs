//! How people log in, and the jobs that take long.

use std::fmt;

use crate::outcome::Outcome;
use crate::password::{Hash, PASSWORD_BYTES_MAX, forms};
use crate::program::{Authenticator, Connection};
use crate::users::{UsersFile, check_name, new_name};

/// How people log in.
#[derive(Debug)]
pub struct Login {
    /// The users of the news directory.
    pub users: UsersFile,
    /// A program that knows more of them.
    pub program: Option<Authenticator>,
    /// Whether passwords may come without TLS.
    pub plaintext_passwords: bool,
}

impl Login {
    /// There are no users: nobody logs in.
    pub fn none() -> Login {
        Login {
            users: UsersFile::none(),
            program: None,
            plaintext_passwords: false,
        }
    }
}

/// A job that takes long, to be run on a thread where nobody else waits. It runs wherever it was made.
pub struct Slow {
    users: UsersFile,
    program: Option<Authenticator>,
    connection: Connection,
    name: Vec<u8>,
    password: Vec<u8>,
}

/// Without the password, which no log is to hold.
impl fmt::Debug for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = shown(&self.name);
        f.debug_struct("Slow")
            .field("name", &name)
            .finish_non_exhaustive()
    }
}

impl Slow {
    pub(crate) fn password(
        login: &Login,
        name: &[u8],
        password: &[u8],
        connection: &Connection,
    ) -> Slow {
        Slow {
            users: login.users.clone(),
            program: login.program.clone(),
            connection: connection.clone(),
            name: name.to_vec(),
            password: password.to_vec(),
        }
    }

    /// Does it: some tens of milliseconds for a hash, up to the program's time limit for a program.
    pub fn run(self) -> Outcome {
        let users = match self.users.now() {
            Ok(users) => users,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let name = str::from_utf8(&self.name).ok();
        let name = name.filter(|name| check_name(name).is_ok());
        let is_fit = self.password.len() <= PASSWORD_BYTES_MAX;
        let user = name.and_then(|name| users.named(name));
        // A name that cannot be prepared is nobody's (RFC 4643, 2.4.2).
        let name = name.and_then(|name| new_name(name).ok());
        if let (Some(program), Some(name), None, true) = (&self.program, &name, user, is_fit) {
            return program.check(name, &self.password, &self.connection);
        }
        let hash = user.and_then(|user| user.password.clone());
        let is_known = hash.is_some();
        // Who is not known costs as much time as who is.
        let hash = hash.unwrap_or_else(Hash::nobody);
        let password: &[u8] = if is_fit { &self.password } else { b"" };
        match (is_of(&hash, password), user) {
            (None, _) => Outcome::Failed("no memory to check a password".to_owned()),
            (Some(true), Some(user)) if is_known && is_fit => Outcome::LoggedIn {
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

/// Whether it is the hash of one of the forms of a password. How long it takes tells of the password alone, not of the user.
fn is_of(hash: &Hash, password: &[u8]) -> Option<bool> {
    for form in forms(password) {
        if hash.is_of(&form)? {
            return Some(true);
        }
    }
    Some(false)
}

/// A name that nobody has checked, for who debugs. No log has it: it may be a password that was typed in the wrong place.
fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let most = crate::users::NAME_BYTES_MAX;
    format!(
        "`{}'",
        name.chars().take(most).map(plain).collect::<String>()
    )
}
