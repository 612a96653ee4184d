//! `broadsheet post-owner`

use std::io::{self, Write};

use anyhow::Context;
use inject::posts_log;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["post-owner"],
    also: &[],
    summary: "tell who posted an article",
    about: "\
Prints a line of posts.log for each post with this Message-ID, or with this token in its
Injection-Info (logging-data): time, login or account, address, tls or plain, Message-ID and token,
separated by tabs. A token stands for a login and address, until the key changes. Only the owner of
the news directory can read posts.log.",
    operands: Operands {
        shown: "TOKEN|ID...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "nothing is known of a post: it was not posted here, or its line is older than post.log_days",
    }],
    run,
};

/// A line of posts.log.
struct Owner {
    seconds: i64,
    token: String,
    id: String,
    account: String,
    host: String,
    is_secure: bool,
    is_refused: bool,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let mut status = Status::OK;
    for name in &given.operands {
        let name = name.to_string_lossy();
        let bare = name.trim_start_matches('<').trim_end_matches('>');
        let mut found = Vec::new();
        posts_log::each_line(directory.root(), |line| {
            let id = line.id.trim_start_matches('<').trim_end_matches('>');
            if line.token == name || id == bare {
                found.push(Owner {
                    seconds: line.seconds,
                    token: line.token.to_owned(),
                    id: line.id.to_owned(),
                    account: line.account.to_owned(),
                    host: line.host.to_owned(),
                    is_secure: line.is_secure,
                    is_refused: line.is_refused,
                });
            }
        })
        .with_context(|| format!("cannot read {}", directory.file(posts_log::POSTS).display()))?;
        if found.is_empty() {
            eprintln!(
                "broadsheet: {}: no such post in {}: it was not posted here, or longer than post.log_days ago",
                groups::shown(name.as_bytes()),
                posts_log::POSTS
            );
            status = Status::NO;
        }
        for owner in found {
            given.print(&owner, out)?;
        }
    }
    Ok(status)
}

impl Answer for Owner {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let tls = if self.is_secure { "tls" } else { "plain" };
        let or_none = |text: &str| match text {
            "" => "-".to_owned(),
            text => text.to_owned(),
        };
        let refused = if self.is_refused { "\trefused" } else { "" };
        writeln!(
            out,
            "{}\t{}\t{}\t{tls}\t{}\t{}{refused}",
            text::utc(self.seconds),
            or_none(&self.account),
            or_none(&self.host),
            self.id,
            self.token
        )
    }

    fn json(&self) -> Value {
        json!({
            "at": self.seconds,
            "account": self.account,
            "address": self.host,
            "tls": self.is_secure,
            "id": self.id,
            "token": self.token,
            "refused": self.is_refused,
        })
    }
}
