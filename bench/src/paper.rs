//! `bench paper`: the appendix of "News Need Not Be Slow" again. The paper's batch of 171 articles goes through one process an article, as in
//! B News, and through one process for all, as in C News.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bench::generate::Kind;

use crate::measure::{Input, Usages, measured};
use crate::report::median;
use crate::site::{Batch, Expected, Site, System};

/// The paper's figures on a VAX 750, seconds an article: real, user, system. It gives only the real time of rejecting.
const FILED: [[f64; 3]; 2] = [[9.06, 0.63, 2.25], [0.475, 0.191, 0.095]];
const REJECTED: [f64; 2] = [4.68, 0.58];

/// A row: the runs of one way, each the sum over its processes.
struct Row {
    what: &'static str,
    /// The figure of the paper.
    paper: String,
    runs: Vec<Usages>,
}

/// Measures all rows, each in every round.
///
/// # Errors
/// The binary is missing or fails, or does not file or refuse all articles.
pub fn rows(site: &mut Site, rounds: u32) -> Result<String> {
    let batch = site.batch(Kind::Paper, "paper")?;
    let articles = split(&batch)?;
    let whole = vec![batch.dir.join("batch")];
    let three = |[real, user, system]: [f64; 3]| format!("{real} {user} {system}");
    let [b_news, c_news] = FILED.map(three);
    let [b_rejects, c_rejects] = REJECTED.map(|real| format!("{real}"));
    let row = |what, paper| Row {
        what,
        paper,
        runs: Vec::new(),
    };
    let mut filed = [
        row("file, one process an article", b_news),
        row("file, one process", c_news),
    ];
    let mut rejected = [
        row("reject all, one process an article", b_rejects),
        row("reject all, one process", c_rejects),
    ];
    let mut expired = row("expire, nothing goes", String::new());
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for (way, inputs) in [&articles, &whole].into_iter().enumerate() {
            let system = site.warm_system(&batch)?;
            let each = batch.articles / inputs.len() as u64;
            let (new, known) = (Expected::all_filed(each), Expected::all_duplicates(each));
            if let (Some(filed), Some(rejected)) = (filed.get_mut(way), rejected.get_mut(way)) {
                filed.runs.push(in_all(site, &system, inputs, &new)?);
                rejected.runs.push(in_all(site, &system, inputs, &known)?);
            }
            if way == 1 {
                expired.runs.push(expire(site, &system)?);
            }
        }
    }
    let mut text = format!(
        "{:<38} {:>9} {:>9} {:>9}   {}\n",
        "medians, µs an article", "real", "user", "system", "the paper, VAX 750, s an article"
    );
    for row in filed.iter().chain(&rejected).chain([&expired]) {
        let of = |time: fn(&Usages) -> Duration| {
            let an_article = |run| time(run).as_secs_f64() * 1e6 / batch.articles as f64;
            median(row.runs.iter().map(an_article).collect())
        };
        text += &format!(
            "{:<38} {:>9.1} {:>9.1} {:>9.1}   {}\n",
            row.what,
            of(|run| run.real),
            of(|run| run.user),
            of(|run| run.system),
            row.paper
        );
    }
    Ok(text)
}

/// Runs rnews for each input, and adds the times.
fn in_all(site: &Site, system: &System, inputs: &[PathBuf], each: &Expected) -> Result<Usages> {
    let mut sum = Usages::default();
    for input in inputs {
        sum.add(&site.rnews(system, &[], Input::File(input), each)?);
    }
    Ok(sum)
}

/// Runs expire with the policy of `init`, by which nothing goes on the day of arrival.
fn expire(site: &Site, system: &System) -> Result<Usages> {
    let binary = site.binary.to_string_lossy();
    let news = system.dir.join("news");
    let news = news.to_string_lossy();
    let command = [&*binary, "expire", "--dir", &*news];
    let nothing = Input::File(Path::new("/dev/null"));
    let outcome = measured(&system.dir, &command, nothing)?;
    if outcome.status != 0 {
        bail!("expire ended with status {}", outcome.status);
    }
    Ok(outcome.usages)
}

/// Writes each article of a batch to a file, without its `#! rnews` line: what one process gets in B News' way.
fn split(batch: &Batch) -> Result<Vec<PathBuf>> {
    let bytes = fs::read(batch.dir.join("batch")).context("reading the batch back")?;
    let mut rest = bytes.as_slice();
    let mut files = Vec::new();
    while !rest.is_empty() {
        let (article, tail) = first_article(rest).context("the batch is not as generated")?;
        let file = batch.dir.join(format!("article-{}", files.len() + 1));
        fs::write(&file, article).with_context(|| format!("writing {}", file.display()))?;
        files.push(file);
        rest = tail;
    }
    Ok(files)
}

fn first_article(batch: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = batch.iter().position(|&byte| byte == b'\n')?;
    let (line, rest) = batch.split_at_checked(end)?;
    let size = std::str::from_utf8(line.strip_prefix(b"#! rnews ")?).ok()?;
    rest.get(1..)?.split_at_checked(size.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::first_article;

    #[test]
    fn a_batch_is_split_at_its_lines() {
        let batch = b"#! rnews 3\na\nb#! rnews 1\nc";
        let (first, rest) = first_article(batch).unwrap();
        assert_eq!(first, b"a\nb");
        assert_eq!(first_article(rest).unwrap(), (&b"c"[..], &b""[..]));
        assert!(first_article(b"#! rnews 9\nshort").is_none());
        assert!(first_article(b"no line").is_none());
    }
}
