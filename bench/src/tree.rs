//! `bench tree`: what it costs to write articles into a tree of files (`via = { tree = ... }`), beside the least that the file system allows:
//! create, write, close and link with nothing else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bench::generate::Kind;
use rustix::fs::{AtFlags, Mode, OFlags, linkat, open, openat, syncfs};

use crate::machine;
use crate::measure::{Input, Usages, counted_calls, measured, own_times};
use crate::report::{Goal, figure, median};
use crate::site::{Batch, Expected, Site, System, settle};

const CPU: Goal = Goal {
    reach: 40.0,
    aim: 20.0,
};
const CALLS: Goal = Goal {
    reach: 8.0,
    aim: 4.6,
};

/// An article of a tree: each of its names, as a directory and a name there, and its text.
struct Article {
    names: Vec<(usize, OsString)>,
    text: Vec<u8>,
}

/// Measures the rows and formats them.
///
/// # Errors
/// The binary is missing or fails, or does not write all articles.
pub fn rows(site: &mut Site, rounds: u32) -> Result<String> {
    let batch = site.batch(Kind::TenThousand, "ten-thousand")?;
    let an_article = |run: &Usages| run.cpu().as_secs_f64() * 1e6 / batch.articles as f64;
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    let mut links = 0;
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        let system = filed(site, &batch)?;
        ours.push(flush(site, &system, &[], batch.articles)?);
        let (folders, articles) = read(&system.dir.join("tree"))?;
        links = articles.iter().map(|article| article.names.len()).sum();
        let to = site.fresh(&site.disk.clone())?;
        settle();
        floor.push(write(&to, &folders, &articles)?);
    }
    let mut text = String::from("\nwriting a tree of files, 10,000 articles\n");
    text += &format!(
        "    runs, CPU µs an article: ours {}\n",
        shown(&ours, an_article)
    );
    text += &format!(
        "    runs, CPU µs an article: least {}\n",
        shown(&floor, an_article)
    );
    let cpu = |runs: &[Usages]| median(runs.iter().map(an_article).collect());
    text += &figure("CPU of the tree", cpu(&ours), "µs an article", CPU);
    text += &format!(
        "    the least, create, write, close and link alone: {:.1} µs and {:.2} calls; {:.2} names an article\n",
        cpu(&floor),
        3.0 + (links as f64 / batch.articles as f64 - 1.0),
        links as f64 / batch.articles as f64,
    );
    let real = |runs: &[Usages]| {
        let each = |run: &Usages| run.real.as_secs_f64() * 1e6 / batch.articles as f64;
        median(runs.iter().map(each).collect())
    };
    text += &format!(
        "    real time with the sync: {:.1} µs, the least {:.1} µs\n",
        real(&ours),
        real(&floor)
    );
    Ok(text + &calls(site, &batch)?)
}

fn shown(runs: &[Usages], of: impl Fn(&Usages) -> f64) -> String {
    let runs: Vec<String> = runs.iter().map(|run| format!("{:.1}", of(run))).collect();
    runs.join(" ")
}

/// A news system with the batch, all of which waits for a tree beside the news directory.
fn filed(site: &mut Site, batch: &Batch) -> Result<System> {
    let system = site.system(&site.disk.clone(), batch)?;
    let settings = system.dir.join("news/broadsheet.toml");
    let with_tree = fs::read_to_string(&settings)?
        + "\n[[site]]\nname = \"tree\"\ngroups = \"all\"\nvia = { tree = \"../tree\" }\n";
    fs::write(&settings, with_tree).context("adding the site")?;
    let nothing = system.dir.join("nothing");
    fs::write(&nothing, b"")?;
    site.rnews(&system, &[], Input::File(&nothing), &Expected::all_filed(0))?;
    fs::write(system.dir.join("news/feeds/tree/paused"), "bench\n").context("pausing the feed")?;
    let batch_file = batch.dir.join("batch");
    site.rnews(
        &system,
        &[],
        Input::File(&batch_file),
        &Expected::all_filed(batch.articles),
    )?;
    fs::remove_file(system.dir.join("news/feeds/tree/paused"))?;
    settle();
    Ok(system)
}

/// Writes what waits into the tree.
fn flush(site: &Site, system: &System, prefix: &[&str], articles: u64) -> Result<Usages> {
    let binary = site.binary.to_string_lossy();
    let news = system.dir.join("news");
    let news = news.to_string_lossy();
    let flush = [&*binary, "feed", "flush", "--dir", &*news, "--json", "tree"];
    let command: Vec<&str> = prefix.iter().copied().chain(flush).collect();
    let nothing = system.dir.join("nothing");
    let outcome = measured(&system.dir, &command, Input::File(&nothing))?;
    let told: serde_json::Value = serde_json::from_str(outcome.output.trim())
        .with_context(|| format!("feed flush said {}", outcome.output))?;
    if told.get("articles").and_then(serde_json::Value::as_u64) != Some(articles) {
        bail!("not all articles were written: {told}");
    }
    Ok(outcome.usages)
}

/// The directories and the articles of a tree, in the order of their inodes, which is that of their making.
fn read(tree: &Path) -> Result<(Vec<PathBuf>, Vec<Article>)> {
    let mut folders = vec![PathBuf::new()];
    let mut articles: BTreeMap<u64, Article> = BTreeMap::new();
    let mut at = 0;
    while let Some(folder) = folders.get(at).cloned() {
        for entry in fs::read_dir(tree.join(&folder))? {
            let entry = entry?;
            let told = entry.metadata()?;
            if told.is_dir() {
                folders.push(folder.join(entry.file_name()));
            } else if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                let article = match articles.entry(told.ino()) {
                    std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::btree_map::Entry::Vacant(new) => new.insert(Article {
                        names: Vec::new(),
                        text: fs::read(entry.path())?,
                    }),
                };
                article.names.push((at, entry.file_name()));
            }
        }
        at += 1;
    }
    Ok((folders, articles.into_values().collect()))
}

/// Writes them elsewhere: nothing but the calls for the files, once the directories are open, and one sync.
fn write(to: &Path, folders: &[PathBuf], articles: &[Article]) -> Result<Usages> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = open(to, flags | OFlags::RDONLY, Mode::empty())?;
    let made: Result<Vec<OwnedFd>> = folders
        .iter()
        .map(|folder| {
            let path = to.join(folder);
            fs::create_dir_all(&path)?;
            Ok(open(&path, flags | OFlags::PATH, Mode::empty())?)
        })
        .collect();
    let directories = made.context("more directories than files may be open: raise `ulimit -n'")?;
    let directory = |at: usize| directories.get(at).context("a directory is missing");
    settle();
    let (user, system) = own_times()?;
    let begin = Instant::now();
    for article in articles {
        let Some(((first, name), others)) = article.names.split_first() else {
            continue;
        };
        let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let first = directory(*first)?;
        let file = openat(first, name, create, Mode::from_raw_mode(0o666))?;
        if rustix::io::write(&file, &article.text)? != article.text.len() {
            bail!("the disk is full");
        }
        drop(file);
        for (other, link) in others {
            linkat(first, name, directory(*other)?, link, AtFlags::empty())?;
        }
    }
    syncfs(&top)?;
    let after = own_times()?;
    Ok(Usages {
        real: begin.elapsed(),
        user: after.0 - user,
        system: after.1 - system,
        resident_kib: 0,
    })
}

/// The system calls of `feed flush`, whole process.
fn calls(site: &mut Site, batch: &Batch) -> Result<String> {
    if machine::output("strace", &["-V"]).is_empty() {
        return Ok("system calls an article: strace is not installed: skipped\n".to_owned());
    }
    let system = filed(site, batch)?;
    let counts = system.dir.join("calls");
    let counts = counts.to_string_lossy();
    let strace = ["strace", "-f", "-c", "-S", "calls", "-o", &*counts];
    flush(site, &system, &strace, batch.articles)?;
    let text = fs::read_to_string(&*counts).context("reading what strace counted")?;
    let (total, most) = counted_calls(&text)?;
    let each = total as f64 / batch.articles as f64;
    Ok(
        figure("system calls of the tree", each, "calls an article", CALLS)
            + &format!("    {total} in all:{most}\n"),
    )
}
