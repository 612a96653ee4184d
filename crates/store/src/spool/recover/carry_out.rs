//! The steps of a recovery on the files of a news directory, up to an open spool.

use std::collections::BTreeSet;
use std::path::Path;

use crate::Error;
use crate::expiry::state::ExpiryStateFile;
use crate::history::sealed::SealedHistory;
use crate::history::seen_hashes::SeenHashes;
use crate::index::watermark::Watermark;
use crate::index::{self, Index, key};
use crate::io::lock::Lock;
use crate::log::art::Art;
use crate::log::known_bases::KnownBases;
use crate::log::repack_reserve;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::notice::Notice;
use crate::report::Report;
use crate::segment_repair::derived_files::{rebuild_lost, remove_unfinished_rebuild};
use crate::segment_repair::lost_ends::report_lost_ends;
use crate::spool::Spool;
use crate::spool::active_file::ActiveFile;
use crate::spool::active_from_log::rebuild_active;
use crate::spool::derived::Derived;
use crate::spool::options::Options;
use crate::spool::recover::inspect::OpenFiles;
use crate::spool::recover::plan::{FileStep, Refusal, Unfinished};
use crate::state::States;

/// Files in the making when a program that holds the lock is killed.
const UNFINISHED: [&str; 3] = ["index.new", "index.key.new", "active.new"];

/// A news directory that is not open yet.
pub struct Directory<'d> {
    /// Its segments.
    pub segments: &'d Segments,
    /// Its path.
    pub dir: &'d Path,
    /// The settings of the opening.
    pub options: Options,
    /// The files that are open.
    pub files: OpenFiles,
    /// The reports so far.
    pub notices: Vec<Notice>,
}

impl Directory<'_> {
    /// Carries out one step.
    ///
    /// # Errors
    /// Those of the file system; or the log does not have what is made from it.
    pub fn carry_out(&mut self, step: FileStep) -> Result<(), Error> {
        match step {
            FileStep::RemoveUnfinished(unfinished) => self.remove_unfinished(unfinished),
            FileStep::ListLostArticles => self.list_lost_articles(),
            FileStep::Report(notice) => {
                self.notices.push(notice);
                Ok(())
            }
            FileStep::BeginSegment(base) => {
                let header = SegmentHeader::plain(base, self.options.segment_bytes);
                self.segments.create(header)
            }
            FileStep::RebuildHistories(bases) => self.rebuild_histories(&bases),
            FileStep::RebuildActive => self.rebuild_active(),
            FileStep::MakeKey => {
                self.files.key = Some(key::make(&**self.segments.disk(), self.dir)?);
                Ok(())
            }
            FileStep::MakeIndex(base) => self.make_index(base),
        }
    }

    /// All these files are written by the holder of the lock.
    fn remove_unfinished(&self, unfinished: Unfinished) -> Result<(), Error> {
        for name in UNFINISHED {
            let path = self.dir.join(name);
            match self.segments.disk().remove(&path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path, source));
                }
                _ => {}
            }
        }
        match unfinished {
            Unfinished::Named => Ok(()),
            Unfinished::NamedAndRebuilt => remove_unfinished_rebuild(self.segments),
        }
    }

    /// A failure to write the list keeps no articles from being filed.
    fn list_lost_articles(&mut self) -> Result<(), Error> {
        let mut report = Report::default();
        report_lost_ends(self.segments, self.dir, &mut report)?;
        self.notices
            .extend(report.told().into_iter().map(Notice::Other));
        if let Err(error) = report.list_lost(&**self.segments.disk(), self.dir) {
            self.notices.push(Notice::Other(error.to_string()));
        }
        Ok(())
    }

    fn rebuild_histories(&mut self, bases: &[u64]) -> Result<(), Error> {
        let damaged = rebuild_lost(self.segments, self.dir, bases)?;
        let rebuilt = bases.iter().copied().map(Notice::HistoryRebuilt);
        self.notices.extend(rebuilt.chain(damaged));
        Ok(())
    }

    fn rebuild_active(&mut self) -> Result<(), Error> {
        let table = rebuild_active(self.segments, self.dir)?;
        self.notices.push(Notice::ActiveRebuilt);
        self.files.active = Some(ActiveFile::create(self.segments.disk(), self.dir, table)?);
        Ok(())
    }

    /// If this is interrupted, the next start makes it again from the beginning.
    fn make_index(&mut self, base: u64) -> Result<(), Error> {
        let key = required(self.files.key, &key::path(self.dir))?;
        let sealed = SealedHistory::new(self.segments, base);
        let path = self.dir.join(index::FILE);
        let made = Index::of_lines(&**self.segments.disk(), &path, (key, None), |put| {
            sealed.each_line(put)
        })?;
        self.files.index = Some(made);
        Ok(())
    }

    /// The error of a refusal.
    pub fn refusal(&self, refusal: Refusal) -> Error {
        match refusal {
            Refusal::NoSegments => self.segments.none_error(),
            Refusal::Segment { base, offset, what } => Error::Damaged {
                path: self.segments.path(base, SegmentFile::Art),
                offset,
                what,
            },
        }
    }

    /// Opens the spool at a mark.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub fn into_spool(self, mark: &Watermark, lock: Lock) -> Result<Spool, Error> {
        let Directory {
            segments,
            dir,
            options,
            files,
            notices,
        } = self;
        let disk = segments.disk().clone();
        let active = required(files.active, &dir.join("active"))?;
        let mut index = required(files.index, &dir.join(index::FILE))?;
        index.set_key(required(files.key, &key::path(dir))?);
        let art = match files.art {
            Some(art) => art,
            None => Art::open(segments, mark.base, mark.art_end)?,
        };
        let derived = match files.derived {
            Some(derived) => derived,
            None => Derived::open(segments, dir, art.header, mark)?,
        };
        // The program that filed up to here has made it, or had no room.
        let reserve = repack_reserve::size_for(art.append.end);
        let checkpointed = index
            .checkpoint()
            .filter(|checkpoint| checkpoint.base == mark.base)
            .map_or(SEGMENT_HEADER_BYTES, |checkpoint| checkpoint.art_end);
        Ok(Spool {
            dir: dir.to_owned(),
            segments: segments.clone(),
            options,
            run: files.run,
            active,
            index,
            art,
            derived,
            sealed: SealedHistory::new(segments, mark.base),
            bases: KnownBases::default(),
            expired: ExpiryStateFile::new(&disk, dir),
            states: States::new(segments, dir),
            commit_sequence: 0,
            checkpointed,
            is_poisoned: false,
            notices,
            taken_up: 0,
            used: None,
            seen_hashes: SeenHashes::open(&*disk, dir)?,
            lock,
            publisher: None,
            size_checked: None,
            without_pause_max: None,
            reserve,
            unreclaimed: BTreeSet::new(),
            removals: BTreeSet::new(),
            disk,
        })
    }
}

/// A file that the plan has opened or made.
fn required<T>(file: Option<T>, path: &Path) -> Result<T, Error> {
    file.ok_or_else(|| Error::Damaged {
        path: path.to_owned(),
        offset: 0,
        what: "it is missing",
    })
}
