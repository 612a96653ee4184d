//! Opening a news directory, and making the derived files agree with the log, in three steps.
//!
//! [`inspect`] reads the disk and returns [`evidence`]. [`plan`] turns the evidence into a list of steps, without a look at the disk.
//! [`carry_out`] and [`recovery`] carry them out. [`start`] has the rule where a replay begins: at the *applied* mark of this run of the machine,
//! else at the *checkpoint*, else at the beginning of the last segment, with an index that is made again from the history lines.

mod absent_file;
mod carry_out;
mod evidence;
mod inspect;
mod log_end;
mod plan;
mod recovery;
mod replay;
mod replayed_groups;
mod start;

use std::path::Path;

use crate::Error;
use crate::io::lock::Lock;
use crate::log::place::LogPlace;
use crate::log::segment::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
use crate::log::segments::Segments;
use crate::spool::Spool;
use crate::spool::follow_log::is_of_cluster;
use crate::spool::options::Options;
use crate::spool::recover::carry_out::Directory;
use crate::spool::recover::inspect::inspect;
use crate::spool::recover::plan::{Goal, RecoveryPlan};
use crate::spool::recover::recovery::Recovery;

pub use plan::ActiveCheck;

/// Opens the news directory `dir`.
pub fn open(segments: &Segments, dir: &Path, options: Options, lock: Lock) -> Result<Spool, Error> {
    open_known(segments, dir, options, lock, None)
}

/// Opens the news directory after a repair that removed the index. The log was whole up to the place `known_whole`.
pub fn open_known(
    segments: &Segments,
    dir: &Path,
    mut options: Options,
    lock: Lock,
    known_whole: Option<LogPlace>,
) -> Result<Spool, Error> {
    options.segment_bytes = options
        .segment_bytes
        .clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX)
        .next_multiple_of(4096);
    if !options.follows_log && !options.repair && is_of_cluster(dir) {
        return Err(Error::OfCluster(dir.to_owned()));
    }
    let (evidence, files) = inspect(segments, dir, options, known_whole)?;
    let plan = RecoveryPlan::of(&evidence);
    let mut directory = Directory {
        segments,
        dir,
        options,
        files,
        notices: Vec::new(),
    };
    for step in plan.files {
        directory.carry_out(step)?;
    }
    let (mark, steps) = match plan.goal {
        Goal::Open(mark, steps) => (mark, steps),
        Goal::Refuse(refusal) => return Err(directory.refusal(refusal)),
    };
    let mut recovery = Recovery::new(directory.into_spool(&mark, lock)?);
    for step in steps {
        if let Err(error) = recovery.carry_out(step) {
            let spool = recovery.spool;
            spool.index.abandon(&*spool.disk);
            return Err(error);
        }
    }
    Ok(recovery.spool)
}
