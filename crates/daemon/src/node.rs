//! A node of a cluster: appends the articles that arrive here to the log of the cluster, and files the articles of all entries in their
//! order. The replies follow when an entry is both on the disks of the log and committed here.
//!
//! *Invariant:* what an entry does depends on the entry, on the state of the spool and on the settings whose hash the entry has: so all
//! nodes give the same numbers.

mod apply;
mod changes;
pub mod copying;
mod events;
pub mod flights;
pub mod freshness;
pub mod health;
mod new_settings;
pub mod outcomes;
mod outlet;
pub mod segments;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::cluster::articles_entry::{self, ENTRY_FULL_BYTES, Item, ItemRights, Source};
use ::cluster::chain::Chain;
use ::cluster::entry::{Entry, Kind};
use ::cluster::jetstream::{Log, announce_stop};
use ::cluster::log::{Bytes, LogEvent, LogOptions};
use ::cluster::members::{Mark, Members, StopMark};
use access::Grant;
use relay::file::Filer;
use relay::file::Verdict;
use relay::log::{self, Code};
use relay::reason::RefusalKind;
use server::{ArticleBatch, TransferOutcome};
use settings::NewsDirectory;
use store::{AppliedEntry, Spool};

pub use self::apply::GRANTS_MAX;
use self::apply::{Appliance, Applied};
use self::events::Events;
use self::flights::{Flights, Place};
use self::health::NodeHealth;
pub use self::outlet::NodeOutlet;
use crate::feed_lease::{FeedHolder, Message};
use crate::file_batches::{counted, outcome, queued_for, told};
use crate::intake_queue::IntakeQueue;
use crate::posts::{Made, Posts};
use crate::sandbox::Starter;
use crate::{failure, say, warn};

/// Entries on the way to the log; more articles wait meanwhile, so that under load an entry has more of them.
pub const FLYING_ENTRIES_MAX: usize = 16;
/// Bytes of entries on the way to the log.
pub const FLYING_BYTES_MAX: usize = 8 << 20;
/// Articles of one entry.
pub const ENTRY_ARTICLES_MAX: usize = 256;
/// Time after which what was applied is synced here; until then the log has the durable copy.
const CHECKPOINT_AFTER: Duration = Duration::from_secs(5);

/// A node that finds itself so many entries behind does not feed before it has caught up.
const FIT_ENTRIES_MAX: u64 = 1_000;

/// Interval between attempts to tell the other nodes that this one has stopped.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// The reply while the log is not reachable.
const DOWN: &str = "The log of the cluster is not reachable; try again later";
/// The reply while an administrator is needed.
const STOPPED: &str = "This server cannot take articles now; an administrator is needed";

/// The reply while new settings come into force.
const SETTINGS_CHANGE: &str = "The settings of the cluster change; try again later";

/// What an administrator has to do when the settings of this node are not those of the cluster.
const DECIDES_OTHERWISE: &str = "the cluster decides by other settings than this node: `broadsheet cluster status' on each node shows \
                                 which; copy broadsheet.toml (the deciding part), sys, blocks, control.ctl, control.ctl.local, controlperm, \
                                 seen.hashes and keys/*.asc of a node that goes on, and restart this one";

/// The result of an article.
#[derive(Debug)]
enum Told {
    /// The verdict of the filer.
    Verdict(Verdict),
    /// It is not filed now, for this reason; the sender keeps it.
    Deferred(&'static str),
    /// The reply to a post that is no article, and the counter of a refusal.
    Reply(TransferOutcome, RefusalKind),
}

/// A held batch.
#[derive(Debug)]
enum Held {
    /// Of a network thread, with the ids that posts got.
    Wire(ArticleBatch, Vec<Option<Vec<u8>>>),
    /// Of the run of rnews with this number.
    Run(u64),
}

/// A node.
pub struct Node {
    options: LogOptions,
    starter: Starter,
    events: Arc<Events>,
    log: Option<Log>,
    origin: u64,
    counter: u64,
    flights: Flights<Held, Told>,
    /// Counts the runs of rnews.
    run: u64,
    /// The results of the run.
    run_results: Vec<Told>,
    /// The reason why the log takes nothing, while it does not.
    fault: Option<&'static str>,
    appliance: Appliance,
    /// Nothing is applied any more: an administrator has to change something.
    is_stopped: Arc<AtomicBool>,
    /// The last applied entry puts other settings into force: nothing is applied before this node goes by them.
    awaits_settings: bool,
    /// An entry was taken from the queue, and an error of the store kept it from being applied: the log has to tell it again.
    is_behind_queue: bool,
    /// The time of the first commit that no checkpoint covers.
    unsynced: Option<Instant>,
    /// The lease of the feeds.
    feed_holder: Arc<FeedHolder>,
    /// The entry up to which this node must come before it may feed.
    catches_up_to: Option<u64>,
    /// It has failed to apply the log for too long to feed.
    is_failing: bool,
    health: Arc<NodeHealth>,
    /// Nodes that made something else of the log.
    dissenters: Vec<String>,
    /// Nodes that apply no more entries.
    stopped_nodes: Vec<String>,
    /// If most nodes contradict this one, it fetches their articles by itself.
    copies_by_itself: bool,
    /// The nodes that contradict this one, once it has stopped to fetch their articles.
    copies_from: Vec<String>,
    root: PathBuf,
}

impl Node {
    /// A node at a place in the log, which decides by the settings with this hash. `wake` is called when the log has news.
    ///
    /// # Errors
    /// The thread of the log cannot be started, or there are no random numbers.
    pub fn start(
        options: LogOptions,
        place: AppliedEntry,
        rules: u64,
        (directory, starter, feed_holder): (NewsDirectory, Starter, Arc<FeedHolder>),
        wake: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Node> {
        let mut origin = [0; 8];
        rustix::rand::getrandom(&mut origin, rustix::rand::GetRandomFlags::empty())?;
        let guard = options.settings_guard();
        let root = directory.root().to_owned();
        let decisions = options.decisions;
        let options = LogOptions {
            log: place.log.clone(),
            ..options
        };
        let mut node = Node {
            options,
            starter,
            events: Arc::new(Events::new(wake)),
            log: None,
            origin: u64::from_le_bytes(origin),
            counter: 0,
            flights: Flights::default(),
            run: 0,
            run_results: Vec::new(),
            fault: None,
            health: Arc::new(NodeHealth::new(place.sequence, Instant::now())),
            appliance: Appliance::new(directory, place, (rules, guard, decisions)),
            is_stopped: Arc::default(),
            awaits_settings: false,
            is_behind_queue: false,
            // The first checkpoint tells the others that this node is back.
            unsynced: Some(Instant::now()),
            feed_holder,
            // Until the log has told its end.
            catches_up_to: Some(u64::MAX),
            is_failing: false,
            dissenters: Vec::new(),
            stopped_nodes: Vec::new(),
            copies_by_itself: false,
            copies_from: Vec::new(),
            root,
        };
        node.tell_place();
        node.open_log()?;
        Ok(node)
    }

    /// Sets whether this node fetches the articles of the others by itself when most of them contradict it.
    pub fn set_copies_by_itself(&mut self, copies_by_itself: bool) {
        self.copies_by_itself = copies_by_itself;
    }

    /// The nodes whose articles this one has to fetch, since they contradict it; empty unless it has stopped for that.
    pub fn copies_from(&self) -> &[String] {
        &self.copies_from
    }

    /// Whether the last applied entry puts other settings into force, which this node has to take up with [`Node::decide_by`].
    pub fn awaits_settings(&self) -> bool {
        self.awaits_settings
    }

    /// The hash of the settings that are in force behind the last applied entry.
    pub fn rules_in_force(&self) -> u64 {
        self.appliance.place().rules
    }

    /// This node goes by the settings with this hash.
    pub fn decide_by(&mut self, rules: u64) {
        self.appliance.decide_by(rules);
        self.awaits_settings = false;
    }

    /// Opens the log behind the last applied entry, and appends again what may not be there.
    fn open_log(&mut self) -> io::Result<()> {
        self.log = None;
        let events = self.events.anew();
        let feed_holder = self.feed_holder.clone();
        let health = self.health.clone();
        let log = Log::open(
            self.options.clone(),
            self.appliance.place().sequence,
            (self.origin, feed::permit::clock),
            move |event| match event {
                LogEvent::Feeds(news) => feed_holder.news(news),
                // Entries that wait for the writer do not hold it up.
                LogEvent::End(end) => health.has_end(end, Instant::now()),
                event => events.put(event),
            },
            &|work| self.starter.spawn("log", work),
        )?;
        for (counter, bytes) in self.flights.unacknowledged() {
            log.append(counter, self.message_id(counter), bytes);
        }
        self.feed_holder.put(Message::Log(log.feeds(), self.origin));
        self.log = Some(log);
        Ok(())
    }

    /// Tells the thread that keeps the lease of the feeds how far this node is.
    fn tell_place(&mut self) {
        let sequence = self.appliance.place().sequence;
        self.feed_holder.set_applied(sequence);
        self.catches_up_to = self.catches_up_to.filter(|end| sequence < *end);
        let catches_up = self.catches_up_to.is_some_and(|end| end < u64::MAX);
        self.health.set_catching_up(catches_up);
        let is_fit = !self.is_stopped() && self.catches_up_to.is_none() && !self.is_failing;
        self.feed_holder.set_fit(is_fit);
    }

    /// The state for other threads.
    pub fn health(&self) -> &Arc<NodeHealth> {
        &self.health
    }

    /// The last applied entry.
    pub fn applied(&self) -> u64 {
        self.appliance.place().sequence
    }

    /// Whether the log has told of entries that are not applied.
    pub fn is_behind(&self) -> bool {
        self.health.is_behind()
    }

    /// Notes whether it has failed to apply the log for too long to feed.
    pub fn set_failing(&mut self, is_failing: bool) {
        if is_failing != self.is_failing {
            self.is_failing = is_failing;
            self.tell_place();
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// True from the moment on at which nothing is applied any more.
    pub fn stopped(&self) -> Arc<AtomicBool> {
        self.is_stopped.clone()
    }

    fn message_id(&self, counter: u64) -> String {
        format!("{:016x}-{counter}", self.origin)
    }

    /// The spool was opened again: goes on from its place, which is an earlier one after a failed commit.
    ///
    /// # Errors
    /// The thread of the log cannot be started.
    pub fn go_on_from(&mut self, place: &AppliedEntry) -> io::Result<()> {
        if self.is_stopped() || place == self.appliance.place() && !self.is_behind_queue {
            return Ok(());
        }
        self.flights.forget_applied();
        self.appliance.go_back_to(place.clone());
        self.health.goes_back_to(place.sequence);
        self.feed_holder.put(Message::WentBack);
        self.tell_place();
        self.open_log()?;
        self.is_behind_queue = false;
        Ok(())
    }

    /// Whether there is something to do: news of the log, or articles that may be appended.
    pub fn is_due(&self, queue: &IntakeQueue) -> bool {
        self.awaits_settings || !self.events.is_empty() || (!queue.is_empty() && self.has_room())
    }

    fn has_room(&self) -> bool {
        let (entries, bytes) = self.flights.waiting();
        entries < FLYING_ENTRIES_MAX && bytes < FLYING_BYTES_MAX
    }

    /// The time of the next checkpoint.
    pub fn checkpoint_at(&self) -> Option<Instant> {
        Some(self.unsynced? + CHECKPOINT_AFTER)
    }

    /// Appends the articles that wait, as far as there is room.
    pub fn append_waiting(&mut self, queue: &IntakeQueue, posts: &Posts, spool: &Spool) {
        if self.is_stopped() {
            queue.send_all_back(STOPPED);
            return;
        }
        while self.has_room() {
            let mut builder = EntryBuilder::default();
            while builder.has_room()
                && let Some(batch) = queue.take(Duration::ZERO)
            {
                self.add_batch(batch, posts, spool, &mut builder);
            }
            if builder.places.is_empty() {
                break;
            }
            self.append_articles(&mut builder);
        }
        // A batch whose posts were all refused here is complete already.
        self.return_done();
    }

    /// Logs the fate of a post that is no entry of the log.
    fn log_post(&self, code: Code, line: (&[u8], &[u8])) {
        // The log is for people: its loss is no reason to refuse a post.
        let _ = log::append(&self.root, relay::Now::read(), log::LOCAL, code, line);
    }

    /// Adds the articles of a batch to an entry. A full entry is appended, and the rest goes into the next.
    fn add_batch(
        &mut self,
        batch: ArticleBatch,
        posts: &Posts,
        spool: &Spool,
        builder: &mut EntryBuilder,
    ) {
        let (active, is_known) = (spool.active(), |id: &[u8]| spool.has(id));
        let count = batch.len();
        let mut results: Vec<Option<Told>> = Vec::with_capacity(count);
        let mut ids = vec![None; count];
        let mut made = Vec::new();
        for place in 0..count {
            let Some((entry, _, article)) = batch.article(place) else {
                break;
            };
            results.push(match (&entry.poster, &entry.grant) {
                (Some(poster), Some(grant)) => {
                    match posts.make(article, poster, grant, active, is_known) {
                        Ok(Made::Article(post)) => {
                            if let Some(slot) = ids.get_mut(place) {
                                *slot = Some(post.id);
                            }
                            made.push((place, post.bytes));
                            None
                        }
                        Ok(Made::Mailed(id, address)) => {
                            self.log_post(Code::Moderated, (&id, &queued_for(&address)));
                            Some(Told::Reply(TransferOutcome::Accepted, RefusalKind::Other))
                        }
                        Ok(Made::Duplicate) => {
                            Some(Told::Reply(TransferOutcome::Duplicate, RefusalKind::Other))
                        }
                        Ok(Made::Refused(post)) => {
                            self.log_post(Code::Refused, (&post.id, post.why.as_bytes()));
                            let outcome = TransferOutcome::Refused(post.reply());
                            Some(Told::Reply(outcome, post.kind))
                        }
                        Err(error) => {
                            warn(&failure::text_of(&error));
                            Some(Told::Deferred(told(&error)))
                        }
                    }
                }
                _ => None,
            });
        }
        let waits: Vec<usize> = (0..count)
            .filter(|place| results.get(*place).is_some_and(Option::is_none))
            .collect();
        let number = self.flights.next_number();
        let mut made = made.into_iter().peekable();
        for place in waits {
            let Some((entry, id, article)) = batch.article(place) else {
                break;
            };
            let native = made.next_if(|(made, _)| *made == place);
            let grant = entry.grant.as_ref().map(Grant::parts);
            let item = Item {
                source: match &native {
                    Some(_) => Source::Native,
                    None => Source::Announced(id),
                },
                rights: grant.map(|(is_post, may_approve, groups)| ItemRights {
                    is_post,
                    may_approve,
                    groups: groups.as_bytes(),
                }),
                age_days_max: None,
                article: native.as_ref().map_or(article, |(_, native)| native),
            };
            if !builder.takes(item.article.len()) {
                self.append_articles(builder);
            }
            builder.add((number, place), &item);
        }
        self.flights.hold(Held::Wire(batch, ids), results);
    }

    fn append_articles(&mut self, builder: &mut EntryBuilder) {
        let EntryBuilder { payload, places } = std::mem::take(builder);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        self.counter += 1;
        let entry = Entry {
            kind: Kind::Articles,
            origin: self.origin,
            counter: self.counter,
            arrival: since.map_or(0, |since| since.as_micros() as i64),
            rules: self.appliance.rules(),
            payload: &payload,
        };
        let bytes = Bytes::from(entry.to_bytes());
        if let Some(log) = &self.log {
            log.append(self.counter, self.message_id(self.counter), bytes.clone());
        }
        self.flights.append(self.counter, places, bytes);
    }

    /// Applies the entries that the log has told, commits, and replies to the senders. Returns whether articles were filed.
    ///
    /// # Errors
    /// Errors of the store: the spool must be opened again, and [`Node::go_on_from`] be called.
    pub fn apply(
        &mut self,
        filer: &mut Filer,
        queue: &IntakeQueue,
        commit_bytes: usize,
    ) -> anyhow::Result<bool> {
        // The last entry that waits for the commit, and its arrival.
        let mut applied_last = None;
        while filer.pending_bytes() < commit_bytes
            && !self.awaits_settings
            && let Some(event) = self.events.take()
        {
            match event {
                LogEvent::Ready(last) => {
                    self.health.has_end(last, Instant::now());
                    self.health.is_up();
                    let behind = last.saturating_sub(self.appliance.place().sequence);
                    say(&format!(
                        "the log of the cluster answers; {behind} entries to apply"
                    ));
                    self.fault = None;
                    if behind > FIT_ENTRIES_MAX || self.catches_up_to == Some(u64::MAX) {
                        self.catches_up_to = Some(last);
                    }
                    queue.set_log_fault(None);
                    if behind == 0 && self.appliance.decides_otherwise() {
                        self.stop(DECIDES_OTHERWISE.to_owned(), None, queue);
                    }
                }
                LogEvent::Warning(why) => warn(&format!("the log of the cluster: {why}")),
                LogEvent::Down(why) => {
                    warn(&format!("the log of the cluster: {why}"));
                    self.health.is_down(&why, Instant::now());
                    self.fault = Some(DOWN);
                    queue.set_log_fault(Some(DOWN));
                }
                LogEvent::Stopped(why) => self.stop(why, None, queue),
                LogEvent::Outvoted(stop) => match stop.differs {
                    Some(entries) => self.is_contradicted(entries, stop.others, queue),
                    None => self.stop(stop.why, None, queue),
                },
                LogEvent::Members(members) => self.compare(&members, queue),
                LogEvent::Appended(counter) => self.flights.appended(counter),
                LogEvent::Refused(counter, why) => {
                    warn(&format!("the log of the cluster refused an entry: {why}"));
                    self.flights.fail(counter, || {
                        Told::Deferred("The log of the cluster refused the article")
                    });
                }
                LogEvent::Entry(sequence, bytes) if !self.is_stopped() => {
                    // Until it is applied.
                    self.is_behind_queue = true;
                    self.health.has_end(sequence, Instant::now());
                    let applied = self.appliance.apply(sequence, &bytes, filer)?;
                    self.is_behind_queue = false;
                    match applied {
                        Applied::Done(entry) => {
                            applied_last = Some((sequence, entry.seconds));
                            if entry.origin == self.origin {
                                self.flights.applied(entry.counter, entry.results);
                            }
                            if let Some(log) = &self.log {
                                log.applied(bytes.len());
                            }
                            if entry.has_new_settings {
                                // From here on the copies of the settings before are not needed any more.
                                filer.commit()?;
                                filer.checkpoint()?;
                                self.awaits_settings = true;
                            }
                        }
                        Applied::Stop(why) => self.stop(why, None, queue),
                    }
                }
                LogEvent::Entry(..) | LogEvent::End(_) | LogEvent::Feeds(_) => {}
            }
        }
        if let Some((sequence, arrival)) = applied_last {
            filer.commit()?;
            self.unsynced.get_or_insert_with(Instant::now);
            self.health.has_applied(sequence, arrival, Instant::now());
        }
        self.tell_place();
        self.return_done();
        Ok(applied_last.is_some())
    }

    /// Syncs what was applied, when it is due. Returns whether it was.
    ///
    /// # Errors
    /// Errors of the store: the spool must be opened again, and [`Node::go_on_from`] be called.
    pub fn checkpoint(&mut self, filer: &mut Filer) -> anyhow::Result<bool> {
        let is_due = self.checkpoint_at().is_some_and(|at| at <= Instant::now());
        if is_due {
            // After an error the next attempt has its time too.
            self.unsynced = Some(Instant::now());
            filer.checkpoint()?;
            self.unsynced = None;
            self.mark();
        }
        Ok(is_due)
    }

    /// Tells the other nodes how far this one is.
    fn mark(&self) {
        if let Some(log) = &self.log {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            log.mark(Mark {
                process: self.origin,
                durable: self.appliance.place().sequence,
                time: since.map_or(0, |since| since.as_secs() as i64),
                outcomes: self.appliance.outcomes().newest(),
                ..Mark::default()
            });
        }
    }

    /// Compares what this node made of the log with what the others made of it.
    fn compare(&mut self, members: &Members, queue: &IntakeQueue) {
        let own = self.options.node.as_str();
        let outcomes = self.appliance.outcomes().kept();
        if let Some(outvote) = members.outvote(own, outcomes) {
            return self.is_contradicted(outvote.entries, outvote.others, queue);
        }
        let stopped = members.nodes.iter().filter(|(name, _)| *name != own);
        let stopped = stopped.filter_map(|(name, mark)| Some((name, mark.stopped.as_ref()?)));
        for (name, stop) in stopped.clone() {
            if !self.stopped_nodes.contains(name) {
                warn(&format!(
                    "node {name} applies no more entries: {}",
                    stop.why
                ));
            }
        }
        self.stopped_nodes = stopped.map(|(name, _)| name.clone()).collect();
        let dissenters = members.dissenters(own, outcomes);
        if dissenters != self.dissenters && !dissenters.is_empty() {
            warn(&format!(
                "these nodes have filed otherwise than this one: {}",
                dissenters.join(", ")
            ));
        }
        self.dissenters = dissenters;
    }

    /// Stops, since it has filed otherwise than `others`, most nodes, among these entries.
    fn is_contradicted(&mut self, entries: (u64, u64), others: Vec<String>, queue: &IntakeQueue) {
        let place = match entries {
            (1, last) => format!("up to entry {last}"),
            (first, last) => format!("from entry {first} to entry {last}"),
        };
        let refusal = if self.copies_by_itself {
            copying::refusal(&self.root)
        } else {
            Some(String::new())
        };
        let next = match &refusal {
            None => "it fetches their articles now, and goes on with these".to_owned(),
            Some(why) => format!(
                "{why}when that is mended, stop it, and run `broadsheet cluster reseed' here"
            ),
        };
        let why = format!(
            "{place} it has filed otherwise than {}: its disk, its memory or its program is at fault; {next}",
            others.join(", ")
        );
        if refusal.is_none() {
            self.copies_from.clone_from(&others);
        }
        self.stop(why, Some((entries, others)), queue);
    }

    /// Applies no more entries, for this reason; `differs`: the entries among which it has filed otherwise than most nodes, and these nodes.
    fn stop(
        &mut self,
        why: String,
        differs: Option<((u64, u64), Vec<String>)>,
        queue: &IntakeQueue,
    ) {
        self.health.stop(&why);
        queue.set_log_fault(Some(STOPPED));
        self.log = None;
        // News that wait here would open the intake again.
        self.events.forget();
        // Some of these entries may be in the log; then their senders offer duplicates later.
        self.flights.fail_all(|| Told::Deferred(STOPPED));
        warn(&format!("this node applies no more entries: {why}"));
        self.is_stopped.store(true, Ordering::Relaxed);
        self.tell_place();
        self.tell_stop(why, differs);
    }

    /// Tells the other nodes that this one has stopped, as soon as the servers answer.
    fn tell_stop(&self, why: String, differs: Option<((u64, u64), Vec<String>)>) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let (differs, others) = differs.unzip();
        let stop = StopMark {
            why,
            time: since.map_or(0, |since| since.as_secs() as i64),
            differs,
            others: others.unwrap_or_default(),
            is_out: false,
        };
        let options = self.options.clone();
        let place = (self.origin, self.appliance.place().sequence);
        let tell = move || {
            while announce_stop(&options, place, &stop).is_err() {
                std::thread::sleep(TELL_AGAIN);
            }
        };
        if let Err(error) = self.starter.spawn("stop", Box::new(tell)) {
            warn(&format!(
                "the other nodes are not told that this one has stopped: {error}"
            ));
        }
    }

    fn return_done(&mut self) {
        self.flights.settle();
        while let Some((held, results)) = self.flights.next_done() {
            match held {
                Held::Wire(batch, ids) => return_batch(batch, ids, results),
                Held::Run(run) if run == self.run => self.run_results.extend(results),
                // It ended without them.
                Held::Run(_) => {}
            }
        }
    }

    /// A run of rnews begins; results of an earlier one are not waited for any more.
    fn begin_run(&mut self) {
        self.run += 1;
        self.run_results.clear();
    }

    /// The reason why the log takes nothing now.
    fn fault(&self) -> Option<&'static str> {
        match self.is_stopped() {
            true => Some(STOPPED),
            false if self.awaits_settings => Some(SETTINGS_CHANGE),
            false => self.fault,
        }
    }
}

fn return_batch(mut batch: ArticleBatch, ids: Vec<Option<Vec<u8>>>, results: Vec<Told>) {
    for (told, id) in results.into_iter().zip(ids) {
        if let Some(id) = id {
            batch.set_message_id(&id);
        }
        let (outcome, kind) = match told {
            Told::Verdict(verdict) => outcome(verdict),
            Told::Deferred(why) => (
                TransferOutcome::Deferred(why.as_bytes().to_vec()),
                RefusalKind::Other,
            ),
            Told::Reply(outcome, kind) => (outcome, kind),
        };
        match outcome {
            TransferOutcome::Refused(why) => batch.set_refused(why, counted(kind)),
            outcome => batch.set_outcome(outcome),
        }
    }
    batch.return_to_sender();
}

/// An entry of articles under construction.
#[derive(Default)]
struct EntryBuilder {
    payload: Vec<u8>,
    places: Vec<Place>,
}

impl EntryBuilder {
    fn has_room(&self) -> bool {
        self.payload.len() < ENTRY_FULL_BYTES && self.places.len() < ENTRY_ARTICLES_MAX
    }

    /// Whether an article of so many bytes may be added.
    fn takes(&self, bytes: usize) -> bool {
        self.places.is_empty()
            || (self.has_room() && self.payload.len() + bytes <= ENTRY_FULL_BYTES)
    }

    fn add(&mut self, place: Place, item: &Item<'_>) {
        articles_entry::push(&mut self.payload, item);
        self.places.push(place);
    }
}

/// The hash that a place states.
fn chain_of(text: &str) -> Chain {
    Chain::of(text).unwrap_or_default()
}
