//! The `[[access]]` tables of `broadsheet.toml`, which crate `settings` reads: readers, posters and peers in one list, and the first
//! entry that fits a client counts.

use groups::nearest;
use groups::place::Place;

use crate::network::Network;

/// Entries of the file; more are a fault.
pub const ENTRIES_MAX: usize = 1000;
/// Networks, users or certificates of one entry; more are a fault.
pub const LIST_MAX: usize = 1000;

/// What `broadsheet.toml` says of clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    /// In the order of the file. None at all: who comes from this machine may read, post and send everything,
    /// nobody else anything.
    pub entries: Vec<Entry>,
}

/// One `[[access]]`: whom it fits, and what they may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Where it is written; `None` for what is in force without any.
    pub place: Option<Place>,
    /// What it is called in logs and metrics; of a peer, the site's name.
    pub name: String,
    /// Where they come from; none: from anywhere.
    pub from: Vec<Network>,
    /// Users that the entry fits; `*` fits every logged-in user, an empty list fits clients without a login too. A certificate in the
    /// same entry is not a login.
    pub users: Vec<String>,
    /// SHA-256 of their certificates; none: they need none.
    pub certificates: Vec<[u8; 32]>,
    /// Only over TLS.
    pub tls: bool,
    /// A wildmat of the groups they may read; empty: none.
    pub read: String,
    /// A wildmat, with poison, of the groups they may post to; empty: none.
    pub post: String,
    /// A wildmat, with poison, of the groups whose articles are taken from them as a peer; empty: none.
    pub send: String,
    /// May post with Approved.
    pub approve: bool,
    /// What is switched off for them.
    pub without: Vec<Feature>,
    /// How much of all that.
    pub limits: Limits,
}

/// How much clients of one entry may do. `None`: no limit but those of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an article that is posted or sent.
    pub size_max: Option<u64>,
    /// Connections of the entry at a time.
    pub connections_max: Option<u32>,
    /// Connections from one address at a time.
    pub connections_per_address_max: Option<u32>,
    /// Posts a minute of one user, or of one address where nobody has logged in; more are put off
    /// ([`crate::PostFloods`]).
    pub posts_per_minute_max: Option<u32>,
    /// Articles a minute that a peer sends on a connection.
    pub articles_per_minute_max: Option<u32>,
    /// Bytes a second that go out on one connection.
    pub bytes_per_second_max: Option<u64>,
}

/// What can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// NEWNEWS, which costs much.
    NewNews,
    /// HDR and XHDR.
    Hdr,
    /// XPAT, which costs much.
    XPat,
    /// COMPRESS (RFC 8054).
    Compress,
    /// CHECK and TAKETHIS (RFC 4644).
    Streaming,
    /// OVER and XOVER.
    Over,
    /// AUTHINFO: nobody logs in (RFC 4643).
    AuthInfo,
    /// AUTHINFO SASL; AUTHINFO USER stays.
    Sasl,
    /// STARTTLS (RFC 4642); TLS from the first byte on stays.
    StartTls,
}

impl Feature {
    /// Each with its word in the file.
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

    /// The one a word means, in any case of its letters.
    ///
    /// # Errors
    /// What is wrong, as the rest of a sentence that begins with the word.
    pub fn parse(word: &str) -> Result<Feature, String> {
        let known = || Feature::ALL.iter().map(|(word, _)| *word);
        let found = Feature::ALL
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(word));
        found.map(|(_, feature)| *feature).ok_or_else(|| {
            let all: Vec<&str> = known().collect();
            let hint = nearest::hint(&word.to_ascii_lowercase(), "", known());
            format!(
                "cannot be switched off; these can: {}{hint}",
                all.join(", ")
            )
        })
    }

    /// Words with commas between them; none where there are none.
    ///
    /// # Errors
    /// Which word is wrong, and why, as the rest of a sentence that begins with the key.
    pub fn parse_list(text: &str) -> Result<Vec<Feature>, String> {
        let words = text.split(',').map(str::trim);
        let words = words.filter(|word| !word.is_empty());
        words
            .map(|word| Feature::parse(word).map_err(|what| format!("`{word}' {what}")))
            .collect()
    }

    /// The capability by which clients know it (RFC 3977, 5.2).
    pub fn capability(self) -> String {
        let mut all = Feature::ALL.iter();
        let found = all.find(|(_, feature)| *feature == self);
        found.map_or_else(String::new, |(word, _)| word.to_ascii_uppercase())
    }
}

impl Tables {
    /// What is in force where the file has no entry: this machine's own people read and post, and programs of it may feed us, as with INN.
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
