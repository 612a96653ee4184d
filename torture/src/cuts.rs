//! Power cuts: records one workload, and sets the disk to the states that many power cuts would have left.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result};
use bench::generate::{Random, mix};

use crate::check::Expectation;
use crate::device::{Command, Cut};
use crate::news::News;
use crate::plan::{Plan, Step};
use crate::recording::{Event, Keep, read_events};
use crate::rig::Rig;
use crate::workload::{Mark, drive};

/// Percentage of cuts that are followed by another one during the recovery.
const SECOND_CUT_PERCENT: u64 = 12;
/// Percentage of cuts of the disk alone: the machine goes on, and mounts the file system again.
const DISK_ALONE_PERCENT: u64 = 25;
/// Most errors of one point that are printed.
const ERRORS_PRINTED_MAX: usize = 2;
/// Most points with errors that are printed.
const POINTS_PRINTED_MAX: usize = 5;

/// One run: a file system, a workload and cuts of it.
#[derive(Clone, Debug)]
pub struct Run {
    pub file_system: String,
    pub seed: u64,
    pub points: u64,
    /// Size of the workload; see [`Plan::new`].
    pub size: u64,
    /// The setting store.sync.
    pub sync: String,
    /// Directory for the recording of a run with losses.
    pub keep: Option<PathBuf>,
}

/// The point of a power cut. Its seed determines everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Number of events before the cut.
    pub events: usize,
    pub seed: u64,
}

impl fmt::Display for Point {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.events, self.seed)
    }
}

impl FromStr for Point {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Point> {
        let (events, seed) = text.split_once('.').context("a point is EVENTS.SEED")?;
        Ok(Point {
            events: events.parse()?,
            seed: seed.parse()?,
        })
    }
}

/// The results of the checks of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckCounts {
    pub cuts: u64,
    pub again: u64,
    pub losses: u64,
}

/// Records, cuts and checks. Prints a summary; returns the number of points with errors.
pub fn run(run: &Run) -> Result<u64> {
    let begun = Instant::now();
    let rig = Rig::new(&run.file_system)?;
    let file = rig.beside().join("recording");
    let plan = Plan::new(run.seed, run.size);
    rig.send_command(&Command::Record(file.clone()))?;
    rig.make()?;
    rig.mount()?;
    let news = News::at(&rig.mounted().join("news"))?;
    let full = drive(&rig, &news, &plan, &run.sync, run.seed)?;
    let objects = news.objects_stored()?;
    rig.unmount()?;
    rig.send_command(&Command::Stop)?;
    let recorded = begun.elapsed();
    let events = read_events(&mut BufReader::new(File::open(&file)?))?;
    let count = |wanted: fn(&Event) -> bool| events.iter().filter(|event| wanted(event)).count();
    println!(
        "{}, seed {}: {} articles in {} steps; recorded {} writes and {} flushes in {:.1} s; {objects} objects at the end; expire on a full disk: {} of {} at once",
        run.file_system,
        run.seed,
        plan.articles.len(),
        plan.steps.len(),
        count(|event| matches!(event, Event::Write { .. })),
        count(|event| *event == Event::Flush),
        recorded.as_secs_f64(),
        full.done,
        full.expires,
    );
    rig.send_command(&Command::Load(file.clone()))?;
    let points = points(&plan, &events, run.points, run.seed)?;
    let checked = check(&rig, &news, &plan, &events, &points, run);
    if checked.as_ref().map_or(true, |counts| counts.losses > 0) {
        keep(&file, run)?;
    }
    let counts = checked?;
    println!(
        "{}, seed {}, sync {}: {} power cuts, {} of them with another in the recovery; losses at {} points; {:.1} s",
        run.file_system,
        run.seed,
        run.sync,
        counts.cuts,
        counts.again,
        counts.losses,
        begun.elapsed().as_secs_f64(),
    );
    Ok(counts.losses)
}

/// Saves a recording with errors, and prints the command that replays it.
fn keep(recording: &Path, run: &Run) -> Result<()> {
    let Some(folder) = &run.keep else {
        return Ok(());
    };
    std::fs::create_dir_all(folder)?;
    let kept = folder.join(format!("{}-{}.recording", run.file_system, run.seed));
    std::fs::copy(recording, &kept)?;
    println!(
        "kept: torture replay --fs {} --seed {} --size {} --recording {} --point POINT",
        run.file_system,
        run.seed,
        run.size,
        kept.display()
    );
    Ok(())
}

/// Checks some points of a saved recording.
pub fn replay(run: &Run, recording: &Path, points: &[Point]) -> Result<u64> {
    let recording = recording.canonicalize()?;
    let events = read_events(&mut BufReader::new(File::open(&recording)?))?;
    let rig = Rig::new(&run.file_system)?;
    let plan = Plan::new(run.seed, run.size);
    let news = News::at(&rig.mounted().join("news"))?;
    rig.send_command(&Command::Load(recording))?;
    let counts = check(&rig, &news, &plan, &events, points, run)?;
    println!("{} cuts, losses at {}", counts.cuts, counts.losses);
    Ok(counts.losses)
}

/// Chooses the points of cuts, ascending: half of them anywhere, a quarter next to a flush or a mark, and a quarter in an expire or while
/// articles move to or from the object store, which is little writing for what it changes.
fn points(plan: &Plan, events: &[Event], count: u64, seed: u64) -> Result<Vec<Point>> {
    let (mut ready, mut edges, mut moves) = (None, Vec::new(), Vec::new());
    let mut is_move = false;
    for (index, event) in events.iter().enumerate() {
        if let Event::Mark(line) = event {
            match serde_json::from_slice(line)? {
                Mark::Ready => ready = Some(index + 1),
                Mark::Begin(step) => {
                    is_move = matches!(
                        plan.steps.get(step),
                        Some(Step::Expire { .. } | Step::Offload { .. } | Step::Fetch)
                    );
                }
                _ => {}
            }
        }
        if ready.is_some() && is_move {
            moves.push(index);
        }
        if ready.is_some() && matches!(event, Event::Flush | Event::Mark(_)) {
            edges.push(index);
        }
    }
    let first = ready.context("the recording has no beginning")?;
    let mut random = Random::new(mix(seed ^ 0xc07));
    let mut points: Vec<Point> = (0..count)
        .map(|_| {
            let some: &[usize] = match random.below(4) {
                0 => &edges,
                1 => &moves,
                _ => &[],
            };
            let events = match some.get(random.position(some.len())) {
                Some(index) => index + random.position(2),
                None => first + random.position(events.len() - first + 1),
            };
            Point {
                events,
                seed: random.word() >> 32,
            }
        })
        .collect();
    points.sort_unstable();
    Ok(points)
}

fn check(
    rig: &Rig,
    news: &News,
    plan: &Plan,
    events: &[Event],
    points: &[Point],
    run: &Run,
) -> Result<CheckCounts> {
    let mut counts = CheckCounts::default();
    for point in points {
        let (errors, how) = check_point(rig, news, plan, events, *point)
            .with_context(|| format!("{}, seed {}, point {point}", run.file_system, run.seed))?;
        counts.cuts += 1;
        counts.again += u64::from(how.contains("again"));
        if errors.is_empty() {
            continue;
        }
        counts.losses += 1;
        if counts.losses <= POINTS_PRINTED_MAX as u64 {
            println!(
                "{}, seed {}, point {point} ({how}):",
                run.file_system, run.seed
            );
            for error in errors.iter().take(ERRORS_PRINTED_MAX) {
                println!("  {error}");
            }
            if errors.len() > ERRORS_PRINTED_MAX {
                println!("  and {} more", errors.len() - ERRORS_PRINTED_MAX);
            }
        }
    }
    Ok(counts)
}

/// Checks one cut; returns the errors, and the kind of the cut.
fn check_point(
    rig: &Rig,
    news: &News,
    plan: &Plan,
    events: &[Event],
    point: Point,
) -> Result<(Vec<String>, String)> {
    let mut random = Random::new(point.seed);
    let keep = Keep::draw(&mut random);
    rig.send_command(&Command::Cut(Cut {
        events: point.events,
        keep: keep.to_string(),
        seed: random.word(),
    }))?;
    // The recorded workload ran with the first number.
    let mut boot = u64::from(!random.chance(DISK_ALONE_PERCENT));
    rig.set_boot(boot)?;
    rig.mount()?;
    rig.empty_disk()?;
    news.name_objects()?;
    let expectation = Expectation::new(plan, events, point.events)?;
    let mut how = format!("{} acknowledged, keeps {keep}", expectation.acknowledged());
    if boot == 0 {
        how.push_str(", of the disk alone");
    }
    let mut errors = expectation.check(news, random.position(4))?;
    rig.unmount()?;
    if errors.is_empty() && random.chance(SECOND_CUT_PERCENT) {
        let keep = Keep::draw(&mut random);
        let thousandths = random.below(1001);
        rig.send_command(&Command::CutAgain {
            thousandths,
            keep: keep.to_string(),
            seed: random.word(),
        })?;
        boot += u64::from(!random.chance(DISK_ALONE_PERCENT));
        rig.set_boot(boot)?;
        rig.mount()?;
        rig.empty_disk()?;
        news.name_objects()?;
        how.push_str(&format!(
            ", again at {thousandths}/1000 of the recovery, keeps {keep}"
        ));
        errors = expectation
            .after_second_filing()
            .check(news, random.position(4))?;
        rig.unmount()?;
    }
    Ok((errors, how))
}
