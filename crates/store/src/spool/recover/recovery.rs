//! The steps of a recovery on an open spool.

use crate::Error;
use crate::history::sealed::SealedHistory;
use crate::index::watermark::Watermark;
use crate::index::{self, Index};
use crate::io::append_file::renew;
use crate::log::art::Art;
use crate::log::segment::SegmentHeader;
use crate::log::segments::SegmentFile;
use crate::notice::Notice;
use crate::progress::Work;
use crate::spool::Spool;
use crate::spool::derived::Derived;
use crate::spool::recover::plan::{
    ActiveEdit, EditReport, OldCancels, SegmentReplay, SpoolStep, StatesRestored,
};
use crate::spool::recover::replayed_groups::{GroupsFound, ReplayedGroups};
use crate::spool::recover::start::start_of_segment;
use crate::state::unreclaimed;

/// A spool that is being recovered, and what only the replay can know.
pub struct Recovery {
    /// The spool.
    pub spool: Spool,
    groups: ReplayedGroups,
    groups_found: GroupsFound,
    articles: u64,
    /// Lines for a new `cancels`, between the two steps that make it.
    cancels: Vec<u8>,
    /// The text of an edited `active`, as it was found.
    active_found: Vec<u8>,
    work: Option<Work>,
}

impl Recovery {
    /// The recovery of a spool, before its first step.
    pub fn new(spool: Spool) -> Recovery {
        Recovery {
            spool,
            groups: ReplayedGroups::default(),
            groups_found: GroupsFound::AsLogged,
            articles: 0,
            cancels: Vec::new(),
            active_found: Vec::new(),
            work: None,
        }
    }

    /// Carries out one step.
    ///
    /// # Errors
    /// Those of the file system; damage that the replay meets; an `active` that has lost groups.
    pub fn carry_out(&mut self, step: SpoolStep) -> Result<(), Error> {
        let spool = &mut self.spool;
        match step {
            SpoolStep::Report(notice) => spool.notices.push(notice),
            SpoolStep::ReportActiveFaults => spool.report_active_faults(),
            SpoolStep::CheckActive(check) => spool.check_active(check)?,
            SpoolStep::MakeExpired => self.make_expired()?,
            SpoolStep::RebuildIndex => spool.rebuild_index().map(drop)?,
            SpoolStep::KeepActive => self.active_found = spool.active.table.image().to_vec(),
            SpoolStep::AcceptLostTail(length) => {
                let path = spool.art.append.path.clone();
                spool.notices.push(Notice::TailLost { path, length });
            }
            SpoolStep::CollectCancels(old) => self.collect_cancels(old)?,
            SpoolStep::RenewDerived(base) => self.renew_derived(base)?,
            SpoolStep::RenewCancels(end) => renew(&*spool.disk, &spool.dir.join("cancels"), end)?,
            SpoolStep::RenewIndex => self.renew_index()?,
            SpoolStep::OpenDerived(from) => self.open_derived(&from)?,
            SpoolStep::PutCancels => spool.put_cancels(&std::mem::take(&mut self.cancels))?,
            SpoolStep::Replay(replay) => self.replay(&replay)?,
            SpoolStep::SealDerived => {
                spool.derived.merge_overview(&*spool.disk)?;
                spool.derived.sync()?;
            }
            SpoolStep::BeginSegment(base) => {
                let header = SegmentHeader::plain(base, spool.options.segment_bytes);
                spool.segments.create(header)?;
            }
            SpoolStep::EnterSegment(base) => self.enter_segment(base)?,
            SpoolStep::ForgetCancelsBehindEnd => {
                // All of the log is read.
                self.work = None;
                spool.forget_cancels_behind_end()?;
            }
            SpoolStep::FinishGroups => {
                let groups = std::mem::take(&mut self.groups);
                self.groups_found = groups.finish(&mut spool.active.table);
            }
            SpoolStep::RestoreStates(StatesRestored::All) => spool.states.fold_again()?,
            SpoolStep::RestoreStates(StatesRestored::Replayed) => spool.states.finish_replay()?,
            SpoolStep::RestoreGroupFiles => spool.restore_group_files()?,
            SpoolStep::TakeStateFromLog => spool.take_state_from_log()?,
            SpoolStep::RewriteActive => spool.active.rewrite()?,
            SpoolStep::SyncDirectories => self.sync_directories()?,
            SpoolStep::Checkpoint => self.checkpoint()?,
            SpoolStep::PlaceIndex => spool.index.publish(&*spool.disk)?,
            SpoolStep::ReportRecovered => self.report_recovered(),
            SpoolStep::FinishErasures => spool.try_to_finish_erasures(),
            SpoolStep::PrepareStates => {
                spool.states.pending_cancels.prepare()?;
                spool.states.serials.prepare()?;
            }
            SpoolStep::LogActive(edit) => self.log_active(edit)?,
            SpoolStep::UndoActiveEdit(report) => self.undo_active_edit(report)?,
        }
        Ok(())
    }

    /// Makes `expired`, of a new news directory or from the log.
    fn make_expired(&mut self) -> Result<(), Error> {
        let spool = &mut self.spool;
        let nothing_expired = spool.expired.state_mut()?.is_fresh();
        spool.expired.flush()?;
        if nothing_expired {
            unreclaimed::write(&*spool.disk, &spool.dir, &unreclaimed::Due::new())?;
        }
        Ok(())
    }

    fn collect_cancels(&mut self, old: OldCancels) -> Result<(), Error> {
        let spool = &mut self.spool;
        let collected = spool.collect_cancels(old);
        if collected.is_err() && old == OldCancels::None {
            // The next start must not take the empty file that this one made for the whole one.
            let _ = spool.disk.remove(&spool.derived.cancels.path);
        }
        self.cancels = collected?;
        Ok(())
    }

    fn renew_derived(&mut self, base: u64) -> Result<(), Error> {
        let spool = &self.spool;
        let mut files = SegmentFile::DERIVED.into_iter();
        files.try_for_each(|file| renew(&*spool.disk, &spool.segments.path(base, file), 0))
    }

    fn renew_index(&mut self) -> Result<(), Error> {
        let spool = &mut self.spool;
        let key = *spool.index.key()?;
        let path = spool.dir.join(index::FILE);
        spool.index = Index::of_lines(&*spool.disk, &path, (key, None), |put| {
            spool.sealed.each_line(put)
        })?;
        Ok(())
    }

    fn open_derived(&mut self, from: &Watermark) -> Result<(), Error> {
        let spool = &mut self.spool;
        spool.derived = Derived::open(&spool.segments, &spool.dir, spool.art.header, from)?;
        spool.art.append.end = from.art_end;
        Ok(())
    }

    fn replay(&mut self, replay: &SegmentReplay) -> Result<(), Error> {
        let spool = &mut self.spool;
        let (base, from) = (spool.current_base(), spool.art.append.end);
        let segments = &spool.segments;
        let work = self.work.get_or_insert_with(|| {
            Work::begin("reading the log", || {
                let mut bases = segments.bases().unwrap_or_default();
                bases.retain(|there| *there >= base);
                let lengths = bases.iter().map(|there| segments.art_length(*there));
                let bytes: u64 = lengths.map(|length| length.unwrap_or(0)).sum();
                bytes.saturating_sub(from)
            })
        });
        self.articles += spool.replay(replay, &mut self.groups, work)?;
        Ok(())
    }

    fn enter_segment(&mut self, base: u64) -> Result<(), Error> {
        let spool = &mut self.spool;
        let mark = Watermark {
            cancels_end: spool.derived.cancels.end,
            ..start_of_segment(base)
        };
        spool.art = Art::open(&spool.segments, base, mark.art_end)?;
        spool.derived = Derived::open(&spool.segments, &spool.dir, spool.art.header, &mark)?;
        spool.sealed = SealedHistory::new(&spool.segments, base);
        Ok(())
    }

    fn sync_directories(&mut self) -> Result<(), Error> {
        let spool = &self.spool;
        spool.segments.sync()?;
        spool
            .disk
            .sync_directory(&spool.dir)
            .map_err(|source| Error::io("sync", &spool.dir, source))
    }

    fn checkpoint(&mut self) -> Result<(), Error> {
        let spool = &mut self.spool;
        // Before anything is filed: the log may be shorter than it was.
        spool.index.note_replay(spool.end().0);
        spool.publish()?;
        spool.checkpoint()
    }

    fn report_recovered(&mut self) {
        self.spool.taken_up = self.articles;
        if self.articles > 0 {
            self.spool.notices.push(Notice::Recovered(self.articles));
        }
    }

    fn log_active(&mut self, edit: ActiveEdit) -> Result<(), Error> {
        let is_edited = match edit {
            ActiveEdit::Certain => true,
            ActiveEdit::IfReplayTells => self.groups_found == GroupsFound::Edited,
            ActiveEdit::IfReplayOrLogTells => {
                self.groups_found == GroupsFound::Edited || self.spool.active_differs_from_log()?
            }
        };
        match is_edited {
            true => self.spool.take_up_active(),
            false => Ok(()),
        }
    }

    fn undo_active_edit(&mut self, report: EditReport) -> Result<(), Error> {
        let spool = &mut self.spool;
        spool.take_state_from_log()?;
        spool.active.rewrite()?;
        // The index knows the file from here on.
        spool.publish()?;
        if report == EditReport::Report && self.active_found != spool.active.table.image() {
            spool.notices.push(Notice::EditUndone);
        }
        Ok(())
    }
}
