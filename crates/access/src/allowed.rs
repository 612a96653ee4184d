//! The current access entries, and the one that matches a client.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::client_identity::ClientIdentity;
use crate::login::{Login, PasswordCheck};
use crate::program::Connection;
use crate::rights::{LoginAvailability, Rights, Rule};
use crate::sasl::external;
use crate::sasl::mechanism::Mechanism;
use crate::tables::{Entry, Tables};

/// The access rules and the ways to log in. It is immutable: a reload makes a new one.
#[derive(Debug)]
pub struct Access {
    rules: Vec<Arc<Rule>>,
    /// The rule for clients that no entry matches: no permissions.
    nothing: Arc<Rule>,
    pub(crate) login: Login,
}

impl Access {
    /// Makes the rules of these tables. Without any entry, clients on this machine may read, post and send everything, and others nothing.
    pub fn new(tables: &Tables, login: Login) -> Access {
        let entries = if tables.entries.is_empty() {
            vec![Tables::without_any()]
        } else {
            tables.entries.clone()
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

    /// The permissions of a client: those of the first entry that matches. Evaluated again after a login and after the start of TLS.
    pub fn rights(&self, client: &ClientIdentity<'_>) -> Rights {
        let fits = |rule: &Arc<Rule>| mismatch(&rule.entry, client).is_none();
        let found = self.rules.iter().position(fits);
        // After a login, only an entry before the one that matches now can match instead.
        let before = self.rules.get(..found.unwrap_or(self.rules.len()));
        let before = before.unwrap_or_default();
        let lacks_login = |rule: &Arc<Rule>, client: &ClientIdentity<'_>| {
            mismatch(&rule.entry, client) == Some(Mismatch::NotLoggedIn)
        };
        let with_tls = ClientIdentity {
            is_secure: true,
            ..*client
        };
        let mut logins = before.iter().filter(|rule| lacks_login(rule, &with_tls));
        let login = match before.iter().any(|rule| lacks_login(rule, client)) {
            true => LoginAvailability::Now,
            false if logins.clone().next().is_some() => LoginAvailability::AfterTls,
            false => LoginAvailability::Never,
        };
        let could_post = logins.any(|rule| !rule.entry.post.is_empty());
        let rule = found.and_then(|found| self.rules.get(found));
        Rights::new(Arc::clone(rule.unwrap_or(&self.nothing)), login, could_post)
    }

    /// The entries in order, each with the reason why it does not match a client; `None` if it matches. The first match counts.
    pub fn explain<'a>(
        &'a self,
        client: &'a ClientIdentity<'a>,
    ) -> impl Iterator<Item = (&'a Entry, Option<Mismatch>)> {
        let entries = self.rules.iter().map(|rule| &rule.entry);
        entries.map(|entry| (entry, mismatch(entry, client)))
    }

    /// Whether a client may send a plain password. Otherwise AUTHINFO USER and SASL PLAIN are not offered and get 483 (RFC 4643, 2.3.2,
    /// 2.4.2).
    pub fn takes_passwords(&self, client: &ClientIdentity<'_>) -> bool {
        client.is_secure || self.login.plaintext_passwords
    }

    /// The SASL mechanisms that CAPABILITIES lists for a client, strongest first.
    pub fn mechanisms(&self, client: &ClientIdentity<'_>) -> Vec<Mechanism> {
        let offers = |mechanism: &Mechanism| match mechanism {
            Mechanism::External => external::name(&self.login.users, client).is_some(),
            Mechanism::ScramSha256 => self.login.users.has_scram(),
            Mechanism::Plain => self.takes_passwords(client),
        };
        Mechanism::ALL.iter().copied().filter(offers).collect()
    }

    /// Checks a name and password (AUTHINFO PASS, SASL PLAIN). Users of the file are checked against the file only; the program checks all
    /// others.
    pub fn check_password(
        &self,
        user: &[u8],
        password: &[u8],
        connection: &Connection,
    ) -> PasswordCheck {
        PasswordCheck::password(&self.login, user, password, connection)
    }
}

/// Why an entry does not match a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// Its address is in none of the entry's networks.
    OtherAddress,
    /// It does not use TLS.
    WithoutTls,
    /// It has another certificate, or none.
    Certificate,
    /// It has not logged in.
    NotLoggedIn,
    /// It has logged in as another user.
    OtherUser,
}

/// The rest of a sentence whose subject is the client.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mismatch::OtherAddress => "has another address",
            Mismatch::WithoutTls => "does not use TLS",
            Mismatch::Certificate => "has no such certificate",
            Mismatch::NotLoggedIn => "has not logged in",
            Mismatch::OtherUser => "is logged in as another user",
        })
    }
}

/// Why an entry does not match; `None` if it matches.
fn mismatch(entry: &Entry, client: &ClientIdentity<'_>) -> Option<Mismatch> {
    let is_certified = |one: &[u8; 32]| entry.certificates.contains(one);
    if !is_from(entry, client.address) {
        return Some(Mismatch::OtherAddress);
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
            (!is_meant).then_some(Mismatch::OtherUser)
        }
    }
}

fn is_from(entry: &Entry, address: Option<IpAddr>) -> bool {
    entry.from.is_empty() || entry.from.iter().any(|network| network.contains(address))
}
