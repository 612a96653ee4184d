//! `broadsheet key import`

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context;
use openpgp::{Certificate, armor};
use relay::keyring::{Allowed, HIERARCHIES_BYTES_MAX, KEYS_MAX};
use relay::{Keyring, TrustedKey};

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands, UsageError};

/// The table.
pub static COMMAND: Command = Command {
    words: &["key", "import"],
    also: &[],
    summary: "trust an OpenPGP key for control messages of hierarchies",
    about: "\
Reads OpenPGP public keys from FILE, in armour (other text around it is ignored) or binary, and
stores one of them in the news directory. Earlier settings for the same key are replaced. Compare
its fingerprint with one from another source: the owner of the key can create and remove groups in
these hierarchies.

RSA, DSA and Ed25519 keys are supported, also those of PGP 2 (versions 2 and 3). Subkeys are not
used, and the expiry date in a key is ignored: remove the key in time.

  broadsheet key import PGPKEYS --key B88DA9C1 --hierarchy 'comp.*,news.*' --allow md5",
    operands: Operands {
        shown: "FILE",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "hierarchy",
            "Groups that the key is trusted for, as a wildmat: `comp.*,news.*,!news.test'. Required.",
        )
        .value("LIST"),
        Flag::new(
            "key",
            "Which key of several in FILE: its fingerprint, at least the last 8 digits of that or of its id, or a \
            whole user id.",
        )
        .value("KEY"),
        Flag::new(
            "allow",
            "Weak hashes that are accepted in its signatures: md5, sha1, or both separated by a comma.",
        )
        .value("LIST"),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "FILE has no such key or several, or the key cannot be used",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let hierarchies = hierarchies(given)?;
    let allowed = given.value("allow").unwrap_or_default().to_string_lossy();
    let allowed = Allowed::parse(&allowed)
        .map_err(|word| given.usage(format!("--allow needs md5 or sha1, not `{word}'")))?;
    directory.settings()?;
    let Some(path) = given.operands.first().map(Path::new) else {
        return Ok(Status::NO);
    };
    let trusted = match chosen(&read(path)?, given) {
        Ok(certificate) => TrustedKey {
            certificate,
            hierarchies,
            allowed,
        },
        Err(why) => {
            eprintln!("broadsheet: {}: {why}", path.display());
            return Ok(Status::NO);
        }
    };
    let known = Keyring::read(directory.root())?.keys;
    let is_new = |known: &TrustedKey| known.key().fingerprint() != trusted.key().fingerprint();
    if known.len() >= KEYS_MAX && known.iter().all(is_new) {
        anyhow::bail!(
            "the maximum of {KEYS_MAX} keys is reached; remove some with `broadsheet key remove'"
        );
    }
    Keyring::keep(directory.root(), &trusted)?;
    given.print(&trusted, out)?;
    let subkeys = trusted.certificate.signing_subkeys();
    if !subkeys.is_empty() {
        let subkeys: Vec<String> = subkeys.iter().map(|id| format!("{id:016X}")).collect();
        eprintln!(
            "broadsheet: the key has subkeys that may sign ({}); messages that they sign are not accepted: the owner must sign with the key itself",
            subkeys.join(", ")
        );
    }
    Ok(Status::OK)
}

fn hierarchies(given: &Given) -> Result<String, UsageError> {
    let list = given.value("hierarchy").and_then(|list| list.to_str());
    let list = list.ok_or_else(|| {
        given.usage("the groups are missing: add --hierarchy, such as --hierarchy 'comp.*'")
    })?;
    let is_plain = |c: char| c.is_ascii_graphic();
    if list.is_empty() || list.len() > HIERARCHIES_BYTES_MAX || !list.chars().all(is_plain) {
        return Err(given.usage("--hierarchy needs patterns separated by commas, without blanks"));
    }
    if let Some(part) = list.split(',').find(|part| !part.contains(['*', '?'])) {
        let group = part.trim_start_matches('!');
        eprintln!(
            "broadsheet: `{part}' matches only the group {group}; `{part}.*' matches all groups below it"
        );
    }
    Ok(list.to_owned())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let doing = || format!("cannot read {}", path.display());
    let mut text = Vec::new();
    File::open(path)
        .with_context(doing)?
        .take(armor::FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut text)
        .with_context(doing)?;
    Ok(text)
}

/// The one key that is meant, or why there is none.
fn chosen(text: &[u8], given: &Given) -> Result<Certificate, String> {
    let read = Certificate::read_all(text).map_err(|error| error.to_string())?;
    let (mut keys, mut faults) = (Vec::new(), Vec::new());
    for key in read {
        match key {
            Ok(certificate) => keys.push(bare(certificate)),
            Err(error) => faults.push(error.to_string()),
        }
    }
    let shown = |keys: &[TrustedKey]| {
        let shown = keys.iter();
        let shown = shown.map(|key| format!("{} ({})", key.key().fingerprint(), key.user_id()));
        shown.collect::<Vec<_>>().join(", ")
    };
    if let Some(key) = given.value("key") {
        let key = key.to_string_lossy();
        let all = shown(&keys);
        keys.retain(|one| one.matches(&key));
        if keys.is_empty() {
            let why = match all.is_empty() {
                true => faults.join("; "),
                false => format!("the file has {all}"),
            };
            return Err(format!("the file has no key {key}: {why}"));
        }
    }
    if keys.len() > 1 {
        return Err(format!(
            "the file has several keys: add --key with one of {}",
            shown(&keys)
        ));
    }
    let Some(key) = keys.pop() else {
        return Err(format!(
            "no key in the file can be used: {}",
            faults.join("; ")
        ));
    };
    match key.certificate.is_revoked {
        true => Err(format!("{} has been revoked by its owner", key.id())),
        false => Ok(key.certificate),
    }
}

/// A key that may do nothing yet.
fn bare(certificate: Certificate) -> TrustedKey {
    TrustedKey {
        certificate,
        hierarchies: String::new(),
        allowed: Allowed::default(),
    }
}
