//! `broadsheet import mbox`

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::bail;
use groups::Flag as GroupFlag;
use import::importer::{FAULTS_NAMED_MAX, Importer, MENDED, REFUSED, UNFILED};
use import::mbox::files::{self, MboxCounts, MboxOptions};
use import::mbox::mailbox::Quoting;
use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::moving_in::Watcher;

/// The table.
pub static COMMAND: Command = Command {
    words: &["import", "mbox"],
    also: &[],
    summary: "file the articles of mailboxes, such as archives of Usenet",
    about: "\
Files the articles of mailboxes, however old they are, in those of their groups that active has,
under the next numbers. A FILE may be compressed (gzip, bzip2, xz, zstd, compress), or a zip archive
of mailboxes. Articles that are here already are counted and passed over, so an import that was
interrupted is simply run again. Nothing is sent to peers, and control messages have no effect: they
are filed in the group control. The time of arrival is that of the import; expire counts from it.

An article that cannot be filed is reported, listed in import.refused in the news directory, and
kept in bad/import.unfiled: articles without Message-ID, Date, Path, Newsgroups, Subject or From,
and those without a group in active. With --mend, missing headers are added as far as they can be
known; import.mended lists each.

  broadsheet import mbox comp.lang.c.mbox.zip
  broadsheet import mbox --mend --group local.old old-*.mbox.gz",
    operands: Operands {
        shown: "FILE...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "group",
            "File all articles in this group only, whatever their Newsgroups say.",
        )
        .value("NAME"),
        Flag::new(
            "mend",
            "Add missing headers: a Message-ID made of the article's MD5, Date (from another header or the line before \
            the article), Path, Newsgroups (that of --group), Subject, From. An unusable Message-ID or Date is replaced, and stays \
            as X-Original-Message-ID or X-Original-Date.",
        ),
        Flag::new(
            "quoting",
            "Undo the quoting of lines that begin with `From ': mboxrd (one `>' less before each) or mboxo (only `>From '). \
            By default such lines stay, because a mailbox does not say how it was written, and people quote with `>' too.",
        )
        .value("FORM"),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "all articles are on the disk",
        },
        Meaning {
            status: Status::NO,
            when: "some articles could not be filed, or a FILE could not be read to its end; each is reported",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let quoting = match given.value("quoting").map(|form| form.to_string_lossy()) {
        None => Quoting::Unknown,
        Some(form) => match form.as_ref() {
            "mboxo" => Quoting::Mboxo,
            "mboxrd" => Quoting::Mboxrd,
            other => {
                let why = format!("--quoting is `{other}', not mboxo or mboxrd");
                return Err(given.usage(why).into());
            }
        },
    };
    let paths: Vec<PathBuf> = given.operands.iter().map(PathBuf::from).collect();
    let mut watcher = Watcher::new();
    let importer = Importer::open(directory.root(), settings.store_options(), &mut watcher)?;
    let group = match given.value("group") {
        None => None,
        Some(name) => Some(group(name.as_encoded_bytes(), importer.spool().active())?),
    };
    let options = MboxOptions {
        host: settings.name.clone().into_bytes(),
        group,
        mends: given.has("mend"),
        quoting,
        rules: settings.rules(),
        now: relay::Now::read().seconds,
        commit_bytes: usize::try_from(settings.store.commit_bytes).unwrap_or(usize::MAX),
    };
    let results = files::import(&paths, &options, importer);
    watcher.end();
    let results = Imported(results?);
    given.print(&results, out)?;
    let MboxCounts { counts, unread, .. } = results.0;
    Ok(match counts.unfiled + unread {
        0 => Status::OK,
        _ => Status::NO,
    })
}

/// The group in which all articles are filed.
fn group(name: &[u8], active: &groups::Active) -> anyhow::Result<Vec<u8>> {
    let shown = String::from_utf8_lossy(name);
    let Some(id) = active.find(name).and_then(|id| active.resolve(id)) else {
        bail!("the group {shown} is not in active: add it with `broadsheet group add {shown}'");
    };
    match active.flag(id) {
        GroupFlag::Excluded | GroupFlag::Junked => {
            bail!(
                "active says that nothing is filed in {shown}: change it with `broadsheet group set'"
            )
        }
        _ => Ok(active.name(id).to_vec()),
    }
}

struct Imported(MboxCounts);

impl Answer for Imported {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let MboxCounts {
            counts,
            mended,
            unquoted,
            quoted,
            unread,
        } = self.0;
        writeln!(
            out,
            "{} articles filed ({}), {} were here, {} mended, {} not filed",
            counts.filed,
            HumanBytes(counts.bytes),
            counts.known,
            mended,
            counts.unfiled
        )?;
        if unquoted > 0 {
            writeln!(out, "{unquoted} lines were unquoted")?;
        }
        if quoted > 0 {
            writeln!(
                out,
                "{quoted} lines begin with `>From ' and stayed so: --quoting undoes it, if you know how the mailbox was written"
            )?;
        }
        if counts.unfiled > 0 {
            writeln!(
                out,
                "{REFUSED} lists what was not filed; {UNFILED} has the articles"
            )?;
        }
        if mended > 0 {
            writeln!(out, "{MENDED} lists what was mended")?;
        }
        if unread > 0 {
            writeln!(out, "{unread} files were not read to their end")?;
        }
        if counts.unnamed > 0 {
            writeln!(
                out,
                "Only the first {FAULTS_NAMED_MAX} of each list were printed."
            )?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let MboxCounts {
            counts,
            mended,
            unquoted,
            quoted,
            unread,
        } = self.0;
        json!({
            "filed": counts.filed,
            "bytes": counts.bytes,
            "known": counts.known,
            "unfiled": counts.unfiled,
            "mended": mended,
            "unquoted_lines": unquoted,
            "quoted_lines": quoted,
            "unread_files": unread,
        })
    }
}
