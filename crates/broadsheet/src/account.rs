//! Who runs this program: the name, the home, what stands in From.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The user, as the system knows it. The environment is not asked who it is, for anybody can set that.
pub struct Account {
    /// The login name; `uid1000` for a user without one.
    pub name: String,
    /// Where ~/.signature and ~/dead.article are.
    pub home: Option<PathBuf>,
    full_name: String,
    uid: u32,
}

impl Account {
    /// The real user of this process.
    pub fn mine() -> Account {
        let uid = rustix::process::getuid().as_raw();
        let users = std::fs::read("/etc/passwd").unwrap_or_default();
        let mut account = Account::of(uid, &String::from_utf8_lossy(&users));
        let set = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        if let Some(home) = set("HOME") {
            account.home = Some(home.into());
        }
        // C News's word for those who go by another name than the system's.
        if let Some(name) = set("NAME").and_then(|name| name.into_string().ok()) {
            account.full_name = plain(&name);
        }
        account
    }

    /// The login name of a user.
    pub fn name_of(uid: u32) -> String {
        let users = std::fs::read("/etc/passwd").unwrap_or_default();
        Account::of(uid, &String::from_utf8_lossy(&users)).name
    }

    /// The numbers of a user and its group, by its login name.
    pub fn ids_of(name: &str) -> Option<(u32, u32)> {
        let users = std::fs::read("/etc/passwd").unwrap_or_default();
        let users = String::from_utf8_lossy(&users).into_owned();
        let mut lines = users
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>());
        lines.find_map(|fields| match fields.as_slice() {
            [known, _, uid, gid, ..] if *known == name => {
                Some((uid.parse().ok()?, gid.parse().ok()?))
            }
            _ => None,
        })
    }

    fn of(uid: u32, users: &str) -> Account {
        let lines = users
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>());
        for fields in lines {
            let [name, _, id, _, gecos, home, ..] = fields.as_slice() else {
                continue;
            };
            if id.parse() == Ok(uid) && !name.is_empty() {
                let full = gecos.split(',').next().unwrap_or_default();
                return Account {
                    name: (*name).to_owned(),
                    home: (!home.is_empty()).then(|| home.into()),
                    full_name: plain(&full.replace('&', &capital(name))),
                    uid,
                };
            }
        }
        Account {
            name: format!("uid{uid}"),
            home: None,
            full_name: String::new(),
            uid,
        }
    }

    /// `jane@example.org (Jane Doe)`.
    pub fn from(&self, mailname: &str) -> String {
        match self.full_name.as_str() {
            "" => format!("{}@{mailname}", self.name),
            full => format!("{}@{mailname} ({full})", self.name),
        }
    }

    /// Root, and whoever owns the news directory.
    pub fn is_admin(&self, news_directory: &Path) -> bool {
        self.uid == 0 || std::fs::metadata(news_directory).is_ok_and(|data| data.uid() == self.uid)
    }
}

/// A name that may stand in a comment: ASCII without parentheses. Others are left out, for a header
/// holds ASCII only (RFC 5536, 2.2).
fn plain(name: &str) -> String {
    let name = name.trim();
    let is_plain = |c: char| (c.is_ascii_graphic() || c == ' ') && !"()\\".contains(c);
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => String::new(),
    }
}

fn capital(name: &str) -> String {
    let mut chars = name.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_number() {
        let users = "root:x:0:0::/root:/bin/sh\nbroken\njane:x:7:7:& Doe,room 1:/home/jane:\nj:x:8:8:J (x):/:\n";
        let jane = Account::of(7, users);
        assert_eq!(jane.from("example.org"), "jane@example.org (Jane Doe)");
        assert_eq!(jane.home.as_deref(), Some(Path::new("/home/jane")));
        assert_eq!(Account::of(8, users).from("e"), "j@e");
        assert_eq!(Account::of(9, users).from("e"), "uid9@e");
    }
}
