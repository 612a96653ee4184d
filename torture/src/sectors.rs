//! Bad sectors: the disk cannot read a part of an article any more. That costs this article (and what lies so near that the
//! system reads it together), and nobody is stopped by it.

use std::time::Instant;

use anyhow::{Context, Result};
use bench::generate::{Random, mix};

use crate::cuts::Run;
use crate::device::Command;
use crate::faults::line_of;
use crate::news::{Daemon, News, expect};
use crate::plan::{Article, Plan, Step};
use crate::rig::Rig;

/// Of 100 other articles, at least so many must be readable: the system reads and caches in units that hold several.
const READABLE_PERCENT_MIN: usize = 80;
/// How often a reader asks for the article.
const ASKED: usize = 5;

/// Damages articles and looks how everything else goes on; returns how much was wrong.
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
            // No cancels: all of it stays.
            let is_plain = |place: &usize| {
                let article = plan.articles.get(*place);
                article.is_some_and(|article| article.cancels.is_none())
            };
            let articles: Vec<usize> = articles.iter().copied().filter(is_plain).collect();
            expect(news.rnews(&plan.batch(articles.iter().copied()), &[])?)?;
            filed.extend(articles);
        }
    }
    rig.unmount()?;
    let place = filed.get(random.position(filed.len()));
    let victim = place
        .and_then(|place| plan.articles.get(*place))
        .context("nothing was filed")?;
    let containing = line_of(&victim.bytes, &mut random).context("an article without lines")?;
    rig.tell(&Command::FailReads { containing })?;
    rig.mount()?;
    let mut wrong = Vec::new();
    let others: Vec<&Article> = filed
        .iter()
        .filter_map(|place| plan.articles.get(*place))
        .filter(|article| article.id != victim.id)
        .collect();
    let readable = match served(&news, victim, &others, &mut wrong) {
        Ok(readable) => readable,
        Err(error) => {
            wrong.push(format!("the daemon: {error:#}"));
            0
        }
    };
    if readable * 100 < others.len() * READABLE_PERCENT_MIN {
        wrong.push(format!(
            "{readable} of {} other articles can be read",
            others.len()
        ));
    }
    commands(&news, victim, &mut wrong)?;
    let injected = rig.injected()?;
    rig.unmount()?;
    println!(
        "{}, seed {}, bad sectors: {} bad, {} reads failed; {readable} of {} other articles read well; {} things wrong; {:.1} s",
        run.file_system,
        run.seed,
        injected.bad_sectors,
        injected.reads,
        others.len(),
        wrong.len(),
        begun.elapsed().as_secs_f64(),
    );
    wrong.iter().for_each(|fault| println!("  {fault}"));
    Ok(wrong.len() as u64)
}

/// Asks the daemon for the damaged article and for all others; returns how many of these can be read.
fn served(
    news: &News,
    victim: &Article,
    others: &[&Article],
    wrong: &mut Vec<String>,
) -> Result<usize> {
    let mut daemon = news.serve()?;
    for _ in 0..ASKED {
        // Where a reply is cut short, the connection is closed, and that is all.
        let reply = read(&daemon, victim);
        if daemon.has_ended()? {
            wrong.push("the daemon ended when a reader asked for the damaged article".to_owned());
            return Ok(0);
        }
        if let Ok(Some(_)) = reply {
            wrong.push("the damaged article was served as if it were whole".to_owned());
        }
    }
    let mut readable = 0;
    for article in others {
        readable += usize::from(matches!(read(&daemon, article), Ok(Some(true))));
    }
    let (said, status) = daemon.stop()?;
    if !status.success() {
        wrong.push(format!("the daemon ended with {status}: {said}"));
    }
    Ok(readable)
}

/// `None`: the reply says that it cannot be had. Otherwise, whether it has as many lines as it should.
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

/// No command is ended by a signal, and fsck names the article.
fn commands(news: &News, victim: &Article, wrong: &mut Vec<String>) -> Result<()> {
    let lines: [&[&str]; 4] = [
        &["article", &victim.id],
        &["fsck"],
        &["fsck", "--repair"],
        &["history", "rebuild"],
    ];
    for words in lines {
        let output = news.run(words)?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        match output.status.code() {
            None => wrong.push(format!("{}: {}", words.join(" "), output.status)),
            Some(0) if words.len() == 1 || words.first() == Some(&"article") => {
                wrong.push(format!("{}: sees nothing wrong", words.join(" ")));
            }
            Some(_) if *words == ["fsck"] && !said.contains(&victim.id) => {
                wrong.push(format!("fsck does not name {}: {said}", victim.id));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
