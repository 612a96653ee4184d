//! The plan of a recovery: a list of named steps, computed from the evidence alone.
//!
//! Only the replay can know how the log ends, which groups it has, and how many articles it recovers. The steps that depend on that say so.

#[cfg(test)]
mod tests;

use crate::index::watermark::Watermark;
use crate::log::place::LogPlace;
use crate::log::segment::FIRST_BASE;
use crate::notice::Notice;
use crate::spool::recover::evidence::{
    ActiveEvidence, ArtEvidence, CancelsEvidence, DerivedContent, Evidence, IndexEvidence,
    KeyEvidence, LogSurvey, Losses, MarkedSegment, Presence, Role, SegmentForm,
};
use crate::spool::recover::start::{Basis, Known, Start, start_of_segment};

/// The steps of an opening, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryPlan {
    /// The steps before there is a spool.
    pub files: Vec<FileStep>,
    /// The goal.
    pub goal: Goal,
}

/// The end of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    /// The opening fails.
    Refuse(Refusal),
    /// The spool is opened at this mark, and these steps follow.
    Open(Watermark, Vec<SpoolStep>),
}

/// The reason why a news directory is not opened, with the file that is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The index knows of segments, and there is no file of one.
    NoSegments,
    /// A segment is damaged, or ends too early.
    Segment {
        /// Its base.
        base: u64,
        /// Offset of the damage in `.art`.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
}

/// A step on the files of a news directory that is not open yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileStep {
    /// Removes the files that a killed program had not finished.
    RemoveUnfinished(Unfinished),
    /// Writes the ids of articles that only history lines know to `bad/lost.ids`, before these lines go.
    ListLostArticles,
    /// Reports something to the administrator.
    Report(Notice),
    /// Makes the files of the segment at this base, with no articles.
    BeginSegment(u64),
    /// Rebuilds the histories of these sealed segments from `.art`.
    RebuildHistories(Vec<u64>),
    /// Rebuilds `active` from the log.
    RebuildActive,
    /// Makes a new key for the index.
    MakeKey,
    /// Makes an index of the history lines before the segment at this base. It gets its name in [`SpoolStep::PlaceIndex`].
    MakeIndex(u64),
}

/// The unfinished files that a start removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// Those with known names.
    Named,
    /// Those of a rebuild, too: a rebuild removes the index first.
    NamedAndRebuilt,
}

/// A step on an open spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpoolStep {
    /// Reports something to the administrator.
    Report(Notice),
    /// Reports the bad lines and the dangling aliases of `active`.
    ReportActiveFaults,
    /// Refuses an `active` that has lost groups of the log.
    CheckActive(ActiveCheck),
    /// Makes `expired` from the log.
    MakeExpired,
    /// Rebuilds the table of the index with the key that is there.
    RebuildIndex,
    /// Keeps the text of an edited `active`, for [`SpoolStep::UndoActiveEdit`].
    KeepActive,
    /// Reports that the repair goes on with a segment of this length.
    AcceptLostTail(u64),
    /// Collects the cancels of the whole log, and keeps them for [`SpoolStep::PutCancels`].
    CollectCancels(OldCancels),
    /// Puts new files in the place of the derived files of the segment: somebody may have mapped the old ones.
    RenewDerived(u64),
    /// Puts a copy of this length in the place of `cancels`.
    RenewCancels(u64),
    /// Begins a new index of the history lines.
    RenewIndex,
    /// Opens the derived files at a mark; the replay begins there.
    OpenDerived(Watermark),
    /// Puts the collected cancels in the place of `cancels`.
    PutCancels,
    /// Replays a segment, and finds its end.
    Replay(SegmentReplay),
    /// Merges the overview of the segment, and syncs its derived files.
    SealDerived,
    /// Makes the files of the segment at this base, with no articles.
    BeginSegment(u64),
    /// Makes the segment at this base the current one.
    EnterSegment(u64),
    /// Forgets the cancels behind the end of the log, which the replay has found.
    ForgetCancelsBehindEnd,
    /// Decides on the groups that have a record in the replayed part of the log.
    FinishGroups,
    /// Restores states of control messages from the log.
    RestoreStates(StatesRestored),
    /// Restores missing group files from the log.
    RestoreGroupFiles,
    /// Takes all state of a node from the log.
    TakeStateFromLog,
    /// Writes `active` anew, durably.
    RewriteActive,
    /// Syncs the directories: a file put in its place before the interruption may not be there for good.
    SyncDirectories,
    /// Publishes the end of the log and makes a checkpoint.
    Checkpoint,
    /// Gives a new index its name.
    PlaceIndex,
    /// Reports how many articles the replay recovered.
    ReportRecovered,
    /// Tries to finish interrupted erasures.
    FinishErasures,
    /// Makes the files of the states of control messages.
    PrepareStates,
    /// Logs an edited `active`.
    LogActive(ActiveEdit),
    /// Undoes an edit of `active`: the groups of a cluster change by its log.
    UndoActiveEdit(EditReport),
}

/// The part of `active` that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActiveCheck {
    /// Its lines.
    Lines,
    /// Its lines and its end: somebody may have cut it off.
    LinesAndEnd,
}

/// The use of the old file when `cancels` is collected from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldCancels {
    /// It stands in for segments that the object store does not give.
    StandIn,
    /// There is none.
    None,
}

/// The states that a replay restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatesRestored {
    /// Those with replayed records.
    Replayed,
    /// All.
    All,
}

/// The evidence that somebody edited `active`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActiveEdit {
    /// The file itself.
    Certain,
    /// Only the replay can tell, by the groups that the log has.
    IfReplayTells,
    /// The replay, or a comparison with the log after it: a power cut may have changed the time of the file.
    IfReplayOrLogTells,
}

/// Whether an undone edit is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditReport {
    /// If it changed something.
    Report,
    /// Nobody edited the file: it was made again.
    Silent,
}

/// The replay of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentReplay {
    /// Its base.
    pub base: u64,
    /// Its place in the log.
    pub place: SegmentPlace,
    /// What is known of it.
    pub known: Known,
}

/// The place of a segment in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentPlace {
    /// Another one follows: it is whole.
    Sealed,
    /// It is the last one, and may end with a torn commit.
    Newest,
}

impl RecoveryPlan {
    /// The plan for a state of a news directory.
    pub fn of(evidence: &Evidence) -> RecoveryPlan {
        let mut planner = Planner::new(evidence);
        let refusal = planner.plan_files();
        let Planner { files, start, .. } = planner;
        let goal = match refusal {
            Some(refusal) => Goal::Refuse(refusal),
            None => Goal::Open(start.mark, spool_steps(evidence, &start)),
        };
        RecoveryPlan { files, goal }
    }
}

/// The steps on files, while they are planned.
struct Planner<'e> {
    evidence: &'e Evidence,
    files: Vec<FileStep>,
    start: Start,
}

impl Planner<'_> {
    fn new(evidence: &Evidence) -> Planner<'_> {
        Planner {
            evidence,
            files: Vec::new(),
            start: Start::of_new_log(),
        }
    }

    /// Plans the steps on files. Returns the reason if the news directory cannot be opened.
    fn plan_files(&mut self) -> Option<Refusal> {
        let evidence = self.evidence;
        let found = evidence.index.start();
        self.files.push(FileStep::RemoveUnfinished(match found {
            Some(_) => Unfinished::Named,
            None if evidence.index == IndexEvidence::OfLostSegment => Unfinished::Named,
            None => Unfinished::NamedAndRebuilt,
        }));
        let refusal = match found {
            Some(start) => self.start_at_mark(start),
            None => self.start_without_mark(),
        };
        if refusal.is_some() {
            return refusal;
        }
        if evidence.active == ActiveEvidence::Missing {
            self.files.push(FileStep::RebuildActive);
        }
        if found.is_some() && evidence.key != KeyEvidence::Right {
            self.files.push(FileStep::Report(Notice::KeyLost));
        }
        if evidence.key == KeyEvidence::Missing {
            self.files.push(FileStep::MakeKey);
        }
        if found.is_none() {
            self.files.push(FileStep::MakeIndex(self.start.mark.base));
        }
        None
    }

    fn start_at_mark(&mut self, mut start: Start) -> Option<Refusal> {
        start.whole = start.whole.max(self.evidence.known_whole);
        self.start = start;
        let Some(files) = self.evidence.marked else {
            return Some(Refusal::NoSegments);
        };
        self.list_lost_articles();
        if start.basis == Basis::Doubted {
            self.files.push(FileStep::Report(Notice::SyncDoubted));
        }
        let mark = start.mark;
        let refusal = match files.art {
            ArtEvidence::Missing => Some(damage(mark.base, 0, "it is missing")),
            ArtEvidence::Damaged { offset, what, .. } => {
                let is_newest = self
                    .evidence
                    .newest()
                    .is_some_and(|newest| newest.base == mark.base);
                let was_empty = mark.art_end <= start_of_segment(mark.base).art_end;
                if is_newest && was_empty && files.art.is_empty() {
                    // Its creation was interrupted.
                    self.files.push(FileStep::BeginSegment(mark.base));
                    None
                } else {
                    Some(damage(mark.base, offset, what))
                }
            }
            ArtEvidence::Sound { length, .. } => {
                let is_short = length < mark.art_end && self.evidence.losses == Losses::Refuse;
                is_short
                    .then(|| damage(mark.base, length, "it ends before what was committed to it"))
            }
        };
        refusal.or_else(|| later_fault(self.evidence, mark.base))
    }

    /// Plans a start from the newest segment alone. A segment behind a sealed one is made again: it is lost.
    fn start_without_mark(&mut self) -> Option<Refusal> {
        let survey = self.evidence.survey.as_ref();
        let Some(newest) = self.evidence.newest() else {
            self.files.push(FileStep::BeginSegment(FIRST_BASE));
            self.start.whole = self.evidence.known_whole;
            return None;
        };
        let (span, form) = match newest.art {
            // The sync of its header may have failed.
            art if art.is_empty() => (self.evidence.segment_bytes, SegmentForm::Plain),
            ArtEvidence::Sound { span, form, .. } => (span, form),
            ArtEvidence::Missing => return Some(damage(newest.base, 0, "it is missing")),
            ArtEvidence::Damaged { offset, what, .. } => {
                return Some(damage(newest.base, offset, what));
            }
        };
        let is_sealed =
            form == SegmentForm::Rewritten || self.evidence.index == IndexEvidence::OfLostSegment;
        let current = match is_sealed {
            true => newest.base.saturating_add(span),
            false => newest.base,
        };
        let is_begun = is_sealed || newest.art.is_empty();
        let history_end = survey.and_then(|survey| survey.newest_history_end);
        let whole = history_end.filter(|_| !is_begun).map(|offset| LogPlace {
            base: current,
            offset,
        });
        self.start = Start {
            whole: whole.max(self.evidence.known_whole),
            ..Start::without_mark(current, Basis::LogOnly)
        };
        self.list_lost_articles();
        if newest.art.is_empty() {
            self.files.push(FileStep::BeginSegment(newest.base));
        }
        if is_sealed {
            self.files.push(FileStep::BeginSegment(current));
        }
        self.files.push(FileStep::Report(Notice::IndexRebuilt));
        let unreadable = survey.map(|survey| survey.unreadable_histories.iter());
        let unreadable: Vec<u64> = unreadable
            .into_iter()
            .flatten()
            .copied()
            .filter(|base| *base < current)
            .collect();
        if !unreadable.is_empty() {
            self.files.push(FileStep::RebuildHistories(unreadable));
        }
        None
    }

    /// Lists the articles behind the end of a log that was whole and was cut. A repair does so itself, and a node gets them from the log of its
    /// cluster again.
    fn list_lost_articles(&mut self) {
        let (Losses::Refuse, Role::Alone) = (self.evidence.losses, self.evidence.role) else {
            return;
        };
        let Some(newest) = self.evidence.newest() else {
            return;
        };
        let history_end = self
            .evidence
            .survey
            .as_ref()
            .and_then(|survey| survey.newest_history_end);
        let is_lost = match newest.art.is_empty() {
            true => self.start.basis != Basis::Applied && history_end.is_some(),
            false => self.start.whole.is_some_and(|whole| {
                whole.base == newest.base && newest.art.length() < whole.offset
            }),
        };
        if is_lost {
            self.files.push(FileStep::ListLostArticles);
        }
    }
}

fn damage(base: u64, offset: u64, what: &'static str) -> Refusal {
    Refusal::Segment { base, offset, what }
}

/// The first damaged segment behind a base. The newest one may be empty: its creation was interrupted.
fn later_fault(evidence: &Evidence, base: u64) -> Option<Refusal> {
    let newest = evidence.newest()?;
    let mut later = evidence
        .survey
        .iter()
        .flat_map(|survey| &survey.segments)
        .filter(|segment| segment.base > base);
    later.find_map(|segment| match segment.art {
        ArtEvidence::Sound { .. } => None,
        ArtEvidence::Damaged { .. } if segment.base == newest.base && segment.art.is_empty() => {
            None
        }
        ArtEvidence::Damaged { offset, what, .. } => Some(damage(segment.base, offset, what)),
        ArtEvidence::Missing => Some(damage(segment.base, 0, "it is missing")),
    })
}

/// The steps on the open spool.
fn spool_steps(evidence: &Evidence, start: &Start) -> Vec<SpoolStep> {
    let edit = edit_of_active(evidence, start.basis);
    let mut steps = Vec::new();
    let is_by_hand = edit == ActiveEdit::Certain && evidence.active != ActiveEvidence::Missing;
    if is_by_hand {
        steps.push(SpoolStep::ReportActiveFaults);
    }
    // A node takes the table from the log in these cases; a table that was just made from the log agrees with it.
    let is_checked =
        is_by_hand || start.basis != Basis::Applied && evidence.active != ActiveEvidence::Missing;
    if is_checked && evidence.role == Role::Alone {
        steps.push(SpoolStep::CheckActive(match is_by_hand {
            true => ActiveCheck::LinesAndEnd,
            false => ActiveCheck::Lines,
        }));
    }
    if evidence.expired == Presence::Missing {
        let was_published =
            matches!(evidence.index, IndexEvidence::Found(marks) if marks.published.is_some());
        if was_published {
            steps.push(SpoolStep::Report(Notice::ExpiredRebuilt));
        }
        steps.push(SpoolStep::MakeExpired);
    }
    if start.basis != Basis::LogOnly
        && start.basis != Basis::NewLog
        && evidence.key != KeyEvidence::Right
    {
        // Its marks are good: nothing else has to be made again.
        steps.push(SpoolStep::RebuildIndex);
    }
    let undone = undone_edit(evidence, edit);
    if undone == Some(EditReport::Report) {
        steps.push(SpoolStep::KeepActive);
    }
    let is_as_left = start.basis == Basis::Applied && evidence.ends_at(&start.mark);
    if !is_as_left {
        replay_steps(evidence, start, &mut steps);
    }
    // A repair finishes them when their segments are whole.
    if evidence.losses == Losses::Refuse {
        steps.push(SpoolStep::FinishErasures);
    }
    if evidence.expired == Presence::Missing {
        // Otherwise the first article would make the one file, and wait for two more syncs; and the first seal the other, from the whole log.
        steps.push(SpoolStep::PrepareStates);
    }
    // Without a replay, nothing can tell more than the file itself.
    let may_be_edited = edit == ActiveEdit::Certain || !is_as_left;
    if let Some(report) = undone {
        steps.push(SpoolStep::UndoActiveEdit(report));
    } else if may_be_edited && evidence.role == Role::Alone {
        steps.push(SpoolStep::LogActive(edit));
    }
    steps
}

/// The edit that a node undoes, if any. A file that was missing, or that no index recorded, is written anew without a report: nobody edited it.
fn undone_edit(evidence: &Evidence, edit: ActiveEdit) -> Option<EditReport> {
    let (Role::Node, ActiveEdit::Certain) = (evidence.role, edit) else {
        return None;
    };
    Some(match evidence.active {
        ActiveEvidence::Touched | ActiveEvidence::Resized => EditReport::Report,
        ActiveEvidence::Missing | ActiveEvidence::AsWritten | ActiveEvidence::Unrecorded => {
            EditReport::Silent
        }
    })
}

/// After a power cut the time and the checksum of the file say little: the log tells after the replay.
fn edit_of_active(evidence: &Evidence, basis: Basis) -> ActiveEdit {
    match evidence.active {
        ActiveEvidence::Missing | ActiveEvidence::Resized | ActiveEvidence::Unrecorded => {
            ActiveEdit::Certain
        }
        ActiveEvidence::Touched if basis == Basis::Applied => ActiveEdit::Certain,
        ActiveEvidence::Touched => ActiveEdit::IfReplayOrLogTells,
        ActiveEvidence::AsWritten => ActiveEdit::IfReplayTells,
    }
}

/// The replay of what the derived files lack, through all later segments, up to a checkpoint.
fn replay_steps(evidence: &Evidence, start: &Start, steps: &mut Vec<SpoolStep>) {
    let is_sure = start.basis == Basis::Applied;
    let restart = restart_report(evidence, start, steps);
    let is_renewed = is_renewed(start.basis, restart);
    derived_steps(evidence, start, restart, steps);
    segment_steps(evidence, start, steps);
    steps.push(SpoolStep::ForgetCancelsBehindEnd);
    steps.push(SpoolStep::FinishGroups);
    steps.push(SpoolStep::RestoreStates(match is_renewed {
        true => StatesRestored::All,
        false => StatesRestored::Replayed,
    }));
    if is_renewed {
        steps.push(SpoolStep::RestoreGroupFiles);
    }
    if !is_sure && evidence.role == Role::Node {
        steps.push(SpoolStep::TakeStateFromLog);
    }
    if !is_sure {
        // Also where no number in it changed, the disk may not have it.
        steps.push(SpoolStep::RewriteActive);
    }
    steps.push(SpoolStep::SyncDirectories);
    steps.push(SpoolStep::Checkpoint);
    if is_renewed || start.basis == Basis::NewLog {
        steps.push(SpoolStep::PlaceIndex);
    }
    steps.push(SpoolStep::ReportRecovered);
}

/// Whether new files take the place of the index and of the derived files of the segment.
fn is_renewed(basis: Basis, restart: Restart) -> bool {
    match basis {
        Basis::Doubted | Basis::LogOnly => true,
        // Readers of this run of the machine may have mapped them.
        Basis::Applied => restart == Restart::AtSegment,
        Basis::Checkpoint | Basis::NewLog => false,
    }
}

/// The derived files as the replay needs them: they end where it begins.
fn derived_steps(evidence: &Evidence, start: &Start, restart: Restart, steps: &mut Vec<SpoolStep>) {
    let (mark, is_renewed) = (start.mark, is_renewed(start.basis, restart));
    let mut from = match restart {
        Restart::AtMark => mark,
        Restart::AtSegment => Watermark {
            cancels_end: mark.cancels_end,
            ..start_of_segment(mark.base)
        },
    };
    let are_cancels_whole = match (start.basis, evidence.cancels) {
        (Basis::LogOnly, _) => false,
        (_, CancelsEvidence::Whole { .. }) => true,
        (_, CancelsEvidence::Missing | CancelsEvidence::Unmarked) => mark.cancels_end == 0,
        (_, CancelsEvidence::Damaged) => false,
    };
    if !are_cancels_whole {
        from.cancels_end = 0;
        if start.basis != Basis::LogOnly {
            steps.push(SpoolStep::Report(Notice::CancelsRebuilt));
        }
        // Before anything changes: the object store may not give a segment.
        steps.push(SpoolStep::CollectCancels(match evidence.cancels {
            CancelsEvidence::Missing => OldCancels::None,
            _ => OldCancels::StandIn,
        }));
    }
    if is_renewed {
        steps.push(SpoolStep::RenewDerived(from.base));
        if are_cancels_whole {
            steps.push(SpoolStep::RenewCancels(from.cancels_end));
        }
        if start.basis != Basis::LogOnly {
            steps.push(SpoolStep::RenewIndex);
        }
    }
    if is_renewed || from != mark {
        steps.push(SpoolStep::OpenDerived(from));
    }
    if !are_cancels_whole {
        steps.push(SpoolStep::PutCancels);
    }
}

/// The place in the marked segment where a replay begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Restart {
    /// At the mark.
    AtMark,
    /// At the first record: the derived files of the segment are of no use.
    AtSegment,
}

fn restart_report(evidence: &Evidence, start: &Start, steps: &mut Vec<SpoolStep>) -> Restart {
    let Some(MarkedSegment { art, content, .. }) = evidence.marked else {
        return Restart::AtMark;
    };
    let base = start.mark.base;
    match content {
        // Its files are made again, empty.
        _ if !matches!(art, ArtEvidence::Sound { .. }) => {}
        _ if art.length() < start.mark.art_end => {
            steps.push(SpoolStep::AcceptLostTail(art.length()))
        }
        DerivedContent::Fits => return Restart::AtMark,
        DerivedContent::DoesNotFit => steps.push(SpoolStep::Report(Notice::DerivedDidNotFit(base))),
        DerivedContent::Overwritten => {
            steps.push(SpoolStep::Report(Notice::DerivedWereOverwritten(base)));
        }
    }
    Restart::AtSegment
}

/// Replays the segment of the mark and all later ones.
fn segment_steps(evidence: &Evidence, start: &Start, steps: &mut Vec<SpoolStep>) {
    let first = start.mark.base;
    let survey: Option<&LogSurvey> = evidence.survey.as_ref();
    let later = survey.into_iter().flat_map(|survey| &survey.segments);
    let later: Vec<_> = later.filter(|segment| segment.base > first).collect();
    let newest = later.last().map_or(first, |segment| segment.base);
    let replay = |base| {
        SpoolStep::Replay(SegmentReplay {
            base,
            place: match base == newest {
                true => SegmentPlace::Newest,
                false => SegmentPlace::Sealed,
            },
            known: start.in_segment(base),
        })
    };
    steps.push(replay(first));
    for segment in later {
        steps.push(SpoolStep::SealDerived);
        if matches!(segment.art, ArtEvidence::Damaged { .. }) {
            steps.push(SpoolStep::BeginSegment(segment.base));
        }
        steps.push(SpoolStep::EnterSegment(segment.base));
        steps.push(replay(segment.base));
    }
}
