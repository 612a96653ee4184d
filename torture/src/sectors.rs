//! Bad sectors: the disk cannot read a part of an article. Only this article is lost, and those on the same blocks of 4 KiB, and no client or
//! command is stopped.

use std::time::Instant;

use anyhow::{Context, Result};
use bench::generate::{Random, mix};

use crate::cuts::Run;
use crate::device::Command;
use crate::faults::line_of;
use crate::news::{Daemon, News, expect};
use crate::plan::{Article, Plan, Step};
use crate::rig::Rig;

/// The unit that is lost with a bad sector, bytes.
const BLOCK_BYTES: usize = 4096;
/// How often a reader requests the article.
const READS: usize = 5;

/// Damages articles and checks all other operations; returns the number of errors.
pub fn run(run: &Run) -> Result<u64> {
    let begun = Instant::now();
    let rig = Rig::new(&run.file_system)?;
    let plan = Plan::new(run.seed, run.size);
    let mut random = Random::new(mix(run.seed ^ 0xbad));
    rig.make()?;
    rig.mount()?;
    let news = News::at(&rig.mounted().join("news"))?;
    news.make(&plan, &run.sync, rig.beside())?;
    let mut filed = Vec::new();
    for step in &plan.steps {
        if let Step::Rnews { articles, .. } = step {
            // No cancels, so that all articles are kept.
            let is_plain = |index: &usize| {
                let article = plan.articles.get(*index);
                article.is_some_and(|article| article.cancels.is_none())
            };
            let articles: Vec<usize> = articles.iter().copied().filter(is_plain).collect();
            expect(news.rnews(&plan.batch(articles.iter().copied()), &[])?)?;
            filed.extend(articles);
        }
    }
    // Everything derived is on the disk then, and recovery need not read the bad sectors.
    expect(news.run(&["fsck", "--repair"])?)?;
    rig.unmount()?;
    let index = filed.get(random.position(filed.len()));
    let victim = index
        .and_then(|index| plan.articles.get(*index))
        .context("nothing was filed")?;
    let containing = line_of(&victim.bytes, &mut random).context("an article without lines")?;
    rig.send_command(&Command::FailReads { containing })?;
    rig.mount()?;
    let mut errors = Vec::new();
    let others: Vec<&Article> = filed
        .iter()
        .filter_map(|index| plan.articles.get(*index))
        .filter(|article| article.id != victim.id)
        .collect();
    let readable = match served(&news, victim, &others, &mut errors) {
        Ok(readable) => readable,
        Err(error) => {
            errors.push(format!("the daemon: {error:#}"));
            0
        }
    };
    // The victim and others, of which the first and the last may lie in it with a part only.
    let shortest = others.iter().map(|article| article.bytes.len()).min();
    let on_block = BLOCK_BYTES / shortest.unwrap_or(BLOCK_BYTES).max(1) + 1;
    if readable + on_block < others.len() {
        errors.push(format!(
            "{readable} of {} other articles can be read",
            others.len()
        ));
    }
    commands(&news, victim, &mut errors)?;
    let injected = rig.injected()?;
    rig.unmount()?;
    println!(
        "{}, seed {}, bad sectors: {} bad, {} reads failed; {readable} of {} other articles read well; {} things wrong; {:.1} s",
        run.file_system,
        run.seed,
        injected.bad_sectors,
        injected.reads,
        others.len(),
        errors.len(),
        begun.elapsed().as_secs_f64(),
    );
    errors.iter().for_each(|error| println!("  {error}"));
    Ok(errors.len() as u64)
}

/// Requests the damaged article and all others from the daemon; returns the number of readable others.
fn served(
    news: &News,
    victim: &Article,
    others: &[&Article],
    errors: &mut Vec<String>,
) -> Result<usize> {
    let mut daemon = news.serve()?;
    for _ in 0..READS {
        // A truncated reply ends with a closed connection, and nothing else.
        let reply = read(&daemon, victim);
        if daemon.has_ended()? {
            errors.push("the daemon exited when a reader requested the damaged article".to_owned());
            return Ok(0);
        }
        if let Ok(Some(_)) = reply {
            errors.push("the damaged article was served as if it were whole".to_owned());
        }
    }
    let mut readable = 0;
    for article in others {
        readable += usize::from(matches!(read(&daemon, article), Ok(Some(true))));
    }
    let (printed, status) = daemon.stop()?;
    if !status.success() {
        errors.push(format!("the daemon ended with {status}: {printed}"));
    }
    Ok(readable)
}

/// Reads an article. `None` if the reply is that it is not available; otherwise, whether it has the right number of lines.
fn read(daemon: &Daemon, article: &Article) -> Result<Option<bool>> {
    let mut connection = daemon.connect()?;
    let reply = connection.ask(&format!("BODY {}", article.id))?;
    if !reply.starts_with("222 ") {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&article.bytes);
    let body = text.split_once("\n\n").map_or("", |(_, body)| body);
    Ok(Some(connection.block()?.iter().eq(body.lines())))
}

/// Checks that no command is killed by a signal, and that fsck reports the article.
fn commands(news: &News, victim: &Article, errors: &mut Vec<String>) -> Result<()> {
    let lines: [&[&str]; 4] = [
        &["article", &victim.id],
        &["fsck"],
        &["fsck", "--repair"],
        &["history", "rebuild"],
    ];
    for words in lines {
        let output = news.run(words)?;
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        match output.status.code() {
            None => errors.push(format!("{}: {}", words.join(" "), output.status)),
            Some(0) if words.len() == 1 || words.first() == Some(&"article") => {
                errors.push(format!("{}: reports no error", words.join(" ")));
            }
            Some(_) if *words == ["fsck"] && !printed.contains(&victim.id) => {
                errors.push(format!("fsck does not report {}: {printed}", victim.id));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
