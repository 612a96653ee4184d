//! `broadsheet peer test`

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::peer::checks::{Checks, Verdict};
use crate::peer::entry::{self, VIA_FLAGS};
use crate::peer::probe::{Probe, fed_at, probe};

/// The table.
pub static COMMAND: Command = Command {
    words: &["peer", "test"],
    also: &[],
    summary: "test the connection to a peer, step by step",
    about: "\
Calls the peer as a feed does, and prints a line for each step: the address of its name, its port,
TLS and its certificate, the greeting, its capabilities, the login, its clock, and whether it takes
articles from us. A step that fails is followed by what to do. PEER is the name of a [[site]] with
`via = { nntp = ... }', or else a host with or without a port; for a host, the flags say how to
connect.

Nothing is sent unless --article names a group: then a test article goes there, and the command
looks whether the peer has it. Use a group for tests that both sites have.

  broadsheet peer test news.peer.example
  broadsheet peer test news.peer.example --article misc.test
  broadsheet peer test 192.0.2.7:563 --tls implicit",
    operands: Operands {
        shown: "PEER",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new("article", "Send a test article to this group.").value("GROUP"),
        entry::TLS,
        entry::TLS_CA,
        entry::TLS_FINGERPRINT,
        entry::TLS_NAME,
        entry::USER,
        entry::PASSWORD_FILE,
        entry::ALLOW_PLAINTEXT_LOGIN,
        entry::COMPRESS,
        entry::BIND,
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "a step failed",
    }],
    run,
};

/// The name of the site that stands for a host.
const HOST: &str = "host.that.is.tested";

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let mut settings = directory.settings()?.settings;
    let mut name = match given.operands.first() {
        Some(peer) => peer.to_string_lossy().into_owned(),
        None => String::new(),
    };
    let group = given.value("article").map(|group| group.to_string_lossy());
    let is_site = |site: &groups::Site| site.name == name.as_bytes();
    if !settings.sites.sites.iter().any(is_site) {
        // The host takes the same way as a setting, so that its errors and its ports are the same.
        let text = format!("name = {}\n\n", settings::quoted(&settings.name))
            + &entry::site(HOST, &name, "all", &entry::keys(given, &VIA_FLAGS));
        let own = settings.name;
        settings = entry::parsed("the command line".as_ref(), &text)?;
        settings.name = own;
        name = HOST.to_owned();
    } else if let Some(flag) = VIA_FLAGS.iter().find(|flag| given.has(flag.name)) {
        return Err(given
            .usage(format!(
                "--{} is for a host: the [[site]] `{name}' says how to connect",
                flag.name
            ))
            .into());
    }
    let server = entry::server(&settings, &name)?;
    let probed = Probe {
        news: directory.root(),
        own: &settings.name,
        group: group.as_deref(),
        fed_at: fed_at(directory.root(), name.as_bytes()),
    };
    let checks = probe(server, &probed);
    given.print(&checks, out)?;
    Ok(match checks.are_good() {
        true => Status::OK,
        false => Status::NO,
    })
}

impl Answer for Checks {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for check in &self.all {
            let (word, what) = (check.verdict.word(), check.what);
            writeln!(out, "{word:<8} {what:<13} {}", check.found)?;
            if check.verdict == Verdict::Failed && !check.advice.is_empty() {
                writeln!(out, "{:22} -> {}", "", check.advice)?;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let checks = self.all.iter().map(|check| {
            json!({
                "step": check.what,
                "result": check.verdict.word(),
                "found": check.found,
                "advice": check.advice,
            })
        });
        json!({ "ok": self.are_good(), "steps": checks.collect::<Vec<_>>() })
    }
}
