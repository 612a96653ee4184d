//! What opening does when somebody else wrote `active` since the store did: the administrator may add, change and remove
//! groups by hand.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use groups::active::BAD_LINES_MAX;
use groups::{Active, GroupId};

use crate::Error;
use crate::index::Index;
use crate::io::disk::{Disk, RealDisk};
use crate::log::record::Kind;
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::Segments;
use crate::notice::Notice;
use crate::spool::active_file::ActiveFile;
use crate::spool::active_from_log::{rebuild_active, told_roughly};
use crate::spool::group_changes::push_line;
use crate::spool::recover::ActiveCheck;
use crate::spool::{SNAPSHOT_PART, Spool};

/// Groups of an edit in one record.
const GROUPS_A_RECORD: usize = 100;

/// The fault of an `active` whose last line has no newline.
pub(crate) const CUT: &str = "it ends in the middle of a line";

impl Spool {
    /// Reports the bad lines and the dangling aliases of an edited active file.
    pub(crate) fn report_active_faults(&mut self) {
        let faults = self.bad_lines_of_active();
        self.notices.extend(faults.into_iter().map(Notice::Other));
        let aliases = self.active.table.dangling_aliases();
        let dangling = aliases.take(BAD_LINES_MAX).map(|alias| {
            let alias = groups::escaped(alias);
            Notice::Other(format!(
                "active: {alias} is an alias that leads to no group"
            ))
        });
        self.notices.extend(dangling);
    }

    /// Whether groups or flags are others than in the log, or a high mark is below a number given. The replay has made good what a power cut
    /// took from the file, so somebody edited it before. Reads the whole segment only if its first copy and its history differ from the file.
    pub(crate) fn active_differs_from_log(&self) -> Result<bool, Error> {
        let table = &self.active.table;
        let told = told_roughly(&self.segments, self.art.header.base, table)?;
        let is_told = || rebuild_active(&self.segments, &self.dir);
        Ok(differs(table, &told) && is_told().is_ok_and(|told| differs(table, &told)))
    }

    /// Refuses an `active` that has lost groups by damage, or by a mistake of who edited it: articles of these groups would be refused, and their
    /// ids kept.
    pub(crate) fn check_active(&self, check: ActiveCheck) -> Result<(), Error> {
        check_file(&self.active, &self.segments, &self.dir)?;
        match check {
            ActiveCheck::LinesAndEnd => check_end(&self.active, &self.segments, &self.dir),
            ActiveCheck::Lines => Ok(()),
        }
    }

    /// Somebody else wrote active: numbers already given are not given again, and the log gets a copy, so that a
    /// rebuild knows the change.
    pub(crate) fn take_up_active(&mut self) -> Result<(), Error> {
        if self.art.append.end > SEGMENT_HEADER_BYTES
            && let Ok(told) = rebuild_active(&self.segments, &self.dir)
        {
            if self.active.table.is_empty() && !told.is_empty() {
                let notice = "active was empty: made again from the log";
                self.notices.push(Notice::Other(notice.into()));
                self.active.table = told;
                self.active.rewrite()?;
                return self.publish();
            }
            if let Some(names) = missing(&told, &self.active.table) {
                self.notices.push(Notice::Other(format!(
                    "active has no line for {names} any more; if that was not meant, add them again"
                )));
            }
            for id in told.ids() {
                if let Some(here) = self.active.table.find(told.name(id))
                    && self.active.table.high(here) < told.high(id)
                {
                    let name = String::from_utf8_lossy(told.name(id)).into_owned();
                    self.notices.push(Notice::Other(format!(
                        "active: the high mark of {name} was below numbers given: raised"
                    )));
                    self.active.table.set_high(here, told.high(id));
                }
            }
            self.raise_groups_unknown_to(&told)?;
            self.log_edits(&told)?;
        }
        self.lower_low_marks();
        // Whoever edited it may have edited the files beside it, too.
        let copies = self.group_copies();
        let lengths = copies.iter().map(|(_, copy)| copy.len() + 256);
        // A longer active is not copied.
        let image = self.active.table.image().len() as u64 + 256;
        let image = image.min(self.art.header.span / SNAPSHOT_PART);
        let bytes = lengths.sum::<usize>() as u64 + image;
        if self.art.has_room(bytes, self.options.segment_bytes) {
            self.log_active();
            for (kind, copy) in copies {
                self.log_state_text(kind, &copy);
            }
        } else {
            // The next segment begins with the copies.
            self.commit()?;
            self.seal()?;
        }
        self.commit()?;
        Ok(())
    }

    /// A low mark above the next number would hide the articles that come.
    fn lower_low_marks(&mut self) {
        let table = &mut self.active.table;
        for id in table.ids().collect::<Vec<_>>() {
            let next = table.high(id).saturating_add(1);
            if table.low(id) > next {
                let name = String::from_utf8_lossy(table.name(id)).into_owned();
                self.notices.push(Notice::Other(format!(
                    "active: the low mark of {name} was {}, which would hide new articles: lowered to {next}",
                    table.low(id)
                )));
                table.set_low(id, next);
            }
        }
    }

    /// Logs which groups were taken out, added, or changed: a long active is not copied.
    fn log_edits(&mut self, told: &Active) -> Result<(), Error> {
        for name in told.ids().map(|id| told.name(id)) {
            if self.active.table.find(name).is_none() {
                self.make_room((name.len() + 512) as u64)?;
                self.log_text(Kind::Group, &[b"- ", name, b"\n"].concat());
            }
        }
        let table = &self.active.table;
        let is_new = |id: &GroupId| {
            let there = told.find(table.name(*id));
            there.is_none_or(|there| told.flag(there) != table.flag(*id))
        };
        let new: Vec<GroupId> = table.ids().filter(is_new).collect();
        let record = |ids: &[GroupId]| {
            let mut record = b"+ ".to_vec();
            for id in ids {
                push_line(&mut record, table, *id);
            }
            record
        };
        let records: Vec<Vec<u8>> = new.chunks(GROUPS_A_RECORD).map(record).collect();
        for record in records {
            self.make_room((record.len() + 512) as u64)?;
            self.log_text(Kind::Group, &record);
        }
        Ok(())
    }

    /// Groups that somebody added by hand may have been there before: their numbers are not given again.
    fn raise_groups_unknown_to(&mut self, told: &Active) -> Result<(), Error> {
        let table = &self.active.table;
        let is_fresh = |id: &GroupId| told.find(table.name(*id)).is_none();
        let mut fresh: Vec<(GroupId, u64)> =
            table.ids().filter(is_fresh).map(|id| (id, 0)).collect();
        if fresh.is_empty() {
            return Ok(());
        }
        self.each_block(|block| {
            for (id, high) in &mut fresh {
                let rows = block.find(table.name(*id));
                *high = rows.map_or(*high, |rows| rows.last_number().max(*high));
            }
        })?;
        for (id, high) in fresh {
            let name = self.active.table.name(id);
            let high = high.max(self.expired.state()?.highest(name));
            if self.active.table.high(id) < high {
                self.active.table.set_high(id, high);
            }
        }
        Ok(())
    }
}

/// Whether articles can be filed with the `active` of a news directory.
///
/// # Errors
/// It is missing; or it ends in the middle of a line or has bad lines, and lacks groups that the log has; or nobody has taken it up, and the last groups of the
/// log are missing; or a file cannot be read.
pub fn check_active(dir: &Path) -> Result<(), Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let active = match ActiveFile::open(&disk, dir) {
        Err(Error::Io { source, path, .. }) if source.kind() == ErrorKind::NotFound => {
            return Err(Error::Active {
                path,
                what: "it is missing: run `broadsheet fsck --repair', which makes it again from the log".to_owned(),
            });
        }
        opened => opened?,
    };
    let segments = Segments::find(&disk, dir)?;
    check_file(&active, &segments, dir)?;
    match is_edited(&*disk, dir, &active)? {
        true => check_end(&active, &segments, dir),
        false => Ok(()),
    }
}

/// Whether somebody else wrote `active` and nobody has taken it up. Without an index nothing tells.
pub(crate) fn is_edited(disk: &dyn Disk, dir: &Path, active: &ActiveFile) -> Result<bool, Error> {
    let index = Index::open_to_read(disk, dir, None)?;
    let now = active.identity()?;
    Ok(index.is_some_and(|index| index.active_identity() != now))
}

/// Whether a table has other groups or flags than the log, or a lower high mark.
fn differs(table: &Active, told: &Active) -> bool {
    let is_other = |id: GroupId| {
        table.find(told.name(id)).is_none_or(|here| {
            table.flag(here) != told.flag(id) || table.high(here) < told.high(id)
        })
    };
    table.len() != told.len() || told.ids().any(is_other)
}

fn check_end(active: &ActiveFile, segments: &Segments, dir: &Path) -> Result<(), Error> {
    match lost_end(segments, dir, &active.table) {
        None => Ok(()),
        Some(what) => Err(Error::Active {
            path: dir.join("active"),
            what: format!(
                "{what}: put a whole copy in its place, or remove it, and it is made again from the log; to remove these groups, do that \
                 first, and then use `broadsheet group remove'"
            ),
        }),
    }
}

fn check_file(active: &ActiveFile, segments: &Segments, dir: &Path) -> Result<(), Error> {
    let table = &active.table;
    if table.is_empty() {
        // It is made again.
        return Ok(());
    }
    let what = match (active.is_cut, table.bad_lines().first()) {
        (true, _) => CUT.to_owned(),
        (false, Some(fault)) => fault.to_string(),
        (false, None) => return Ok(()),
    };
    match lost_groups(segments, dir, table) {
        Some(names) => Err(Error::Active {
            path: dir.join("active"),
            what: format!(
                "{what}, and it lacks {names}: mend it or put a whole copy in its place, or remove it, and it is made again from the log"
            ),
        }),
        None => Ok(()),
    }
}

/// The fault of a table that lacks the last groups of the log, two at least, and no others: its file was cut at the end of a line. The
/// administrator may well have taken out a single group.
pub(crate) fn lost_end(segments: &Segments, dir: &Path, table: &Active) -> Option<String> {
    let told = rebuild_active(segments, dir).ok()?;
    let is_here = |id: &GroupId| table.find(told.name(*id)).is_some();
    let first = told.ids().take_while(is_here).count();
    let is_cut = !table.is_empty() && first == table.len() && told.len() >= first + 2;
    let names = missing(&told, table).filter(|_| is_cut)?;
    Some(format!("its end is missing, with {names}"))
}

/// The groups of the log that a table lacks, for a message; `None` if there is none, or no copy in the log that tells.
pub(crate) fn lost_groups(segments: &Segments, dir: &Path, table: &Active) -> Option<String> {
    let told = rebuild_active(segments, dir).ok()?;
    missing(&told, table)
}

/// The groups that one table has and the other lacks, for a message; `None` if there is none.
fn missing(all: &Active, table: &Active) -> Option<String> {
    let mut names = all
        .ids()
        .map(|id| all.name(id))
        .filter(|name| table.find(name).is_none());
    let first = String::from_utf8_lossy(names.next()?).into_owned();
    Some(match names.count() {
        0 => first,
        1 => format!("{first} and another group"),
        more => format!("{first} and {more} more groups"),
    })
}
