//! Checks the histories of segments whose articles expire has removed: their ids are refused until they are forgotten.

use std::path::PathBuf;

use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::io::replace::map_whole;
use crate::log::segments::{SegmentFile, Segments};
use crate::report::{LOST_IDS_MAX, Report, names_of};
use crate::segment_repair::derived_files::readable_part;
use crate::{Error, Position};

/// A history with the lines that are right.
pub struct Mended {
    /// The file.
    pub path: PathBuf,
    /// Its new text.
    pub text: Vec<u8>,
}

/// Reports damaged lines, and articles that nobody removed: then `.art` and `.ovr` of a segment are lost. Returns what a repair has to write.
///
/// # Errors
/// The directory of the segments cannot be read.
pub fn check_kept_histories(
    segments: &Segments,
    alive: Visibility<'_>,
    report: &mut Report,
    repair: bool,
) -> Result<Vec<Mended>, Error> {
    let (whole, lost) = (segments.bases()?, segments.lost()?);
    // Cancels of articles before the oldest segment are forgotten.
    let oldest = whole.first().copied().unwrap_or(0);
    let mut mended = Vec::new();
    for base in segments.bases_with(&[SegmentFile::His])? {
        // The rows of a lost segment show that it is lost.
        if whole.binary_search(&base).is_ok() || lost.contains(&base) {
            continue;
        }
        let path = segments.path(base, SegmentFile::His);
        let Some(map) = map_whole(&**segments.disk(), &path) else {
            continue;
        };
        let history = History::of_map(&map);
        let range = segments.range(base)?;
        let (mut text, mut damaged, mut left) = (Vec::new(), 0u64, Vec::new());
        let (mut misplaced, mut last) = (0u64, range.base());
        for line in history.text().split_inclusive(|byte| *byte == b'\n') {
            let Some(known) = whole_line(line) else {
                damaged += 1;
                continue;
            };
            let is_own = |position| range.offset(position).is_some();
            match known.position {
                Some(position) if !is_own(position) => {
                    // No article lies there any more: a position that names nothing will do, and the id stays known.
                    misplaced += 1;
                    last += 1;
                    text.extend_from_slice(&readable_part(&known, Position(last)));
                    continue;
                }
                position => last = position.map_or(last, |position| position.0),
            }
            match base > oldest && alive.has(&known) {
                true => left.push(known),
                false => text.extend_from_slice(line),
            }
        }
        if misplaced > 0 {
            let what = format!("{misplaced} of its lines name positions of other segments");
            report.tell(&path, 0, what, repair);
        }
        if !history.is_sound() {
            damaged += 1;
        }
        if map.unreadable_from().is_some() {
            damaged += 1;
        }
        if damaged > 0 {
            let what = format!(
                "{damaged} of its lines are damaged: these ids of articles that have expired are lost, and such an article is accepted if it comes again"
            );
            report.tell(&path, 0, what, repair);
        }
        if !left.is_empty() {
            report.lost += 1;
            let room = LOST_IDS_MAX.saturating_sub(report.lost_ids.len());
            let ids = left.iter().take(room).map(|line| line.id.to_vec());
            report.lost_ids.extend(ids);
            let what = format!(
                "its .art and .ovr are missing, and expire did not remove them: {}",
                names_of(&left.iter().collect::<Vec<_>>())
            );
            report.tell(&path, 0, what, repair);
        }
        if damaged > 0 || misplaced > 0 || !left.is_empty() {
            mended.push(Mended { path, text });
        }
    }
    Ok(mended)
}

/// A line of an article, or of an id that was only seen, if everything in it can be read.
fn whole_line(line: &[u8]) -> Option<HistoryLine<'_>> {
    let known = HistoryLine::parse(line.strip_suffix(b"\n")?)?;
    let is_whole = known.arrival.is_some()
        && !known.id.is_empty()
        && !line.contains(&0)
        && (!known.is_filed() || known.is_intact());
    is_whole.then_some(known)
}
