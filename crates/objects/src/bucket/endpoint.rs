//! The address of the servers: `offload.endpoint`.

use std::net::IpAddr;

/// Whether an endpoint may end in this path.
pub type IsPath = fn(&str) -> bool;

/// The address of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `https://HOST[:PORT]`, without a `/` at the end; for Azure maybe with `/ACCOUNT`.
    pub url: String,
    /// The host alone.
    pub host: String,
    /// Requests are not encrypted.
    pub is_plain: bool,
    /// The name of the bucket is part of the host.
    pub has_bucket: bool,
}

impl Endpoint {
    /// Reads `offload.endpoint`, with a path only where `is_path` takes it. `None`: it is empty. Without TLS a host that is not this machine must be marked: `open http://HOST`.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the setting's name.
    pub fn parse(text: &str, is_path: Option<IsPath>) -> Result<Option<Endpoint>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let (is_meant, url) = match text.strip_prefix("open ") {
            Some(url) => (true, url.trim()),
            None => (false, text),
        };
        let url = url.strip_suffix('/').unwrap_or(url);
        let (is_plain, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(wrong(text, is_path)),
        };
        let server = match rest.split_once('/') {
            Some((server, path)) if is_path.is_some_and(|is_path| is_path(path)) => server,
            _ => rest,
        };
        let host = host_of(server).ok_or_else(|| wrong(text, is_path))?;
        let address: Option<IpAddr> = host.parse().ok();
        let is_here = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        if is_plain && !is_here && !is_meant {
            return Err(format!(
                "{url} would send the articles, and the name of the key, in the clear: use https; where nobody else can read or change what goes over the network, say \"open {url}\""
            ));
        }
        Ok(Some(Endpoint {
            url: url.to_owned(),
            host: host.to_owned(),
            is_plain,
            has_bucket: false,
        }))
    }
}

fn wrong(text: &str, is_path: Option<IsPath>) -> String {
    let path = if is_path.is_some() {
        "maybe with `/ACCOUNT' at the end"
    } else {
        "without a path"
    };
    format!("is `https://HOST' or `https://HOST:PORT', {path}, not `{text}'")
}

/// The host of `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`.
fn host_of(rest: &str) -> Option<&str> {
    let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => {
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (
                host,
                port.strip_prefix(':').or(port.is_empty().then_some("1"))?,
            )
        }
        None => rest.split_once(':').unwrap_or((rest, "1")),
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    let is_right = !host.is_empty() && host.len() <= 253 && host.chars().all(is_host);
    (is_right && port.parse::<u16>().is_ok_and(|port| port > 0)).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_a_host_beyond_this_machine_has_to_be_meant() {
        let parse = |text: &str| Endpoint::parse(text, None);
        for (good, host) in [
            ("https://s3.example.org", "s3.example.org"),
            ("https://s3.example.org:3900/", "s3.example.org"),
            ("http://127.0.0.1:3900", "127.0.0.1"),
            ("http://[::1]:3900", "::1"),
            ("http://localhost", "localhost"),
            ("open http://10.0.0.5:3900", "10.0.0.5"),
        ] {
            let endpoint = parse(good).unwrap().unwrap();
            assert_eq!(endpoint.host, host);
            assert_eq!(endpoint.is_plain, good.contains("http:"));
        }
        assert_eq!(parse(" "), Ok(None));
        let told = parse("http://10.0.0.5:3900").unwrap_err();
        assert!(
            told.ends_with("say \"open http://10.0.0.5:3900\""),
            "{told}"
        );
        for bad in [
            "s3.example.org",
            "ftp://s3.example.org",
            "https://",
            "https://a/b",
            "https://a/account",
            "https://a:0",
            "https://user:secret@a",
            "https://[::1",
            "https://a b",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_endpoint_of_azure_may_end_in_the_account() {
        let parse = |text: &str| Endpoint::parse(text, Some(|path| path == "devstoreaccount1"));
        for url in [
            "http://127.0.0.1:10000/devstoreaccount1",
            "https://news.blob.example.org",
        ] {
            assert_eq!(parse(url).unwrap().unwrap().url, url);
        }
        for bad in [
            "https://a/b/c",
            "https://a/Account",
            "https://a//",
            "https:///account",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
