//! Feeds that send articles immediately: a thread for each, which sleeps until articles are filed. The peers by NNTP share two threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use feed::nntp::{self, PeerPlan, PeersHandle, Tell, Weight};
use feed::program::{Delivery, Program};
use feed::serving::{Served, Serving, is_immediate, why_it_waits};
use feed::{Limit, Permit, SiteState, site_state};
use groups::Sites;
use groups::sites::{Site, Via};
use relay::Now;
use settings::{NewsDirectory, SystemZone};
use store::{Published, Snapshot};

use super::feeds::Feeds;
use super::journal::say_notice;
use super::sandbox::Starter;
use super::{say, warn};
use crate::failure;

/// Interval before the next attempt after an error: a second, then twice as long each time, five minutes at most.
const TRY_AGAIN_FIRST: Duration = Duration::from_secs(1);
const TRY_AGAIN_LAST: Duration = Duration::from_secs(300);
/// Time that a program has for reading its articles, and then for ending, when the sites are read again or the daemon ends.
pub const END_SECONDS_MAX: u64 = 5;
/// Maximum number of feeds that the daemon serves immediately.
pub const FEEDERS_MAX: usize = 1_000;

/// The threads for one version of the sites.
#[derive(Debug)]
pub struct Feeders {
    feeds: Arc<Feeds>,
    are_over: Arc<AtomicBool>,
    /// Closed when the last of the threads has ended.
    ends: Receiver<()>,
}

impl Feeders {
    /// Starts a thread for each feed that sends articles immediately, and the threads for peers by NNTP.
    ///
    /// # Errors
    /// A thread cannot be created.
    pub fn start(
        directory: &NewsDirectory,
        sites: &Sites,
        (feeds, published): (&Arc<Feeds>, &Arc<Published>),
        (starter, program): (&Starter, &Path),
        permit: &Arc<Permit>,
    ) -> anyhow::Result<Feeders> {
        let (alive, ends) = channel();
        let feeders = Feeders {
            feeds: feeds.clone(),
            are_over: Arc::default(),
            ends,
        };
        let zone = SystemZone::read();
        let peers = sites.feeds();
        let peers = peers.filter_map(|(name, site)| PeerPlan::of(name, site, zone));
        let peers: Vec<_> = peers.collect();
        if !peers.is_empty() {
            let tell = teller(feeds);
            let root = directory.root();
            let open = || Snapshot::open_live(root, published.clone());
            let (handle, loops) = nntp::loops(root, (sites, peers), (&tell, permit), &open)?;
            for one in loops {
                let alive = alive.clone();
                starter.spawn(
                    "peers",
                    Box::new(move || {
                        one.run();
                        drop(alive);
                    }),
                )?;
            }
            *feeds.peers() = handle;
        }
        let is_own_thread =
            |site: &Site| is_immediate(&site.via) && !matches!(site.via, Via::Nntp(_));
        let mut immediate = sites.feeds().filter(|(_, site)| is_own_thread(site));
        for (name, site) in immediate.by_ref().take(FEEDERS_MAX) {
            let feeder = Feeder {
                directory: directory.clone(),
                program: program.to_owned(),
                sites: sites.clone(),
                name: name.to_vec(),
                site: site.clone(),
                feeds: feeds.clone(),
                is_over: feeders.are_over.clone(),
                permit: permit.clone(),
                _alive: alive.clone(),
            };
            starter.spawn("feed", Box::new(move || feeder.follow()))?;
        }
        match immediate.count() {
            0 => {}
            more => say(&format!(
                "{more} feeds above the maximum of {FEEDERS_MAX} are not served immediately: use `feed flush' or batches for them"
            )),
        }
        Ok(feeders)
    }

    /// Ends the threads, and waits until their current work ends, not much longer than programs may take to end.
    pub fn end(self) {
        self.tell_end();
        let _ = self
            .ends
            .recv_timeout(Duration::from_secs(2 * END_SECONDS_MAX + 1));
    }

    fn tell_end(&self) {
        self.are_over.store(true, Ordering::SeqCst);
        let peers: PeersHandle = std::mem::take(&mut *self.feeds.peers());
        peers.stop();
        self.feeds.call(None);
    }
}

impl Drop for Feeders {
    /// Requests that each thread ends after its current work. Does not wait: only one program at a time serves a site.
    fn drop(&mut self) {
        self.tell_end();
    }
}

/// One feed thread.
struct Feeder {
    directory: NewsDirectory,
    /// The path of the program broadsheet.
    program: PathBuf,
    sites: Sites,
    name: Vec<u8>,
    site: Site,
    feeds: Arc<Feeds>,
    is_over: Arc<AtomicBool>,
    permit: Arc<Permit>,
    _alive: Sender<()>,
}

/// Resources that a feed keeps between two passes.
enum Kept {
    Nothing,
    /// A program that keeps running.
    Program(Program),
}

/// The time of the feed's next pass.
enum Next {
    /// When articles are filed, or on request.
    WhenTold,
    /// The same; the reason why the feed is paused.
    Paused(String),
    /// After an interval, for this reason.
    Later(String),
    /// At this time: its program has ended and restarts then.
    Then(Instant, String),
}

impl Feeder {
    fn follow(&self) {
        let mut kept = match &self.site.via {
            Via::Program { command, gives } => {
                let program = Program::new(command.clone(), *gives, self.limit());
                Kept::Program(program.in_directory(self.directory.root()))
            }
            _ => Kept::Nothing,
        };
        let mut open = None;
        let mut pause = TRY_AGAIN_FIRST;
        let mut told = String::new();
        loop {
            let seen = self.feeds.counts();
            // Checked after the counts: the thread that sets it wakes this one afterwards.
            if self.is_over.load(Ordering::SeqCst) {
                break;
            }
            let next = match self.serve_if_permitted(&mut open, &mut kept) {
                Ok(next) => next,
                Err(error) => Next::Later(failure::text_of(&error)),
            };
            let (until, why) = match next {
                Next::WhenTold => (None, String::new()),
                Next::Paused(why) => (None, why),
                Next::Later(why) => (Some(Instant::now() + pause), why),
                Next::Then(until, why) => (Some(until), why),
            };
            if why != told {
                self.tell(&told, &why);
            }
            told = why;
            let is_called = match until {
                Some(until) => self.feeds.rest(until, seen),
                None => {
                    self.feeds.wait(seen);
                    true
                }
            };
            if is_called && let Kept::Program(program) = &mut kept {
                program.reset_interval();
            }
            pause = if is_called {
                TRY_AGAIN_FIRST
            } else {
                (pause * 2).min(TRY_AGAIN_LAST)
            };
        }
        let within = Duration::from_secs(END_SECONDS_MAX);
        if let Kept::Program(program) = kept
            && let Some(how) = program.end(within)
        {
            say(&format!("{}: {how}", groups::shown(&self.name)));
        }
        // Another program that found the site busy relies on this pass.
        self.feeds.call(Some(&self.name));
    }

    /// Tells the administrator why articles wait, or that they do no longer.
    fn tell(&self, before: &str, why: &str) {
        let name = groups::shown(&self.name);
        match (before, why) {
            (_, "") if before.starts_with(PAUSED) => {}
            (_, "") => say_notice(&format!("{name}: articles are sent again")),
            ("", _) => warn(&format!("{name}: {why}")),
            // It lasts.
            _ => say(&format!("{name}: {why}")),
        }
        self.feeds.note_outage();
    }

    /// The time limit of a program or command, which shrinks after the end was requested.
    fn limit(&self) -> Limit {
        let limit = Limit::from(Duration::from_secs(feed::transport::COMMAND_SECONDS_MAX));
        let limit = limit.within(&self.permit);
        limit.until(self.is_over.clone(), Duration::from_secs(END_SECONDS_MAX))
    }

    /// Serves the feed once, unless another node may. When the permission comes back, the feeds are woken.
    fn serve_if_permitted<'f>(
        &'f self,
        open: &mut Option<(Snapshot, Serving<'f>)>,
        kept: &mut Kept,
    ) -> anyhow::Result<Next> {
        if self.permit.may_begin() {
            self.serve_once(open, kept)
        } else {
            Ok(Next::WhenTold)
        }
    }

    /// Serves the feed once. Its resources are kept for the next pass.
    fn serve_once<'f>(
        &'f self,
        open: &mut Option<(Snapshot, Serving<'f>)>,
        kept: &mut Kept,
    ) -> anyhow::Result<Next> {
        let (snapshot, serving) = match open {
            Some(open) => open,
            none => {
                let snapshot = Snapshot::open(self.directory.root())?;
                let mut serving = Serving::new(self.directory.root(), &self.sites, &self.program);
                serving.limit = self.limit();
                serving.notice = &warn;
                none.insert((snapshot, serving))
            }
        };
        if matches!(kept, Kept::Nothing) {
            return Ok(match serving.serve(&self.name, &self.site, snapshot) {
                Ok(Served::Paused(why)) => paused(&why),
                Ok(served) => why_it_waits(&served).map_or(Next::WhenTold, Next::Later),
                Err(error) => Next::Later(error.to_string()),
            });
        }
        self.give(serving, kept, snapshot)
    }

    fn give(
        &self,
        serving: &mut Serving<'_>,
        kept: &mut Kept,
        snapshot: &mut Snapshot,
    ) -> anyhow::Result<Next> {
        let root = self.directory.root();
        if let Some(why) = site_state::paused(root, &self.name)? {
            return Ok(paused(&why));
        }
        let taken = match SiteState::take(root, &self.name, snapshot) {
            Ok(taken) => taken,
            Err(error) => return Ok(Next::Later(error.to_string())),
        };
        let mut togo = serving.togo(taken, snapshot);
        Ok(match kept {
            Kept::Nothing => Next::WhenTold,
            Kept::Program(program) => {
                let delivery = program.deliver(&mut togo, Instant::now())?;
                drop(togo);
                let note = |why| {
                    site_state::note_failure(root, &self.name, why, Now::read().seconds);
                };
                match delivery {
                    Delivery::All(_) => {
                        note(None);
                        Next::WhenTold
                    }
                    Delivery::Resting(until) => {
                        Next::Then(until, "its program has ended and restarts later".to_owned())
                    }
                    Delivery::Ended { how, restart, .. } => {
                        note(Some(&how));
                        Next::Then(restart, how)
                    }
                }
            }
        })
    }
}

/// `feed resume` wakes the feed; a file that was removed by hand is noticed when the next article is filed.
fn paused(why: &str) -> Next {
    Next::Paused(format!("{PAUSED}: {why}"))
}

const PAUSED: &str = "paused";

/// Tells what the peers by NNTP report.
fn teller(feeds: &Arc<Feeds>) -> Tell {
    let feeds = feeds.clone();
    Arc::new(move |weight, text| {
        match weight {
            Weight::Work => return say(text),
            Weight::OutageBegins => warn(text),
            Weight::OutageEnds => say_notice(text),
        }
        feeds.note_outage();
    })
}
