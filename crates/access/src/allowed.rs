//! The entries in force, and which of them fits a client.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::client_identity::ClientIdentity;
use crate::login::{Login, Slow};
use crate::program::Connection;
use crate::rights::{Rights, Rule};
use crate::sasl::external;
use crate::sasl::mechanism::Mechanism;
use crate::tables::{Entry, Tables};

/// Who may do what, and how they prove who they are. It does not change: new settings make a new one.
#[derive(Debug)]
pub struct Access {
    rules: Vec<Arc<Rule>>,
    /// What is left where no entry fits.
    nothing: Arc<Rule>,
    pub(crate) login: Login,
}

impl Access {
    /// What these tables say. Without any entry, who comes from this machine may read, post and send everything, and
    /// nobody else anything.
    pub fn new(tables: &Tables, login: Login) -> Access {
        let entries = match tables.entries.is_empty() {
            true => vec![Tables::without_any()],
            false => tables.entries.clone(),
        };
        Access {
            rules: entries
                .into_iter()
                .map(|e| Arc::new(Rule::new(e)))
                .collect(),
            nothing: Arc::new(Rule::new(Entry::default())),
            login,
        }
    }

    /// What a client may do: what the first entry says that fits him. To be asked again when he has logged in, and when
    /// TLS begins.
    pub fn rights(&self, client: &ClientIdentity<'_>) -> Rights {
        let fits = |rule: &Arc<Rule>| mismatch(&rule.entry, client).is_none();
        let found = self.rules.iter().position(fits);
        // Only what stands before the entry that fits now can come to fit instead.
        let before = self.rules.get(..found.unwrap_or(self.rules.len()));
        let can_log_in = client.user.is_none()
            && before
                .unwrap_or_default()
                .iter()
                .any(|rule| !rule.entry.users.is_empty() && is_from(&rule.entry, client.address));
        let rule = found.and_then(|found| self.rules.get(found));
        Rights::new(Arc::clone(rule.unwrap_or(&self.nothing)), can_log_in)
    }

    /// The entries in their order, and why each does not fit a client; `None`: it does. What follows the first that
    /// fits does not count.
    pub fn explain<'a>(
        &'a self,
        client: &'a ClientIdentity<'a>,
    ) -> impl Iterator<Item = (&'a Entry, Option<Mismatch>)> {
        let entries = self.rules.iter().map(|rule| &rule.entry);
        entries.map(|entry| (entry, mismatch(entry, client)))
    }

    /// Whether a client may send a password as it is. Otherwise AUTHINFO USER and SASL PLAIN are answered with 483 and
    /// not listed (RFC 4643, 2.3.2, 2.4.2).
    pub fn takes_passwords(&self, client: &ClientIdentity<'_>) -> bool {
        client.is_secure || self.login.plaintext_passwords
    }

    /// The SASL mechanisms that CAPABILITIES lists for a client, the best first.
    pub fn mechanisms(&self, client: &ClientIdentity<'_>) -> Vec<Mechanism> {
        let offers = |mechanism: &Mechanism| match mechanism {
            Mechanism::External => external::name(self, client).is_some(),
            Mechanism::ScramSha256 => self.login.users.has_scram(),
            Mechanism::Plain => self.takes_passwords(client),
        };
        Mechanism::ALL.iter().copied().filter(offers).collect()
    }

    /// Checks a name and its password (AUTHINFO PASS, SASL PLAIN). Users of the file are known by it alone; a program
    /// is asked about the others.
    pub fn check_password(&self, user: &[u8], password: &[u8], connection: &Connection) -> Slow {
        Slow::password(&self.login, user, password, connection)
    }
}

/// Why an entry does not fit a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// He comes from elsewhere.
    Elsewhere,
    /// He comes without TLS.
    WithoutTls,
    /// He has not this certificate, or none.
    Certificate,
    /// He has not logged in.
    NotLoggedIn,
    /// He is somebody else.
    SomebodyElse,
}

/// As the rest of a sentence that begins with who it is.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mismatch::Elsewhere => "comes from elsewhere",
            Mismatch::WithoutTls => "comes without TLS",
            Mismatch::Certificate => "has not shown such a certificate",
            Mismatch::NotLoggedIn => "has not logged in",
            Mismatch::SomebodyElse => "is somebody else",
        })
    }
}

/// Why it does not fit; `None`: it fits.
fn mismatch(entry: &Entry, client: &ClientIdentity<'_>) -> Option<Mismatch> {
    let is_certified = |one: &[u8; 32]| entry.certificates.contains(one);
    if !is_from(entry, client.address) {
        return Some(Mismatch::Elsewhere);
    }
    if entry.tls && !client.is_secure {
        return Some(Mismatch::WithoutTls);
    }
    if !entry.certificates.is_empty() && !client.certificate.as_ref().is_some_and(is_certified) {
        return Some(Mismatch::Certificate);
    }
    match client.user {
        _ if entry.users.is_empty() => None,
        None => Some(Mismatch::NotLoggedIn),
        Some(user) => {
            let mut users = entry.users.iter();
            let is_meant = users.any(|known| known == "*" || known == user);
            (!is_meant).then_some(Mismatch::SomebodyElse)
        }
    }
}

fn is_from(entry: &Entry, address: Option<IpAddr>) -> bool {
    entry.from.is_empty() || entry.from.iter().any(|network| network.contains(address))
}
