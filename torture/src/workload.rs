//! Runs the real binary through a plan, and adds marks to the recording: the start of a step, its acknowledgement, the
//! numbers of an article.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use bench::generate::{Random, mix};
use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};
use store::Snapshot;

use crate::news::{News, expect, take_this};
use crate::plan::{Plan, Step};
use crate::rig::Rig;

/// Most articles in one mark of numbers.
const NUMBERS_PER_MARK: usize = 50;
/// Percentage of expires on a full disk.
const FULL_DISK_PERCENT: u64 = 50;
/// A full disk has less than this free, bytes.
pub const FULL_DISK_FREE_MAX: u64 = 512 << 10;
/// Pause of the simulated flusher between two files.
const FLUSHER_PAUSE: Duration = Duration::from_millis(2);

/// A line of the recording, in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Mark {
    /// The news directory is created, and durable.
    Ready,
    /// A step begins.
    Begin(usize),
    /// The step was acknowledged: the command exited with 0.
    Done(usize),
    /// The daemon acknowledged an article with 239.
    Taken(usize),
    /// Articles with their groups and numbers.
    Numbers(Vec<(usize, Vec<(String, u64)>)>),
}

/// The receiver of marks.
type MarkSink<'s> = &'s dyn Fn(&Mark) -> Result<()>;

/// Runs a whole plan in a new news directory.
pub fn drive(rig: &Rig, news: &News, plan: &Plan, sync: &str, seed: u64) -> Result<FullDisks> {
    let mark = |mark: &Mark| rig.mark(&serde_json::to_vec(mark)?);
    news.make(plan, sync, rig.beside())?;
    rustix::fs::sync();
    mark(&Mark::Ready)?;
    let over = AtomicBool::new(false);
    let mut random = Random::new(mix(seed ^ 0xf11));
    let counts = std::thread::scope(|scope| {
        scope.spawn(|| write_back_at_random(news.dir(), seed, &over));
        let mut counts = FullDisks::default();
        let done = (0..plan.steps.len()).try_for_each(|index| {
            mark(&Mark::Begin(index))?;
            let is_expire = matches!(plan.steps.get(index), Some(Step::Expire { .. }));
            let is_full = is_expire && random.chance(FULL_DISK_PERCENT);
            if is_full {
                rig.fill_disk(random.below(FULL_DISK_FREE_MAX))?;
            }
            let mut done = do_step(rig.beside(), news, plan, index, &mark);
            if is_full {
                counts.expires += 1;
                counts.done += u64::from(done.is_ok());
                rig.empty_disk()?;
                if done.is_err() {
                    done = do_step(rig.beside(), news, plan, index, &mark);
                }
            }
            done.with_context(|| format!("step {index}"))?;
            mark(&Mark::Done(index))?;
            mark_numbers(news, plan, index, &mark)
        });
        over.store(true, Ordering::Relaxed);
        done.map(|()| counts)
    })?;
    Ok(counts)
}

/// The runs of expire on a full disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullDisks {
    /// All of them.
    pub expires: u64,
    /// Those that gave back what is dead there and then.
    pub done: u64,
}

/// Runs one step of a plan. It may have been started before: articles accepted then are duplicates.
pub fn do_step(
    beside: &Path,
    news: &News,
    plan: &Plan,
    index: usize,
    mark: MarkSink<'_>,
) -> Result<()> {
    match plan.steps.get(index).context("no such step")? {
        Step::Rnews { articles, each } => {
            let flags: &[&str] = if *each { &["--sync", "each"] } else { &[] };
            let batch = plan.batch(articles.iter().copied());
            expect(news.rnews(&batch, flags)?)?;
        }
        Step::Takethis { articles, window } => {
            let daemon = news.serve()?;
            let mut connection = daemon.connect()?;
            for part in articles.chunks(*window) {
                let articles = part.iter().filter_map(|&index| plan.articles.get(index));
                let wire: Vec<u8> = articles
                    .flat_map(|article| take_this(&article.id, &article.bytes))
                    .collect();
                connection.send(&wire)?;
                for &index in part {
                    let reply = connection.line()?;
                    if reply.starts_with("239 ") {
                        mark(&Mark::Taken(index))?;
                    } else {
                        // 439: it was accepted before the step was interrupted, without our receiving the reply.
                        ensure!(reply.starts_with("439 "), "TAKETHIS: {reply}");
                    }
                }
            }
            let (printed, status) = daemon.stop()?;
            ensure!(
                status.success(),
                "the daemon ended with {status}: {printed}"
            );
        }
        Step::Expire { groups } => {
            let policy = beside.join("policy");
            std::fs::write(&policy, policy_for(groups))?;
            let now = UNIX_EPOCH.elapsed()?.as_secs() + 10 * 86_400;
            let mut command = news.command(&["expire", "--force", "--now", &now.to_string()]);
            expect(command.arg(&policy).output()?)?;
        }
        Step::Offload { percent, seed } => {
            let mut random = Random::new(*seed);
            let mut bases = news.sealed_segments()?;
            bases.retain(|_| random.chance(*percent));
            if !bases.is_empty() {
                let mut command = news.command(&["segments", "offload"]);
                expect(command.args(bases.iter().map(u64::to_string)).output()?)?;
            }
        }
        Step::Fetch => {
            expect(news.run(&["segments", "fetch", "--all"])?)?;
        }
        Step::AddGroup(name) => {
            let output = news.run(&["group", "add", name])?;
            // 1: it exists already.
            if output.status.code() != Some(1) {
                expect(output)?;
            }
        }
    }
    Ok(())
}

/// A policy that removes all articles of these groups and keeps the ids.
pub fn policy_for(groups: &[String]) -> String {
    let going: String = groups
        .iter()
        .map(|group| format!("{group} x 1 -\n"))
        .collect();
    format!("/expired/ x 60 -\n/bounds/ x 0-1-90 -\n{going}all x never -\n")
}

/// The number of articles that `rnews --json` accepted.
pub fn accepted(out: &[u8]) -> Result<usize> {
    let text = String::from_utf8_lossy(out);
    let summary: HashMap<String, serde_json::Value> =
        serde_json::from_str(text.lines().last().unwrap_or_default())?;
    let count = summary
        .get("accepted")
        .and_then(serde_json::Value::as_u64)
        .context("no count of accepted articles")?;
    Ok(count as usize)
}

/// Marks the numbers of the articles of an acknowledged step.
pub fn mark_numbers(news: &News, plan: &Plan, index: usize, mark: MarkSink<'_>) -> Result<()> {
    let articles = match plan.steps.get(index) {
        Some(Step::Rnews { articles, .. } | Step::Takethis { articles, .. }) => articles,
        _ => return Ok(()),
    };
    let snapshot = Snapshot::open(news.dir())?;
    for part in articles.chunks(NUMBERS_PER_MARK) {
        let mut numbers = Vec::new();
        for &index in part {
            let id = plan
                .articles
                .get(index)
                .map(|article| article.id.as_bytes());
            let line = snapshot.history_line(id.unwrap_or_default())?;
            let line = line.context("an acknowledged article is missing")?;
            numbers.push((index, links(&line)));
        }
        mark(&Mark::Numbers(numbers))?;
    }
    Ok(())
}

/// The groups and numbers of a history line.
pub fn links(line: &store::HistoryLine<'_>) -> Vec<(String, u64)> {
    line.links()
        .map(|(group, number)| (String::from_utf8_lossy(group).into_owned(), number))
        .collect()
}

/// Starts writing back random files one after another, as the kernel may at any time, without flushing the disk.
fn write_back_at_random(dir: &Path, seed: u64, over: &AtomicBool) {
    let mut random = Random::new(!seed);
    while !over.load(Ordering::Relaxed) {
        let folder = if random.chance(50) { "segments" } else { "" };
        let names: Vec<_> = std::fs::read_dir(dir.join(folder))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        let path = names.get(random.position(names.len()));
        if let Some(Ok(file)) = path.map(std::fs::File::open) {
            // Starts the write-back of dirty pages without waiting.
            let _ = fadvise(file, 0, None, Advice::DontNeed);
        }
        std::thread::sleep(FLUSHER_PAUSE);
    }
}
