//! The words of a provider, and the characters of names.

/// The words of a provider.
#[derive(Debug)]
pub struct Words {
    /// The beginning of its URLs.
    pub scheme: &'static str,
    /// Its word for a bucket.
    pub bucket: &'static str,
    /// The first line of the file of the keys.
    pub key_id: &'static str,
    /// The second line.
    pub secret: &'static str,
}

/// Whether a name in a bucket may have a character.
pub fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')
}
