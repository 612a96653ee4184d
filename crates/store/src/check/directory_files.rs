//! The check of the files that describe all segments: `cancels`, the index and `active`.

use std::collections::HashMap;

use crate::check::segment_files::Seen;
use crate::history::HistoryLine;
use crate::history::cancels::CancelLine;
use crate::history::lookup::{Histories, first_line, is_line_of};
use crate::io::disk::Open;
use crate::log::segments::{SegmentFile, Segments, base_of};
use crate::overview::used_numbers::UsedNumbers;
use crate::read::open_segments::read_record;
use crate::report::{FINDINGS_MAX, Report};
use crate::{Error, Spool};

/// Every cancel of the log must be in `cancels`, and no other except those of removed segments.
pub fn check_cancels(
    spool: &mut Spool,
    seen: &Seen,
    before: &[u8],
    report: &mut Report,
    repair: bool,
) -> Result<(), Error> {
    let append = spool.cancels_file();
    let path = append.path.clone();
    let at = |source| Error::io("read", &path, source);
    let mut text = vec![0; append.length()? as usize];
    let got = append.file.read_at(&mut text, 0).map_err(at)?;
    text.truncate(got);
    let segments = spool.segments().clone();
    let bases = segments.bases()?;
    let mut there: HashMap<u64, (u64, CancelLine<'_>, &[u8])> = HashMap::new();
    let mut bad = None;
    // Of each position the last line counts.
    for (offset, line) in crate::history::lines(&text) {
        match CancelLine::parse(line) {
            Some(parsed) => drop(there.insert(parsed.position.0, (offset, parsed, line))),
            None => bad = bad.or(Some(offset)),
        }
    }
    for (position, (offset, parsed, line)) in &there {
        let right = match seen.cancels.get(position) {
            Some(told) => told.strip_suffix(b"\n") == Some(line),
            None => parsed.is_restored || !has_article(&segments, &bases, *position),
        };
        if !right {
            bad = Some(bad.map_or(*offset, |bad: u64| bad.min(*offset)));
        }
    }
    // Records of cancels were damaged: the space of their articles may be reclaimed already, so they must stay cancelled.
    let mut again: HashMap<u64, CancelLine<'_>> = HashMap::new();
    let before = if repair { before } else { b"" };
    for (_, line) in crate::history::lines(before) {
        if let Some(line) = CancelLine::parse(line) {
            again.insert(line.position.0, line);
        }
    }
    let mut unknown = Vec::new();
    for (position, line) in again {
        if !line.is_restored
            && !seen.cancels.contains_key(&position)
            && has_article(&segments, &bases, position)
            && spool.find(line.id)?.and_then(|line| line.position) == Some(line.position)
        {
            unknown.push(line);
        }
    }
    let mut again = unknown;
    again.sort_unstable_by_key(|line| line.position);
    if !again.is_empty() {
        bad = bad.or(Some(0));
    }
    // Cancels of removed segments may be missing.
    let is_missing =
        |position: &u64| !there.contains_key(position) && has_article(&segments, &bases, *position);
    let is_whole = text.is_empty() || text.ends_with(b"\n");
    if bad.is_none() && (!is_whole || seen.cancels.keys().any(is_missing)) {
        bad = Some(text.len() as u64);
    }
    if let Some(offset) = bad {
        if repair {
            spool.rewrite_cancels()?;
            for line in again {
                spool.log_cancel(&line)?;
            }
            spool.commit()?;
        }
        report.tell(
            &path,
            offset,
            "it does not hold the cancels that .art tells of",
            repair,
        );
    }
    Ok(())
}

/// Whether a position lies in an existing segment.
fn has_article(segments: &Segments, bases: &[u64], position: u64) -> bool {
    base_of(bases, position).is_some_and(|base| {
        let opened = segments.open_art(base, Open::Read);
        opened.is_ok_and(|(_, header)| position - base < header.span)
    })
}

/// Every history line must be found through the index, at its address. Returns the addresses of lines that a repair has to leave out: another line has
/// their id.
pub fn check_index(
    spool: &mut Spool,
    report: &mut Report,
    repair: bool,
) -> Result<Vec<u64>, Error> {
    let path = spool.dir().join("index");
    let mut missing = 0u64;
    let mut twice = Vec::new();
    let check = |address: u64, line: &[u8]| {
        if spool.is_forgotten(line)? {
            return Ok(());
        }
        let id = line.split(|&b| b == b'\t').next().unwrap_or_default();
        let believe = |hit: u64| {
            spool.text_at(hit).ok().flatten().is_some_and(|text| {
                is_line_of(text, id) && !spool.is_forgotten(text).unwrap_or(false)
            })
        };
        let found = match spool.address_of(id, believe) {
            // The disk cannot read its bucket.
            Err(Error::Damaged { .. }) => None,
            found => found?,
        };
        match found {
            Some(hit) if hit == address => {}
            None => missing += 1,
            // Found at another address: the id has two lines.
            Some(hit) if repair || twice.len() < FINDINGS_MAX => {
                twice.push(([address, hit], id.to_vec()));
            }
            Some(_) => {}
        }
        Ok(())
    };
    spool.each_history_line(check)?;
    let mut doubles = Vec::new();
    for ([address, hit], id) in twice {
        // The id or the position in a line without a record is damaged, and nothing else tells of it.
        let double = match repair {
            false => None,
            true if !has_record(spool, address)? => Some(address),
            true if !has_record(spool, hit)? => Some(hit),
            true => None,
        };
        doubles.extend(double);
        report.tell(
            &path,
            address,
            format!("{} is in history twice", String::from_utf8_lossy(&id)),
            double.is_some(),
        );
    }
    if missing > 0 {
        if repair {
            spool.rebuild_index()?;
        }
        report.tell(
            &path,
            0,
            format!("{missing} ids of history are not found through it"),
            repair,
        );
    }
    doubles.sort_unstable();
    doubles.dedup();
    Ok(doubles)
}

/// Whether the log has the record of the history line at an address. Lines of the current segment are made from records.
fn has_record(spool: &Spool, address: u64) -> Result<bool, Error> {
    let segments = spool.segments();
    let known = segments.bases_with(&[SegmentFile::Art, SegmentFile::His])?;
    let Some(base) = base_of(&known, address).filter(|base| *base != spool.current_base()) else {
        return Ok(true);
    };
    let line = spool.text_at(address)?.map(first_line).unwrap_or_default();
    let Some(position) = HistoryLine::parse(line).and_then(|line| line.position) else {
        // Only articles leave their segment.
        return Ok(segments.bases()?.contains(&base));
    };
    if segments.range(base)?.offset(position).is_none() {
        return Ok(false);
    }
    let mut buffer = Vec::new();
    match read_record(segments, base, position, &mut buffer) {
        Ok(record) => Ok(record.is_some_and(|record| first_line(record.line()) == line)),
        Err(Error::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// No group's high mark may be below a used number.
pub fn check_active(
    spool: &mut Spool,
    given: &HashMap<Vec<u8>, UsedNumbers>,
    report: &mut Report,
    repair: bool,
) -> Result<(), Error> {
    let path = spool.dir().join("active");
    for fault in spool.active().bad_lines() {
        report.tell(&path, 0, fault.to_string(), false);
    }
    for (name, given) in given {
        let high = given.high();
        let Some(id) = spool.active().find(name) else {
            continue;
        };
        let told = spool.active().high(id);
        if told < high {
            let name = String::from_utf8_lossy(name);
            let is_repaired = repair && spool.active_mut().set_high(id, high);
            report.tell(
                &path,
                0,
                format!("{name}: the high mark is {told}, but {high} was given"),
                is_repaired,
            );
        }
    }
    if repair { spool.publish() } else { Ok(()) }
}
