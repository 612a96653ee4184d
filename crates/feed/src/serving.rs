//! Serves feeds: the articles from a feed's cursor on go the way that `via` of its site says.

use std::cell::OnceCell;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use article::date::{LocalZone, Utc};
use groups::Sites;
use groups::sites::{BatchVia, Build, Site, To, Via};
use relay::Now;
use relay::file::Filer;
use relay::sites::Selector;
use store::{Position, Snapshot};

use crate::each_article::EachArticle;
use crate::file_list::FileList;
use crate::ihave::{Allowed, Endpoints, Ihave, Requested, Sendme};
use crate::nntp::{self, PeerPlan};
use crate::permit::Permit;
use crate::program::{self, Program};
use crate::sendbatches::ArticleSource;
use crate::togo::LateSelection;
use crate::tree::Tree;
use crate::waiting::{self, Waiting};
use crate::{
    Batch, BatchParms, Batchparms, Builder, Cursor, Error, FromCursor, Limit, Sending, Sent,
    SiteState, Stopped, site_state,
};

/// The file with the parameters of batches, in the news directory.
pub const BATCHPARMS: &str = "batchparms";
/// Size of a batch for the rnews of another news directory on this machine, bytes.
const NEWS_BYTES: u64 = 8 << 20;

/// Serves feeds, one after the other.
pub struct Serving<'a> {
    root: &'a Path,
    /// Broadsheet itself, whose `rnews` files in other news directories.
    program: &'a Path,
    parms: OnceCell<Batchparms>,
    sites: Sites,
    /// Only batches of this class.
    pub class: Option<u8>,
    /// Maximum number of batches for a site.
    pub batches_max: u64,
    /// Time limit of a command.
    pub limit: Limit,
    /// The directory with the jobs of UUCP.
    pub uucp_spool: PathBuf,
    /// The local time of a site's hours.
    pub zone: &'static dyn LocalZone,
    /// Whether an administrator asks: articles that a peer deferred are offered at once.
    pub is_asked: bool,
    /// Reports what an administrator should know of a feed that was served.
    pub notice: &'a dyn Fn(&str),
    planned: Vec<Planned>,
    /// The tree that was written last, and its feed: its directories stay open.
    tree: Option<(Vec<u8>, Tree)>,
}

/// The result of a pass along the log for one feed.
struct Planned {
    name: Vec<u8>,
    cursor: Cursor,
    waiting: Waiting,
    end: Position,
    complete: bool,
}

/// The result of serving a feed.
pub enum Served {
    /// Batches.
    Sent(Sent),
    /// Articles, one by one.
    Delivered {
        /// Number of articles that the site accepted.
        articles: u64,
        /// The reason why the others wait.
        waits: Option<String>,
    },
    /// It is paused, with the reason.
    Paused(String),
}

/// The name of a feed, and the result of serving it.
pub type ServedFeed<'n> = (&'n [u8], Result<Served, Error>);

/// Why articles wait that the disk cannot read. `None`: there are none.
pub(crate) fn why_unreadable(count: u64) -> Option<String> {
    let articles = match count {
        0 => return None,
        1 => "1 article waits that".to_owned(),
        count => format!("{count} articles wait that"),
    };
    Some(format!(
        "{articles} the disk cannot read (`broadsheet fsck' names them): they are sent when it can, and `fsck --repair' gives them up"
    ))
}

/// The result for a feed that has nothing to serve.
const NOTHING: Served = Served::Delivered {
    articles: 0,
    waits: None,
};

/// Returns whether a feed gets its articles as soon as they are filed, and not when batches are made.
pub fn is_immediate(via: &Via) -> bool {
    !matches!(via, Via::Batch(_))
}

impl<'a> Serving<'a> {
    /// Serves the feeds of these sites. It takes little memory: the daemon has one for each feed that gets its articles at once.
    pub fn new(root: &'a Path, sites: &Sites, program: &'a Path) -> Serving<'a> {
        Serving {
            root,
            program,
            parms: OnceCell::new(),
            sites: sites.clone(),
            class: None,
            batches_max: u64::MAX,
            limit: Duration::from_secs(crate::transport::COMMAND_SECONDS_MAX).into(),
            uucp_spool: PathBuf::from(crate::UUCP_SPOOL),
            zone: &Utc,
            is_asked: false,
            notice: &|_| (),
            planned: Vec::new(),
            tree: None,
        }
    }

    /// The rules of `batchparms`, read when a feed first needs them: an error in them stops no other feed.
    ///
    /// # Errors
    /// It cannot be read, or has faults.
    pub fn batchparms(&self) -> Result<&Batchparms, Error> {
        match self.parms.get() {
            Some(parms) => Ok(parms),
            None => {
                let read = Batchparms::read(&self.root.join(BATCHPARMS))?;
                Ok(self.parms.get_or_init(|| read))
            }
        }
    }

    /// Returns whether a site's batches are of the class that is asked for.
    ///
    /// # Errors
    /// As [`Serving::batchparms`].
    pub fn is_of_class(&self, site: &Site, via: &BatchVia) -> Result<bool, Error> {
        Ok(match (self.class, via.class) {
            (None, _) => true,
            (Some(asked), Some(own)) => asked == own,
            (Some(asked), None) => {
                self.batchparms()?.rule(&site.name, asked).is_some() || asked == crate::CLASS
            }
        })
    }

    /// Reads along the log once for many feeds, so that [`Serving::serve`] need not do it for each. A feed whose files cannot be read is left
    /// out, and all are where a part of the log cannot be read: `serve` reports the error of each.
    pub fn plan(&mut self, names: &[&[u8]], snapshot: &Snapshot) {
        let mut sites = Vec::with_capacity(names.len());
        for name in names {
            if let Ok(Some(look)) = site_state::look(self.root, name)
                && look.paused.is_none()
            {
                let cursor = look.cursor;
                sites.push(waiting::Site { name, cursor });
            }
        }
        let mut wants = chosen_late(&self.sites, snapshot);
        let most = waiting::ROUND_ARTICLES_MAX;
        let Ok(round) = waiting::round(snapshot, &sites, most, &mut *wants) else {
            return;
        };
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
    }

    /// Serves one feed.
    ///
    /// # Errors
    /// Another process serves it, or it cannot be served: its articles keep waiting.
    pub fn serve(
        &mut self,
        name: &[u8],
        site: &Site,
        snapshot: &mut Snapshot,
    ) -> Result<Served, Error> {
        if matches!(site.via, Via::Nntp(_)) {
            let served = self.serve_peers(&[(name, site)])?.into_iter().next();
            return served.map_or(Ok(NOTHING), |(_, served)| served);
        }
        let served = self.serve_here(name, site, snapshot);
        // Who serves it notes how that goes.
        if !matches!(served, Err(Error::Busy(_)) | Ok(Served::Paused(_))) {
            let why = failure_of(&served);
            let now = Now::read().seconds;
            site_state::note_failure(self.root, name, why.as_deref(), now);
        }
        served
    }

    fn serve_here(
        &mut self,
        name: &[u8],
        site: &Site,
        snapshot: &mut Snapshot,
    ) -> Result<Served, Error> {
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
        let taken = SiteState::take(self.root, name, snapshot)?;
        let dir = taken.dir().to_owned();
        let me = self.sites.me().to_vec();
        let snapshot: &Snapshot = snapshot;
        if let Via::Tree {
            directory,
            overview,
        } = &site.via
        {
            let directory = root.join(directory);
            let (articles, unreadable) =
                self.write_tree(taken, site, (&directory, *overview), snapshot)?;
            let waits = pause(root, name).or_else(|| why_unreadable(unreadable));
            return Ok(Served::Delivered { articles, waits });
        }
        let builder = match &parms {
            Some(parms) => Some((parms, self.builder(parms, &me, &dir, snapshot)?)),
            None => None,
        };
        let mut togo = self.togo(taken, snapshot);
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
                && let Stopped::Failed(Error::Refused { program, .. }) = &mut sent.stopped
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
        Ok(Served::Delivered {
            articles,
            waits: waits
                .or_else(|| pause(root, name))
                .or_else(|| why_unreadable(ArticleSource::unreadable(&togo))),
        })
    }

    /// Serves feeds by NNTP, all at the same time, since a peer may be slow. Returns a result for each feed.
    ///
    /// # Errors
    /// The store cannot be opened, or no descriptor is left.
    pub fn serve_peers<'n>(
        &self,
        feeds: &[(&'n [u8], &Site)],
    ) -> Result<Vec<ServedFeed<'n>>, Error> {
        let plans = feeds.iter();
        let plans = plans.filter_map(|(name, site)| PeerPlan::of(name, site, self.zone));
        let how = (&self.limit, self.is_asked);
        let delivered = nntp::deliver(self.root, (&self.sites, plans.collect()), how)?;
        let result = |name: &[u8]| match delivered.iter().find(|delivered| delivered.name == name) {
            Some(delivered) if delivered.is_busy => Err(Error::Busy(groups::shown(name))),
            Some(delivered) => Ok(match site_state::paused(self.root, name)? {
                Some(why) => Served::Paused(why),
                None => Served::Delivered {
                    articles: delivered.articles,
                    waits: delivered.waits.clone(),
                },
            }),
            None => Ok(NOTHING),
        };
        Ok(feeds
            .iter()
            .map(|(name, _)| (*name, result(name)))
            .collect())
    }

    /// Writes what waits for a site into its tree; returns the number of articles, and of those that the disk cannot read.
    fn write_tree(
        &mut self,
        taken: SiteState,
        site: &Site,
        (directory, has_overview): (&Path, bool),
        snapshot: &Snapshot,
    ) -> Result<(u64, u64), Error> {
        let feed = taken.site().to_vec();
        // Only a feed by NNTP leaves other deferred articles: then it was not the tree that got the others.
        let is_begun =
            taken.cursor().last.is_some() && taken.deferred().iter().all(|one| one.is_unreadable);
        let kept = self.tree.take().filter(|(name, _)| *name == feed);
        let mut tree = match kept {
            Some((_, tree)) => tree,
            None => Tree::new(
                directory,
                (&feed, self.root),
                site.subs.clone(),
                has_overview,
            )?,
        };
        let limit = self.limit.clone();
        let mut togo = self.togo(taken, snapshot);
        let written = tree.run(&mut togo, (snapshot, is_begun), &limit);
        let unreadable = ArticleSource::unreadable(&togo);
        drop(togo);
        if let Some(notice) = tree.take_notice() {
            (self.notice)(&format!("{}: {notice}", groups::shown(&feed)));
        }
        self.tree = Some((feed, tree));
        written.map(|written| (written, unreadable))
    }

    /// The builder of the batches; `dir` is the site's directory.
    fn builder<'b>(
        &self,
        parms: &'b BatchParms,
        me: &'b [u8],
        dir: &Path,
        snapshot: &'b Snapshot,
    ) -> Result<Box<dyn Builder + 'b>, Error> {
        let size = usize::try_from(parms.size).unwrap_or(usize::MAX);
        let endpoints = Endpoints {
            host: me,
            peer: &parms.peer,
        };
        Ok(match parms.build {
            Build::Articles => Box::new(Batch::new(size)),
            Build::Ihave => Box::new(Ihave::new(endpoints, size)),
            Build::Sendme => Box::new(Sendme::new(endpoints, snapshot)),
            Build::Requested => {
                let sites = self.sites.clone();
                let allowed = allowed(snapshot, sites, &parms.peer);
                Box::new(Requested::new(snapshot, allowed, size).with_stored_position(dir)?)
            }
        })
    }

    /// The articles that wait for a site whose lock is held; as planned, where the plan is still valid.
    pub fn togo<'r>(&'r mut self, taken: SiteState, snapshot: &'r Snapshot) -> FromCursor<'r> {
        let planned = self
            .planned
            .iter()
            .position(|planned| planned.name == taken.site());
        let planned = planned.map(|at| self.planned.swap_remove(at));
        let chosen = chosen_late(&self.sites, snapshot);
        let cursor = *taken.cursor();
        let mut togo = FromCursor::new(snapshot, taken, chosen);
        if let Some(planned) = planned.filter(|planned| planned.cursor == cursor) {
            togo.found(planned.waiting, planned.end, planned.complete);
        }
        togo
    }

    /// Batches for another news directory on this machine go to its rnews, which passes them to its daemon where one runs.
    fn news_parms(&self, directory: &Path) -> BatchParms {
        let directory = self.root.join(directory);
        // Commands run in our own.
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        let words: [&[u8]; 4] = [
            self.program.as_os_str().as_bytes(),
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

/// Decides which sites get an article that was filed before they were known. The selector is large, so it is made when it is first needed.
fn chosen_late<'r>(sites: &Sites, snapshot: &'r Snapshot) -> LateSelection<'r> {
    let sites = sites.clone();
    let mut selector = None;
    Box::new(move |record, name| {
        let selector =
            selector.get_or_insert_with(|| Selector::new(snapshot.active(), sites.clone()));
        selector.wants(record, name, snapshot.active())
    })
}

/// Decides which articles a site may have: those that one of its feeds would get if they were filed now.
pub fn allowed<'r>(snapshot: &'r Snapshot, sites: Sites, site: &[u8]) -> Allowed<'r> {
    let own = sites.sites().iter().enumerate();
    let own = own.filter(|(_, known)| known.name == site && !known.is_me);
    let feeds: Vec<Vec<u8>> = own
        .map(|(index, _)| sites.feed_name(index).to_vec())
        .collect();
    let mut selector = Selector::new(snapshot.active(), sites);
    Box::new(move |record| {
        let mut feeds = feeds.iter();
        feeds.any(|feed| selector.wants(record, feed, snapshot.active()))
    })
}

/// After something was filed without a daemon: the filer gives the lock back, since another news directory may feed this one. Returns
/// whether some feed gets its articles at once.
pub fn done_filing(filer: Filer) -> bool {
    let mut feeds = filer.sites().feeds();
    feeds.any(|(_, site)| is_immediate(&site.via))
}

/// Serves every feed that gets its articles at once, and again when articles were filed meanwhile: the program that filed them found the
/// feeds being served, and left them to this one. A feed that cannot be served is reported with `tell`, and its articles wait.
///
/// # Errors
/// The store cannot be read.
pub fn serve_immediate(
    root: &Path,
    (sites, zone, permit): (&Sites, &'static dyn LocalZone, Option<&Arc<Permit>>),
    program: &Path,
    tell: &dyn Fn(&str),
) -> Result<(), Error> {
    let mut snapshot = Snapshot::open(root)?;
    let mut serving = Serving::new(root, sites, program);
    serving.zone = zone;
    serving.notice = tell;
    if let Some(permit) = permit {
        serving.limit = serving.limit.within(permit);
    }
    let (mut peers, mut others): (Vec<_>, Vec<_>) = sites
        .feeds()
        .filter(|(_, site)| is_immediate(&site.via))
        .partition(|(_, site)| matches!(site.via, Via::Nntp(_)));
    // A feed whose articles wait is served again when the next article is filed.
    let goes_on = |name: &[u8], served| {
        let why = match served {
            Err(Error::Busy(_)) => return true,
            Err(error) => Some(error.to_string()),
            Ok(Served::Paused(_)) => return false,
            Ok(served) => why_it_waits(&served),
        };
        if let Some(why) = &why {
            tell(&format!("{}: {why}", groups::shown(name)));
        }
        why.is_none()
    };
    loop {
        let names: Vec<&[u8]> = others.iter().map(|(name, _)| *name).collect();
        serving.plan(&names, &snapshot);
        let seen = snapshot.end();
        others.retain(|(name, site)| goes_on(name, serving.serve(name, site, &mut snapshot)));
        // Last, since a slow peer takes long.
        if !peers.is_empty() {
            let served = serving.serve_peers(&peers)?;
            let mut served = served
                .into_iter()
                .map(|(name, served)| goes_on(name, served));
            peers.retain(|_| served.next().unwrap_or(false));
        }
        snapshot.catch_up()?;
        if (peers.is_empty() && others.is_empty()) || snapshot.end() == seen {
            return Ok(());
        }
    }
}

/// The reason why a feed is paused, if it is.
fn pause(root: &Path, feed: &[u8]) -> Option<String> {
    let why = site_state::paused(root, feed).ok().flatten();
    why.map(paused_for)
}

fn paused_for(why: impl std::fmt::Display) -> String {
    format!("paused: {why}")
}

/// The reason why articles still wait, if any do.
pub fn why_it_waits(served: &Served) -> Option<String> {
    match served {
        Served::Paused(why) => Some(paused_for(why)),
        Served::Delivered { waits, .. } => waits.clone(),
        Served::Sent(sent) => sent.why_it_waits(),
    }
}

/// The reason why a feed could not be served.
fn failure_of(served: &Result<Served, Error>) -> Option<String> {
    match served {
        Err(error) => Some(error.to_string()),
        Ok(Served::Delivered { waits, .. }) => waits.clone(),
        Ok(Served::Sent(sent)) => match sent.stopped {
            _ if sent.unreadable > 0 => sent.why_it_waits(),
            Stopped::Failed(_) | Stopped::DiskFull { .. } => sent.why_it_waits(),
            Stopped::Empty
            | Stopped::Enough
            | Stopped::Off
            | Stopped::Paused
            | Stopped::QueueFull { .. } => None,
        },
        Ok(Served::Paused(_)) => None,
    }
}

impl Sent {
    /// The reason why articles still wait, if any do.
    pub fn why_it_waits(&self) -> Option<String> {
        match &self.stopped {
            Stopped::Empty | Stopped::Enough => why_unreadable(self.unreadable),
            Stopped::Off | Stopped::QueueFull { .. } | Stopped::DiskFull { .. }
                if self.backlog == 0 =>
            {
                None
            }
            Stopped::Off => Some("batches are disabled in batchparms (`!')".to_owned()),
            Stopped::Paused => Some("paused during the run".to_owned()),
            Stopped::QueueFull { waiting } => {
                Some(format!("{waiting} batches are in its queue already"))
            }
            Stopped::DiskFull { free } => Some(format!(
                "only {} are free in the directory of its batches",
                groups::size::rough_bytes(*free)
            )),
            Stopped::Failed(error) => Some(error.to_string()),
        }
    }
}
