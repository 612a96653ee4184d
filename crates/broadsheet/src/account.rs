//! Who runs this program: the name, the home, what stands in From.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The user, as the system knows it. The environment is not asked who it is, for anybody can set that.
pub struct Account {
    /// The login name; `uid1000` for a user without one.
    pub name: String,
    /// Where ~/.signature and ~/dead.article are.
    pub home: Option<PathBuf>,
    full_name: String,
    pub uid: u32,
}

impl Account {
    /// The real user of this process.
    pub fn mine() -> Account {
        let mut account = Account::of_uid(rustix::process::getuid().as_raw());
        let set = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        if let Some(home) = set("HOME") {
            account.home = Some(home.into());
        }
        // C News's word for those who go by another name than the system's.
        if let Some(name) = set("NAME").and_then(|name| name.into_string().ok()) {
            account.full_name = comment(&name);
        }
        account
    }

    /// The user with this number.
    pub fn of_uid(uid: u32) -> Account {
        let users = std::fs::read("/etc/passwd").unwrap_or_default();
        Account::of(uid, &String::from_utf8_lossy(&users))
    }

    /// The login name of a user.
    pub fn name_of(uid: u32) -> String {
        Account::of_uid(uid).name
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
                    full_name: comment(&full.replace('&', &capital(name))),
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
            // The address may be long.
            full if full.starts_with("=?") => format!("{}@{mailname}\n ({full})", self.name),
            full => format!("{}@{mailname} ({full})", self.name),
        }
    }

    /// Root, and whoever owns the news directory.
    pub fn is_admin(&self, news_directory: &Path) -> bool {
        self.uid == 0 || std::fs::metadata(news_directory).is_ok_and(|data| data.uid() == self.uid)
    }
}

/// Longest name in From, bytes.
const NAME_BYTES_MAX: usize = 500;
/// Bytes of a name in an encoded word: a line with one has 76 characters at most (RFC 2047, 2), a blank and the parenthesis among them.
const ENCODED_BYTES: usize = 42;

/// A name as a comment of From. Characters outside of ASCII are in encoded words (RFC 2047, 5), each on a line of its own. A name with
/// parentheses or control characters, one that is not UTF-8, or too long, is left out.
fn comment(name: &str) -> String {
    let name = name.trim();
    let is_bad = |c: char| c.is_control() || "()\\\u{fffd}".contains(c);
    if name.len() > NAME_BYTES_MAX || name.chars().any(is_bad) {
        return String::new();
    }
    match name.is_ascii() {
        true => name.to_owned(),
        false => encoded_words(name),
    }
}

fn encoded_words(name: &str) -> String {
    let mut pieces: Vec<String> = Vec::new();
    for c in name.chars() {
        match pieces.last_mut() {
            Some(piece) if piece.len() + c.len_utf8() <= ENCODED_BYTES => piece.push(c),
            _ => pieces.push(c.into()),
        }
    }
    let words = pieces
        .iter()
        .map(|piece| format!("=?UTF-8?B?{}?=", BASE64.encode(piece)));
    words.collect::<Vec<String>>().join("\n ")
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

    #[test]
    fn names_outside_of_ascii_are_in_encoded_words() {
        assert_eq!(comment("J\u{f6}rg B"), "=?UTF-8?B?SsO2cmcgQg==?=");
        let long = "\u{3042}".repeat(20);
        let words = comment(&long);
        assert!(words.lines().all(|line| line.len() <= 74), "{words}");
        let texts = words.split("\n ").map(|word| {
            let text = word.strip_prefix("=?UTF-8?B?").unwrap().strip_suffix("?=");
            BASE64.decode(text.unwrap()).unwrap()
        });
        assert_eq!(texts.collect::<Vec<_>>().concat(), long.as_bytes());
        assert_eq!(comment("a\u{fffd}b"), "");
        assert_eq!(comment(&"a".repeat(501)), "");
    }
}
