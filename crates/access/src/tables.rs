//! The `[[access]]` tables of `broadsheet.toml`, which crate `settings` reads: readers, posters and peers in one list. The first
//! entry that matches a client applies.

use groups::nearest;
use groups::text_position::TextPosition;

use crate::network::Network;

/// Maximum number of entries; more are an error.
pub const ENTRIES_MAX: usize = 1000;
/// Maximum number of networks, users or certificates of an entry; more are an error.
pub const LIST_MAX: usize = 1000;

/// The settings of `broadsheet.toml` for clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    /// The entries, in the order of the file. Without any, clients on this machine may read, post and send everything, and others
    /// nothing.
    pub entries: Vec<Entry>,
}

/// One `[[access]]` table: the clients that it matches, and their permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the file; `None` for the default entry.
    pub place: Option<TextPosition>,
    /// Its name in logs and metrics; for a peer, the site's name.
    pub name: String,
    /// The networks of the clients; empty for any.
    pub from: Vec<Network>,
    /// The users that it matches; `*` matches every logged-in user, an empty list matches clients without a login too. A certificate in
    /// the same entry is not a login.
    pub users: Vec<String>,
    /// SHA-256 of the required certificates; empty if none is required.
    pub certificates: Vec<[u8; 32]>,
    /// TLS is required.
    pub tls: bool,
    /// Wildmat of the readable groups; empty for none.
    pub read: String,
    /// Wildmat, with poison, of the groups for posting; empty for none.
    pub post: String,
    /// Wildmat, with poison, of the groups whose articles are accepted from the peer; empty for none.
    pub send: String,
    /// Permits articles without their bodies from the peer (MODE HEADFEED).
    pub headfeed: bool,
    /// Permits posts with Approved.
    pub approve: bool,
    /// The disabled features.
    pub without: Vec<Feature>,
    /// The limits.
    pub limits: Limits,
}

/// The limits for clients of an entry. `None` means only the limits of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Largest article that is posted or sent, bytes.
    pub size_max: Option<u64>,
    /// Maximum number of simultaneous connections of the entry.
    pub connections_max: Option<u32>,
    /// Maximum number of simultaneous connections from one address.
    pub connections_per_address_max: Option<u32>,
    /// Posts a minute of one user, or of one address without login; more are delayed ([`crate::Floods`]).
    pub posts_per_minute_max: Option<u32>,
    /// Articles a minute from a peer on one connection.
    pub articles_per_minute_max: Option<u32>,
    /// Bytes a second sent on one connection.
    pub bytes_per_second_max: Option<u64>,
}

/// The features that can be disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// NEWNEWS, which is expensive.
    NewNews,
    /// HDR and XHDR.
    Hdr,
    /// XPAT, which is expensive.
    XPat,
    /// COMPRESS (RFC 8054).
    Compress,
    /// CHECK and TAKETHIS (RFC 4644).
    Streaming,
    /// OVER and XOVER.
    Over,
    /// AUTHINFO, so that no client can log in (RFC 4643).
    AuthInfo,
    /// AUTHINFO SASL; AUTHINFO USER stays enabled.
    Sasl,
    /// STARTTLS (RFC 4642); connections that start with TLS stay enabled.
    StartTls,
}

impl Feature {
    /// All features with their names in the file.
    pub const ALL: &[(&str, Feature)] = &[
        ("newnews", Feature::NewNews),
        ("hdr", Feature::Hdr),
        ("xpat", Feature::XPat),
        ("compress", Feature::Compress),
        ("streaming", Feature::Streaming),
        ("over", Feature::Over),
        ("authinfo", Feature::AuthInfo),
        ("sasl", Feature::Sasl),
        ("starttls", Feature::StartTls),
    ];

    /// Parses a name, in any case.
    ///
    /// # Errors
    /// The problem, as the rest of a sentence that begins with the word.
    pub fn parse(word: &str) -> Result<Feature, String> {
        let known = || Feature::ALL.iter().map(|(word, _)| *word);
        let found = Feature::ALL
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(word));
        found.map(|(_, feature)| *feature).ok_or_else(|| {
            let all: Vec<&str> = known().collect();
            let hint = nearest::hint(&word.to_ascii_lowercase(), "", known());
            format!("cannot be disabled; these can: {}{hint}", all.join(", "))
        })
    }

    /// Parses names separated by commas; an empty text has none.
    ///
    /// # Errors
    /// The invalid word and the problem, as the rest of a sentence that begins with the key.
    pub fn parse_list(text: &str) -> Result<Vec<Feature>, String> {
        let words = text.split(',').map(str::trim);
        let words = words.filter(|word| !word.is_empty());
        words
            .map(|word| Feature::parse(word).map_err(|what| format!("`{word}' {what}")))
            .collect()
    }

    /// Its capability label (RFC 3977, 5.2).
    pub fn capability(self) -> String {
        let mut all = Feature::ALL.iter();
        let found = all.find(|(_, feature)| *feature == self);
        found.map_or_else(String::new, |(word, _)| word.to_ascii_uppercase())
    }
}

impl Tables {
    /// The default entry: clients on this machine may read and post, and its programs may send articles, as with INN.
    pub(crate) fn without_any() -> Entry {
        Entry {
            name: "local".to_owned(),
            from: vec![Network::Local],
            read: "*".to_owned(),
            post: "*".to_owned(),
            send: "*".to_owned(),
            ..Entry::default()
        }
    }
}
