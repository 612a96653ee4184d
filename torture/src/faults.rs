//! Write errors: writes of article data, of derived data, and flushes fail once with EIO; or the disk is full. Every article acknowledged
//! then must be readable after a clean unmount, without caches.

use std::cell::RefCell;
use std::time::Instant;

use anyhow::Result;
use bench::generate::{Random, mix};

use crate::check::{Expectation, fsck};
use crate::cuts::Run;
use crate::device::Command;
use crate::news::News;
use crate::plan::{Plan, Step};
use crate::recording::Event;
use crate::rig::Rig;
use crate::workload::{FULL_DISK_FREE_MAX, Mark, do_step, mark_numbers};

/// Percentage of steps with a fault.
const FAULT_PERCENT: u64 = 40;
/// Most retries of a step after its fault is over.
const TRIES_MAX: usize = 3;
/// Shortest line of an article that is assumed to be unique, bytes.
const LINE_BYTES_MIN: usize = 30;

/// Runs a plan with faults; returns the number of checks with errors.
pub fn run(run: &Run) -> Result<u64> {
    let begun = Instant::now();
    let rig = Rig::new(&run.file_system)?;
    let plan = Plan::new(run.seed, run.size);
    let mut random = Random::new(mix(run.seed ^ 0xfa17));
    rig.make()?;
    rig.mount()?;
    let news = News::at(&rig.mounted().join("news"))?;
    news.make(&plan, &run.sync, rig.beside())?;
    let marks = RefCell::new(Vec::new());
    let mark = |mark: &Mark| {
        marks
            .borrow_mut()
            .push(Event::Mark(serde_json::to_vec(mark)?));
        Ok(())
    };
    let (mut armed, mut full, mut failed, mut checks, mut losses, mut boot) =
        (0u64, 0u64, 0u64, 0u64, 0u64, 0);
    for index in 0..plan.steps.len() {
        mark(&Mark::Begin(index))?;
        let fault = fault(&plan, index, &mut random).filter(|_| random.chance(FAULT_PERCENT));
        if let Some(fault) = &fault {
            fault.begin(&rig)?;
            armed += 1;
            full += u64::from(matches!(fault, Fault::FullDisk { .. }));
        }
        let mut done = do_step(rig.beside(), &news, &plan, index, &mark);
        // Usually the fault is over and the step is retried in the same mount; sometimes everything restarts first.
        let same_mount = random.chance(70);
        failed += u64::from(done.is_err());
        for _ in 0..TRIES_MAX {
            if done.is_ok() {
                break;
            }
            if let Some(fault) = &fault {
                fault.end(&rig)?;
            }
            if !same_mount {
                rig.unmount()?;
                rig.mount()?;
            }
            done = do_step(rig.beside(), &news, &plan, index, &mark);
        }
        if done.is_err() {
            // A file system that stopped writing does so until it is mounted again.
            rig.unmount()?;
            rig.mount()?;
            done = do_step(rig.beside(), &news, &plan, index, &mark);
        }
        let mut errors = Vec::new();
        match done {
            Ok(()) => {
                mark(&Mark::Done(index))?;
                if let Err(error) = mark_numbers(&news, &plan, index, &mark) {
                    errors.push(format!("its numbers: {error:#}"));
                }
            }
            Err(error) => errors.push(format!("fails without a fault: {error:#}")),
        }
        if let Some(fault) = &fault {
            fault.end(&rig)?;
            rig.unmount()?;
            // Sometimes the machine restarts, too.
            boot += u64::from(random.chance(50));
            rig.set_boot(boot)?;
            rig.mount()?;
            let marks = marks.borrow();
            let expectation = Expectation::new(&plan, &marks, marks.len())?;
            if let Err(error) = expectation.check_articles(&news, &mut errors) {
                errors.push(format!("cannot be read: {error:#}"));
            }
            fsck(&news, &mut errors)?;
            checks += 1;
        }
        if !errors.is_empty() {
            losses += 1;
            println!(
                "{}, seed {}, step {index}, {fault:?}, retried in the same mount: {same_mount}:",
                run.file_system, run.seed
            );
            errors
                .iter()
                .take(3)
                .for_each(|error| println!("  {error}"));
            println!("  ({} in all)", errors.len());
            // The errors persist, and later checks would only repeat them.
            break;
        }
    }
    let injected = rig.injected()?;
    rig.unmount()?;
    println!(
        "{}, seed {}, write errors: {armed} steps of {} were given a fault, {full} of them a full disk, {} writes and {} flushes failed, {failed} steps \
         failed and were done again; {checks} checks after a clean unmount, losses at {losses}; {:.1} s",
        run.file_system,
        run.seed,
        plan.steps.len(),
        injected.writes,
        injected.flushes,
        begun.elapsed().as_secs_f64(),
    );
    Ok(losses)
}

/// What goes wrong during a step.
#[derive(Debug)]
enum Fault {
    /// Writes or flushes of the device fail.
    Device(Command),
    /// About this many bytes are free.
    FullDisk { free: u64 },
}

impl Fault {
    fn begin(&self, rig: &Rig) -> Result<()> {
        match self {
            Fault::Device(command) => rig.send_command(command),
            Fault::FullDisk { free } => rig.fill_disk(*free),
        }
    }

    fn end(&self, rig: &Rig) -> Result<()> {
        match self {
            Fault::Device(_) => rig.send_command(&Command::Heal),
            Fault::FullDisk { .. } => rig.empty_disk(),
        }
    }
}

/// The fault for a step; `None` if this step has none.
fn fault(plan: &Plan, index: usize, random: &mut Random) -> Option<Fault> {
    let step = plan.steps.get(index)?;
    let (Step::Rnews { articles, .. } | Step::Takethis { articles, .. }) = step else {
        // A rewritten segment, and one that is brought back, need space.
        let free = random.below(FULL_DISK_FREE_MAX);
        return Some(Fault::FullDisk { free });
    };
    let article = plan
        .articles
        .get(*articles.get(random.position(articles.len()))?)?;
    let count = 1 + random.below(3);
    let containing = match random.below(10) {
        // The article itself.
        0..6 => line_of(&article.bytes, random)?,
        // The article, its history line or its overview row.
        6..8 => article.id.clone(),
        // The table of groups.
        _ => "\njunk 0".to_owned(),
    };
    Some(match random.below(10) {
        0 => Fault::Device(Command::FailFlushes { count }),
        1..3 => Fault::FullDisk {
            free: random.below(FULL_DISK_FREE_MAX),
        },
        _ => Fault::Device(Command::FailWrites { count, containing }),
    })
}

/// A line of the body that is probably in no other article.
pub fn line_of(article: &[u8], random: &mut Random) -> Option<String> {
    let text = String::from_utf8_lossy(article);
    let (_, body) = text.split_once("\n\n")?;
    let lines: Vec<&str> = body
        .lines()
        .filter(|line| line.len() >= LINE_BYTES_MIN)
        .collect();
    lines
        .get(random.position(lines.len()))
        .map(|line| (*line).to_owned())
}
