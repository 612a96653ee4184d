//! The bucket that a URL and the settings name: `s3://BUCKET/PREFIX`, `offload.endpoint`, `offload.region`.

use std::net::IpAddr;

/// Longest name of a bucket, bytes.
const BUCKET_BYTES: std::ops::RangeInclusive<usize> = 3..=63;
/// Longest prefix, bytes: S3 has room for 1,024 with the names of the objects.
const PREFIX_BYTES: usize = 512;

/// A bucket and the place of the objects in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// The prefix, without `/` at its ends; empty: none.
    pub prefix: String,
}

impl Bucket {
    /// Reads the rest of a URL, behind `s3://`.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the setting's name.
    pub fn parse(rest: &str) -> Result<Bucket, String> {
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !BUCKET_BYTES.contains(&name.len()) || !name.chars().all(is_name) {
            return Err(format!(
                "needs the name of a bucket, 3 to 63 letters, digits, `.' and `-': s3://news-articles/PREFIX, not `{name}'"
            ));
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_part = |part: &str| {
            !part.is_empty() && part != "." && part != ".." && part.chars().all(is_name)
        };
        if prefix.len() > PREFIX_BYTES || !(prefix.is_empty() || prefix.split('/').all(is_part)) {
            return Err(format!(
                "has letters, digits, `.', `-', `_' and single `/' behind the bucket only, not `{prefix}'"
            ));
        }
        Ok(Bucket {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

/// The address of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `https://HOST[:PORT]`, without a `/` at the end.
    pub url: String,
    /// The host alone.
    pub host: String,
    /// Requests are not encrypted.
    pub is_plain: bool,
    /// The name of the bucket is part of the host.
    pub has_bucket: bool,
}

impl Endpoint {
    /// Reads `offload.endpoint`; empty: that of Amazon for the bucket and the region. Without TLS a host that is not this machine must be
    /// marked: `open http://HOST`.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the setting's name.
    pub fn parse(text: &str, bucket: &Bucket, region: &str) -> Result<Endpoint, String> {
        let text = text.trim();
        if text.is_empty() {
            // A certificate for all buckets has none with a dot.
            let has_bucket = !bucket.name.contains('.');
            let host = match has_bucket {
                true => format!("{}.s3.{region}.amazonaws.com", bucket.name),
                false => format!("s3.{region}.amazonaws.com"),
            };
            return Ok(Endpoint {
                url: format!("https://{host}"),
                host,
                is_plain: false,
                has_bucket,
            });
        }
        let (is_meant, url) = match text.strip_prefix("open ") {
            Some(url) => (true, url.trim()),
            None => (false, text),
        };
        let url = url.strip_suffix('/').unwrap_or(url);
        let (is_plain, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(wrong(text)),
        };
        let host = host_of(rest).ok_or_else(|| wrong(text))?;
        let address: Option<IpAddr> = host.parse().ok();
        let is_here = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        if is_plain && !is_here && !is_meant {
            return Err(format!(
                "{url} would send the articles, and the name of the key, in the clear: use https; where nobody else can read or change what goes over the network, say \"open {url}\""
            ));
        }
        Ok(Endpoint {
            url: url.to_owned(),
            host: host.to_owned(),
            is_plain,
            has_bucket: false,
        })
    }
}

fn wrong(text: &str) -> String {
    format!("is `https://HOST' or `https://HOST:PORT', without a path, not `{text}'")
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

/// The fault of a region, as the rest of a sentence that begins with the setting's name.
pub fn fault_of_region(region: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_right = !region.is_empty() && region.len() <= 64 && region.chars().all(is_name);
    (!is_right).then(|| {
        format!("is the name of a region, such as \"eu-central-1\" or \"garage\", not `{region}'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket() -> Bucket {
        Bucket::parse("news-articles/a/b/").unwrap()
    }

    #[test]
    fn buckets_and_prefixes_that_can_be_used_are_taken() {
        assert_eq!(bucket().prefix, "a/b");
        assert_eq!(Bucket::parse("abc").unwrap().prefix, "");
        assert_eq!(Bucket::parse("abc/").unwrap().prefix, "");
        for bad in [
            "",
            "ab",
            "a b c",
            "abc//d",
            "abc/../d",
            "abc/d?x",
            "user:pw@abc",
        ] {
            assert!(Bucket::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn without_tls_a_host_beyond_this_machine_has_to_be_meant() {
        let parse = |text: &str| Endpoint::parse(text, &bucket(), "garage");
        for (good, host) in [
            ("https://s3.example.org", "s3.example.org"),
            ("https://s3.example.org:3900/", "s3.example.org"),
            ("http://127.0.0.1:3900", "127.0.0.1"),
            ("http://[::1]:3900", "::1"),
            ("http://localhost", "localhost"),
            ("open http://10.0.0.5:3900", "10.0.0.5"),
        ] {
            let endpoint = parse(good).unwrap();
            assert_eq!(endpoint.host, host);
            assert_eq!(endpoint.is_plain, good.contains("http:"));
        }
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
            "https://a:0",
            "https://user:secret@a",
            "https://[::1",
            "https://a b",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn amazon_has_an_endpoint_for_each_region() {
        let endpoint = Endpoint::parse("", &bucket(), "eu-central-1").unwrap();
        assert_eq!(
            endpoint.url,
            "https://news-articles.s3.eu-central-1.amazonaws.com"
        );
        assert!(endpoint.has_bucket && !endpoint.is_plain);
        let dotted = Bucket::parse("news.articles").unwrap();
        let endpoint = Endpoint::parse("", &dotted, "eu-central-1").unwrap();
        assert_eq!(endpoint.url, "https://s3.eu-central-1.amazonaws.com");
        assert!(fault_of_region("eu-central-1").is_none());
        assert!(fault_of_region("").is_some() && fault_of_region("a/b").is_some());
    }
}
