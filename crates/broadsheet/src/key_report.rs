//! Keys, as `key import`, `key list` and `control verify` show them.

use std::io::{self, Write};

use relay::TrustedKey;
use serde_json::{Value, json};

use crate::answer::Answer;

impl Answer for TrustedKey {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} {}", self.id(), self.user_id())?;
        let mut line = |what: &str, value: &str| writeln!(out, "  {what:12} {value}");
        line("fingerprint", &self.key().fingerprint())?;
        line("algorithm", &algorithm(self))?;
        line("hierarchies", &self.hierarchies)?;
        line("allowed", &allowed(self))
    }

    fn json(&self) -> Value {
        let key = self.key();
        let names = self.certificate.user_ids.iter();
        let names: Vec<_> = names.map(|name| groups::escaped(name)).collect();
        json!({
            "id": self.id(),
            "fingerprint": key.fingerprint(),
            "version": key.version(),
            "created": key.created(),
            "algorithm": key.algorithm(),
            "bits": key.bits(),
            "user_ids": names,
            "hierarchies": self.hierarchies,
            "allowed": self.allowed.names(),
        })
    }
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
