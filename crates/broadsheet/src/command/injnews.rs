//! `broadsheet injnews`, also `pnews`: post an article that is complete.

use std::io::Write;

use inject::Draft;

use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::posting::{self, EXITS};

/// The table.
pub static COMMAND: Command = Command {
    words: &["injnews"],
    also: &["pnews"],
    summary: "post an article that a program wrote",
    about: "\
Reads FILEs one after the other, or standard input: a header, a blank line and a text. The text goes as it is; in the
header only what is missing is supplied, as inews does. This is for news readers and for gateways: there is
no signature, and an article without a text is refused.

With -N nothing is posted: it is a filter that prints the article as it would be filed, or the mail to the
moderator.

  injnews -N < article",
    operands: Operands {
        shown: "FILE...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        JSON,
        Flag::classic('x', "exclude", "Do not send it to SITE, which is put into Path.").value("SITE"),
        Flag::classic('N', "no-post", "Print what would be posted, and post nothing."),
        Flag::classic('V', "verbose", "Print the result and the Message-ID."),
        Flag::classic('O', "no-organization", "Add no Organization (INN)."),
        Flag::classic('A', "wait-for-space", "Accepted and ignored: without space, the post is saved."),
        Flag::classic('W', "wait", "Accepted and without effect: it always waits for the result."),
    ],
    exits: EXITS,
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    posting::run(given, out, |_, bytes| {
        let mut draft = Draft::parse(bytes)?;
        if let Some(site) = given.value("exclude") {
            draft.exclude(site.as_encoded_bytes())?;
        }
        Ok(Some(draft))
    })
}
