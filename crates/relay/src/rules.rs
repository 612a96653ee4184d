//! The limits of acceptance, and the blocked senders.

use std::sync::Arc;

use crate::blocks::Blocks;

/// Default of [`Rules::article_bytes_max`], bytes: 8 MiB.
pub const ARTICLE_BYTES_MAX: usize = 8 << 20;
/// Default of [`Rules::header_bytes_max`], bytes: 128 KiB. Real headers stay below 8 KiB.
pub const HEADER_BYTES_MAX: usize = 128 << 10;
/// Default of [`Rules::groups_max`].
pub const GROUPS_MAX: usize = 256;
/// Default of [`Rules::message_id_bytes_max`], bytes: the maximum of NNTP (RFC 3977, 3.6).
pub const MESSAGE_ID_BYTES_MAX: usize = 250;
/// Default of [`Rules::future_seconds_max`], seconds: one day, as in C News, for sites that label local time as GMT.
pub const FUTURE_SECONDS_MAX: i64 = 86_400;

/// The limits for articles, besides a valid header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The site's name in Path and Xref.
    pub host: Vec<u8>,
    /// Largest article in bytes, as received.
    pub article_bytes_max: usize,
    /// Largest header in bytes, as received.
    pub header_bytes_max: usize,
    /// Most groups in one Newsgroups header.
    pub groups_max: usize,
    /// Longest message-id in bytes, brackets included.
    pub message_id_bytes_max: usize,
    /// How far a Date may be ahead of the clock, seconds.
    pub future_seconds_max: i64,
    /// Oldest accepted Date, seconds before now; `None` for any, to load archives (`-o DAYS` of relaynews).
    pub age_seconds_max: Option<i64>,
    /// Whether articles from other sites whose groups are all unknown are filed in `junk`; otherwise they are refused.
    pub junk: bool,
    /// Whether an id refused for its groups gets a history line, so that the next copy is a duplicate (`-h` of relaynews disables it).
    pub remember_refused: bool,
    /// Whether an article in only one group gets an Xref (`-x` of relaynews disables it).
    pub xref_single: bool,
    /// The blocked senders.
    pub blocks: Arc<Blocks>,
}

impl Rules {
    /// The default rules of the site `host`.
    pub fn new(host: &[u8]) -> Rules {
        Rules {
            host: host.to_vec(),
            article_bytes_max: ARTICLE_BYTES_MAX,
            header_bytes_max: HEADER_BYTES_MAX,
            groups_max: GROUPS_MAX,
            message_id_bytes_max: MESSAGE_ID_BYTES_MAX,
            future_seconds_max: FUTURE_SECONDS_MAX,
            age_seconds_max: None,
            junk: true,
            remember_refused: true,
            xref_single: true,
            blocks: Arc::default(),
        }
    }
}
