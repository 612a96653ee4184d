//! `broadsheet sendbatches`, also by its classic name: makes batches of what waits for sites, and hands them over.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use feed::batch_log::{BatchLog, Line, State};
use feed::{Batchparms, FromCursor, Place, Sending, Sent, Stopped, place};
use groups::sites::{BatchVia, Site, Via};
use store::Reader;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::feeds;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::text;

/// Where the parameters of batches are, in the news directory.
pub const BATCHPARMS: &str = "batchparms";
/// Where it is written what became of batches.
const BATCHLOG: &str = "batchlog";

/// Where UUCP keeps its jobs.
pub const UUCP_SPOOL: Flag = Flag::new(
    "uucp-spool",
    "Where UUCP keeps its jobs, to count those of a site: /var/spool/uucp.",
)
.value("DIR");

/// The table.
pub static COMMAND: Command = Command {
    words: &["sendbatches"],
    also: &[],
    summary: "make batches of what waits for sites, and send them",
    about: "\
For each site that gets batches, or each SITE: takes the articles that wait, makes batches of the size it wants, compresses
them, and gives them to the command or directory it names, until nothing waits or the queue there is full. How is said by the
site's [[site]] table, and for what that leaves out by its line of batchparms.

An article is done with when the command that had its batch ended with 0, or its file was on the disk. When that fails the
batch waits on, and the next run begins with it.

What became of each site's batches goes to `batchlog' in the news directory, in the classic form.",
    operands: Operands {
        shown: "SITE...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        JSON,
        Flag::classic('c', "class", "Only batches of this class, a letter of batchparms; else each site's own, which is u.")
            .value("CLASS"),
        Flag::new("batches", "Send at most so many batches to each site.").value("N"),
        Flag::new(
            "command-seconds",
            "Kill a command that has not taken its batch after so many seconds, instead of 3600; the batch waits on.",
        )
        .value("N"),
        UUCP_SPOOL,
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "nothing waits any more, or as many batches were sent as were asked for",
        },
        Meaning {
            status: Status::NO,
            when: "batches wait: a command failed, a queue or a disk is full, a site is paused or being served",
        },
    ],
    run,
};

/// What a run of the command goes by.
struct Turn<'a> {
    directory: &'a NewsDirectory,
    parms: Batchparms,
    log: BatchLog,
    class: Option<u8>,
    batches_max: u64,
    limit: Duration,
    uucp_spool: &'a Path,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let class = match given.value("class").map(|word| word.as_bytes()) {
        None => None,
        Some([letter]) if letter.is_ascii_alphabetic() => Some(*letter),
        Some(_) => return Err(given.usage("-c wants one letter").into()),
    };
    let turn = Turn {
        directory: &directory,
        parms: Batchparms::read(&directory.file(BATCHPARMS))?,
        log: BatchLog::read(&directory.file(BATCHLOG))?,
        class,
        batches_max: given.number("batches")?.unwrap_or(u64::MAX),
        limit: Duration::from_secs(
            given
                .number("command-seconds")?
                .unwrap_or(feed::transport::COMMAND_SECONDS_MAX),
        ),
        uucp_spool: given
            .value("uucp-spool")
            .map_or(Path::new(feed::UUCP_SPOOL), Path::new),
    };
    let sites = directory.sys(&settings)?;
    let mut reader = Reader::open(directory.root())?;
    feeds::enrol(&directory, &sites, reader.end())?;
    let is_named = |word: &OsString, name: &[u8]| word.as_bytes() == name;
    let names = feeds::names(&sites);
    for word in &given.operands {
        if !names.iter().any(|name| is_named(word, name)) {
            return Err(feed::Error::Unknown(word.to_string_lossy().into_owned()).into());
        }
    }
    let began = now();
    let (mut status, mut lines) = (Status::OK, Vec::new());
    for (name, site) in sites.feeds() {
        let is_wanted = given.operands.iter().any(|word| is_named(word, name));
        let Via::Batch(via) = &site.via else {
            if is_wanted {
                let (name, word) = (place::shown(name), site.via.word());
                eprintln!("broadsheet: {name} gets no batches: it is served by {word}");
                status = Status::NO;
            }
            continue;
        };
        if !(given.operands.is_empty() || is_wanted) || !turn.is_of_class(site, via) {
            continue;
        }
        match turn.site(name, site, via, &mut reader) {
            Ok(Some(sent)) => {
                let before = turn.log.last(name);
                let state = State::after(&sent, before);
                let line = Line {
                    site: name.to_vec(),
                    backlog: sent.backlog,
                    state,
                };
                tell(given, out, &line, &sent)?;
                if !matches!(sent.stopped, Stopped::Empty | Stopped::Enough) {
                    status = Status::NO;
                }
                if sent.batches > 0 || sent.backlog > 0 {
                    lines.push(line);
                }
            }
            Ok(None) => status = Status::NO,
            Err(error) => {
                eprintln!("broadsheet: {}: {error}", place::shown(name));
                status = Status::NO;
            }
        }
    }
    if !lines.is_empty() {
        BatchLog::append(&directory.file(BATCHLOG), began, &lines, now())?;
    }
    Ok(status)
}

impl Turn<'_> {
    /// Whether a site's batches are of the class that was asked for.
    fn is_of_class(&self, site: &Site, via: &BatchVia) -> bool {
        match (self.class, via.class) {
            (None, _) => true,
            (Some(asked), Some(own)) => asked == own,
            (Some(asked), None) => {
                self.parms.rule(&site.name, asked).is_some() || asked == feed::CLASS
            }
        }
    }

    /// One site's turn. `None`: it cannot be served now, and that was said.
    fn site(
        &self,
        name: &[u8],
        site: &Site,
        via: &BatchVia,
        reader: &mut Reader,
    ) -> Result<Option<Sent>, feed::Error> {
        let parms = self.parms.parms(&site.name, via, self.class)?;
        if let Some(why) = place::paused(self.directory.root(), name)? {
            eprintln!("broadsheet: {} is paused: {why}", place::shown(name));
            return Ok(None);
        }
        let taken = Place::take(self.directory.root(), name, reader)?;
        let sending = Sending {
            site: &site.name,
            parms: &parms,
            news: self.directory.root(),
            uucp_spool: self.uucp_spool,
            limit: self.limit,
            batches_max: self.batches_max,
        };
        let mut togo = FromCursor::new(reader, taken, Box::new(|_, _| false));
        sending.run(&mut togo).map(Some)
    }
}

/// Says what became of a site's batches; nothing for people when there were none.
fn tell(given: &Given, out: &mut dyn Write, line: &Line, sent: &Sent) -> std::io::Result<()> {
    let name = place::shown(&line.site);
    let why = match &sent.stopped {
        Stopped::Empty | Stopped::Enough => None,
        Stopped::Off => Some("batchparms says to make none (`!')".to_owned()),
        Stopped::QueueFull { waiting } => {
            Some(format!("{waiting} batches wait to be taken already"))
        }
        Stopped::DiskFull { free } => Some(format!(
            "only {} are free where batches wait",
            text::rough_bytes(*free)
        )),
        Stopped::Failed(error) => Some(error.to_string()),
    };
    if given.has("json") {
        let told = serde_json::json!({
            "site": name,
            "batches": sent.batches,
            "articles": sent.articles,
            "bytes": sent.bytes,
            "packed_bytes": sent.packed_bytes,
            "oversize": sent.oversize,
            "backlog": sent.backlog,
            "state": line.state.words(),
            "why": why,
        });
        return writeln!(out, "{told}");
    }
    if sent.batches > 0 {
        let (batches, articles) = (sent.batches, sent.articles);
        let (bytes, packed) = (
            text::rough_bytes(sent.bytes),
            text::rough_bytes(sent.packed_bytes),
        );
        writeln!(
            out,
            "{name}: {articles} articles in {batches} batches, {bytes} as {packed}"
        )?;
    }
    if sent.oversize > 0 {
        let oversize = sent.oversize;
        writeln!(
            out,
            "{name}: {oversize} articles larger than a batch may be went alone"
        )?;
    }
    if let Some(why) = why {
        eprintln!(
            "broadsheet: {name}: about {} batches wait: {why}",
            sent.backlog
        );
    }
    Ok(())
}

fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
