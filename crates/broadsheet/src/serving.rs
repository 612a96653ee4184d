//! A feed's turn: what waits for it is taken from its cursor on and goes the way its site says.

use std::cell::OnceCell;
use std::fs::File;
use std::io::Seek;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use feed::each_article::EachArticle;
use feed::file_list::FileList;
use feed::ihave::{Allowed, Endpoints, Ihave, Requested, Sendme};
use feed::program::{self, Program};
use feed::togo::LateSelection;
use feed::waiting::{self, Waiting};
use feed::{
    Batch, BatchParms, Batchparms, Builder, Cursor, FromCursor, Limit, Sending, Sent, SiteState,
    Stopped, site_state,
};
use groups::Sites;
use groups::sites::{BatchVia, Build, Site, To, Via};
use relay::file::Filer;
use relay::sites::Selector;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use store::{Position, Reader};

use crate::daemon::client;
use crate::directory::NewsDirectory;

/// Where the parameters of batches are, in the news directory.
pub const BATCHPARMS: &str = "batchparms";
/// Bytes given at a time to the rnews of another news directory here.
const NEWS_BYTES: u64 = 8 << 20;
/// Who filed waits so long for the feeds that get their articles at once; then a process goes on with them alone.
pub const FEEDS_SECONDS_MAX: i64 = 5;

/// How feeds are served.
pub struct Serving<'a> {
    root: &'a Path,
    parms: OnceCell<Batchparms>,
    sites: Sites,
    /// Only batches of this class.
    pub class: Option<u8>,
    /// Most batches to a site.
    pub batches_max: u64,
    /// How long a command may take.
    pub limit: Limit,
    /// Where UUCP keeps its jobs.
    pub uucp_spool: PathBuf,
    planned: Vec<Planned>,
}

/// What a pass along the log found for a feed.
struct Planned {
    name: Vec<u8>,
    cursor: Cursor,
    waiting: Waiting,
    end: Position,
    complete: bool,
}

/// What came of a turn.
pub enum Served {
    /// Batches.
    Sent(Sent),
    /// Articles, one by one.
    Given {
        /// How many were taken.
        articles: u64,
        /// Why the others wait.
        waits: Option<String>,
    },
    /// Somebody paused it, and why.
    Paused(String),
}

/// Whether a feed gets its articles as soon as they are filed, and not when batches are made.
pub fn is_immediate(via: &Via) -> bool {
    !matches!(via, Via::Batch(_))
}

impl<'a> Serving<'a> {
    /// Serves the feeds of these sites. Small: the daemon has one for each that gets its articles at once.
    pub fn new(directory: &'a NewsDirectory, sites: &Sites) -> Serving<'a> {
        Serving {
            root: directory.root(),
            parms: OnceCell::new(),
            sites: sites.clone(),
            class: None,
            batches_max: u64::MAX,
            limit: Duration::from_secs(feed::transport::COMMAND_SECONDS_MAX).into(),
            uucp_spool: PathBuf::from(feed::UUCP_SPOOL),
            planned: Vec::new(),
        }
    }

    /// The rules of `batchparms`, read when a feed first needs them: a fault in them stops no other feed.
    ///
    /// # Errors
    /// It cannot be read, or has faults.
    pub fn batchparms(&self) -> Result<&Batchparms, feed::Error> {
        match self.parms.get() {
            Some(parms) => Ok(parms),
            None => {
                let read = Batchparms::read(&self.root.join(BATCHPARMS))?;
                Ok(self.parms.get_or_init(|| read))
            }
        }
    }

    /// Whether a site's batches are of the class that is asked for.
    ///
    /// # Errors
    /// As [`Serving::batchparms`].
    pub fn is_of_class(&self, site: &Site, via: &BatchVia) -> Result<bool, feed::Error> {
        Ok(match (self.class, via.class) {
            (None, _) => true,
            (Some(asked), Some(own)) => asked == own,
            (Some(asked), None) => {
                self.batchparms()?.rule(&site.name, asked).is_some() || asked == feed::CLASS
            }
        })
    }

    /// Goes along the log once for many feeds, so that their turns need not each do it. One that cannot be looked at is left out:
    /// its turn will tell why.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn plan(&mut self, names: &[&[u8]], reader: &Reader) -> Result<(), feed::Error> {
        let mut sites = Vec::with_capacity(names.len());
        for name in names {
            if let Ok(Some(look)) = site_state::look(self.root, name)
                && look.paused.is_none()
            {
                let cursor = look.cursor;
                sites.push(waiting::Site { name, cursor });
            }
        }
        let mut wants = chosen_late(&self.sites, reader);
        let round = waiting::round(reader, &sites, waiting::ROUND_ARTICLES_MAX, &mut *wants)?;
        let (end, complete) = (round.end, round.complete);
        self.planned = sites
            .iter()
            .zip(round.sites)
            .map(|(site, waiting)| Planned {
                name: site.name.to_vec(),
                cursor: site.cursor,
                waiting,
                end,
                complete,
            })
            .collect();
        Ok(())
    }

    /// One feed's turn.
    ///
    /// # Errors
    /// Somebody else serves it, or it cannot be served: what waits, waits on.
    pub fn serve(
        &mut self,
        name: &[u8],
        site: &Site,
        reader: &mut Reader,
    ) -> Result<Served, feed::Error> {
        if let Some(why) = site_state::paused(self.root, name)? {
            return Ok(Served::Paused(why));
        }
        let parms = match &site.via {
            Via::Batch(via) => Some(self.batchparms()?.parms(&site.name, via, self.class)?),
            Via::News { directory } => Some(self.news_parms(directory)),
            _ => None,
        };
        let (root, limit, batches_max) = (self.root, self.limit.clone(), self.batches_max);
        let uucp_spool = self.uucp_spool.clone();
        let taken = SiteState::take(self.root, name, reader)?;
        let dir = taken.dir().to_owned();
        let me = self.sites.me().to_vec();
        let reader: &Reader = reader;
        let builder = match &parms {
            Some(parms) => Some((parms, self.builder(parms, &me, &dir, reader)?)),
            None => None,
        };
        let mut togo = self.togo(taken, reader);
        if let Some((parms, mut builder)) = builder {
            let sending = Sending {
                site: &site.name,
                parms,
                news: root,
                uucp_spool: &uucp_spool,
                limit,
                batches_max,
            };
            let mut sent = sending.run_with(&mut togo, &mut *builder)?;
            if matches!(site.via, Via::News { .. })
                && let Stopped::Failed(feed::Error::Refused { program, .. }) = &mut sent.stopped
            {
                "broadsheet rnews".clone_into(program);
            }
            return Ok(Served::Sent(sent));
        }
        let (articles, waits) = match &site.via {
            Via::FileList { form, path } => {
                let list = FileList {
                    form: *form,
                    path: root.join(path),
                };
                (list.run(&mut togo)?, None)
            }
            Via::Command(line) => {
                let each = EachArticle {
                    line,
                    directory: &dir,
                    news: root,
                    limit,
                };
                let given = each.run(&mut togo)?;
                (given.articles, given.failed.map(|error| error.to_string()))
            }
            Via::Program { command, gives } => {
                let most = limit.most();
                let program = Program::new(command.clone(), *gives, limit);
                let mut program = program.in_directory(root);
                let given = program.deliver(&mut togo, Instant::now())?;
                match given {
                    program::Delivery::All(articles) => (articles, program.end(most)),
                    program::Delivery::Ended { articles, how, .. } => (articles, Some(how)),
                    program::Delivery::Resting(_) => (0, None),
                }
            }
            _ => (0, Some("this release cannot feed it".to_owned())),
        };
        let paused = || {
            site_state::paused(root, name)
                .ok()
                .flatten()
                .map(paused_for)
        };
        Ok(Served::Given {
            articles,
            waits: waits.or_else(paused),
        })
    }

    /// What makes the batches; `dir` is the site's directory.
    fn builder<'b>(
        &self,
        parms: &'b BatchParms,
        me: &'b [u8],
        dir: &Path,
        reader: &'b Reader,
    ) -> Result<Box<dyn Builder + 'b>, feed::Error> {
        let size = usize::try_from(parms.size).unwrap_or(usize::MAX);
        let endpoints = Endpoints {
            host: me,
            peer: &parms.peer,
        };
        Ok(match parms.build {
            Build::Articles => Box::new(Batch::new(size)),
            Build::Ihave => Box::new(Ihave::new(endpoints, size)),
            Build::Sendme => Box::new(Sendme::new(endpoints, reader)),
            Build::Requested => {
                let sites = self.sites.clone();
                let allowed = allowed(reader, sites, &parms.peer);
                Box::new(Requested::new(reader, allowed, size).with_stored_position(dir)?)
            }
        })
    }

    /// What waits for a site that was taken: as planned, if that still holds.
    pub fn togo<'r>(&'r mut self, taken: SiteState, reader: &'r Reader) -> FromCursor<'r> {
        let planned = self
            .planned
            .iter()
            .position(|planned| planned.name == taken.site());
        let planned = planned.map(|at| self.planned.swap_remove(at));
        let chosen = chosen_late(&self.sites, reader);
        let cursor = *taken.cursor();
        let mut togo = FromCursor::new(reader, taken, chosen);
        if let Some(planned) = planned.filter(|planned| planned.cursor == cursor) {
            togo.found(planned.waiting, planned.end, planned.complete);
        }
        togo
    }

    /// Another news directory here gets batches through its own rnews, which hands them to its daemon where one runs.
    fn news_parms(&self, directory: &Path) -> BatchParms {
        use std::os::unix::ffi::OsStrExt;
        let directory = self.root.join(directory);
        // Commands run in our own.
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        let words: [&[u8]; 4] = [
            // The program that runs, even where its file was replaced; it does not answer to that name, so the next word counts.
            b"/proc/self/exe",
            b"rnews",
            b"--dir",
            directory.as_os_str().as_bytes(),
        ];
        BatchParms {
            size: NEWS_BYTES,
            size_max: u64::MAX,
            queue: groups::sites::Queue::Unlimited,
            build: Build::Articles,
            peer: Vec::new(),
            packing: article::wrap::WrapFormat::default(),
            to: To::Command(groups::CommandLine::from_words(&words)),
            is_off: false,
        }
    }
}

/// Which sites get an article that was filed before they were known. Worked out when it is first asked: few are, and it is large.
fn chosen_late<'r>(sites: &Sites, reader: &'r Reader) -> LateSelection<'r> {
    let sites = sites.clone();
    let mut selector = None;
    Box::new(move |record, name| {
        let selector =
            selector.get_or_insert_with(|| Selector::new(reader.active(), sites.clone()));
        selector.wants(record, name, reader.active())
    })
}

/// Which articles a site may have: those that one of its feeds would get if they were filed now.
pub fn allowed<'r>(reader: &'r Reader, sites: Sites, site: &[u8]) -> Allowed<'r> {
    let own = sites.sites().iter().enumerate();
    let own = own.filter(|(_, known)| known.name == site && !known.is_me);
    let feeds: Vec<Vec<u8>> = own
        .map(|(index, _)| sites.feed_name(index).to_vec())
        .collect();
    let mut selector = Selector::new(reader.active(), sites);
    Box::new(move |record| {
        let mut feeds = feeds.iter();
        feeds.any(|feed| selector.wants(record, feed, reader.active()))
    })
}

/// After something was filed without a daemon: the filer gives the lock back, for another news directory may feed this one. Tells
/// whether there are feeds for [`after_filing`].
pub fn done_filing(filer: Filer) -> bool {
    let mut feeds = filer.sites().feeds();
    feeds.any(|(_, site)| is_immediate(&site.via))
}

/// Every feed that gets its articles at once has its turn, if there `is_any`. The result of filing was told before. A daemon that lent
/// the lock sees to its feeds itself.
///
/// A process of its own serves them, which is waited for, but not for long: a program that does not read holds up nobody who files.
pub fn after_filing(directory: &NewsDirectory, is_any: bool) {
    if is_any
        && client::status(directory.root()).is_none()
        && let Err(error) = serve_beside(directory.root())
    {
        eprintln!("broadsheet: feeds cannot be served now: {error}");
    }
}

fn serve_beside(root: &Path) -> std::io::Result<()> {
    // No pipe: whoever reads what we say would have to wait for its end.
    let mut said = File::from(memfd_create("feeds", MemfdFlags::CLOEXEC)?);
    // The program that runs, even where its file was replaced by a newer one.
    let child = Command::new("/proc/self/exe")
        .arg0("broadsheet")
        .args(["feed", "flush", "--at-once", "--dir"])
        .arg(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said.try_clone()?)
        .spawn()?;
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let patience = Timespec {
        tv_sec: FEEDS_SECONDS_MAX,
        tv_nsec: 0,
    };
    let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience));
    if ended == Ok(0) {
        eprintln!(
            "broadsheet: serving the feeds takes longer than {FEEDS_SECONDS_MAX} seconds; process {} continues in the background",
            child.id()
        );
    }
    said.rewind()?;
    std::io::copy(&mut said, &mut std::io::stderr()).map(drop)
}

/// Serves every feed that gets its articles at once, and again when something was filed meanwhile: who filed it found feeds being
/// served, and left them to us. What cannot be served is told, and waits.
///
/// # Errors
/// The store cannot be read.
pub fn serve_immediate(directory: &NewsDirectory, sites: &Sites) -> Result<(), feed::Error> {
    let mut reader = Reader::open(directory.root())?;
    let mut serving = Serving::new(directory, sites);
    let mut turns: Vec<_> = sites
        .feeds()
        .filter(|(_, site)| is_immediate(&site.via))
        .collect();
    loop {
        let names: Vec<&[u8]> = turns.iter().map(|(name, _)| *name).collect();
        serving.plan(&names, &reader)?;
        let seen = reader.end();
        // Those that wait have their turn when the next article is filed.
        turns.retain(|(name, site)| {
            let why = match serving.serve(name, site, &mut reader) {
                Err(feed::Error::Busy(_)) => return true,
                Err(error) => Some(error.to_string()),
                Ok(Served::Paused(_)) => return false,
                Ok(served) => why_it_waits(&served),
            };
            if let Some(why) = &why {
                eprintln!("broadsheet: {}: {why}", site_state::shown(name));
            }
            why.is_none()
        });
        reader.refresh(serving.root)?;
        if turns.is_empty() || reader.end() == seen {
            return Ok(());
        }
    }
}

fn paused_for(why: impl std::fmt::Display) -> String {
    format!("paused: {why}")
}

/// Why articles wait on, if any do.
pub fn why_it_waits(served: &Served) -> Option<String> {
    match served {
        Served::Paused(why) => Some(paused_for(why)),
        Served::Given { waits, .. } => waits.clone(),
        Served::Sent(sent) => match &sent.stopped {
            Stopped::Empty | Stopped::Enough => None,
            Stopped::Off => Some("batches are disabled in batchparms (`!')".to_owned()),
            Stopped::Paused => Some("paused during the run".to_owned()),
            Stopped::QueueFull { waiting } => {
                Some(format!("{waiting} batches are in its queue already"))
            }
            Stopped::DiskFull { free } => Some(format!(
                "only {} are free in the directory of its batches",
                crate::text::rough_bytes(*free)
            )),
            Stopped::Failed(error) => Some(error.to_string()),
        },
    }
}
