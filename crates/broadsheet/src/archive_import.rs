//! The common part of `import mbox` and `import diablo`.

use std::io::{self, Write};

use anyhow::bail;
use groups::Flag as GroupFlag;
use import::archived::{ArchiveCounts, ArchiveOptions};
use import::error::Error;
use import::importer::{FAULTS_NAMED_MAX, Importer, MENDED, REFUSED, UNFILED};
use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::cluster_log::refuse_node;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Flag, Given};
use crate::moving_in::Watcher;

/// The one group of all articles.
pub const GROUP: Flag = Flag::new(
    "group",
    "File all articles in this group only, whatever their Newsgroups say.",
)
.value("NAME");
/// Keeps the numbers of a site.
pub const XREF: Flag = Flag::new(
    "xref",
    "Keep the numbers in the Xref of this site, and Path and Xref as they are. Articles without its Xref get the next numbers.",
)
.value("SITE");
/// Adds missing headers.
pub const MEND: Flag = Flag::new(
    "mend",
    "Add missing headers: a Message-ID made of the article's MD5, Date (from another header or the line before \
            the article), Path, Newsgroups (that of --group), Subject, From. An unusable Message-ID or Date is replaced, and stays \
            as X-Original-Message-ID or X-Original-Date.",
);
/// The exit statuses.
pub const EXITS: &[Meaning] = &[
    Meaning {
        status: Status::OK,
        when: "all articles are on the disk",
    },
    Meaning {
        status: Status::NO,
        when: "some articles could not be filed, a FILE could not be read to its end, or text of a message looks like the beginning of another; \
               each is reported",
    },
];

/// Imports articles with the options of a command line, and prints the results.
pub fn run(
    given: &Given,
    out: &mut dyn Write,
    import: &dyn Fn(ArchiveOptions, Importer<'_>) -> Result<ArchiveCounts, Error>,
) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    refuse_node(
        &directory,
        "import into another news directory, and offer its articles to a node: by a [[site]] that feeds it, or by rnews",
    )?;
    let settings = directory.settings()?.settings;
    relay::headers_only::refuse_whole(directory.root(), settings.headers_only)?;
    let mut watcher = Watcher::new();
    let importer = Importer::open(
        directory.root(),
        (settings.store_options(), settings.incoming.keep_free),
        &mut watcher,
    )?;
    let group = match given.value("group") {
        None => None,
        Some(name) => Some(group(name.as_encoded_bytes(), importer.spool().active())?),
    };
    let numbers_of = given
        .value("xref")
        .map(|site| site.as_encoded_bytes().to_vec());
    let options = ArchiveOptions {
        host: settings.name.clone().into_bytes(),
        group,
        numbers_of,
        mends: given.has("mend"),
        rules: settings.rules(),
        arrived: relay::Now::read().seconds,
        expansion_memory_bytes_max: settings.limits.expansion_memory_bytes_max,
        commit_bytes: usize::try_from(settings.store.commit_bytes).unwrap_or(usize::MAX),
    };
    let results = import(options, importer);
    watcher.end();
    let results = Imported(results?);
    given.print(&results, out)?;
    let ArchiveCounts {
        counts,
        apparent,
        unread,
        ..
    } = results.0;
    Ok(match counts.unfiled + apparent + unread {
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

struct Imported(ArchiveCounts);

impl Answer for Imported {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let ArchiveCounts {
            counts,
            mended,
            unquoted,
            quoted,
            apparent,
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
        if apparent > 0 {
            writeln!(
                out,
                "{apparent} `From ' lines look like the beginning of a message, and stayed text; {REFUSED} lists them"
            )?;
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
        let ArchiveCounts {
            counts,
            mended,
            unquoted,
            quoted,
            apparent,
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
            "apparent_beginnings": apparent,
            "unread_files": unread,
        })
    }
}
