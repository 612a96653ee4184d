//! The writer of a node of a cluster: articles go to the log, and come back from it to be filed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::cluster::log::LogOptions;
use groups::size::rough_bytes;
use relay::Rules;
use relay::file::Filer;
use relay::outlet::Outlet;
use settings::cluster::{DecidingPart, hash_of_parts};
use settings::in_force::{self, DecidingFiles, InForceError, REPLACED};
use store::Reserve;

use super::super::lock::lock;
use super::super::nntp_service;
use super::files::Files;
use super::reload::ReadAgain;
use super::{OK, State, TRY_AGAIN_FIRST, Writer};
use crate::feed_lease::{FeedHolder, Keeper};
use crate::node::copying::Copying;
use crate::node::freshness::BEHIND_SECONDS_MAX;
use crate::node::{Node, NodeOutlet, segments};
use crate::{failure, file_batches, say, warn};

/// A node that cannot apply the log for so long (a full disk) leaves the feeds to another one.
const UNFIT_AFTER: Duration = Duration::from_secs(10);

/// The error of a reload while the files of this node are not the settings in force.
pub const RULES_CHANGED: &str = "settings by which all nodes of the cluster decide have changed here: `broadsheet cluster apply' puts them \
                                 into force on all nodes (--dry-run shows the changes); or take the change back";
/// Tells the same when a node starts.
pub const NOT_IN_FORCE: &str = "settings by which all nodes of the cluster decide have changed here, and this node goes on by those in force: \
                                `broadsheet cluster apply' puts the new ones into force on all nodes (--dry-run shows the changes)";

/// The last line for connected clients of a node that has stopped: others may contradict what it shows.
const STOPPED_LINE: &[u8] =
    b"400 This server is not up to date with its cluster; use another one, or try again later\r\n";

/// A node whose disk is nearly full starts expire again after this time.
const EXPIRE_AGAIN: Duration = Duration::from_secs(600);

impl Writer {
    /// In a cluster: starts the thread that keeps the lease of the feeds.
    pub(super) fn keep_feed_lease(&mut self) -> std::io::Result<()> {
        let Some(options) = &self.log_options else {
            return Ok(());
        };
        let (holder, messages) = FeedHolder::new();
        self.schedule.set_feeding(false);
        let keeper = Keeper {
            holder: holder.clone(),
            directory: self.directory.clone(),
            node: options.node.clone(),
            feeds: self.feeds.clone(),
            published: self.published.clone(),
            schedule: self.schedule.clone(),
            starter: self.starter.clone(),
            program: self.program.clone(),
        };
        let run = move || keeper.run(&messages);
        self.starter.spawn("feed lease", Box::new(run))?;
        // Set once: the writer is started once.
        let _ = self.writer.feed_holder.set(holder.clone());
        self.feed_holder = Some(holder);
        Ok(())
    }

    /// In a cluster: takes up the settings that are in force at the place of the spool. Returns whether they are others than before, so that
    /// the spool must be opened again.
    pub(super) fn settle_settings(&mut self, filer: &Filer) -> anyhow::Result<bool> {
        if self.log_options.is_none() {
            return Ok(false);
        }
        let rules = filer.spool().applied_entry()?.rules;
        if rules == 0 {
            return Ok(false);
        }
        match in_force::settle(&self.directory, rules) {
            Ok(replaced) => {
                for file in replaced {
                    warn(&format!(
                        "{file} had changes that were not in force: an entry of the log replaced it, and it is kept as {file}.{REPLACED}"
                    ));
                }
            }
            // The node decides by the copy.
            Err(error) => warn(&format!("the new settings are not written yet: {error}")),
        }
        if self.files.rules == rules {
            return Ok(false);
        }
        let Some(copy) = in_force::copy_of(&self.directory, rules) else {
            return Ok(false);
        };
        self.files = Files::in_force(&self.directory, &copy, rules)?;
        self.has_new_settings = true;
        Ok(true)
    }

    /// Makes the copy of the settings by which this node decides, where there is none yet.
    fn keep_settings(&self, rules: u64) {
        if in_force::copy_of(&self.directory, rules).is_some() {
            return;
        }
        let files = DecidingFiles::of(&self.directory);
        match files.and_then(|files| in_force::keep(&self.directory, &files, rules)) {
            Ok(()) => {}
            Err(error @ (InForceError::Io { .. } | InForceError::Store(_))) => {
                warn(&format!("no copy of the settings in force: {error}"))
            }
            // The files were edited meanwhile.
            Err(_) => {}
        }
    }

    /// Puts the settings into force that an entry of the log brought.
    fn go_by_new_settings(&mut self, rules: u64) -> anyhow::Result<()> {
        let Some(copy) = in_force::copy_of(&self.directory, rules) else {
            anyhow::bail!(
                "the copy of the settings in force is gone from {}: `broadsheet cluster status'",
                in_force::DIRECTORY
            );
        };
        let files = Files::in_force(&self.directory, &copy, rules)?;
        let certificates = {
            let nntp_service = lock(&self.writer.nntp_service);
            let service = nntp_service.as_ref();
            nntp_service::look_at_certificates(service, &self.directory, &files.settings)?
        };
        self.has_new_settings = false;
        let (told, status) = self.go_by(ReadAgain {
            files,
            certificates,
            warnings: Vec::new(),
        });
        match (status, told.join("\n")) {
            (OK, told) => {
                say("an entry of the log has put new settings into force");
                if !told.is_empty() {
                    warn(&told);
                }
                Ok(())
            }
            (_, told) => anyhow::bail!(told),
        }
    }

    /// Makes the node of a cluster go on from the place of the spool.
    pub(super) fn follow_log(&mut self, filer: &mut Filer) -> anyhow::Result<()> {
        let Some(options) = self.log_options.clone() else {
            return Ok(());
        };
        if store::reseed::is_unfinished(self.directory.root()) {
            anyhow::bail!(
                "`broadsheet cluster reseed' was interrupted at its last step: run it again"
            );
        }
        // Other files than the settings are read now: the hash covers what was read.
        let rules = self.files.rules;
        self.keep_settings(rules);
        let copy = in_force::copy_of(&self.directory, rules);
        let deciding = copy.as_ref().unwrap_or(&self.directory);
        filer.fix_policy(deciding.root());
        let settings = &self.files.settings;
        let parts = settings.deciding_parts_of_copy(deciding, &self.directory)?;
        if copy.is_none() && hash_of_parts(&parts) != rules {
            anyhow::bail!(RULES_CHANGED);
        }
        let place = filer.spool().applied_entry()?;
        if place.log.is_empty() {
            anyhow::bail!(
                "this news directory belongs to no cluster yet: run `broadsheet cluster init' on the first node, `broadsheet cluster join' \
                 on others; or remove cluster.servers"
            );
        }
        if let Some(why) = options.decisions.refusal(place.decisions_in_force()) {
            anyhow::bail!("up to entry {} {why}", place.sequence);
        }
        if let Some(node) = &mut self.node {
            node.decide_by(rules);
            node.set_copies_by_itself(self.files.settings.reseeds_by_itself());
            node.go_on_from(place)?;
            return self.answer_nodes(&options, &parts);
        }
        let writer = Arc::downgrade(&self.writer);
        let wake = move || {
            if let Some(writer) = writer.upgrade() {
                writer.look();
            }
        };
        let Some(feed_holder) = self.feed_holder.clone() else {
            return Ok(());
        };
        let ways = (self.directory.clone(), self.starter.clone(), feed_holder);
        let mut node = Node::start(options.clone(), place.clone(), rules, ways, wake)?;
        node.set_copies_by_itself(self.files.settings.reseeds_by_itself());
        // Set once: the node is started once.
        let _ = self.writer.node_health.set(node.health().clone());
        self.node = Some(node);
        self.answer_nodes(&options, &parts)
    }

    /// Answers nodes that fetch segments, and tells them the settings by which this one decides.
    fn answer_nodes(&mut self, options: &LogOptions, parts: &[DecidingPart]) -> anyhow::Result<()> {
        let rules = self.files.rules;
        let Some(node) = &self.node else {
            return Ok(());
        };
        if self.segments.is_some() && self.segments_rules == rules {
            return Ok(());
        }
        // The thread before ends.
        self.segments = None;
        let spawn = self.starter.for_clients(&self.writer.sandbox);
        let root = self.directory.root();
        let answering = segments::serve(options.clone(), root, parts, node.stopped(), &spawn);
        self.segments = Some(answering?);
        self.segments_rules = rules;
        Ok(())
    }

    /// Whether articles wait that can be filed now.
    pub(super) fn has_articles(&self) -> bool {
        let queue = &self.writer.intake_queue;
        match &self.node {
            Some(node) => self.has_new_settings || node.is_due(queue),
            None => !queue.is_empty(),
        }
    }

    /// Syncs what a node has applied, when it is due.
    pub(super) fn checkpoint(&mut self) {
        let (Some(node), Some(filer)) = (&mut self.node, &mut self.filer) else {
            return;
        };
        match node.checkpoint(filer) {
            Ok(false) => {}
            Ok(true) => self.keep_room(),
            Err(error) => {
                warn(&failure::text_of(&error));
                self.make_room(&error);
                self.close(State::Closed);
            }
        }
    }

    fn is_expire_due(&self) -> bool {
        self.expire_begun
            .is_none_or(|at| at.elapsed() >= EXPIRE_AGAIN)
    }

    /// Makes the reserve of a node, or starts expire when the disk will be full soon.
    fn keep_room(&mut self) {
        let reserve = Reserve::of_node(self.directory.root());
        reserve.create();
        if reserve.is_short() && self.is_expire_due() {
            self.expire_begun = Some(Instant::now());
            if reserve.is_very_short() {
                reserve.release();
            }
            if self.schedule.start_now("expire") {
                warn("the disk is nearly full: expire starts");
            }
        }
    }

    /// If the disk of a node is full, gives up its reserve and starts expire: the decision comes by the log, and the entries in front of it
    /// need space.
    fn make_room(&mut self, error: &anyhow::Error) {
        if !file_batches::is_disk_full(error) {
            return;
        }
        let reserve = Reserve::of_node(self.directory.root());
        if !reserve.release() {
            // The run before may have failed.
            if self.is_expire_due() {
                self.expire_begun = Some(Instant::now());
                if self.schedule.start_now("expire") {
                    warn("the disk is still full: expire starts again");
                }
            }
            return;
        }
        self.expire_begun = Some(Instant::now());
        let bytes = rough_bytes(reserve.bytes());
        if self.schedule.start_now("expire") {
            warn(&format!(
                "the disk is full: expire starts, and until its decision comes by the log the {bytes} of the reserve are used"
            ))
        } else {
            warn(&format!(
                "the disk is full, and the {bytes} of the reserve are used now: run `broadsheet expire' (`schedule.expire' is off)"
            ))
        }
    }

    /// Appends the articles that arrived over NNTP to the log of the cluster, and applies what it has. After an error, what was not
    /// appended yet goes back to its senders; for the rest they wait.
    pub(super) fn serve_log(&mut self) {
        let done = self.apply_log();
        self.note_progress(done.is_err());
        let Err(error) = done else {
            self.log_error.clear();
            return;
        };
        let text = failure::text_of(&error);
        if self.log_error != text {
            warn(&text);
            self.log_error = text;
        }
        self.make_room(&error);
        self.writer
            .intake_queue
            .send_all_back(file_batches::told(&error));
        self.close(State::Closed);
        std::thread::sleep(TRY_AGAIN_FIRST);
    }

    /// A node that fails for some seconds and applies nothing leaves the feeds to another one. That it has nothing to do after it opened the
    /// spool again is no success.
    fn note_progress(&mut self, has_failed: bool) {
        let Some(node) = &mut self.node else { return };
        let applied = node.applied();
        let before = self.fails_since.filter(|(_, at)| applied <= *at);
        self.fails_since = if has_failed {
            before.or_else(|| Some((Instant::now(), applied)))
        } else {
            before.filter(|_| node.is_behind())
        };
        let since = self.fails_since.map(|(since, _)| since);
        node.set_failing(since.is_some_and(|since| since.elapsed() > UNFIT_AFTER));
    }

    /// Reports changes of the state of this node, and sends the clients of a node that has stopped away.
    pub(super) fn tell_health(&mut self) {
        let Some(node) = &self.node else { return };
        let (health, now) = (node.health().clone(), Instant::now());
        let (was_stale, was_cut_off, was_stopped) = self.told_health;
        let is_stopped = health.is_stopped();
        let (is_stale, is_cut_off) = (health.is_stale(now), health.is_cut_off(now));
        self.told_health = (is_stale, is_cut_off, is_stopped);
        if is_stopped && !was_stopped {
            warn("clients are sent away until this node goes on");
            let nntp_service = lock(&self.writer.nntp_service);
            if let Some(service) = &*nntp_service {
                service.server.close_all(STOPPED_LINE);
            }
            drop(nntp_service);
            self.copy_others();
        }
        if is_stopped {
            return;
        }
        if is_cut_off && !was_cut_off {
            warn(&format!(
                "the log of the cluster has not been reachable for {BEHIND_SECONDS_MAX} s: readers get what is here, and other nodes may have newer articles"
            ));
        }
        if is_stale && !was_stale {
            warn(&format!(
                "this node lacks entries of more than {BEHIND_SECONDS_MAX} s: it accepts no connections until it has caught up"
            ));
        } else if was_stale && !is_stale {
            say("this node has caught up, and accepts connections again");
        }
    }

    /// A node that most others contradict fetches their articles.
    fn copy_others(&self) {
        let nodes = self.node.as_ref().map_or(&[][..], Node::copies_from);
        if nodes.is_empty() {
            return;
        }
        let ways = (&*self.program, self.directory.root());
        match Copying::start(ways, nodes, &self.starter, self.events.clone()) {
            Ok(copying) => *lock(&self.writer.copying) = Some(copying),
            Err(error) => warn(&format!(
                "cannot fetch the articles of other nodes: {error}"
            )),
        }
    }

    fn apply_log(&mut self) -> anyhow::Result<()> {
        self.open()?;
        if let Some(node) = &self.node
            && (node.awaits_settings() || self.has_new_settings)
        {
            self.go_by_new_settings(node.rules_in_force())?;
        }
        let posts = self.take_posts();
        let queue = self.writer.intake_queue.clone();
        let commit_bytes = self.files.settings.rnews_options().commit_bytes;
        let (Some(node), Some(filer)) = (&mut self.node, &mut self.filer) else {
            return Ok(());
        };
        filer.set_rules(self.files.settings.rules());
        node.append_waiting(&queue, &posts, filer.spool());
        self.posts = Some(posts);
        if node.apply(filer, &queue, commit_bytes)? {
            self.look_again();
            self.feeds.tell();
        }
        Ok(())
    }

    /// In a cluster: puts the rules of all nodes in the place of those that a batch asks for, and returns the limit of age that it asks
    /// for, days. The error is the reason why the batch cannot be filed in a cluster.
    pub(super) fn age_in_cluster(&self, rules: &mut Rules) -> Result<Option<u32>, &'static str> {
        if self.log_options.is_none() {
            return Ok(None);
        }
        let usual = self.files.settings.rules();
        let age = std::mem::replace(&mut rules.age_seconds_max, usual.age_seconds_max);
        if *rules != usual {
            return Err(
                "rnews: in a cluster all articles are filed by the same rules; leave out the options -h and -x",
            );
        }
        Ok((age != usual.age_seconds_max)
            .then(|| age.map_or(0, |seconds| (seconds / 86_400) as u32)))
    }

    /// Opens the spool, and does the work of a run of rnews with what takes its articles: the filer, or the log of a cluster.
    ///
    /// # Errors
    /// The spool cannot be opened.
    pub(super) fn with_outlet<T>(
        &mut self,
        rules: Rules,
        age_days_max: Option<u32>,
        work: impl FnOnce(&mut dyn Outlet) -> T,
    ) -> anyhow::Result<T> {
        let commit_bytes = self.files.settings.rnews_options().commit_bytes;
        let writer = self.writer.clone();
        self.open()?.set_rules(rules);
        match (&mut self.node, &mut self.filer) {
            (Some(node), Some(filer)) => {
                let is_stopping = || writer.is_stopping();
                let options = (commit_bytes, age_days_max);
                let queue = &writer.intake_queue;
                Ok(work(&mut NodeOutlet::new(
                    node,
                    filer,
                    queue,
                    &is_stopping,
                    options,
                )))
            }
            (None, Some(filer)) => Ok(work(filer)),
            (_, None) => anyhow::bail!("the spool is not open"),
        }
    }
}
