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
use crate::key_report;

/// The table.
pub static COMMAND: Command = Command {
    words: &["key", "import"],
    also: &[],
    summary: "trust a key with the control messages of hierarchies",
    about: "\
Reads OpenPGP public keys from FILE, in armour among other text or in bytes, and keeps one of them in
the news directory, in place of what was said about the same key before. Compare its fingerprint with
one you have by another way: whoever holds the key can make and remove groups of these hierarchies.

Keys of RSA, DSA and Ed25519 can be used, those of PGP 2 (versions 2 and 3) as well. Keys under the
primary one are not used, and neither is an end that a key gives itself: remove it in time.

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
            "The groups it may speak for, in INN's language: `comp.*,news.*,!news.test'. Wanted.",
        )
        .value("LIST"),
        Flag::new(
            "key",
            "Which key of several in FILE: its fingerprint, the last 8 or more digits of that or of its id, or a whole name.",
        )
        .value("KEY"),
        Flag::new(
            "allow",
            "Weak hashes that its signatures may be made over: md5, sha1, or both with a comma between them.",
        )
        .value("LIST"),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "FILE has no such key or several, or it cannot be used",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let hierarchies = hierarchies(given)?;
    let allowed = given.value("allow").unwrap_or_default().to_string_lossy();
    let allowed = Allowed::parse(&allowed)
        .map_err(|word| given.usage(format!("--allow takes md5 and sha1, not `{word}'")))?;
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
            "there are {KEYS_MAX} keys already; remove some with `broadsheet key remove'"
        );
    }
    Keyring::keep(directory.root(), &trusted)?;
    match given.has("json") {
        true => writeln!(out, "{}", key_report::json(&trusted))?,
        false => key_report::write_text(out, &trusted)?,
    }
    Ok(Status::OK)
}

fn hierarchies(given: &Given) -> Result<String, UsageError> {
    let list = given.value("hierarchy").and_then(|list| list.to_str());
    let list = list.ok_or_else(|| given.usage("for which groups? Say --hierarchy 'comp.*'"))?;
    let is_plain = |c: char| c.is_ascii_graphic();
    if list.is_empty() || list.len() > HIERARCHIES_BYTES_MAX || !list.chars().all(is_plain) {
        return Err(
            given.usage("--hierarchy wants patterns with commas between them, without blanks")
        );
    }
    if let Some(part) = list.split(',').find(|part| !part.contains(['*', '?'])) {
        let group = part.trim_start_matches('!');
        eprintln!(
            "broadsheet: `{part}' means only the group {group}; `{part}.*' means all under it"
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
        keys.retain(|one| one.is_meant_by(&key));
        if keys.is_empty() {
            let why = match all.is_empty() {
                true => faults.join("; "),
                false => format!("the file has {all}"),
            };
            return Err(format!("no key {key} in it: {why}"));
        }
    }
    if keys.len() > 1 {
        return Err(format!(
            "more than one key in it; say --key with one of {}",
            shown(&keys)
        ));
    }
    let Some(key) = keys.pop() else {
        return Err(format!("no key in it can be used: {}", faults.join("; ")));
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
