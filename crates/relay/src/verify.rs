//! Verifies that a control message is signed by a key trusted for its groups.

use std::borrow::Cow;

use article::{Article, Header};

use crate::control::kind_of;
use crate::control::scope::listed;
use crate::keyring::{Keyring, TrustedKey};
use crate::signed::{self, Signed};

/// The verified signer.
#[derive(Debug)]
pub struct Verified<'k> {
    /// The key that signed it.
    pub key: &'k TrustedKey,
    /// The parts of the key's list that match the groups of the message.
    pub hierarchies: Vec<&'k str>,
    /// The signature's own data.
    pub signed: SignedAt,
    /// Whether Message-ID is signed; otherwise the message may be repeated with another id.
    pub is_id_signed: bool,
    /// Whether Content-Type is signed; otherwise the interpretation of the body may have been changed.
    pub is_type_signed: bool,
}

/// What the signature says of itself.
#[derive(Debug, Clone, Copy)]
pub struct SignedAt {
    /// Creation time, seconds since 1970, if present.
    pub seconds: Option<u32>,
    /// Its hash algorithm.
    pub digest: openpgp::Digest,
}

/// Why a message is not verified.
#[derive(Debug, thiserror::Error)]
pub enum Unverified {
    /// The article is not a control message.
    #[error("it is not a control message: it has no Control header")]
    NoControl,
    /// The header is ambiguous.
    #[error("its header is invalid: {0}")]
    Header(String),
    /// No usable signature.
    #[error(transparent)]
    Signed(#[from] signed::SignatureError),
    /// The Control header is not signed.
    #[error("the signature does not cover the Control header, so it proves nothing")]
    ControlUnsigned,
    /// The signature has no key id.
    #[error("the signature has no key id")]
    NoKey,
    /// The key is unknown.
    #[error(
        "it is signed by {id}, which is not a trusted key; to trust it, use `broadsheet key import'"
    )]
    UnknownKey {
        /// The key id.
        id: String,
    },
    /// A subkey of a trusted key signed it.
    #[error(
        "it is signed by {id}, a subkey of {key}; subkeys are not supported: the owner must sign with the key itself (gpg --local-user '{key}!')"
    )]
    Subkey {
        /// The id of the subkey.
        id: String,
        /// The id of the key.
        key: String,
    },
    /// The key is known, but the signature is invalid.
    #[error("the signature of {id} is invalid: the message was changed or forged")]
    Bad {
        /// The key id.
        id: String,
    },
    /// The hash is weak and not allowed for the key.
    #[error(
        "its signature uses {digest}, which is not secure; to accept it from {id}, import its key again with --allow {allow}"
    )]
    Weak {
        /// The hash.
        digest: &'static str,
        /// The key id.
        id: String,
        /// The value for `--allow`.
        allow: &'static str,
    },
    /// The signature has expired.
    #[error("the signature of {id} has expired")]
    Expired {
        /// The key id.
        id: String,
    },
    /// The command is not about groups.
    #[error("`{0}' names no group that a key could be trusted for")]
    NoGroups(String),
    /// The key is not trusted for a group.
    #[error("{id} is trusted for {hierarchies}, but not for {group}")]
    Foreign {
        /// The key id.
        id: String,
        /// Its hierarchies.
        hierarchies: String,
        /// The group.
        group: String,
    },
}

/// Verifies a control message in native form. `now` is in seconds since 1970.
///
/// # Errors
/// The message is not verified.
pub fn verify<'k>(
    article: &Article<'_>,
    keyring: &'k Keyring,
    now: i64,
) -> Result<Verified<'k>, Unverified> {
    if let Some(error) = article.error() {
        return Err(Unverified::Header(error.to_string()));
    }
    let control = article
        .value(Header::Control)
        .filter(|control| !control.is_empty())
        .ok_or(Unverified::NoControl)?;
    let signed = Signed::of(article)?;
    if !signed.signs(b"Control") {
        return Err(Unverified::ControlUnsigned);
    }
    let text = signed.text(article)?;
    let key = signer(&signed, &text, keyring)?;
    check_hash_and_expiry(&signed, key, now)?;
    let groups = groups(control, article)?;
    let hierarchies = key
        .check_groups(&groups)
        .map_err(|group| Unverified::Foreign {
            id: key.id(),
            hierarchies: key.hierarchies.clone(),
            group: shown(group),
        })?;
    Ok(Verified {
        key,
        hierarchies,
        signed: SignedAt {
            seconds: signed.signature.created(),
            digest: signed.signature.digest(),
        },
        is_id_signed: signed.signs(b"Message-ID"),
        is_type_signed: signed.signs(b"Content-Type"),
    })
}

/// Finds the key of a signature. Ids of old keys can be forged, so all keys with that id are tried. A signature without a key id is not
/// tried with all keys, so that forged ones stay cheap.
fn signer<'k>(
    signed: &Signed<'_>,
    text: &[u8],
    keyring: &'k Keyring,
) -> Result<&'k TrustedKey, Unverified> {
    let id = signed.signature.issuer().ok_or(Unverified::NoKey)?;
    let mut is_known = false;
    for trusted in keyring.keys.iter().filter(|key| key.key().id() == id) {
        is_known = true;
        if signed.signature.verify(trusted.key(), text).is_ok() {
            return Ok(trusted);
        }
    }
    let of_subkey = |key: &&TrustedKey| key.certificate.signing_subkeys().contains(&id);
    let owner = keyring.keys.iter().find(of_subkey).map(TrustedKey::id);
    let id = format!("{id:016X}");
    Err(match (is_known, owner) {
        (true, _) => Unverified::Bad { id },
        (false, Some(key)) => Unverified::Subkey { id, key },
        (false, None) => Unverified::UnknownKey { id },
    })
}

fn check_hash_and_expiry(
    signed: &Signed<'_>,
    key: &TrustedKey,
    now: i64,
) -> Result<(), Unverified> {
    let digest = signed.signature.digest();
    if !key.allowed.allows(digest) {
        return Err(Unverified::Weak {
            digest: digest.name(),
            id: key.id(),
            allow: match digest {
                openpgp::Digest::Md5 => "md5",
                _ => "sha1",
            },
        });
    }
    let end = signed.signature.expires().map(i64::try_from);
    match end {
        Some(Ok(end)) if end <= now => Err(Unverified::Expired { id: key.id() }),
        _ => Ok(()),
    }
}

/// The groups of a control message: the one that it creates or removes, or those of a checkgroups list and the hierarchies for which the
/// list is complete, such as `de.*` (RFC 5537, 5.2).
fn groups<'a>(control: &'a [u8], article: &Article<'a>) -> Result<Vec<Cow<'a, [u8]>>, Unverified> {
    let mut words = control
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let command = words.next().unwrap_or_default();
    let groups: Vec<_> = match kind_of(command) {
        b"newgroup" | b"rmgroup" => words.take(1).map(Cow::Borrowed).collect(),
        b"checkgroups" => {
            let list = listed(article).into_keys().map(Cow::Borrowed);
            scope(words).chain(list).collect()
        }
        _ => Vec::new(),
    };
    if groups.is_empty() {
        Err(Unverified::NoGroups(shown(command)))
    } else {
        Ok(groups)
    }
}

/// The hierarchies among the arguments of `checkgroups`; `!` excludes one, `#` starts a serial number.
fn scope<'a>(words: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = Cow<'a, [u8]>> {
    words
        .filter(|word| !word.starts_with(b"!") && !word.starts_with(b"#"))
        .map(|hierarchy| Cow::Owned([hierarchy, b".*"].concat()))
}

/// Maximum part of a bad text that a message contains, bytes.
const SHOWN_BYTES: usize = 200;

fn shown(bytes: &[u8]) -> String {
    groups::shown(bytes.get(..SHOWN_BYTES).unwrap_or(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use article::Form;

    fn groups_of(control: &str, body: &str) -> Result<String, String> {
        let text = format!("Control: {control}\n\n{body}");
        let article = Article::parse(text.as_bytes(), Form::Native);
        let control = article.value(Header::Control).unwrap();
        match groups(control, &article) {
            Ok(groups) => Ok(String::from_utf8(groups.join(&b' ')).unwrap()),
            Err(why) => Err(why.to_string()),
        }
    }

    #[test]
    fn groups_that_a_message_is_about() {
        for (control, wanted) in [
            ("newgroup a.b moderated", "a.b"),
            ("rmgroup\n\ta.b", "a.b"),
            ("Newgroup a.b", "a.b"),
            ("checkgroups", "x.y z"),
            ("checkgroups de !de.alt fr #2009", "de.* fr.* x.y z"),
        ] {
            let groups = groups_of(control, "x.y\tText.\n\n  q.r Text.\nz\n");
            assert_eq!(groups.as_deref(), Ok(wanted), "{control}");
        }
        for control in ["newgroup", "sendsys", "cancel <1@a>"] {
            assert!(groups_of(control, "x.y\n").is_err(), "{control}");
        }
        assert!(groups_of("checkgroups", "\n").is_err());
    }
}
