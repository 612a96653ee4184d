//! What a session goes by: what the server offers, and what its client may do.

/// What a server offers to everybody.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Its name, in greetings.
    pub host: String,
    /// Program and version, for CAPABILITIES.
    pub software: String,
    /// STARTTLS can be had (RFC 4642).
    pub has_tls: bool,
    /// COMPRESS DEFLATE can be had (RFC 8054).
    pub has_compression: bool,
    /// Passwords are taken on connections without TLS.
    pub has_plaintext_passwords: bool,
    /// Largest article that is taken, bytes.
    pub article_bytes_max: usize,
    /// OVER and HDR by message-id, NEWNEWS, and so on: keywords of capabilities that are switched off by setting.
    pub switched_off: Vec<String>,
}

impl Capabilities {
    /// True unless the capability is switched off by setting.
    pub fn has(&self, capability: &str) -> bool {
        let is_it = |off: &String| off.eq_ignore_ascii_case(capability);
        !self.switched_off.iter().any(is_it)
    }
}

/// What a client may do, in sum; what may be done with a group is asked of the [`Backend`](crate::Backend).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Read, in some groups.
    pub reads: bool,
    /// Post, in some groups.
    pub posts: bool,
    /// Send articles as a peer does.
    pub sends: bool,
    /// More may come of logging in: what is not allowed is answered with 480 instead of 502.
    pub could_log_in: bool,
    /// Has logged in.
    pub is_logged_in: bool,
}
