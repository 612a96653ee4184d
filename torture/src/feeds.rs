//! Power cuts while a daemon feeds a peer by NNTP: afterwards the peer gets every article of the store, and all that it had got before is
//! there.

use std::collections::HashSet;
use std::io::BufReader;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bench::generate::{Random, mix};
use store::Snapshot;

use crate::cuts::{Point, Run};
use crate::device::{Command, Cut};
use crate::news::{News, expect};
use crate::peer::{self, Peer};
use crate::plan::Plan;
use crate::recording::{Event, Keep, read_events};
use crate::rig::Rig;

/// Lives of the daemon.
const LIVES: usize = 6;
/// Size of the articles' plan; see [`Plan::new`].
const PLAN_PERCENT: u64 = 40;
/// How long articles trickle in the last life, so that the cursor is synced under way, too.
const TRICKLE: Duration = Duration::from_secs(13);
/// Pause of the trickle between two articles.
const TRICKLE_PAUSE: Duration = Duration::from_millis(400);
/// Longest wait for the peer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most errors of one point that are printed.
const ERRORS_PRINTED_MAX: usize = 3;
const READY: &str = "ready";
/// Begins the mark of an article that was acknowledged.
const FILED: &str = "filed ";

/// Records, cuts and checks; returns the number of points with errors.
pub fn run(run: &Run) -> Result<u64> {
    let begun = Instant::now();
    let rig = Rig::new(&run.file_system)?;
    let plan = Plan::new(run.seed, PLAN_PERCENT);
    let file = rig.beside().join("recording");
    rig.send_command(&Command::Record(file.clone()))?;
    rig.make()?;
    rig.mount()?;
    let news = News::at(&rig.mounted().join("news"))?;
    news.make(&plan, &run.sync, rig.beside())?;
    let peer = Peer::start()?;
    news.add_site(&format!(
        "name = \"peer\"\ngroups = \"all\"\nstart = \"oldest\"\nvia = {{ nntp = \"{}\" }}\n",
        peer.address
    ))?;
    rustix::fs::sync();
    rig.mark(READY.as_bytes())?;
    peer.record(Some(rig.marks()?));
    let driven = drive(&rig, &news, &plan, &peer, run.seed);
    peer.record(None);
    driven?;
    rig.unmount()?;
    rig.send_command(&Command::Stop)?;
    let events = read_events(&mut BufReader::new(std::fs::File::open(&file)?))?;
    println!(
        "{}, seed {}: {} articles went to the peer; {} events",
        run.file_system,
        run.seed,
        peer.count(),
        events.len()
    );
    rig.send_command(&Command::Load(file))?;
    let (mut losses, mut again) = (0, 0);
    for point in points(&events, run.points, run.seed)? {
        let (errors, repeated) = check_point(&rig, &news, &plan, &peer, &events, point)
            .with_context(|| format!("{}, seed {}, point {point}", run.file_system, run.seed))?;
        again = again.max(repeated);
        if errors.is_empty() {
            continue;
        }
        losses += 1;
        println!("{}, seed {}, point {point}:", run.file_system, run.seed);
        for error in errors.iter().take(ERRORS_PRINTED_MAX) {
            println!("  {error}");
        }
    }
    println!(
        "{}, seed {}: {} power cuts of a feed; losses at {losses} points; {again} articles at most were offered again; {:.1} s",
        run.file_system,
        run.seed,
        run.points,
        begun.elapsed().as_secs_f64()
    );
    Ok(losses)
}

/// Files all articles in several lives of the daemon, some of which end while it feeds.
fn drive(rig: &Rig, news: &News, plan: &Plan, peer: &Peer, seed: u64) -> Result<()> {
    let mut random = Random::new(mix(seed ^ 0xfeed));
    let articles: Vec<usize> = (0..plan.articles.len())
        .filter(|&at| plan.articles.get(at).is_some_and(|it| it.cancels.is_none()))
        .collect();
    let file = |part: &[usize]| -> Result<()> {
        expect(news.rnews(&plan.batch(part.iter().copied()), &[])?)?;
        // Acknowledged: it is on the disk.
        for article in part.iter().filter_map(|&at| plan.articles.get(at)) {
            rig.mark(filed(&article.id).as_bytes())?;
        }
        Ok(())
    };
    for (life, part) in articles.chunks(articles.len().div_ceil(LIVES)).enumerate() {
        let daemon = news.serve()?;
        let is_last = life + 1 == LIVES;
        let began = Instant::now();
        let mut rest = part;
        while !rest.is_empty() {
            let is_trickle = is_last && began.elapsed() < TRICKLE;
            let size = if is_trickle {
                1
            } else {
                1 + random.position(30)
            };
            let (now, later) = rest.split_at(size.min(rest.len()));
            file(now)?;
            rest = later;
            match is_trickle {
                true => std::thread::sleep(TRICKLE_PAUSE),
                false => std::thread::sleep(Duration::from_millis(random.below(15))),
            }
        }
        // Killed, stopped while it feeds, or stopped behind the last article.
        match life % 3 {
            0 => drop(daemon),
            1 => _ = daemon.stop()?,
            _ => {
                let last = part.last().and_then(|&at| plan.articles.get(at));
                let last = last.map_or("", |article| article.id.as_str());
                let began = Instant::now();
                while !peer.has(last) {
                    ensure!(began.elapsed() < PATIENCE, "{last} does not reach the peer");
                    std::thread::sleep(Duration::from_millis(5));
                }
                _ = daemon.stop()?;
            }
        }
    }
    expect(news.run(&["feed", "flush"])?)?;
    Ok(())
}

fn filed(id: &str) -> String {
    format!("{FILED}{id}")
}

/// Chooses the points of cuts, ascending: a quarter of them where files are made, before the first article is filed; a quarter anywhere; half
/// next to a flush or a mark.
fn points(events: &[Event], count: u64, seed: u64) -> Result<Vec<Point>> {
    let is_ready = |event: &Event| matches!(event, Event::Mark(line) if line == READY.as_bytes());
    let first = events.iter().position(is_ready);
    let first = first.context("the recording has no beginning")? + 1;
    let is_filed =
        |event: &Event| matches!(event, Event::Mark(line) if line.starts_with(FILED.as_bytes()));
    let filed = events.iter().position(is_filed);
    let made = filed.context("no article was filed")? - first;
    let edges: Vec<usize> = (first..events.len())
        .filter(|&at| matches!(events.get(at), Some(Event::Flush | Event::Mark(_))))
        .collect();
    let mut random = Random::new(mix(seed ^ 0xc07));
    let mut points: Vec<Point> = (0..count)
        .map(|_| Point {
            events: match (edges.get(random.position(edges.len())), random.below(4)) {
                (Some(at), 0 | 1) => at + random.position(2),
                (_, 2) => first + random.position(made + 1),
                _ => first + random.position(events.len() - first + 1),
            },
            seed: random.word() >> 32,
        })
        .collect();
    points.sort_unstable();
    Ok(points)
}

/// Checks one cut; returns the errors, and the number of articles that were offered again.
fn check_point(
    rig: &Rig,
    news: &News,
    plan: &Plan,
    peer: &Peer,
    events: &[Event],
    point: Point,
) -> Result<(Vec<String>, usize)> {
    let mut random = Random::new(point.seed);
    rig.send_command(&Command::Cut(Cut {
        events: point.events,
        keep: Keep::draw(&mut random).to_string(),
        seed: random.word(),
    }))?;
    rig.set_boot(1)?;
    rig.mount()?;
    let marks: HashSet<&[u8]> = events
        .iter()
        .take(point.events)
        .filter_map(|event| match event {
            Event::Mark(line) => Some(line.as_slice()),
            _ => None,
        })
        .collect();
    let has = |mark: String| marks.contains(mark.as_bytes());
    let ids = plan.articles.iter().map(|article| article.id.as_str());
    let sent = ids.clone().filter(|id| has(peer::mark(id)));
    peer.reset(sent.map(str::to_owned).collect());
    // The next program that files recovers the store.
    expect(news.rnews(b"", &[])?)?;
    let mut errors = Vec::new();
    let flushed = news.run(&["feed", "flush"])?;
    if !flushed.status.success() {
        let error = String::from_utf8_lossy(&flushed.stderr);
        errors.push(format!("feed flush {}: {error}", flushed.status));
    }
    let snapshot = Snapshot::open(news.dir())?;
    for id in ids {
        let is_here = snapshot.history_line(id.as_bytes())?.is_some();
        if is_here && !peer.has(id) {
            errors.push(format!("{id} is skipped"));
        }
        if !is_here && has(filed(id)) {
            errors.push(format!("{id} was acknowledged, and is lost"));
        }
        if !is_here && has(peer::mark(id)) {
            errors.push(format!("{id} went to the peer, and is lost here"));
        }
    }
    drop(snapshot);
    rig.unmount()?;
    Ok((errors, peer.again()))
}
