//! The settings that acceptance depends on.

/// Default of [`Rules::article_bytes_max`]: 8 MiB.
pub const ARTICLE_BYTES_MAX: usize = 8 << 20;
/// Default of [`Rules::header_bytes_max`]: 128 KiB. Real headers stay below 8 KiB.
pub const HEADER_BYTES_MAX: usize = 128 << 10;
/// Default of [`Rules::groups_max`].
pub const GROUPS_MAX: usize = 256;
/// Default of [`Rules::message_id_bytes_max`]: an id longer than this cannot be named over NNTP
/// (RFC 3977, 3.6), so nobody could ask for the article.
pub const MESSAGE_ID_BYTES_MAX: usize = 250;
/// Default of [`Rules::future_seconds_max`]: one day, which C News allowed for sites that label
/// their local time as GMT.
pub const FUTURE_SECONDS_MAX: i64 = 86_400;

/// What an article must keep to, beyond having a well-formed header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Our name in Path and Xref.
    pub host: Vec<u8>,
    /// Largest article in bytes, as received.
    pub article_bytes_max: usize,
    /// Largest header in bytes, as received.
    pub header_bytes_max: usize,
    /// Most groups in one Newsgroups header.
    pub groups_max: usize,
    /// Longest message-id in bytes, brackets included.
    pub message_id_bytes_max: usize,
    /// How far ahead of our clock a Date may lie, in seconds.
    pub future_seconds_max: i64,
    /// Oldest Date accepted, in seconds before now; `None`: any, so that archives load as they are
    /// (`-o DAYS` of relaynews).
    pub age_seconds_max: Option<i64>,
    /// Whether ids refused for their groups get a history line, so that the next copy is a
    /// duplicate (`-h` of relaynews turns it off).
    pub remember_refused: bool,
    /// Whether an article filed in one group only gets an Xref (`-x` of relaynews turns it off).
    pub xref_single: bool,
}

impl Rules {
    /// The default rules of a site called `host`.
    pub fn new(host: &[u8]) -> Rules {
        Rules {
            host: host.to_vec(),
            article_bytes_max: ARTICLE_BYTES_MAX,
            header_bytes_max: HEADER_BYTES_MAX,
            groups_max: GROUPS_MAX,
            message_id_bytes_max: MESSAGE_ID_BYTES_MAX,
            future_seconds_max: FUTURE_SECONDS_MAX,
            age_seconds_max: None,
            remember_refused: true,
            xref_single: true,
        }
    }
}
