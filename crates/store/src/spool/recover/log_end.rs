//! Where the committed records of a segment end: a torn commit is told from damage.

use crate::Error;
use crate::io::disk::File;
use crate::log::record::{ALIGN, Kind};
use crate::log::walk::{Step, Walk};
use crate::notice::Notice;
use crate::spool::Spool;
use crate::spool::recover::plan::{SegmentPlace, SegmentReplay};
use crate::spool::recover::start::TornCommits;

impl Spool {
    /// Where the committed records of a segment end. A gap with a later commit behind it is damage and stays (fsck
    /// tells of it); a gap that no later commit follows is a commit that was torn, and ends the log, unless the segment was whole there
    /// once. If nothing tells what was synced, the commit with the gap may have been whole, and its readable records stay.
    /// Zeros at the end of the file do not count. The end is a multiple of [`ALIGN`], also where the file was cut off in the middle of a record: the
    /// next one begins there. It is less than that beyond the end of the file: no number in another file makes the log longer.
    pub(super) fn sound_end(
        &mut self,
        file: &dyn File,
        replay: &SegmentReplay,
    ) -> Result<u64, Error> {
        let known = replay.known;
        let last = replay.place == SegmentPlace::Newest;
        let path = self.art.append.path.clone();
        let damage = |from| Notice::Damaged {
            path: path.clone(),
            from,
        };
        let at = |source| Error::io("read", &path, source);
        // Positions behind the span are those of later segments.
        let length = file.length().map_err(at)?.min(self.art.header.span);
        let mut walk = Walk::new(file, self.art.append.end, length).map_err(at)?;
        let mut end = self.art.append.end;
        let mut torn_from = None;
        let mut commit = None;
        while let Some(step) = walk.next().map_err(at)? {
            match step {
                // Behind what the disk cannot read lies what was whole once; a torn commit can be read.
                Step::Gap { from, to, .. } if file.was_unreadable(from..to) => {
                    end = to.next_multiple_of(ALIGN as u64);
                    self.notices.push(damage(from));
                }
                // It holds no data: nothing may make the log longer than what was written.
                Step::Gap { to, empty, .. } if last && empty && to >= length => {}
                Step::Gap { from, to, empty } if from < known.whole => {
                    // Whether or not a later commit tells so.
                    end = to.min(known.whole).next_multiple_of(ALIGN as u64);
                    if !empty {
                        self.notices.push(damage(from));
                    }
                }
                // Nothing was synced behind it, so that a later commit is no sign of damage.
                Step::Gap { .. } if self.options.follows_log && last => break,
                Step::Gap { from, .. } => torn_from = torn_from.or(Some(from)),
                // Laid over damage by fsck.
                Step::Record(offset, record)
                    if record.head.kind == Kind::Pad && record.head.commit_sequence == 0 =>
                {
                    end = offset + u64::from(record.head.length);
                }
                Step::Record(offset, record) => {
                    let commit_start = offset.saturating_sub(u64::from(record.head.commit_back));
                    let is_torn = torn_from.is_some_and(|from| commit_start <= from);
                    let of_commit = (commit_start, record.head.commit_sequence);
                    // The gap is in its commit, or at its beginning; what else is there was left over from a failed attempt.
                    let may_be_whole = || {
                        commit == Some(of_commit)
                            || torn_from == Some(commit_start)
                                && commit.is_none_or(|(_, last)| last < of_commit.1)
                    };
                    if is_torn && !(known.torn_commits == TornCommits::MayBeWhole && may_be_whole())
                    {
                        continue;
                    }
                    // Left over from an attempt that failed and was made again at the same place.
                    if commit.is_some_and(|(start, commit_sequence)| {
                        start == commit_start && commit_sequence != record.head.commit_sequence
                    }) {
                        torn_from = torn_from.or(Some(offset));
                        continue;
                    }
                    commit = Some(of_commit);
                    if let Some(from) = torn_from.take() {
                        self.notices.push(damage(from));
                    }
                    end = offset + u64::from(record.head.length);
                }
            }
        }
        // Between two records the file ends without a gap. The positions behind the end are used again.
        if last && end < known.whole {
            self.notices.push(damage(end));
        }
        // A sealed segment is whole: what cannot be read there is damage, not a torn commit.
        Ok(if last { end } else { length })
    }
}
