//! The modes, the measurements, and the tables beside the paper's figures.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use bench::generate::Kind;
use mount::{Caches, Counters};

use crate::measure::Input;
use crate::report::median;
use crate::site::{Batch, Expected, Site, System};

use super::day::{Day, VISITS, VISITS_PER_BATCH};
use super::through_mount::ThroughMount;
use super::through_tree::ThroughTree;
use super::way::Way;

/// Files of the directory that is listed.
const FILES: u64 = 600;
/// Directories of the scan.
const DIRECTORIES: usize = 20;
/// Groups of the day, articles of each in the morning, and articles of each batch.
const GROUPS: usize = 200;
const ARTICLES: u64 = 60;
const FILED: u64 = 100;
/// Names in the name cache: what 4.3BSD had on a large machine.
const NAMES: usize = 1_000;

/// Opens a news system in one way and mode.
type Open<'a> = dyn Fn(&Site, &System) -> Result<Box<dyn Way>> + 'a;

/// A mode, and the paper's time for it.
struct Mode {
    what: &'static str,
    caches: Caches,
    paper: &'static str,
}

const fn mode(what: &'static str, caches: (usize, usize, bool), paper: &'static str) -> Mode {
    let (names, processes, is_linear) = caches;
    Mode {
        what,
        caches: Caches {
            names,
            processes,
            is_linear,
        },
        paper,
    }
}

const MODES: [Mode; 7] = [
    mode("linear, no cache", (0, 0, true), "22.3"),
    mode("linear, offset cache", (0, 256, true), "3.3"),
    mode("linear, name cache", (NAMES, 0, true), ""),
    mode("linear, both", (NAMES, 256, true), "3.7"),
    mode("index, no cache", (0, 0, false), ""),
    mode("index, both", (NAMES, 256, false), ""),
    mode("index, both, our sizes", (1 << 14, 256, false), ""),
];

/// The measurements of one mode in one way.
#[derive(Default)]
struct Row {
    /// CPU seconds of `ls -l`, of the scan and of the day, in each round.
    list: Vec<f64>,
    scan: Vec<f64>,
    day: Vec<f64>,
    calls: u64,
    /// The counts of each, of the first round.
    counted: Option<[Counters; 3]>,
}

/// Runs all modes in each round, and returns the tables.
///
/// # Errors
/// The binary is missing or fails, or a name is not found.
pub fn rows(site: &mut Site, rounds: u32) -> Result<String> {
    let disk = site.disk.clone();
    let kind = |groups: usize, each: u64, more: u64| Kind::Tiny {
        articles: groups as u64 * each + more,
        groups,
    };
    let listed = site.batch(kind(DIRECTORIES, FILES, 0), "listed")?;
    let filed_later = (VISITS / VISITS_PER_BATCH) as u64 * FILED;
    let read = site.batch(kind(GROUPS, ARTICLES, filed_later), "read")?;
    let batches = cut(&read, GROUPS as u64 * ARTICLES)?;
    let lists = site.system(&disk, &listed)?;
    let whole = listed.dir.join("batch");
    let all = Expected::all_filed(listed.articles);
    site.rnews(&lists, &[], Input::File(&whole), &all)?;

    let mut text = String::new();
    let mut ways: Vec<(&str, Vec<Row>)> = vec![("the file system's code alone", Vec::new())];
    let probe = ThroughMount::start(&site.binary, &lists.dir.join("news"), Caches::default());
    match probe {
        Ok(_) => ways.push(("the mount, with ls and stat of real processes", Vec::new())),
        Err(error) => writeln!(text, "skipped: the mount ({error:#})")?,
    }
    for (_, rows) in &mut ways {
        rows.extend(MODES.map(|_| Row::default()));
    }
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for (way, (_, rows)) in ways.iter_mut().enumerate() {
            for (mode, row) in MODES.iter().zip(rows) {
                let open = |site: &Site, system: &System| -> Result<Box<dyn Way>> {
                    let news = system.dir.join("news");
                    Ok(match way {
                        0 => Box::new(ThroughTree::open(&news, mode.caches)?),
                        _ => Box::new(ThroughMount::start(&site.binary, &news, mode.caches)?),
                    })
                };
                let measured = row.measure(site, (&lists, &read, &batches), &open);
                measured.with_context(|| mode.what)?;
            }
        }
    }
    for (way, rows) in &ways {
        table(&mut text, way, rows)?;
    }
    text += "the paper, VAX: name translation 21.6 → 8.6 ms a call; hits: names 70–80 %, offsets 5–15 %, together ~85 %\n";
    Ok(text)
}

impl Row {
    fn measure(
        &mut self,
        site: &mut Site,
        (lists, read, batches): (&System, &Batch, &[std::path::PathBuf]),
        open: &Open<'_>,
    ) -> Result<()> {
        let groups = groups_of(&lists.dir.join("news"))?;
        let paths: Vec<String> = groups.iter().map(|(group, _)| group.clone()).collect();
        let mut way = open(site, lists)?;
        let is_first = self.counted.is_none();
        let first = paths.first().context("a group")?.clone();
        self.list.push(timed(&mut *way, |way| way.list(&[first]))?);
        let mut counted = [Counters::default(); 3];
        let [list, scan, day] = &mut counted;
        if is_first {
            *list = way.counters()?;
        }
        self.scan.push(timed(&mut *way, |way| way.list(&paths))?);
        if is_first {
            *scan = since(&way.counters()?, list);
        }
        drop(way);

        let disk = site.disk.clone();
        let system = site.system(&disk, read)?;
        let news = system.dir.join("news");
        let (morning, later) = batches.split_first().context("batches")?;
        let filed = Expected::all_filed(GROUPS as u64 * ARTICLES);
        site.rnews(&system, &[], Input::File(morning), &filed)?;
        let mut way = open(site, &system)?;
        let mut later = later.iter();
        let mut readers = Day::new(GROUPS);
        let mut groups = groups_of(&news)?;
        let mut calls = 0;
        let before = way.cpu()?;
        for place in 0..VISITS {
            if place % VISITS_PER_BATCH == 0 {
                let batch = later.next().context("a batch")?;
                site.rnews(
                    &system,
                    &[],
                    Input::File(batch),
                    &Expected::all_filed(FILED),
                )?;
                groups = groups_of(&news)?;
            }
            let visit = readers.visit(|group| groups.get(group).map_or(0, |(_, high)| *high));
            let (path, _) = groups.get(visit.group).context("a group")?;
            way.visit(&visit, path)?;
            calls += visit.numbers.len() as u64;
        }
        self.day.push((way.cpu()? - before).as_secs_f64());
        self.calls = calls;
        if is_first {
            *day = way.counters()?;
            self.counted = Some(counted);
        }
        Ok(())
    }
}

/// The CPU seconds of the file system for some work.
fn timed(way: &mut dyn Way, work: impl FnOnce(&mut dyn Way) -> Result<()>) -> Result<f64> {
    let before = way.cpu()?;
    work(way)?;
    Ok((way.cpu()? - before).as_secs_f64())
}

/// The groups of a news directory with articles: their paths and high marks.
fn groups_of(news: &Path) -> Result<Vec<(String, u64)>> {
    let active = fs::read_to_string(news.join("active"))?;
    let groups = active.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let path = fields.next()?.replace('.', "/");
        let high = fields.next()?.parse().ok()?;
        (high > 0).then_some((path, high))
    });
    Ok(groups.collect())
}

/// Writes the first articles of a batch into a file, and the others into files of [`FILED`] articles each.
fn cut(batch: &Batch, first: u64) -> Result<Vec<std::path::PathBuf>> {
    let bytes = fs::read(batch.dir.join("batch"))?;
    let mut rest = bytes.as_slice();
    let mut files = Vec::new();
    while !rest.is_empty() {
        let count = if files.is_empty() { first } else { FILED };
        let mut length = 0;
        for _ in 0..count {
            length += article_bytes(rest.get(length..).unwrap_or_default())
                .context("the batch is not as generated")?;
        }
        let file = batch.dir.join(format!("part-{}", files.len()));
        let (part, tail) = rest.split_at_checked(length).context("a part")?;
        fs::write(&file, part)?;
        files.push(file);
        rest = tail;
    }
    Ok(files)
}

/// Bytes of the first article of a batch, with its line.
fn article_bytes(batch: &[u8]) -> Option<usize> {
    let end = batch.iter().position(|&byte| byte == b'\n')?;
    let line = batch.get(..end)?.strip_prefix(b"#! rnews ")?;
    let bytes: usize = std::str::from_utf8(line).ok()?.parse().ok()?;
    Some(end + 1 + bytes)
}

/// The counts between two moments.
fn since(now: &Counters, before: &Counters) -> Counters {
    Counters {
        name_hits: now.name_hits - before.name_hits,
        name_misses: now.name_misses - before.name_misses,
        offset_hits: now.offset_hits - before.offset_hits,
        entries_examined: now.entries_examined - before.entries_examined,
        ..Counters::default()
    }
}

fn table(text: &mut String, way: &str, rows: &[Row]) -> Result<()> {
    writeln!(text, "\n{way}: medians of its CPU time")?;
    writeln!(
        text,
        "{:<24} {:>26} {:>20} {:>54}  the paper's",
        "",
        format!("ls -l of {FILES} files"),
        format!("scan of {DIRECTORIES}"),
        format!("a day: {VISITS} visits; hits of 100 names")
    )?;
    writeln!(
        text,
        "{:<24} {:>10} {:>15} {:>8} {:>11} {:>8} {:>8} {:>11} {:>7} {:>8} {:>8}  ls -l, s",
        "",
        "ms",
        "entries",
        "ms",
        "entries",
        "ms",
        "µs/call",
        "entries",
        "names",
        "offsets",
        "both"
    )?;
    for (mode, row) in MODES.iter().zip(rows) {
        let milliseconds = |of: &[f64]| median(of.iter().map(|s| s * 1e3).collect());
        let [list, scan, day] = row.counted.unwrap_or_default();
        let names = (day.name_hits + day.name_misses).max(1) as f64 / 100.0;
        let (by_name, by_offset) = (day.name_hits as f64, day.offset_hits as f64);
        let time = milliseconds(&row.day);
        writeln!(
            text,
            "{:<24} {:>10.2} {:>15} {:>8.1} {:>11} {:>8.1} {:>8.2} {:>11} {:>7.1} {:>8.1} {:>8.1}  {}",
            mode.what,
            milliseconds(&row.list),
            list.entries_examined,
            milliseconds(&row.scan),
            scan.entries_examined,
            time,
            time * 1e3 / row.calls.max(1) as f64,
            day.entries_examined,
            by_name / names,
            by_offset / names,
            (by_name + by_offset) / names,
            mode.paper
        )?;
    }
    Ok(())
}
