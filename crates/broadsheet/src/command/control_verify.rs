//! `broadsheet control verify`

use std::io::{self, Read, Write};

use article::{Article, Form, Header};
use relay::verify::{Unverified, Verified};
use relay::{Keyring, Now};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["control", "verify"],
    also: &[],
    summary: "show who signed a control message",
    about: "\
Reads one article from standard input and verifies its X-PGP-Sig with the trusted keys (`key list').
The message is verified if a key signed the text, including the Control header; if the key is
trusted for every group that the message creates, removes or lists; and if its hash is not weak, or
allowed for the key. Changes nothing.

  broadsheet article control/17 | broadsheet control verify",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "the message is verified",
        },
        Meaning {
            status: Status::NO,
            when: "it is not verified; the reason is printed",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let article_bytes_max = directory.settings()?.settings.limits.article_bytes_max;
    let keyring = Keyring::read(directory.root())?;
    let mut bytes = Vec::new();
    relay::StandardInput
        .take(article_bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > article_bytes_max {
        anyhow::bail!("the article is larger than limits.article_bytes_max, {article_bytes_max}");
    }
    let article = Article::parse(&bytes, Form::Native);
    let verdict = relay::verify(&article, &keyring, Now::read().seconds);
    let id = article.value(Header::MessageId).unwrap_or_default();
    let checked = Checked {
        id: groups::escaped(id),
        verdict,
    };
    given.print(&checked, out)?;
    Ok(match checked.verdict {
        Ok(_) => Status::OK,
        Err(_) => Status::NO,
    })
}

/// Who signed an article.
struct Checked<'a> {
    id: String,
    verdict: Result<Verified<'a>, Unverified>,
}

impl Answer for Checked<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.verdict {
            Ok(verified) => {
                let (id, name) = (verified.key.id(), verified.key.user_id());
                let hierarchies = verified.hierarchies.join(",");
                writeln!(out, "verified by {id} {name} ({hierarchies})")
            }
            Err(why) => writeln!(out, "not verified: {why}"),
        }
    }

    fn json(&self) -> Value {
        match &self.verdict {
            Ok(verified) => json!({
                "id": self.id,
                "verified": true,
                "key": verified.key.json(),
                "hierarchies": verified.hierarchies,
                "signed": verified.signed.seconds,
                "digest": verified.signed.digest.name(),
            }),
            Err(why) => json!({ "id": self.id, "verified": false, "why": why.to_string() }),
        }
    }
}
