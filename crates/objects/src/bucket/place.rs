//! The bucket that a URL names: `s3://BUCKET/PREFIX`.

use super::provider::Provider;
use super::words::is_name;

/// Longest prefix, bytes: S3 has room for 1,024 with the names of the objects.
pub const PREFIX_BYTES_MAX: usize = 512;

/// A bucket and the place of the objects in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketUrl {
    /// The service that has it.
    pub provider: Provider,
    /// Its name.
    pub name: String,
    /// The prefix, without `/` at its ends; empty: none.
    pub prefix: String,
}

impl BucketUrl {
    /// Reads a URL. `None`: it is not that of a bucket.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the setting's name.
    pub fn parse(url: &str) -> Option<Result<BucketUrl, String>> {
        Provider::ALL.into_iter().find_map(|provider| {
            let rest = url.strip_prefix(provider.words().scheme)?;
            Some(BucketUrl::parse_rest(provider, rest))
        })
    }

    fn parse_rest(provider: Provider, rest: &str) -> Result<BucketUrl, String> {
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if let Some(what) = provider.fault_of_bucket(name) {
            return Err(what);
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_part = |part: &str| {
            !part.is_empty() && part != "." && part != ".." && part.chars().all(is_name)
        };
        if prefix.len() > PREFIX_BYTES_MAX || !(prefix.is_empty() || prefix.split('/').all(is_part))
        {
            let noun = provider.words().bucket;
            return Err(format!(
                "has letters, digits, `.', `-', `_' and single `/' behind the {noun} only, not `{prefix}'"
            ));
        }
        Ok(BucketUrl {
            provider,
            name: name.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(url: &str) -> Result<BucketUrl, String> {
        BucketUrl::parse(url).unwrap()
    }

    #[test]
    fn buckets_and_prefixes_that_can_be_used_are_taken() {
        for scheme in ["s3", "gs", "az"] {
            let parse = |rest: &str| bucket(&format!("{scheme}://{rest}"));
            assert_eq!(parse("news-articles/a/b/").unwrap().prefix, "a/b");
            assert_eq!(parse("abc").unwrap().prefix, "");
            assert_eq!(parse("abc/").unwrap().prefix, "");
            for bad in [
                "",
                "ab",
                "a b c",
                "abc//d",
                "abc/../d",
                "abc/d?x",
                "user:pw@abc",
            ] {
                assert!(parse(bad).is_err(), "{bad}");
            }
        }
        assert!(bucket("gs://news.articles").is_ok() && bucket("az://news.articles").is_err());
        assert_eq!(BucketUrl::parse("https://articles"), None);
    }
}
