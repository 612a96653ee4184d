//! A peer as `broadsheet.toml` has it: its `[[site]]` and its `[[access]]`.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;

use anyhow::{Context, bail};
use groups::nntp_server::{NNTP_PORT, NNTPS_PORT, NntpServer, Tls};
use groups::sites::Via;
use settings::{Read, Settings, quoted};

use crate::flags::{Flag, Given};

/// Longest answer that is typed, bytes.
pub const ANSWER_BYTES_MAX: u64 = 4_096;

/// Which way articles go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Both,
    /// The peer feeds us.
    In,
    /// We feed the peer.
    Out,
}

impl Direction {
    pub const ALL: [(&'static str, Direction); 3] = [
        ("both", Direction::Both),
        ("in", Direction::In),
        ("out", Direction::Out),
    ];

    pub fn is_in(self) -> bool {
        self != Direction::Out
    }

    pub fn is_out(self) -> bool {
        self != Direction::In
    }
}

/// `tls` of `via`.
pub const TLS: Flag = Flag::new(
    "tls",
    "Encryption of our connections to the peer; default: none.",
)
.value("none|starttls|implicit");
/// `tls_ca` of `via`.
pub const TLS_CA: Flag = Flag::new(
    "tls-ca",
    "A PEM file of the CAs to trust in place of the system's.",
)
.value("FILE");
/// `tls_fingerprint` of `via`.
pub const TLS_FINGERPRINT: Flag = Flag::new(
    "tls-fingerprint",
    "SHA-256 of the one certificate to trust.",
)
.value("HEX");
/// `tls_name` of `via`.
pub const TLS_NAME: Flag =
    Flag::new("tls-name", "The name that the certificate must have.").value("NAME");
/// `user` of `via`.
pub const USER: Flag =
    Flag::new("user", "The name with which we log in at the peer.").value("NAME");
/// `password_file` of `via`.
pub const PASSWORD_FILE: Flag = Flag::new(
    "password-file",
    "A file with the password of --user, which only its owner may read.",
)
.value("FILE");
/// `allow_plaintext_login` of `via`.
pub const ALLOW_PLAINTEXT_LOGIN: Flag = Flag::new("allow-plaintext-login", "Log in without TLS.");
/// `bind` of `via`.
pub const BIND: Flag = Flag::new("bind", "The local address of our connections.").value("ADDR");
/// `compress` of `via`.
pub const COMPRESS: Flag = Flag::new(
    "compress",
    "Compress the connections (RFC 8054) if the peer can: for slow lines, since it costs CPU time.",
);
/// The flags that say how to connect: the keys of `via`.
pub const VIA_FLAGS: [Flag; 9] = [
    TLS,
    TLS_CA,
    TLS_FINGERPRINT,
    TLS_NAME,
    USER,
    PASSWORD_FILE,
    ALLOW_PLAINTEXT_LOGIN,
    COMPRESS,
    BIND,
];

/// `connections` of `via`.
pub const CONNECTIONS: Flag = Flag::new(
    "connections",
    "Most connections to the peer at the same time; default: 4.",
)
.value("N");
/// `rate` of `via`.
pub const RATE: Flag = Flag::new(
    "rate",
    "Most bytes a second that we send: `500 kB', `1 MB'; default: no limit.",
)
.value("SIZE");
/// `hours` of `via`.
pub const HOURS: Flag = Flag::new(
    "hours",
    "When we send, local time: `22:00-06:00'; default: always.",
)
.value("FROM-TO");
/// `headfeed` of `via`.
pub const HEADFEED: Flag = Flag::new(
    "headfeed",
    "Send articles without their bodies; the peer needs headers_only.",
);
/// The key that [`HEADFEED`] gives.
pub const HEADFEED_KEY: &str = "headfeed = true";
/// The flags with values that say how we feed: more keys of `via`.
pub const FEED_FLAGS: [Flag; 3] = [CONNECTIONS, RATE, HOURS];

/// The keys of `via` that flags give.
pub fn keys<'f>(given: &Given, flags: impl IntoIterator<Item = &'f Flag>) -> Vec<String> {
    let key = |flag: &Flag| {
        let key = flag.name.replace('-', "_");
        match (flag.value, given.value(flag.name)) {
            (Some(_), Some(value)) => {
                let value = value.to_string_lossy();
                Some(match value.parse::<u32>() {
                    Ok(number) if flag.name == CONNECTIONS.name => format!("{key} = {number}"),
                    _ => format!("{key} = {}", quoted(&value)),
                })
            }
            (None, _) if given.has(flag.name) => Some(format!("{key} = true")),
            _ => None,
        }
    };
    flags.into_iter().filter_map(key).collect()
}

/// C News patterns of the groups that peers get unless the administrator names others: those of this site stay here.
pub const FOR_OTHERS: &str = "all,!local";

/// The lines of a `[[site]]`; `keys`: the further ones of `via`. Articles of the distribution `local` stay here (RFC 5536, 3.2.4).
pub fn site(name: &str, host: &str, groups: &str, keys: &[String]) -> String {
    let host = format!("nntp = {}", quoted(host));
    let via = [&[host], keys].concat().join(", ");
    let (name, groups) = (quoted(name), quoted(groups));
    format!(
        "[[site]]\nname = {name}\ngroups = {groups}\ndistributions = \"all,!local\"\nvia = {{ {via} }}\n"
    )
}

/// The line with the host at which a peer reaches us, for [`settings::own_host_for`].
pub fn own_host(host: &str) -> String {
    format!("own_host = {}\n", quoted(host))
}

/// The lines of an `[[access]]`; `from`: addresses and networks; `headfeed`: whether articles may come without their bodies.
pub fn access(name: &str, from: &[String], groups: &str, headfeed: bool) -> String {
    let from: Vec<String> = from.iter().map(|address| quoted(address)).collect();
    let mut lines = format!(
        "[[access]]\nname = {}\nfrom = [{}]\nsend = {}\n",
        quoted(name),
        from.join(", "),
        quoted(groups)
    );
    if headfeed {
        lines += HEADFEED_KEY;
        lines.push('\n');
    }
    lines
}

/// The permissions that clients on this machine have as long as there is no table.
pub const LOCAL: &str =
    "[[access]]\nname = \"local\"\nfrom = [\"local\"]\nread = \"*\"\npost = \"*\"\nsend = \"*\"\n";

/// Puts the lines into the text of `broadsheet.toml`: a site at the end, an access table before the others, since the first one
/// that matches counts. The comments above the others stay with them.
pub fn with(text: &str, site: Option<&str>, access: Option<&str>) -> String {
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if let Some(access) = access {
        match first_access(&text) {
            Some(at) => text.insert_str(at, &format!("{access}\n")),
            // Without this one, the new one would shut out the clients on this machine.
            None => text += &format!("\n{access}\n{LOCAL}"),
        }
    }
    if let Some(site) = site {
        text += &format!("\n{site}");
    }
    text
}

/// Where the first access table begins, with the comments above it.
fn first_access(text: &str) -> Option<usize> {
    let mut begin = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("[[access]]") {
            return Some(begin);
        }
        at += line.len();
        if !line.starts_with('#') {
            begin = at;
        }
    }
    None
}

/// Parses a text as `broadsheet.toml`.
///
/// # Errors
/// All its errors, with their places.
pub fn parsed(path: &Path, text: &str) -> anyhow::Result<Settings> {
    Ok(Read::parse(path, text.as_bytes().to_vec())?.settings)
}

/// The error that a table would cause, with the flags in place of the keys; `None` without one.
pub fn fault_of(table: &str) -> Option<String> {
    let text = format!("name = \"here\"\n{table}");
    let faults = Read::parse(Path::new(settings::FILE), text.into_bytes()).err()?;
    let what = faults.faults.first().map(settings::Fault::what)?;
    let (key, rest) = what.split_once(' ').unwrap_or((what, ""));
    Some(match key {
        "nntp" => format!("--host {rest}"),
        key if key.starts_with(|c: char| c.is_ascii_lowercase()) => {
            format!("--{} {rest}", key.replace('_', "-"))
        }
        _ => what.to_owned(),
    })
}

/// The server of a site that is fed by NNTP.
///
/// # Errors
/// There is no such site, or it is fed in another way.
pub fn server<'s>(settings: &'s Settings, name: &str) -> anyhow::Result<&'s NntpServer> {
    let mut sites = settings.sites.sites.iter();
    let site = sites.find(|site| site.name == name.as_bytes());
    match &site
        .with_context(|| format!("no [[site]] is named `{name}'"))?
        .via
    {
        Via::Nntp(via) => Ok(&via.server),
        other => bail!(
            "the site `{name}' gets its articles by `{}', not by NNTP",
            other.word()
        ),
    }
}

/// The address of a server, without the usual port.
pub fn address(server: &NntpServer) -> String {
    let usual = match server.tls {
        Tls::Implicit => NNTPS_PORT,
        Tls::None | Tls::StartTls => NNTP_PORT,
    };
    host_port(&server.host, server.port, usual)
}

/// The addresses of a host, with commas; empty if there are none.
pub fn addresses(server: &NntpServer) -> String {
    if let Ok(address) = server.host.parse::<IpAddr>() {
        return address.to_string();
    }
    let Ok(found) = (server.host.as_str(), server.port).to_socket_addrs() else {
        return String::new();
    };
    let mut found: Vec<String> = found.map(|address| address.ip().to_string()).collect();
    found.dedup();
    found.join(",")
}

/// `HOST`, or `HOST:PORT`.
pub fn host_port(host: &str, port: u16, usual: u16) -> String {
    match (host.contains(':'), port == usual) {
        (false, true) => host.to_owned(),
        (true, true) => format!("[{host}]"),
        (false, false) => format!("{host}:{port}"),
        (true, false) => format!("[{host}]:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_table_comes_first_and_comments_stay() {
        let text = "name = \"a\"\n\n# readers\n# of ours\n[[access]]\nname = \"r\"\n";
        let new = with(text, Some("[[site]]\n"), Some("[[access]]\nname = \"p\"\n"));
        assert_eq!(
            new,
            "name = \"a\"\n\n[[access]]\nname = \"p\"\n\n# readers\n# of ours\n[[access]]\nname = \"r\"\n\n[[site]]\n"
        );
        let first = with("name = \"a\"", None, Some("[[access]]\nname = \"p\"\n"));
        assert!(first.ends_with(LOCAL), "{first}");
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000A\"");
    }
}
