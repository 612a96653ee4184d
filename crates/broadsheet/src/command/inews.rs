//! `broadsheet inews`: post an article, with the flags of B News.

use std::io::Write;

use inject::{Draft, Refusal};

use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::posting::{self, EXITS, Posting};

/// The table.
pub static COMMAND: Command = Command {
    words: &["inews"],
    also: &[],
    summary: "post an article",
    about: "\
Reads FILEs one after the other, or standard input: with -h a header, a blank line and a text, else a text only.
Newsgroups and Subject have to be there, in the header or by -n and -t; From, Message-ID, Date, Path and the
like are supplied. The first lines of ~/.signature are added behind `-- '. A post without a text gets the line
`(no text)'. What may not be posted is refused, with the reason and a word for scripts, and saved in
~/dead.article.

The article is filed at once: when the command ends with 0, it is on the disk. In a moderated group, without
Approved, it goes to the moderator whom `mailpaths' or `moderators' names, through post.sendmail, or waits in
mail.queue/ for `broadsheet mail send'.

  inews -n misc.test -t 'a test' < text
  inews -h < article",
    operands: Operands {
        shown: "FILE...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        JSON,
        Flag::classic('h', "headers", "The input begins with a header."),
        Flag::classic('t', "title", "Subject.").value("TEXT"),
        Flag::classic('n', "newsgroups", "Newsgroups: names with commas between them.").value("GROUPS"),
        Flag::classic('e', "expires", "Expires: a date.").value("DATE"),
        Flag::classic('d', "distribution", "Distribution.").value("WORDS"),
        Flag::classic('a', "approved", "Approved: the moderator's address. post.approve says who may.").value("ADDRESS"),
        Flag::classic('c', "control", "Control: makes it a control message.").value("COMMAND"),
        Flag::classic('f', "from", "From.").value("ADDRESS"),
        Flag::classic('o', "organization", "Organization.").value("TEXT"),
        Flag::classic('r', "reply-to", "Reply-To.").value("ADDRESS"),
        Flag::classic('F', "references", "References: the ids that this answers.").value("IDS"),
        Flag::classic('w', "followup-to", "Followup-To: groups, or `poster' (INN).").value("GROUPS"),
        Flag::classic('C', "newgroup", "A control message that makes this group: `newgroup GROUP'.").value("GROUP"),
        Flag::classic('x', "exclude", "Do not send it to SITE, which is put into Path.").value("SITE"),
        Flag::classic('N', "no-post", "Print what would be posted, and post nothing."),
        Flag::classic('V', "verbose", "Print the result and the Message-ID."),
        Flag::classic('S', "no-signature", "Add no signature (INN)."),
        Flag::classic('O', "no-organization", "Add no Organization (INN)."),
        Flag::classic('A', "wait-for-space", "Accepted and ignored: without space, the post is saved."),
        Flag::classic('D', "dry-run", "As -N (INN)."),
        Flag::classic('m', "message-id", "Message-ID (INN).").value("ID"),
        Flag::classic('R', "no-control", "Refuse a control message (INN)."),
        Flag::classic('E', "discard-empty", "Discard a post without a text that is no control message, with status 0 (INN)."),
        Flag::classic('P', "no-sender", "Accepted and without effect (INN): post.reveal says whether there is a Sender."),
        Flag::classic('M', "moderated", "Accepted and without effect (B News)."),
        Flag::classic('W', "wait", "Accepted and without effect: it always waits for the result."),
        Flag::classic('Y', "authenticate", "Accepted and without effect (INN): there is no server that asks."),
        Flag::classic('p', "port", "Accepted and without effect (INN): there is no server. In place of B News's -p, which has no number, use rnews.").value("PORT"),
    ],
    exits: EXITS,
    run,
};

/// The flags that are headers.
const HEADERS: &[(&str, &str)] = &[
    ("title", "Subject"),
    ("newsgroups", "Newsgroups"),
    ("expires", "Expires"),
    ("distribution", "Distribution"),
    ("approved", "Approved"),
    ("control", "Control"),
    ("from", "From"),
    ("message-id", "Message-ID"),
    ("organization", "Organization"),
    ("reply-to", "Reply-To"),
    ("references", "References"),
    ("followup-to", "Followup-To"),
];

/// The headers of control messages.
const CONTROLS: [&str; 2] = ["Control", "Also-Control"];

/// Stands where an article would have no text, as in C News: many systems lose an empty one.
const FILLER: &[u8] = b"(no text)\n";

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    given.number("port")?;
    posting::run(given, out, |posting, bytes| {
        let draft = match given.has("headers") {
            true => Draft::parse(bytes)?,
            false => Draft::of_body(bytes.to_vec()),
        };
        let mut draft = with_flags(draft, given)?;
        let control = CONTROLS.into_iter().find_map(|header| {
            let value = draft.value(header)?;
            Some((header, groups::shown(value)))
        });
        match control {
            Some((header, value)) if given.has("no-control") => {
                return Err(Refusal::Value {
                    header,
                    why: "-R refuses control messages",
                    value,
                });
            }
            None if given.has("discard-empty") && draft.body.trim_ascii().is_empty() => {
                eprintln!("broadsheet: the post has no text, and is discarded (-E)");
                return Ok(None);
            }
            _ => {}
        }
        finish_body(&mut draft, posting, given);
        Ok(Some(draft))
    })
}

/// The flags become headers, in place of those of the input.
fn with_flags(mut draft: Draft, given: &Given) -> Result<Draft, Refusal> {
    for (flag, header) in HEADERS {
        if let Some(value) = given.value(flag) {
            draft.set_checked(header, value.as_encoded_bytes())?;
        }
    }
    if let Some(group) = given.value("newgroup") {
        let control = [b"newgroup ", group.as_encoded_bytes()].concat();
        draft.set_checked("Control", &control)?;
    }
    if let Some(site) = given.value("exclude") {
        draft.exclude(site.as_encoded_bytes())?;
    }
    Ok(draft)
}

/// A last line gets its end; an empty text a filler; people's articles a signature.
fn finish_body(draft: &mut Draft, posting: &Posting<'_>, given: &Given) {
    if draft.body.trim_ascii().is_empty() {
        draft.body = FILLER.to_vec();
    }
    if !draft.body.ends_with(b"\n") {
        draft.body.push(b'\n');
    }
    if !given.has("no-signature") && draft.value("Control").is_none() {
        let signature = posting.signature();
        // A saved post that is posted again has it.
        if !draft.body.ends_with(&signature) {
            draft.body.extend(signature);
        }
    }
}
