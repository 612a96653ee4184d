//! The capabilities of the server and the permissions of a client.

/// The capabilities that the server offers.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Host name, for the greeting.
    pub host: String,
    /// Program and version, for IMPLEMENTATION (RFC 3977, 3.3.2).
    pub software: String,
    /// STARTTLS is available (RFC 4642).
    pub has_tls: bool,
    /// COMPRESS DEFLATE is available (RFC 8054).
    pub has_compression: bool,
    /// Passwords are accepted without TLS (RFC 4643, 2.3.1 advises against it).
    pub has_plaintext_passwords: bool,
    /// Largest accepted article in native form, bytes: without the CRs and doubled dots of the wire.
    pub article_bytes_max: usize,
    /// Largest accepted article in wire form, bytes; it bounds the memory of one that arrives.
    pub wire_bytes_max: usize,
    /// Articles come and are kept without their bodies.
    pub headers_only: bool,
    /// Keywords of disabled capabilities, such as NEWNEWS.
    pub disabled: Vec<String>,
}

impl Capabilities {
    /// True unless the capability is disabled by a setting.
    pub fn has(&self, capability: &str) -> bool {
        let is_it = |off: &String| off.eq_ignore_ascii_case(capability);
        !self.disabled.iter().any(is_it)
    }
}

/// The permissions of a client as a whole. The [`Backend`](crate::Backend) decides about single groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions {
    /// May read some groups.
    pub reads: bool,
    /// May post to some groups.
    pub posts: bool,
    /// May transfer articles as a peer (IHAVE, streaming).
    pub sends: bool,
    /// May transfer them without their bodies (MODE HEADFEED).
    pub headfeed: bool,
    /// Logging in may grant more: denied commands get 480 instead of 502 (RFC 3977, 3.2.1).
    pub could_log_in: bool,
    /// It may, but only after STARTTLS: denied commands get 483.
    pub needs_tls_to_log_in: bool,
    /// Some login may post.
    pub could_post: bool,
    /// Has logged in.
    pub is_logged_in: bool,
}

impl Permissions {
    /// Whether the client sends articles, and neither reads nor posts: it may then list the groups that it may send.
    pub fn is_peer_only(&self) -> bool {
        self.sends && !self.reads && !self.posts
    }
}
