//! How to connect to another NNTP server, in `via` of a `[[site]]` and in `[[pull]]`:
//!
//! ```toml
//! nntp = "news.example.net:119"     # the key has another name in [[pull]]
//! tls = "starttls"                  # or "implicit", "none"
//! tls_ca = "peer-ca.pem"            # trust this CA in place of the system's
//! tls_fingerprint = "ab:cd:..."     # or exactly this certificate
//! tls_name = "news.example.net"     # the name in the certificate, if it is not the host's
//! user = "us"
//! password_file = "peer.password"
//! allow_plaintext_login = true      # without TLS
//! compress = true
//! bind = "192.0.2.1"                # the local address
//! ```

use std::path::PathBuf;

use groups::nntp_server::{NNTP_PORT, NNTPS_PORT, NntpServer, Tls};
use toml::de::DeValue;

use crate::table_reader::TableReader;
use crate::value;

/// Reads the keys; `key` is that of the address. `None` after an error in the address.
pub fn read(table: &mut TableReader<'_, '_>, key: &'static str) -> Option<NntpServer> {
    let before = table.fault_count();
    let address = table.take(key, address);
    let tls = table.take("tls", |word| value::word(word, Tls::ALL));
    let tls_ca = table.take("tls_ca", path);
    let tls_fingerprint = table.take("tls_fingerprint", fingerprint);
    let tls_name = table.take("tls_name", value::text);
    let user = table.take("user", value::text);
    let password_file = table.take("password_file", path);
    let allow_plaintext_login = table.take("allow_plaintext_login", value::truth);
    let compress = table.take("compress", value::truth);
    let bind = table.take("bind", |value| {
        let address = value::text(value)?.parse();
        address
            .map_err(|_| value::wrong("an address of this machine, such as \"192.0.2.1\"", value))
    });
    let tls = tls.unwrap_or_default();
    let allow_plaintext_login = allow_plaintext_login.unwrap_or(false);
    // An unknown word for tls is one error, not two.
    if table.fault_count() == before {
        check(table, tls, allow_plaintext_login);
    }
    let (host, port) = address?;
    let default_port = match tls {
        Tls::Implicit => NNTPS_PORT,
        Tls::None | Tls::StartTls => NNTP_PORT,
    };
    Some(NntpServer {
        port: port.unwrap_or(default_port),
        tls,
        tls_ca,
        tls_fingerprint,
        tls_name,
        login: user.zip(password_file),
        allow_plaintext_login,
        compress: compress.unwrap_or(false),
        bind,
        host,
    })
}

/// Adds an error for each key that does not go together with the others.
fn check(table: &mut TableReader<'_, '_>, tls: Tls, is_plaintext_allowed: bool) {
    let has = |key| table.has(key);
    let pinned = has("tls_fingerprint");
    let mut faults = Vec::new();
    for key in ["tls_ca", "tls_fingerprint", "tls_name"] {
        if has(key) && tls == Tls::None {
            faults.push((
                key,
                "has no effect without tls = \"starttls\" or \"implicit\"",
            ));
        } else if has(key) && pinned && key != "tls_fingerprint" {
            faults.push((key, "has no effect beside tls_fingerprint, which trusts one certificate whatever it says"));
        }
    }
    match (has("user"), has("password_file")) {
        (true, false) => faults.push(("user", "needs password_file: a file with the password in its first line")),
        (false, true) => faults.push(("password_file", "needs user")),
        (true, true) if tls == Tls::None && !is_plaintext_allowed => faults.push((
            "user",
            "would send its password in the clear: set tls, or allow_plaintext_login = true where nobody else can read the connection",
        )),
        _ => {}
    }
    for (key, what) in faults {
        table.fault(table.key_offset(key), format!("{key} {what}"));
    }
}

/// Bytes a second: a size, not 0.
pub fn rate(value: &DeValue<'_>) -> Result<u64, String> {
    match value::size(value)? {
        0 => Err("is at least 1 byte a second".to_owned()),
        rate => Ok(rate),
    }
}

fn path(value: &DeValue<'_>) -> Result<PathBuf, String> {
    value::text(value).map(PathBuf::from)
}

fn fingerprint(value: &DeValue<'_>) -> Result<[u8; 32], String> {
    parse_fingerprint(&value::text(value)?)
}

/// As in `[[access]]`; the algorithm may be missing.
pub fn parse_fingerprint(text: &str) -> Result<[u8; 32], String> {
    match text.split_once(':') {
        Some(("sha256", _)) => access::fingerprint(text),
        _ => access::fingerprint(&format!("sha256:{text}")),
    }
}

/// The address of a server, see [`host_and_port`].
fn address(value: &DeValue<'_>) -> Result<(String, Option<u16>), String> {
    const EXAMPLE: &str = "\"news.example.net\" or \"news.example.net:119\"";
    let text = value.as_str().ok_or_else(|| value::wrong(EXAMPLE, value))?;
    host_and_port(text).ok_or_else(|| format!("should be a host and perhaps a port: {EXAMPLE}"))
}

/// Splits `HOST`, `HOST:PORT`, `[ADDRESS]:PORT`, or an IPv6 address alone.
pub fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let split = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => Some((host, None)),
        Some((host, port)) => port.strip_prefix(':').map(|port| (host, Some(port))),
        None if text.parse::<std::net::Ipv6Addr>().is_ok() => Some((text, None)),
        None => match text.split_once(':') {
            Some((host, port)) => Some((host, Some(port))),
            None => Some((text, None)),
        },
    };
    let is_host = |host: &str| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let is_address = host.parse::<std::net::IpAddr>().is_ok();
        is_address || (!host.is_empty() && host.len() <= 253 && host.chars().all(is_name))
    };
    let (host, port) = split?;
    let port = match port {
        None => None,
        Some(port) => Some(port.parse().ok().filter(|port| *port > 0)?),
    };
    is_host(host).then_some((host.to_owned(), port))
}
