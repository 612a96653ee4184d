//! Making the views of a sealed segment again from its `.art`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::current::Growing;
use crate::disk::{Disk, Open};
use crate::exceptions::Exceptions;
use crate::expired::Expired;
use crate::history::HistoryLine;
use crate::position::{View, segment_path};
use crate::record::{Kind, Record};
use crate::row::push_row_of;
use crate::segment::{SEGMENT_HEADER_BYTES, Step, Walk};

/// Rows are written out each time this many bytes of them wait.
const PIECE_BYTES: usize = 8 << 20;

/// Makes `.his`, `.ovr` and `.exp` of a sealed segment again from its `.art`. Where expire gave articles' space back,
/// their lines are taken from the old `.his`, as far as that can be read: their ids are still remembered.
pub fn rebuild_views(disk: &Arc<dyn Disk>, dir: &Path, base: u64) -> Result<u64, Error> {
    let segments = dir.join("segments");
    let path = segment_path(&segments, base, View::Art);
    let at = |source| Error::io("read", &path, source);
    let file = disk.open(&path, Open::Read).map_err(at)?;
    let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
    let mut views = Views::open(disk, &segments, base)?;
    let mut gaps = Vec::new();
    let mut articles = 0;
    while let Some(step) = walk.next().map_err(at)? {
        match step {
            Step::Gap { from, to, .. } => gaps.push((from, to)),
            Step::Record(offset, record) => {
                articles += u64::from(record.head.kind == Kind::Article);
                views.add(offset, &record)?;
            }
        }
    }
    if !gaps.is_empty() {
        let expired = match Expired::read(&**disk, dir)? {
            Some(expired) => expired,
            None => Expired::fold(disk, &segments)?,
        };
        views.take_over(&**disk, &gaps, &expired)?;
    }
    views.finish(&**disk).map(|()| articles)
}

/// The views of a segment, being made again under temporary names.
struct Views {
    base: u64,
    his: Growing,
    ovr: Growing,
    exp: Growing,
    /// Every line with the offset of its record.
    lines: Vec<(u64, Vec<u8>)>,
    rows: crate::overview::Rows,
    block: Vec<u8>,
    targets: [PathBuf; 3],
}

impl Views {
    fn open(disk: &Arc<dyn Disk>, segments: &Path, base: u64) -> Result<Views, Error> {
        let targets =
            [View::His, View::Ovr, View::Exp].map(|view| segment_path(segments, base, view));
        let fresh = |path: &PathBuf| {
            let mut name = path.clone().into_os_string();
            name.push(".remake");
            Growing::open(&**disk, name.into(), Open::Truncate, 0)
        };
        let [his, ovr, exp] = &targets;
        Ok(Views {
            base,
            his: fresh(his)?,
            ovr: fresh(ovr)?,
            exp: fresh(exp)?,
            lines: Vec::new(),
            rows: Default::default(),
            block: Vec::new(),
            targets,
        })
    }

    fn add(&mut self, offset: u64, record: &Record<'_>) -> Result<(), Error> {
        if !record.head.kind.has_history_line() {
            return Ok(());
        }
        self.lines.push((offset, record.line().to_vec()));
        if let Some(line) = HistoryLine::parse(record.line())
            && record.head.kind == Kind::Article
        {
            self.rows.add(offset as u32, line.links(), |out| {
                push_row_of(out, record, line.id);
            });
        }
        if self.rows.bytes() > PIECE_BYTES {
            self.flush_rows()
        } else {
            Ok(())
        }
    }

    /// Takes over from the old `.his` what lies in the gaps and has expired. (A gap whose article has not is damage: it
    /// may come again, so its id must not be known.)
    fn take_over(
        &mut self,
        disk: &dyn Disk,
        gaps: &[(u64, u64)],
        expired: &Expired,
    ) -> Result<(), Error> {
        let [path, ..] = &self.targets;
        let Ok(old) = disk.open(path, Open::Read) else {
            return Ok(());
        };
        let map = old
            .length()
            .and_then(|length| old.map(length))
            .map_err(|source| Error::io("read", path, source))?;
        for (_, text) in crate::older::lines(map.bytes()) {
            let Some(line) = HistoryLine::parse(text) else {
                continue;
            };
            let offset = line
                .position
                .and_then(|position| position.0.checked_sub(self.base));
            let Some(offset) = offset else { continue };
            let place = gaps.partition_point(|(_, to)| *to <= offset);
            let in_gap = gaps.get(place).is_some_and(|(from, _)| *from <= offset);
            if in_gap && !expired.keeps_any(&line) {
                self.lines.push((offset, [text, b"\n"].concat()));
            }
        }
        self.lines.sort_by_key(|(offset, _)| *offset);
        Ok(())
    }

    fn flush_rows(&mut self) -> Result<(), Error> {
        self.block.clear();
        if !self.rows.is_empty() {
            self.rows.build(&mut self.block);
        }
        self.ovr.append(&self.block)
    }

    fn finish(mut self, disk: &dyn Disk) -> Result<(), Error> {
        self.flush_rows()?;
        crate::current::merge_overview(disk, &self.ovr.path, self.ovr.end)?;
        let mut exceptions = Exceptions::default();
        let mut text = Vec::new();
        for (_, line) in &self.lines {
            text.extend_from_slice(line);
            look_at(&mut exceptions, line);
        }
        self.his.append(&text)?;
        self.exp.append(exceptions.lines())?;
        for (from, to) in [&self.his, &self.ovr, &self.exp].iter().zip(&self.targets) {
            from.sync()?;
            disk.rename(&from.path, to)
                .map_err(|source| Error::io("put in place", to, source))?;
        }
        Ok(())
    }
}

/// As [`Exceptions::look_at`], for a line of any kind.
pub fn look_at(exceptions: &mut Exceptions, line: &[u8]) {
    if let Some(told) = HistoryLine::parse(line)
        && let (Some(arrival), Some(_)) = (told.arrival, told.position)
    {
        exceptions.look_at(line, arrival, told.expires);
    }
}
