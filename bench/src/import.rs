//! `bench import`: moving 20,000 articles in from a tree of INN (tradspool), from one of C News, and from a mailbox, beside filing them with rnews.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use article::{Article, Form, Header, newsgroups};
use bench::generate::{Articles, Kind, SEED};

use crate::measure::{Input, Usages, measured};
use crate::report::median;
use crate::site::{Batch, Expected, Site, settle};

const KIND: Kind = Kind::Like {
    articles: 20_000,
    groups: 500,
};

/// Measures the rows and formats them.
///
/// # Errors
/// The binary is missing or fails, or does not file all articles.
pub fn rows(site: &mut Site, rounds: u32) -> Result<String> {
    let batch = site.batch(KIND, "like")?;
    let other = made(site, &batch)?;
    let mut text = format!(
        "\nmoving in, {} articles, {} bytes\n",
        batch.articles, batch.bytes
    );
    let inn = other.join("inn").display().to_string();
    let ctl = other.join("ctl").display().to_string();
    let tree = other.join("articles").display().to_string();
    let mbox = other.join("mbox").display().to_string();
    let imports: [(&str, Vec<&str>); 3] = [
        ("import inn, tradspool", vec!["import", "inn", &inn]),
        (
            "import cnews",
            vec!["import", "cnews", &ctl, "--articles", &tree],
        ),
        ("import mbox", vec!["import", "mbox", &mbox]),
    ];
    for (name, words) in imports {
        let mut runs = Vec::new();
        for _ in 0..rounds {
            runs.push(import(site, &batch, &words)?);
        }
        text += &row(name, &runs, batch.articles);
    }
    let mut runs = Vec::new();
    for _ in 0..rounds {
        let system = site.system(&site.disk.clone(), &batch)?;
        let file = batch.dir.join("batch");
        let expected = Expected::all_filed(batch.articles);
        runs.push(site.rnews(&system, &[], Input::File(&file), &expected)?);
    }
    Ok(text + &row("rnews, for comparison", &runs, batch.articles))
}

fn row(name: &str, runs: &[Usages], articles: u64) -> String {
    let seconds = |of: fn(&Usages) -> f64| median(runs.iter().map(of).collect());
    let shown: Vec<String> = runs
        .iter()
        .map(|run| format!("{:.2}", run.real.as_secs_f64()))
        .collect();
    format!(
        "    {name:22} {:>8.0} articles/s, {:>5.1} CPU µs an article, {:>4} MiB (runs, s: {})\n",
        articles as f64 / seconds(|run| run.real.as_secs_f64()),
        seconds(|run| run.cpu().as_secs_f64()) * 1e6 / articles as f64,
        runs.iter().map(|run| run.resident_kib).max().unwrap_or(0) >> 10,
        shown.join(" "),
    )
}

/// One import into a new news directory.
fn import(site: &mut Site, batch: &Batch, words: &[&str]) -> Result<Usages> {
    let dir = match words.get(1) {
        Some(&"mbox") => site.system(&site.disk.clone(), batch)?.dir,
        _ => site.fresh(&site.disk.clone())?,
    };
    let news = dir.join("news").display().to_string();
    let nothing = dir.join("nothing");
    fs::write(&nothing, b"")?;
    settle();
    let binary = site.binary.display().to_string();
    let command: Vec<&str> = std::iter::once(binary.as_str())
        .chain(words.iter().copied())
        .chain(["--dir", &news, "--json"])
        .collect();
    let outcome = measured(&dir, &command, Input::File(&nothing))?;
    let told: serde_json::Value = serde_json::from_str(outcome.output.trim())
        .with_context(|| format!("the import said {}", outcome.output))?;
    let filed = told
        .get("filed")
        .or_else(|| told.get("counts")?.get("filed"));
    if filed.and_then(serde_json::Value::as_u64) != Some(batch.articles) {
        bail!("not all articles were filed: {told}");
    }
    Ok(outcome.usages)
}

/// The articles as other systems have them: `articles` is the tree of an INN (`inn`) and of a C News (`ctl`), `mbox` a mailbox.
fn made(site: &mut Site, batch: &Batch) -> Result<PathBuf> {
    let dir = site.fresh(&site.disk.clone())?;
    let tree = dir.join("articles");
    for name in ["inn", "ctl"] {
        fs::create_dir_all(dir.join(name))?;
    }
    let mut mbox = BufWriter::new(File::create(dir.join("mbox"))?);
    let (mut inn, mut cnews) = (String::new(), String::new());
    let mut groups: HashMap<String, (usize, u64)> = HashMap::new();
    for made in Articles::new(KIND, SEED) {
        let article = Article::parse(&made.bytes, Form::Native);
        let id = String::from_utf8_lossy(article.value(Header::MessageId).unwrap_or_default());
        let named = article.value(Header::Newsgroups).unwrap_or_default();
        let mut links = Vec::new();
        for group in newsgroups::split(named) {
            let group = String::from_utf8_lossy(group).into_owned();
            let next = groups.len() + 1;
            let (place, high) = groups.entry(group.clone()).or_insert((next, 0));
            *high += 1;
            if *high == 1 {
                fs::create_dir_all(tree.join(group.replace('.', "/")))?;
            }
            links.push((group, *place, *high));
        }
        let shown = |mark: char| {
            let each = links
                .iter()
                .map(|(group, _, number)| format!("{group}{mark}{number}"));
            each.collect::<Vec<_>>().join(" ")
        };
        let mut text = format!("Xref: news.example.org {}\n", shown(':')).into_bytes();
        // Some come with the Xref of another site, which every news system removes.
        let mut at = 0;
        for old in article.xref_lines() {
            text.extend_from_slice(made.bytes.get(at..old.start).unwrap_or_default());
            at = old.end;
        }
        text.extend_from_slice(made.bytes.get(at..).unwrap_or_default());
        write_links(&tree, &links, &text)?;
        writeln!(cnews, "{id}\t1700000000~-~{}\t{}", text.len(), shown('/'))?;
        if let Some((_, place, number)) = links.first() {
            writeln!(
                inn,
                "{id}\t1700000000~-~1600000000\t@0500{place:08X}00000000{number:08X}00000000@"
            )?;
        }
        mbox.write_all(b"From news Tue Nov 14 22:13:20 2023\n")?;
        mbox.write_all(&made.bytes)?;
        mbox.write_all(b"\n")?;
    }
    mbox.flush()?;
    let mut active =
        String::from("control 0000000000 0000000001 n\njunk 0000000000 0000000001 n\n");
    let mut map = String::new();
    for (group, (place, high)) in &groups {
        writeln!(active, "{group} {high:010} 0000000001 y")?;
        writeln!(map, "{} {place}", group.replace('.', "/"))?;
    }
    let (root, spool) = (dir.join("inn").display().to_string(), dir.display());
    let conf = format!(
        "pathhost: news.example.org\npathetc: {root}\npathdb: {root}\npathspool: {root}\npatharticles: {spool}/articles\n"
    );
    for (name, text) in [
        ("inn/inn.conf", conf.as_str()),
        ("inn/active", &active),
        ("inn/history", &inn),
        ("inn/tradspool.map", &map),
        ("inn/expire.ctl", "/remember/:10\n*:A:never:never:never\n"),
        ("ctl/active", &active),
        ("ctl/whoami", "news.example.org\n"),
        ("ctl/history", &cnews),
    ] {
        fs::write(dir.join(name), text).with_context(|| format!("writing {name}"))?;
    }
    eprintln!("made {} articles in {}", batch.articles, dir.display());
    Ok(dir)
}

fn write_links(tree: &Path, links: &[(String, usize, u64)], text: &[u8]) -> Result<()> {
    let mut first: Option<PathBuf> = None;
    for (group, _, number) in links {
        let path = tree.join(group.replace('.', "/")).join(number.to_string());
        match &first {
            None => {
                fs::write(&path, text)?;
                first = Some(path);
            }
            Some(first) => fs::hard_link(first, &path)?,
        }
    }
    Ok(())
}
