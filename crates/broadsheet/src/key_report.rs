//! Keys, as `key import`, `key list` and `control verify` show them.

use std::io::{self, Write};

use relay::TrustedKey;
use serde_json::{Value, json};

/// One key in a few lines.
pub fn write_text(out: &mut dyn Write, trusted: &TrustedKey) -> io::Result<()> {
    let key = trusted.key();
    writeln!(out, "{} {}", trusted.id(), trusted.user_id())?;
    let mut line = |what: &str, value: &str| writeln!(out, "  {what:12} {value}");
    line("fingerprint", &key.fingerprint())?;
    line("algorithm", &algorithm(trusted))?;
    line("hierarchies", &trusted.hierarchies)?;
    line("allowed", &allowed(trusted))
}

/// One key as an object.
pub fn json(trusted: &TrustedKey) -> Value {
    let key = trusted.key();
    let names = trusted.certificate.user_ids.iter();
    let names: Vec<_> = names.map(|name| String::from_utf8_lossy(name)).collect();
    json!({
        "id": trusted.id(),
        "fingerprint": key.fingerprint(),
        "version": key.version(),
        "created": key.created(),
        "algorithm": key.algorithm(),
        "bits": key.bits(),
        "user_ids": names,
        "hierarchies": trusted.hierarchies,
        "allowed": trusted.allowed.names(),
    })
}

fn algorithm(trusted: &TrustedKey) -> String {
    let key = trusted.key();
    let age = match key.version() {
        version @ (2 | 3) => format!(", old key format {version}"),
        _ => String::new(),
    };
    format!("{} of {} bits{age}", key.algorithm(), key.bits())
}

fn allowed(trusted: &TrustedKey) -> String {
    match trusted.allowed.names()[..] {
        [] => "no weak hashes".to_owned(),
        ref names => format!("weak hashes: {}", names.join(", ")),
    }
}
