//! What comes of an attempt to log in, and the jobs that take long.

use std::fmt;

use crate::allowed::Login;
use crate::password::{Hash, PASSWORD_BYTES_MAX};
use crate::program::{Authenticator, Connection};
use crate::users::{UsersFile, check_name};

/// What came of an attempt to log in. The texts are for the log: a client that failed hears nothing but that it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// 281, or 283 where there is something more to say, in base64.
    LoggedIn {
        /// Who it is.
        user: String,
        /// What the mechanism says with it.
        data: Option<Vec<u8>>,
    },
    /// 481: name, password or proof are wrong.
    Refused(String),
    /// 482: what the client said is not what the mechanism wants.
    Malformed(&'static str),
    /// 403: it is our fault, and may go better later.
    Failed(String),
}

impl Outcome {
    /// The reply's code (RFC 4643, 2.3.1 and 2.4.1; RFC 3977, 3.2.1).
    pub fn code(&self) -> u16 {
        match self {
            Outcome::LoggedIn { data: None, .. } => 281,
            Outcome::LoggedIn { data: Some(_), .. } => 283,
            Outcome::Refused(_) => 481,
            Outcome::Malformed(_) => 482,
            Outcome::Failed(_) => 403,
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
        if let (Some(program), Some(name), None, true) = (&self.program, name, user, is_fit) {
            return program.check(name, &self.password, &self.connection);
        }
        let hash = user.and_then(|user| user.password.clone());
        let is_known = hash.is_some();
        // Who is not known costs as much time as who is.
        let hash = hash.unwrap_or_else(Hash::nobody);
        let password: &[u8] = if is_fit { &self.password } else { b"" };
        match (hash.is_of(password), user) {
            (None, _) => Outcome::Failed("no memory to check a password".to_owned()),
            (Some(true), Some(user)) if is_known && is_fit => Outcome::LoggedIn {
                user: user.name.clone(),
                data: None,
            },
            _ => Outcome::Refused(match (user, is_known) {
                (Some(user), true) => format!("wrong password for user {}", user.name),
                (Some(user), false) => format!("user {} has no password", user.name),
                (None, _) => format!("no user {}", shown(&self.name)),
            }),
        }
    }
}

/// A name that nobody has checked, for the log.
pub(crate) fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let most = crate::users::NAME_BYTES_MAX;
    format!(
        "`{}'",
        name.chars().take(most).map(plain).collect::<String>()
    )
}
