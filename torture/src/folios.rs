//! One bad sector under large folios of the page cache, where a failed read fails for some hundred articles: at most [`LOST_MAX`] of them are
//! lost, a feed keeps them until the disk can read them, and a backup copies the rest.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Output;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bench::generate::{Random, mix};
use rustix::fs::{Advice, fadvise};
use serde_json::Value;

use crate::cuts::Run;
use crate::device::Command;
use crate::news::{Connection, News, expect};
use crate::plan::Plan;
use crate::rig::Rig;

/// Number of articles, and the lines of each, so that it has some 3 kB.
const ARTICLES: usize = 9000;
const LINES: usize = 60;
/// Most articles that lie on a block of 4 KiB.
const LOST_MAX: usize = 3;
/// Articles of a batch for rnews.
const BATCH_ARTICLES: usize = 1000;
/// Bytes that are read at once, so that the system uses large folios.
const READ_BYTES: usize = 4 << 20;
/// The settings of the news directory: a sealed segment and the current one.
const SETTINGS: [(&str, &str); 2] = [
    ("segment_bytes = \"256 MiB\"", "segment_bytes = \"16 MiB\""),
    ("keep_free = \"128 MiB\"", "keep_free = \"1 MiB\""),
];

/// Damages a sector and checks all; returns the number of errors.
pub fn run(run: &Run) -> Result<u64> {
    let begun = Instant::now();
    let rig = Rig::new(&run.file_system)?;
    let mut random = Random::new(mix(run.seed ^ 0xf0110));
    rig.make()?;
    rig.mount()?;
    let news = News::at(&rig.mounted().join("news"))?;
    let plan = Plan::new(run.seed, 1);
    news.make_with(&plan, (&run.sync, &SETTINGS), rig.beside())?;
    let out = rig.beside().join("batches");
    std::fs::create_dir(&out)?;
    news.add_site(&format!(
        "name = \"uucp\"\ngroups = \"all\"\nstart = \"oldest\"\nvia = {{ directory = \"{}\", size = \"1 MB\", compress = \"none\" }}\n",
        out.display()
    ))?;
    let group = plan.active.split(|byte| *byte == b' ').next();
    let group = String::from_utf8_lossy(group.unwrap_or_default()).into_owned();
    let date = std::process::Command::new("date")
        .arg("-R")
        .output()?
        .stdout;
    let date = String::from_utf8(date)?;
    let numbers: Vec<usize> = (0..ARTICLES).collect();
    for part in numbers.chunks(BATCH_ARTICLES) {
        let articles = part
            .iter()
            .map(|number| article(*number, (&group, date.trim_end())));
        let batch: Vec<u8> = articles.flat_map(in_batch).collect();
        expect(news.rnews(&batch, &[])?)?;
    }
    // Everything derived is on the disk then.
    expect(news.run(&["fsck", "--repair"])?)?;
    rig.unmount()?;
    let line = line(random.position(ARTICLES), random.position(LINES));
    let spoil = Command::FailReads { containing: line };
    rig.send_command(&spoil)?;
    rig.mount()?;
    let mut check = Check {
        news: &news,
        errors: Vec::new(),
    };
    let lost = check.served()?;
    check.is_few("the daemon", lost);
    check.feed(&rig, &spoil)?;
    check.backup(&rig)?;
    check.repair()?;
    let Check { errors, .. } = check;
    let injected = rig.injected()?;
    rig.unmount()?;
    println!(
        "{}, seed {}, large folios: {} reads failed; {lost} of {ARTICLES} articles cannot be read; {} things wrong; {:.1} s",
        run.file_system,
        run.seed,
        injected.reads,
        errors.len(),
        begun.elapsed().as_secs_f64(),
    );
    errors.iter().for_each(|error| println!("  {error}"));
    Ok(errors.len() as u64)
}

fn id(number: usize) -> String {
    format!("<{number}@folios.example>")
}

fn line(article: usize, line: usize) -> String {
    format!("line {line} of article {article}, which nothing else has.")
}

fn body(article: usize) -> String {
    (0..LINES).map(|at| line(article, at) + "\n").collect()
}

fn article(number: usize, (group, date): (&str, &str)) -> String {
    let header = format!(
        "Path: from.example!not-for-mail\nFrom: a@b.example\nNewsgroups: {group}\nSubject: {number}\nMessage-ID: {}\nDate: {}\n\n",
        id(number),
        date,
    );
    header + &body(number)
}

fn in_batch(article: String) -> Vec<u8> {
    format!("#! rnews {}\n{article}", article.len()).into_bytes()
}

struct Check<'n> {
    news: &'n News,
    errors: Vec<String>,
}

impl Check<'_> {
    fn is_few(&mut self, who: &str, lost: usize) {
        if !(1..=LOST_MAX).contains(&lost) {
            self.errors.push(format!("{who}: {lost} articles are lost"));
        }
    }

    /// Runs a command behind large reads of all segments; an error unless it ends with this status.
    fn run(&mut self, words: &[&str], status: i32) -> Result<(Output, Value)> {
        self.read_large()?;
        let json: &[&str] = match words.first() {
            Some(&"history") => &[],
            _ => &["--json"],
        };
        let output = self.news.run(&[words, json].concat())?;
        if output.status.code() != Some(status) {
            let error = String::from_utf8_lossy(&output.stderr);
            let error = format!(
                "{}: {}, not {status}: {error}",
                words.join(" "),
                output.status
            );
            self.errors.push(error);
        }
        let mut last = output.stdout.split(|byte| *byte == b'\n');
        let last = last.rfind(|line| !line.is_empty()).unwrap_or_default();
        let value =
            serde_json::from_slice(last).or_else(|_| serde_json::from_slice(&output.stdout));
        Ok((output, value.unwrap_or_default()))
    }

    /// Reads all files of segments through the page cache, in large reads, as a copying program does. Failed reads are passed over.
    fn read_large(&self) -> Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        for entry in std::fs::read_dir(self.news.dir().join("segments"))? {
            let file = File::open(entry?.path())?;
            fadvise(&file, 0, None, Advice::Sequential)?;
            for at in (0..file.metadata()?.len()).step_by(READ_BYTES) {
                let _ = file.read_at(&mut buffer, at);
            }
        }
        Ok(())
    }

    /// Requests all articles from the daemon; returns the number of those that cannot be read.
    fn served(&mut self) -> Result<usize> {
        self.read_large()?;
        let daemon = self.news.serve()?;
        let mut connection = daemon.connect()?;
        let mut lost = 0;
        for number in 0..ARTICLES {
            if number % 1000 == 0 {
                self.read_large()?;
            }
            lost += usize::from(!is_served(&mut connection, number)?);
        }
        drop(connection);
        daemon.stop()?;
        Ok(lost)
    }

    /// The feed keeps what the disk cannot read, and sends it when it can.
    fn feed(&mut self, rig: &Rig, spoil: &Command) -> Result<()> {
        let (_, first) = self.run(&["sendbatches"], 2)?;
        let (sent, kept) = (count(&first, "articles"), count(&first, "unreadable"));
        self.is_few("sendbatches", kept);
        if sent + kept != ARTICLES {
            self.errors
                .push(format!("sendbatches: {sent} sent, {kept} kept: {first}"));
        }
        let (_, again) = self.run(&["sendbatches"], 2)?;
        let said = again.get("why").and_then(Value::as_str).unwrap_or_default();
        if count(&again, "unreadable") != kept || !said.contains("the disk cannot read") {
            self.errors
                .push(format!("sendbatches forgets what waits: {again}"));
        }
        rig.send_command(&Command::Heal)?;
        let (_, healed) = self.run(&["sendbatches"], 0)?;
        if count(&healed, "articles") != kept {
            self.errors.push(format!(
                "sendbatches does not send what can be read: {healed}"
            ));
        }
        rig.unmount()?;
        rig.send_command(spoil)?;
        rig.mount()
    }

    /// The backup has all but the sector.
    fn backup(&mut self, rig: &Rig) -> Result<()> {
        let backups = rig.beside().join("backups");
        let backups = backups.to_str().context("not UTF-8")?;
        let (_, taken) = self.run(&["backup", backups], 2)?;
        if count(&taken, "unreadable") != 1 {
            self.errors.push(format!("backup: {taken}"));
        }
        let restored = rig.beside().join("restored");
        let news = News::at(&restored)?;
        let output = news.run(&["restore", backups])?;
        ensure!(restored.exists(), "restore: {output:?}");
        let output = news.run(&["fsck", "--json"])?;
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let left = count(&report, "articles");
        self.is_few("the restored backup", ARTICLES.saturating_sub(left));
        Ok(())
    }

    /// The repair gives up what the disk cannot read, and nothing else.
    fn repair(&mut self) -> Result<()> {
        let lost_ids = |report: &Value| {
            report
                .get("lost_ids")
                .and_then(Value::as_array)
                .map_or(0, Vec::len)
        };
        let (_, report) = self.run(&["fsck"], 1)?;
        let lost = lost_ids(&report);
        self.is_few("fsck", lost);
        self.run(&["history", "rebuild"], 1)?;
        let lost = self.served()?;
        self.is_few("history rebuild", lost);
        self.run(&["fsck", "--repair"], 1)?;
        // What was overwritten can be read.
        self.run(&["fsck"], 0)?;
        let lost = self.served()?;
        self.is_few("after the repair", lost);
        Ok(())
    }
}

/// Whether an article is served as it was filed.
fn is_served(connection: &mut Connection, number: usize) -> Result<bool> {
    let reply = connection.ask(&format!("BODY {}", id(number)))?;
    if !reply.starts_with("222 ") {
        return Ok(false);
    }
    ensure!(
        connection.block()?.iter().eq(body(number).lines()),
        "{number} is served with another text"
    );
    Ok(true)
}

/// A number in a report; 0 if it is absent.
fn count(report: &Value, key: &str) -> usize {
    report.get(key).and_then(Value::as_u64).unwrap_or(0) as usize
}
