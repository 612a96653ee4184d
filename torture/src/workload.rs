//! Drives the real binary through a plan, and puts marks into the recording: a step begins, it was acknowledged, an
//! article has these numbers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use bench::generate::Random;
use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};
use store::Reader;

use crate::news::{News, expect, take_this};
use crate::plan::{Plan, Step};
use crate::rig::Rig;

/// Largest number of articles in one mark of numbers.
const NUMBERS_PER_MARK: usize = 50;
/// How long the simulated flusher rests between two files.
const FLUSHER_REST: Duration = Duration::from_millis(2);

/// A line of the recording, in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Mark {
    /// The news directory is made, and surely on the disk.
    Ready,
    /// A step begins.
    Begin(usize),
    /// It was acknowledged: the command ended with 0.
    Done(usize),
    /// The daemon acknowledged an article with 239.
    Taken(usize),
    /// Articles and the groups and numbers they have.
    Numbers(Vec<(usize, Vec<(String, u64)>)>),
}

/// Where marks go.
type Say<'s> = &'s dyn Fn(&Mark) -> Result<()>;

/// Does all of a plan in a fresh news directory.
pub fn drive(rig: &Rig, news: &News, plan: &Plan, sync: &str, seed: u64) -> Result<()> {
    let say = |mark: &Mark| rig.mark(&serde_json::to_vec(mark)?);
    news.make(plan, sync, rig.beside())?;
    rustix::fs::sync();
    say(&Mark::Ready)?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| flush_by_chance(news.dir(), seed, &over));
        let done = (0..plan.steps.len()).try_for_each(|place| {
            say(&Mark::Begin(place))?;
            do_step(rig.beside(), news, plan, place, &say)
                .with_context(|| format!("step {place}"))?;
            say(&Mark::Done(place))?;
            say_numbers(news, plan, place, &say)
        });
        over.store(true, Ordering::Relaxed);
        done
    })
}

/// Does one step of a plan. It may have been begun before: what was accepted then is a duplicate.
pub fn do_step(beside: &Path, news: &News, plan: &Plan, place: usize, say: Say<'_>) -> Result<()> {
    match plan.steps.get(place).context("no such step")? {
        Step::Rnews { articles, each } => {
            let flags: &[&str] = if *each { &["--sync", "each"] } else { &[] };
            let batch = plan.batch(articles.iter().copied());
            expect(news.rnews(&batch, flags)?)?;
        }
        Step::Takethis { articles, window } => {
            let daemon = news.serve()?;
            let mut connection = daemon.connect()?;
            for part in articles.chunks(*window) {
                let articles = part.iter().filter_map(|&place| plan.articles.get(place));
                let wire: Vec<u8> = articles
                    .flat_map(|article| take_this(&article.id, &article.bytes))
                    .collect();
                connection.send(&wire)?;
                for &place in part {
                    let reply = connection.line()?;
                    if reply.starts_with("239 ") {
                        say(&Mark::Taken(place))?;
                    } else {
                        // 439: it was accepted before the step was broken off, without our hearing of it.
                        ensure!(reply.starts_with("439 "), "TAKETHIS: {reply}");
                    }
                }
            }
            let (said, status) = daemon.stop()?;
            ensure!(status.success(), "the daemon ended with {status}: {said}");
        }
        Step::Expire { groups } => {
            let policy = beside.join("policy");
            std::fs::write(&policy, policy_for(groups))?;
            let now = UNIX_EPOCH.elapsed()?.as_secs() + 10 * 86_400;
            let mut command = news.command(&["expire", "--force", "--now", &now.to_string()]);
            expect(command.arg(&policy).output()?)?;
        }
        Step::AddGroup(name) => {
            let output = news.run(&["group", "add", name])?;
            // 1: it is there already.
            if output.status.code() != Some(1) {
                expect(output)?;
            }
        }
    }
    Ok(())
}

/// All that is in these groups goes, ids are remembered.
pub fn policy_for(groups: &[String]) -> String {
    let going: String = groups
        .iter()
        .map(|group| format!("{group} x 1 -\n"))
        .collect();
    format!("/expired/ x 60 -\n/bounds/ x 0-1-90 -\n{going}all x never -\n")
}

/// How many articles `rnews --json` accepted.
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

/// Says the numbers of the articles of a step that was acknowledged.
pub fn say_numbers(news: &News, plan: &Plan, place: usize, say: Say<'_>) -> Result<()> {
    let articles = match plan.steps.get(place) {
        Some(Step::Rnews { articles, .. } | Step::Takethis { articles, .. }) => articles,
        _ => return Ok(()),
    };
    let reader = Reader::open(news.dir())?;
    for part in articles.chunks(NUMBERS_PER_MARK) {
        let mut numbers = Vec::new();
        for &place in part {
            let id = plan
                .articles
                .get(place)
                .map(|article| article.id.as_bytes());
            let line = reader.find(id.unwrap_or_default())?;
            let line = line.context("an acknowledged article is not there")?;
            numbers.push((place, links(&line)));
        }
        say(&Mark::Numbers(numbers))?;
    }
    Ok(())
}

/// The groups and numbers of a history line.
pub fn links(line: &store::HistoryLine<'_>) -> Vec<(String, u64)> {
    line.links()
        .map(|(group, number)| (String::from_utf8_lossy(group).into_owned(), number))
        .collect()
}

/// Starts to write back one file after another, by chance, as the kernel does when it likes: nothing is flushed.
fn flush_by_chance(dir: &Path, seed: u64, over: &AtomicBool) {
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
            // Begins to write dirty pages and waits for none of them.
            let _ = fadvise(file, 0, None, Advice::DontNeed);
        }
        std::thread::sleep(FLUSHER_REST);
    }
}
