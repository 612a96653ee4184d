//! Archiving: before an article is removed from a group whose rule names an archive, it is copied there.
//!
//! As in C News: the copy is on the disk before the original may be removed; a missing original is not an error; an article
//! whose copy fails is kept; after [`COPY_FAILURES_MAX`] failures (an archive that has another article with the same id is none) the run
//! archives nothing more and keeps every article that it should archive. A run may be killed at any moment: the next run finds the copies and continues.

mod archive_links;
mod copy_error;
mod file_archive;
pub mod index_line;
mod known_archives;
mod news_archive;
mod plan_revision;
mod target;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use groups::GroupId;
use store::{ExpiryDecision, ExpiryState, HistoryLine, Options, Record, Snapshot, Survey};

use crate::decide::Plan;
use crate::policy::Policy;
use crate::run_error::RunError;

pub use copy_error::CopyError;
pub use news_archive::CreateNews;

use archive_links::{ArchiveLink, ArchiveLinks};
use known_archives::KnownArchives;
use plan_revision::PlanRevision;
use target::ArchiveTarget;

/// Failed copies after which a run archives nothing more, as in C News.
pub const COPY_FAILURES_MAX: u64 = 3;
/// Conflicting ids that a run reports one by one.
const CONFLICTS_SHOWN: u64 = 20;

/// The archiving options of a run, besides the policy.
pub struct Archiving<'a> {
    /// Copy nothing, and keep every article that should be archived.
    pub hold: bool,
    /// Creates a news directory for [`crate::Layout::Segments`].
    pub make: &'a CreateNews<'a>,
    /// Tells the administrator why the run waits, and what the openings of the store found.
    pub notice: &'a dyn Fn(&str),
    /// The destination of the index line for each copy (`-p`).
    pub index: Option<&'a mut dyn Write>,
}

impl Default for Archiving<'_> {
    /// Copies to directories, and creates no news directory.
    fn default() -> Self {
        Archiving {
            hold: false,
            make: &|_, _| Err("no function to create a news directory was given".into()),
            notice: &|_| {},
            index: None,
        }
    }
}

/// The result of archiving, or of a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archived {
    /// Links (an article in a group) whose copy is in the archive.
    pub copies: u64,
    /// Links that were removed without a copy, because nothing was left of the article.
    pub missing: u64,
    /// Failed copies; the articles are kept.
    pub failed: u64,
    /// Links that are kept because archiving is held.
    pub held: u64,
    /// The errors, in sentences for the administrator.
    pub errors: Vec<String>,
}

/// Checks every archive of a policy. Returns a message for each unusable one.
pub fn check_archives(policy: &Policy, news: &Path) -> Vec<String> {
    let archives = target::archives(policy).into_iter();
    match KnownArchives::read(news) {
        Ok(known) => archives
            .filter_map(|archive| target::check_archive(archive, news, &known))
            .collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// The archiving of one run.
pub(crate) struct ArchiveRun<'r, 'a> {
    news: &'r Path,
    snapshot: &'r Snapshot,
    known: KnownArchives,
    targets: Vec<ArchiveTarget<'a>>,
    target_of_rule: HashMap<usize, usize>,
    report: Archived,
}

impl<'r, 'a> ArchiveRun<'r, 'a> {
    /// Checks the archives of the policy; unusable ones are held.
    pub(crate) fn new(
        news: &'r Path,
        (snapshot, policy): (&'r Snapshot, &Policy),
        options: Options,
        archiving: &Archiving<'a>,
    ) -> Result<ArchiveRun<'r, 'a>, RunError> {
        let known = KnownArchives::read(news)?;
        let mut report = Archived::default();
        let table = (policy, snapshot.active());
        let archives = target::archives(policy).into_iter();
        let targets = archives
            .map(|archive| {
                let mut target = target::open(archive, news, table, options, archiving);
                let error =
                    target::check_archive(archive, news, &known).filter(|_| !archiving.hold);
                target.held = archiving.hold || error.is_some();
                let sentence =
                    |error| format!("{error}; articles that should be archived there are kept");
                report.errors.extend(error.map(sentence));
                target
            })
            .collect();
        Ok(ArchiveRun {
            news,
            snapshot,
            known,
            targets,
            target_of_rule: target::by_rule(policy),
            report,
        })
    }

    /// The groups of which nothing is removed, because their archive is held; ascending.
    pub(crate) fn held_groups(&self, policy: &Policy) -> Vec<GroupId> {
        let is_held = |id: &GroupId| {
            let target = policy
                .rule(*id)
                .and_then(|rule| self.target_of_rule.get(&rule.line));
            target.is_some_and(|target| self.targets.get(*target).is_none_or(|target| target.held))
        };
        let mut held: Vec<GroupId> = self.snapshot.active().ids().filter(is_held).collect();
        held.sort_unstable();
        held
    }

    /// Removes held links from the plan, and counts the copies to be made.
    pub(crate) fn hold(
        &mut self,
        (policy, surveys): (&Policy, &[Survey]),
        plan: &mut Plan,
    ) -> Result<(), RunError> {
        if self.target_of_rule.is_empty() {
            return Ok(());
        }
        (self.report.copies, self.report.missing) = (0, 0);
        let mut revision = PlanRevision::default();
        let (targets, report) = (&self.targets, &mut self.report);
        each_segment(
            (self.snapshot, policy, surveys),
            plan,
            &self.target_of_rule,
            |base, links| {
                for link in links {
                    if targets.get(link.target).is_none_or(|target| target.held) {
                        revision.keep_from(link, base);
                        report.held += 1;
                    } else if link.cancelled {
                        report.missing += 1;
                    } else {
                        report.copies += 1;
                    }
                }
                Ok(())
            },
        )?;
        revision.apply(&mut plan.expiry, self.snapshot.expired());
        plan.count(self.snapshot, surveys.iter());
        Ok(())
    }

    /// Copies the links that the plan removes from groups with an archive. Links whose copy fails are taken out of the plan.
    pub(crate) fn copy(
        &mut self,
        (policy, surveys): (&Policy, &[Survey]),
        plan: &mut Plan,
        index: Option<&mut dyn Write>,
    ) -> Result<(), RunError> {
        if self.target_of_rule.is_empty() {
            return Ok(());
        }
        (self.report.copies, self.report.missing) = (0, 0);
        let mut copying = Copying {
            snapshot: self.snapshot,
            targets: &mut self.targets,
            report: &mut self.report,
            revision: PlanRevision::default(),
            failures: 0,
            conflicts: 0,
            index,
        };
        each_segment(
            (self.snapshot, policy, surveys),
            plan,
            &self.target_of_rule,
            |base, links| copying.segment(base, links),
        )?;
        let revision = copying.finish()?;
        revision.apply(&mut plan.expiry, self.snapshot.expired());
        plan.count(self.snapshot, surveys.iter());
        self.note_archives(policy);
        Ok(())
    }

    /// Notes the archives that have articles now. A full disk keeps no article from expiring; the next run notes them.
    fn note_archives(&mut self, policy: &Policy) {
        let archives = target::archives(policy).into_iter().zip(&self.targets);
        let usable = archives
            .filter(|(archive, target)| !target.held && target::has_content(archive, self.news))
            .map(|(archive, _)| archive.path.as_slice());
        if let Err(error) = self.known.add(usable) {
            self.report.errors.push(error.to_string());
        }
    }

    /// Links that the run took for removed are kept.
    pub(crate) fn are_kept(&mut self, policy: &Policy, links: &[(Vec<u8>, u64)]) {
        let active = self.snapshot.active();
        let is_archived = |(group, _): &&(Vec<u8>, u64)| {
            let rule = match active.find(group) {
                Some(id) => policy.rule(id),
                None => policy.rule_of_name(group, false),
            };
            rule.is_some_and(|rule| self.target_of_rule.contains_key(&rule.line))
        };
        let count = links.iter().filter(is_archived).count() as u64;
        self.report.missing = self.report.missing.saturating_sub(count);
    }

    pub(crate) fn finish(self) -> Archived {
        self.report
    }
}

/// Takes links out of a decision: groups, numbers, and the bases of their segments.
pub(crate) fn keep_single_links(
    links: &[(Vec<u8>, u64, u64)],
    expiry: &mut ExpiryDecision,
    before: &ExpiryState,
) {
    PlanRevision::of_links(links).apply(expiry, before);
}

/// Calls `each` for every segment with links to archive: with the base of the segment and the links.
fn each_segment(
    (snapshot, policy, surveys): (&Snapshot, &Policy, &[Survey]),
    plan: &Plan,
    target_of_rule: &HashMap<usize, usize>,
    mut each: impl FnMut(u64, &[ArchiveLink<'_>]) -> Result<(), RunError>,
) -> Result<(), RunError> {
    if target_of_rule.is_empty() || plan.expiry.removes_nothing() {
        return Ok(());
    }
    let mut leaving = ArchiveLinks::new(snapshot, policy, &plan.expiry, target_of_rule);
    for survey in surveys {
        let links = leaving.links(survey);
        if !links.is_empty() {
            each(survey.base(), &links)?;
        }
    }
    Ok(())
}

struct Copying<'c, 'i, 'a> {
    snapshot: &'c Snapshot,
    targets: &'c mut [ArchiveTarget<'a>],
    report: &'c mut Archived,
    revision: PlanRevision,
    /// Failed copies, without the conflicts.
    failures: u64,
    /// Articles whose id another article of the archive has.
    conflicts: u64,
    index: Option<&'i mut (dyn Write + 'i)>,
}

/// An article in memory.
struct LoadedArticle<'b> {
    record: Record<'b>,
    native: Vec<u8>,
}

impl Copying<'_, '_, '_> {
    /// Archives the links of a segment. They are in the order of the log, those of one article together. Copies count once they are durable.
    fn segment(&mut self, base: u64, links: &[ArchiveLink<'_>]) -> Result<(), RunError> {
        let (mut copied, mut buffer) = (Vec::new(), Vec::new());
        for same in links.chunk_by(|a, b| a.position == b.position) {
            let (held, wanted): (Vec<_>, Vec<_>) =
                same.iter().partition(|link| self.is_held(link.target));
            for link in held {
                self.hold(link, base);
            }
            let Some(first) = wanted.first() else {
                continue;
            };
            let opened = match self.open(first, &mut buffer) {
                Ok(Some(opened)) => opened,
                Ok(None) => {
                    self.report.missing += wanted.len() as u64;
                    continue;
                }
                Err(error) => {
                    let error = CopyError::from(error);
                    wanted
                        .iter()
                        .for_each(|link| self.failed(link, base, &error));
                    continue;
                }
            };
            for link in wanted {
                self.link(link, base, &opened, &mut copied);
            }
        }
        self.flush_copies(base, &copied)
    }

    fn is_held(&self, target: usize) -> bool {
        self.targets.get(target).is_none_or(|target| target.held)
    }

    fn hold(&mut self, link: &ArchiveLink<'_>, base: u64) {
        self.revision.keep_from(link, base);
        self.report.held += 1;
    }

    /// Reads the article of a link; `None` if nothing is left of it.
    fn open<'b>(
        &self,
        link: &ArchiveLink<'_>,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<LoadedArticle<'b>>, store::Error> {
        if link.cancelled {
            return Ok(None);
        }
        let record = self.snapshot.record(link.position, buffer)?;
        Ok(record.map(|record| {
            let mut native = Vec::new();
            record.push_native(&mut native);
            LoadedArticle { record, native }
        }))
    }

    fn link<'l, 's>(
        &mut self,
        link: &'l ArchiveLink<'s>,
        base: u64,
        opened: &LoadedArticle<'_>,
        copied: &mut Vec<(&'l ArchiveLink<'s>, Vec<u8>)>,
    ) {
        let target = self.targets.get_mut(link.target);
        let Some(target) = target.filter(|target| !target.held) else {
            return self.hold(link, base);
        };
        match target.copy(link, &opened.record, &opened.native) {
            Ok(()) => {
                let line = self.index.as_ref().map(|_| index_line_of(link, opened));
                copied.push((link, line.unwrap_or_default()));
            }
            Err(error) => self.failed(link, base, &error),
        }
    }

    fn failed(&mut self, link: &ArchiveLink<'_>, base: u64, error: &CopyError) {
        if self.failures >= COPY_FAILURES_MAX {
            return self.hold(link, base);
        }
        let counter = if error.is_id_conflict() {
            &mut self.conflicts
        } else {
            &mut self.failures
        };
        *counter += 1;
        self.report.failed += 1;
        if self.conflicts <= CONFLICTS_SHOWN || !error.is_id_conflict() {
            self.report.errors.push(format!(
                "cannot archive {}/{}: {error}; the article is kept",
                String::from_utf8_lossy(link.group),
                link.number
            ));
        }
        self.revision.keep_one(link, base);
        if self.failures == COPY_FAILURES_MAX && !error.is_id_conflict() {
            let held = format!(
                "{COPY_FAILURES_MAX} copies failed: this run archives nothing more, and keeps all articles that should be archived"
            );
            self.report.errors.push(held);
            self.targets
                .iter_mut()
                .for_each(|target| target.held = true);
        }
    }

    /// Makes the copies of a segment durable. If an archive fails to do so, its copies count as not made.
    fn flush_copies(
        &mut self,
        base: u64,
        copied: &[(&ArchiveLink<'_>, Vec<u8>)],
    ) -> Result<(), RunError> {
        let mut lost = Vec::new();
        for (number, target) in self.targets.iter_mut().enumerate() {
            if !copied.iter().any(|(link, _)| link.target == number) {
                continue;
            }
            if let Err(error) = target.flush() {
                target.held = true;
                lost.push(number);
                self.report.errors.push(format!(
                    "{error}; this run archives nothing more there, and keeps the articles that should be archived there"
                ));
            }
        }
        for (link, line) in copied {
            if lost.contains(&link.target) {
                self.hold(link, base);
                continue;
            }
            self.report.copies += 1;
            if let Some(index) = &mut self.index {
                index.write_all(line).map_err(RunError::Index)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<PlanRevision, RunError> {
        if let Some(more) = self
            .conflicts
            .checked_sub(CONFLICTS_SHOWN)
            .filter(|more| *more > 0)
        {
            self.report.errors.push(format!(
                "{more} more links are kept because the archive has another article with the id"
            ));
        }
        if let Some(index) = self.index {
            index.flush().map_err(RunError::Index)?;
        }
        Ok(self.revision)
    }
}

fn index_line_of(link: &ArchiveLink<'_>, opened: &LoadedArticle<'_>) -> Vec<u8> {
    let line = HistoryLine::parse(opened.record.line());
    let id = line.map_or(&b""[..], |line| line.id);
    let arrival = line.and_then(|line| line.arrival).unwrap_or(0);
    let mut out = Vec::new();
    let link = (link.group, link.number);
    index_line::push_index_line(&mut out, link, id, arrival, &opened.native);
    out
}
