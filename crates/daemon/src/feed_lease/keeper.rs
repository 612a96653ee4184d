//! The thread that keeps the lease of the feeds: takes the cursors of the node before, serves the feeds, tells how far they are, and ends them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ::cluster::feeding::{DeferredArticle, FeedCursors, SiteCursor, bytes_of, text_of};
use ::cluster::jetstream::FeedLease;
use ::cluster::lease::{Claim, REST_BEFORE_END, SILENT_BEFORE_END};
use ::cluster::log::FeedNews;
use feed::handover::{self, Teller, ToldArticle, ToldCursor};
use feed::permit;
use groups::Sites;
use settings::NewsDirectory;
use store::{Published, Snapshot};

use super::{FeedHolder, Message};
use crate::feeders::Feeders;
use crate::feeds::Feeds;
use crate::sandbox::Starter;
use crate::schedule::Schedule;
use crate::{failure, say, warn};

/// Deferred articles of all sites that a node tells; of more, the sites are told earlier cursors.
pub const TOLD_DEFERRED_MAX: usize = 2_000;
/// Interval at which the node that feeds tells how far it is.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// Interval between looks whether entries are applied, or another program has done with a site.
const LOOK: Duration = Duration::from_millis(50);
/// Pause before the cursors are asked for again.
const AGAIN: Duration = Duration::from_secs(2);
/// Permissions count whole milliseconds.
const ROUNDING: Duration = Duration::from_millis(2);
/// Longest wait for an answer when the daemon ends.
const LAST_WORD: Duration = Duration::from_secs(2);
/// How long a node with the lease tries to go on from the cursors of the node before.
const STUCK_MAX: Duration = Duration::from_secs(10);
/// How long it then leaves the lease to another node.
const GIVES_WAY: Duration = Duration::from_secs(60);

/// What the thread needs to serve feeds.
pub struct Keeper {
    pub(crate) holder: Arc<FeedHolder>,
    pub(crate) directory: NewsDirectory,
    pub(crate) node: String,
    pub(crate) feeds: Arc<Feeds>,
    pub(crate) published: Arc<Published>,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) starter: Starter,
    pub(crate) program: PathBuf,
}

/// The way from the lease to the feeds.
enum Phase {
    /// This node does not hold the lease.
    Idle,
    /// The cursors are asked for.
    Reading,
    /// The cursors of the node before; entries are to be applied first.
    CatchingUp(FeedCursors),
    /// The cursors are told as those of this node.
    Claiming,
    /// The feeds are served.
    Feeding(Feeders),
}

/// The state of the thread.
struct Keeping {
    keeper: Keeper,
    phase: Phase,
    lease: Option<FeedLease>,
    process: u64,
    sites: Option<Sites>,
    /// The setting `cluster.feeds`.
    may_feed: bool,
    /// When the cursors are asked for again.
    ask_at: Option<Instant>,
    claim: Option<Claim>,
    until: Option<Duration>,
    snapshot: Option<Snapshot>,
    teller: Teller,
    /// The cursors told last.
    told: FeedCursors,
    tell_at: Instant,
    /// They are on the way.
    is_telling: bool,
    /// They did not arrive.
    is_untold: bool,
    /// The last problem, told once.
    problem: String,
    /// Since when it cannot go on from the cursors of the node before.
    stuck_since: Option<Instant>,
    /// Another node may try it until then.
    gives_way_until: Option<Instant>,
}

impl Keeper {
    /// Serves until the last sender of messages is gone.
    pub fn run(self, messages: &Receiver<Message>) {
        let mut keeping = Keeping::new(self);
        loop {
            match messages.recv_timeout(keeping.patience()) {
                Ok(Message::End(ended)) => {
                    keeping.end(messages);
                    let _ = ended.send(());
                    return;
                }
                Ok(message) => keeping.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return keeping.stop(),
            }
            keeping.step();
        }
    }
}

impl Keeping {
    fn new(keeper: Keeper) -> Keeping {
        Keeping {
            keeper,
            phase: Phase::Idle,
            lease: None,
            process: 0,
            sites: None,
            may_feed: false,
            ask_at: None,
            claim: None,
            until: None,
            snapshot: None,
            teller: Teller::default(),
            told: FeedCursors::default(),
            tell_at: Instant::now(),
            is_telling: false,
            is_untold: false,
            problem: String::new(),
            stuck_since: None,
            gives_way_until: None,
        }
    }

    /// Longest wait for a message.
    fn patience(&self) -> Duration {
        let look = match self.phase {
            Phase::CatchingUp(_) => LOOK,
            _ => TELL_EVERY,
        };
        let asks = self
            .ask_at
            .map(|at| at.saturating_duration_since(Instant::now()));
        let tells = matches!(self.phase, Phase::Feeding(_))
            .then(|| self.tell_at.saturating_duration_since(Instant::now()));
        let ends = self.until.filter(|_| !matches!(self.phase, Phase::Idle));
        let ends = ends.map(|end| end.saturating_sub(SILENT_BEFORE_END + permit::clock()));
        let all = [asks, tells, ends].into_iter().flatten();
        all.fold(look, Duration::min)
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::News(news) => self.hear(news),
            Message::Log(lease, process) => {
                // The thread of the log before is gone, and its answers with it.
                (self.lease, self.process) = (Some(lease), process);
                (self.is_telling, self.is_untold) = (false, true);
                self.ask_at = Some(Instant::now());
                if matches!(self.phase, Phase::Reading | Phase::Claiming) {
                    self.phase = Phase::Idle;
                }
            }
            Message::WentBack => self.teller.forget(),
            Message::Sites(sites, may_feed) => {
                self.may_feed = may_feed;
                self.sites = Some(*sites);
                if matches!(self.phase, Phase::Feeding(_)) {
                    self.phase = Phase::Idle;
                    self.begin();
                }
            }
            Message::End(_) => {}
        }
    }

    fn hear(&mut self, news: FeedNews) {
        match news {
            FeedNews::Lease { claim, until } => {
                // The lease was over for a moment: some feeds have ended.
                let silent_at = self.until.map(|end| end.saturating_sub(SILENT_BEFORE_END));
                let has_lapsed = silent_at.is_none_or(|at| at <= permit::clock() + ROUNDING);
                if has_lapsed && !matches!(self.phase, Phase::Idle) {
                    self.stop();
                }
                let rests_at = self.until.map(|end| end.saturating_sub(REST_BEFORE_END));
                let has_rested = rests_at.is_some_and(|at| at <= permit::clock());
                (self.claim, self.until) = (claim, until);
                if has_rested && matches!(self.phase, Phase::Feeding(_)) {
                    // Nothing else wakes feeds that found no permission.
                    self.keeper.feeds.tell();
                }
            }
            FeedNews::Cursors(cursors) => {
                self.ask_at = None;
                if matches!(self.phase, Phase::Reading) {
                    self.phase = Phase::CatchingUp(cursors);
                }
            }
            FeedNews::Told => {
                self.is_telling = false;
                if matches!(self.phase, Phase::Claiming) {
                    self.begin();
                }
            }
            FeedNews::Untold(why, is_overtaken) => {
                self.is_telling = false;
                let is_feeding = matches!(self.phase, Phase::Feeding(_));
                if is_overtaken && is_feeding {
                    // Another node feeds, whatever the lease says here.
                    self.stop();
                }
                if !is_feeding {
                    self.ask_at = Some(Instant::now() + AGAIN);
                    self.phase = Phase::Idle;
                }
                // What was not told is told with the next cursors.
                self.is_untold = true;
                self.problem(format!("the cursors of the feeds: {why}"));
            }
        }
    }

    fn problem(&mut self, text: String) {
        if self.problem != text {
            warn(&text);
            self.problem = text;
        }
    }

    fn is_held(&self) -> bool {
        let end = self
            .until
            .map(|until| until.saturating_sub(SILENT_BEFORE_END));
        end.is_some_and(|end| permit::clock() < end)
    }

    /// Does what is due.
    fn step(&mut self) {
        if !self.is_held() {
            self.stuck_since = None;
            if !matches!(self.phase, Phase::Idle) {
                self.stop();
            }
        }
        let gives_way = self.gives_way_until.is_some_and(|at| Instant::now() < at);
        let wants = self.may_feed && self.keeper.holder.is_fit() && !gives_way;
        if !wants && !matches!(self.phase, Phase::Idle) {
            self.leave();
        }
        if let Some(lease) = &self.lease {
            lease.want(wants);
            if self.ask_at.is_some_and(|at| at <= Instant::now()) {
                self.ask_at = Some(Instant::now() + AGAIN);
                lease.read();
            }
        }
        if matches!(self.phase, Phase::Idle)
            && wants
            && self.is_held()
            && self.ask_at.is_none()
            && let Some(lease) = &self.lease
        {
            lease.read();
            self.phase = Phase::Reading;
        }
        if let Phase::CatchingUp(cursors) = &self.phase
            && self.keeper.holder.applied() >= cursors.last_entry()
        {
            let cursors = cursors.clone();
            self.go_on(cursors);
        }
        if matches!(self.phase, Phase::Feeding(_)) && self.tell_at <= Instant::now() {
            self.tell_at = Instant::now() + TELL_EVERY;
            self.tell();
        }
        self.report();
    }

    /// Goes on from the cursors of the node before, and tells them as those of this node.
    fn go_on(&mut self, cursors: FeedCursors) {
        match self.take_cursors(&cursors) {
            Ok(true) => {
                self.told = cursors;
                self.told.node.clone_from(&self.keeper.node);
                self.told.process = self.process;
                self.phase = Phase::Claiming;
                self.is_telling = false;
                self.teller.forget();
                if !self.tell() {
                    self.phase = Phase::Idle;
                    self.ask_at = Some(Instant::now() + AGAIN);
                    self.stuck();
                }
            }
            // In a moment again.
            Ok(false) => {}
            Err(error) => {
                self.problem(format!(
                    "the cursors of the feeds: {}",
                    failure::text_of(&error)
                ));
                self.stuck();
            }
        }
    }

    /// Leaves the lease to another node, if this one has not been able to go on for too long.
    fn stuck(&mut self) {
        let since = *self.stuck_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= STUCK_MAX {
            self.stuck_since = None;
            self.gives_way_until = Some(Instant::now() + GIVES_WAY);
        }
    }

    /// Sets the cursors here. False: some site is served by another program.
    fn take_cursors(&mut self, cursors: &FeedCursors) -> anyhow::Result<bool> {
        let root = self.keeper.directory.root().to_owned();
        // Nobody has fed since this process did: the cursors here are newer. Those of an earlier process may have suffered with the machine.
        let is_own = cursors.process == self.process;
        let published = self.keeper.published.clone();
        let snapshot = match &mut self.snapshot {
            Some(snapshot) => snapshot,
            none => none.insert(Snapshot::open_live(&root, published)?),
        };
        let names = match &self.sites {
            Some(sites) => feed::feeds::names(sites),
            None => return Ok(false),
        };
        if !cursors.node.is_empty() && !is_own {
            for name in names {
                let Some(told) = cursors.sites.get(&text_of(name)) else {
                    continue;
                };
                match handover::go_on(&root, name, &told_cursor(told), snapshot) {
                    Ok(()) => {}
                    Err(feed::Error::Busy(_)) => return Ok(false),
                    // With the cursor that it has here the site might never get what came between.
                    Err(error) => anyhow::bail!("{}: {error}", groups::shown(name)),
                }
            }
        }
        Ok(true)
    }

    /// Serves the feeds.
    fn begin(&mut self) {
        let Some(sites) = &self.sites else { return };
        let keeper = &self.keeper;
        keeper.holder.set_feeding(true);
        let started = Feeders::start(
            &keeper.directory,
            sites,
            (&keeper.feeds, &keeper.published),
            (&keeper.starter, &keeper.program),
            keeper.holder.permit(),
        );
        match started {
            Ok(feeders) => {
                say("this node feeds the sites of the cluster from now on");
                self.phase = Phase::Feeding(feeders);
                self.stuck_since = None;
                self.tell_at = Instant::now() + TELL_EVERY;
                self.problem.clear();
                self.report();
                self.keeper.schedule.set_feeding(true);
            }
            Err(error) => {
                self.keeper.holder.set_feeding(false);
                self.phase = Phase::Idle;
                self.ask_at = Some(Instant::now() + AGAIN);
                self.problem(format!("cannot serve the feeds: {error}"));
            }
        }
    }

    /// Ends the feeds: those that go on after the lease are cut off by their permission.
    fn stop(&mut self) {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        if let Phase::Feeding(feeders) = phase {
            self.keeper.schedule.set_feeding(false);
            feeders.end();
            self.keeper.holder.set_feeding(false);
            say("this node does not feed the sites of the cluster any more");
        }
        self.report();
    }

    /// Ends the feeds, and tells how far they came, while the lease lasts.
    fn leave(&mut self) {
        let was_feeding = matches!(self.phase, Phase::Feeding(_));
        self.stop();
        if was_feeding && self.is_held() {
            self.is_telling = false;
            self.tell();
        }
    }

    /// Tells the cursors, if they have changed. Returns false if they cannot be told now.
    fn tell(&mut self) -> bool {
        if self.is_telling {
            return true;
        }
        let is_first = matches!(self.phase, Phase::Claiming);
        let cursors = match self.cursors() {
            Ok(cursors) => cursors,
            Err(error) => {
                self.problem(format!(
                    "the cursors of the feeds: {}",
                    failure::text_of(&error)
                ));
                return false;
            }
        };
        if let Some(lease) = &self.lease
            && (is_first || self.is_untold || cursors != self.told)
        {
            lease.tell(cursors.clone(), is_first);
            self.told = cursors;
            (self.is_telling, self.is_untold) = (true, false);
        }
        self.lease.is_some()
    }

    /// The cursors as they are now.
    fn cursors(&mut self) -> anyhow::Result<FeedCursors> {
        let root = self.keeper.directory.root();
        let snapshot = match &mut self.snapshot {
            Some(snapshot) => snapshot,
            none => none.insert(Snapshot::open_live(root, self.keeper.published.clone())?),
        };
        let names = self.sites.as_ref().map_or(Vec::new(), feed::feeds::names);
        let told = self
            .teller
            .tell(root, &names, snapshot, TOLD_DEFERRED_MAX)?;
        let sites = names.iter().zip(told).filter_map(|(name, told)| {
            let name = text_of(name);
            // One whose files cannot be read stays where it was.
            let site = match told {
                Some(told) => site_cursor(&told),
                None => self.told.sites.get(&name)?.clone(),
            };
            Some((name, site))
        });
        Ok(FeedCursors {
            sites: sites.collect(),
            ..self.told.clone()
        })
    }

    /// The daemon ends: ends the feeds, tells the last cursors, and gives the lease back.
    fn end(&mut self, messages: &Receiver<Message>) {
        self.leave();
        let Some(lease) = self.lease.clone() else {
            return;
        };
        self.wait(messages, |keeping| !keeping.is_telling);
        if self.is_held() {
            lease.want(false);
            self.wait(messages, |keeping| {
                keeping.claim.as_ref().is_none_or(|claim| claim.is_released)
            });
        }
    }

    /// Hears news until something is so, no longer than a moment.
    fn wait(&mut self, messages: &Receiver<Message>, is_so: impl Fn(&Keeping) -> bool) {
        let until = Instant::now() + LAST_WORD;
        while !is_so(self) {
            let left = until.saturating_duration_since(Instant::now());
            match messages.recv_timeout(left) {
                Ok(Message::News(news)) => self.hear(news),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Tells other threads the state.
    fn report(&self) {
        let claim = self.claim.as_ref().filter(|claim| !claim.is_released);
        let holder = claim.map_or("", |claim| &claim.node);
        let term = self.claim.as_ref().map_or(0, |claim| claim.term);
        let is_here = matches!(self.phase, Phase::Feeding(_));
        let why = match (&self.phase, self.may_feed) {
            (Phase::Feeding(_), _) => String::new(),
            (_, false) => "cluster.feeds is false here".to_owned(),
            (Phase::CatchingUp(_), _) => {
                "it will, as soon as it has applied what was sent already".to_owned()
            }
            _ if self.gives_way_until.is_some_and(|at| Instant::now() < at) => {
                "it could not go on from the cursors of the node before".to_owned()
            }
            _ if !self.keeper.holder.is_fit() => {
                "it has not applied the log of the cluster yet, or cannot".to_owned()
            }
            _ if self.claim.is_none() => "the log of the cluster does not answer".to_owned(),
            _ if holder == self.keeper.node => {
                "it has the lease, and does not feed yet or cannot renew the lease".to_owned()
            }
            _ => "another node does".to_owned(),
        };
        self.keeper.holder.tell(is_here, holder, term, &why);
    }
}

fn site_cursor(told: &ToldCursor) -> SiteCursor {
    let deferred = told.deferred.iter().map(|article| DeferredArticle {
        id: text_of(&article.id),
        due: article.due,
        attempts: article.attempts,
    });
    SiteCursor {
        entry: told.entry,
        ahead: told.ahead,
        deferred: deferred.collect(),
        paused: told.paused.clone(),
    }
}

fn told_cursor(site: &SiteCursor) -> ToldCursor {
    let deferred = site.deferred.iter().map(|article| ToldArticle {
        id: bytes_of(&article.id),
        due: article.due,
        attempts: article.attempts,
    });
    ToldCursor {
        entry: site.entry,
        ahead: site.ahead,
        deferred: deferred.collect(),
        paused: site.paused.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use settings::Settings;
    use std::path::Path;
    use store::{Options, Spool};

    #[test]
    fn a_node_that_cannot_tell_its_cursors_gives_way() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["segments", "feeds"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("active"), "a 0000000000 00001 y\n").unwrap();
        drop(Spool::open(dir.path(), Options::default()).unwrap());
        let program = Path::new("/bin/false");
        let schedule = Schedule::new(dir.path(), &Settings::default(), program).unwrap();
        let mut keeping = Keeping::new(Keeper {
            holder: FeedHolder::new().0,
            directory: NewsDirectory::at(dir.path()),
            node: "a".to_owned(),
            feeds: Arc::default(),
            published: Published::new(),
            schedule: Arc::new(schedule),
            starter: Starter::start().unwrap(),
            program: program.to_owned(),
        });
        keeping.sites = Some(Sites::parse(b"ME:all\n", b"news.example.org").unwrap());
        // Without a log, nothing can be told.
        for (stuck_for, gives_way) in [(Duration::ZERO, false), (STUCK_MAX, true)] {
            keeping.ask_at = None;
            keeping.stuck_since = keeping.stuck_since.map(|since| since - stuck_for);
            keeping.go_on(FeedCursors::default());
            assert!(matches!(keeping.phase, Phase::Idle) && keeping.ask_at.is_some());
            assert_eq!(keeping.gives_way_until.is_some(), gives_way);
        }
    }
}
