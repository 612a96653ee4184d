//! The articles behind the end of a log that was whole and was cut: they are listed before their history lines go.

use std::path::Path;

use crate::Error;
use crate::check::lost_ends::report_lost_ends;
use crate::check::repair::list_lost;
use crate::check::report::Report;
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::Segments;
use crate::spool::options::Options;
use crate::spool::recover::start::{Place, art_length, told_by_history};

/// Whether an opening lists them. A repair does so itself, and a node gets them from the log of its cluster again.
pub fn is_listed(options: Options) -> bool {
    !options.repair && !options.follows_log
}

/// Lists them if the newest segment has lost everything, before its files are made again.
///
/// # Errors
/// The segments or their history cannot be read.
pub fn list_of_emptied(
    segments: &Segments,
    dir: &Path,
    notices: &mut Vec<String>,
) -> Result<(), Error> {
    let Some(&last) = segments.bases()?.last() else {
        return Ok(());
    };
    if art_length(segments, last)? > SEGMENT_HEADER_BYTES {
        return Ok(());
    }
    match told_by_history(segments, last) {
        Some(_) => list(segments, dir, notices),
        None => Ok(()),
    }
}

/// Lists them if the newest segment ends before the place up to which it was whole, and has not lost everything.
///
/// # Errors
/// As [`list_of_emptied`].
pub fn list_behind(
    segments: &Segments,
    dir: &Path,
    (base, end): Place,
    notices: &mut Vec<String>,
) -> Result<(), Error> {
    let is_last = segments.bases()?.last() == Some(&base);
    let length = art_length(segments, base)?;
    match is_last && length < end && length > SEGMENT_HEADER_BYTES {
        true => list(segments, dir, notices),
        false => Ok(()),
    }
}

fn list(segments: &Segments, dir: &Path, notices: &mut Vec<String>) -> Result<(), Error> {
    let mut report = Report::default();
    report_lost_ends(segments, dir, &mut report)?;
    notices.extend(report.told());
    if let Err(error) = list_lost(&**segments.disk(), dir, &report) {
        notices.push(error.to_string());
    }
    Ok(())
}
