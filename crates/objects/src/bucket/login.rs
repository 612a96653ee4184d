//! The keys for an object store, in a file of their own: broadsheet.toml is shown and copied, and has no secrets.

use std::io;
use std::path::Path;

use layers::files::{self, FileError, Kind};

use super::words::Words;

/// Largest file of keys, bytes.
pub const LOGIN_BYTES_MAX: u64 = 4 << 10;

/// The keys.
pub struct Login {
    /// The name of the user: of S3 the access key, of Azure the account.
    pub key_id: String,
    /// The secret, which signs requests, and does not go over the network: of S3 the secret key, of Azure the access key.
    pub secret: String,
}

impl Login {
    /// Reads the file: the name in the first line, the secret in the second. Messages have the provider's words for them.
    ///
    /// # Errors
    /// It does not exist, other users may read it, or it has other lines.
    pub fn read(path: &Path, words: &Words) -> io::Result<Login> {
        let kind = Kind {
            noun: "a file of two keys",
            bytes_max: LOGIN_BYTES_MAX,
            secret: Some(words.secret),
        };
        let Words { key_id, secret, .. } = words;
        let lines = format!(
            "write the {key_id} in its first line, the {secret} in its second, and chmod 600 it"
        );
        let told = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        let bytes = files::read(path, kind).map_err(|error| match error {
            FileError::Unreadable { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                told(format!("{} is missing: {lines}", path.display()))
            }
            error => told(error.to_string()),
        })?;
        let text = String::from_utf8_lossy(&bytes);
        let mut words = text.lines().map(str::trim);
        let is_key =
            |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
        match (words.next().filter(is_key), words.next().filter(is_key)) {
            (Some(key_id), Some(secret)) => Ok(Login {
                key_id: key_id.to_owned(),
                secret: secret.to_owned(),
            }),
            _ => Err(told(format!("{}: {lines}", path.display()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn read(path: &Path) -> io::Result<Login> {
        Login::read(path, &crate::bucket::s3::WORDS)
    }

    #[test]
    fn keys_that_others_may_read_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("offload.login");
        let told = |path: &Path| read(path).err().unwrap().to_string();
        assert!(told(&path).contains("offload.login is missing: write the access key"));
        fs::write(&path, "GK123\nsecret\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(told(&path).contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let login = read(&path).unwrap();
        assert_eq!(
            (login.key_id.as_str(), login.secret.as_str()),
            ("GK123", "secret")
        );
        for bad in ["", "GK123\n", "GK123\n\n", "GK 123\nsecret\n"] {
            fs::write(&path, bad).unwrap();
            assert!(
                told(&path).contains("the secret key in its second"),
                "{bad:?}"
            );
        }
    }
}
