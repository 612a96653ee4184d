//! Fingerprints of certificates, SHA-256.

/// Parses `sha256:` and 64 hexadecimal digits, with or without colons between the bytes, as `openssl x509 -fingerprint -sha256` prints
/// them.
///
/// # Errors
/// The problem, as the rest of a sentence that begins with the text.
pub fn fingerprint(text: &str) -> Result<[u8; 32], String> {
    let error = || "is not a fingerprint: write \"sha256:\" and 64 hexadecimal digits".to_owned();
    let digits = text.strip_prefix("sha256:").ok_or_else(error)?;
    let digits: Vec<u8> = digits
        .bytes()
        .filter(|byte| *byte != b':')
        .map(|byte| char::from(byte).to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()
        .ok_or_else(error)?;
    let bytes: Vec<u8> = digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect();
    match digits.len() {
        64 => bytes.try_into().map_err(|_| error()),
        _ => Err(error()),
    }
}

/// A fingerprint as in files.
pub fn fingerprint_text(certificate: &[u8; 32]) -> String {
    let digits = certificate.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", digits.collect::<String>())
}
