//! `bench pull`: fetches all articles of a server with `broadsheet pull`, slrnpull and suck, near and with a long round trip.
//!
//! The three do not do the same: suck and slrnpull leave files, unsynced; `broadsheet pull` files the articles, durably.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bench::generate::Kind;

use crate::machine::{self, free_port};
use crate::measure::{Input, Usages, measured};
use crate::nntp::running::{Ended, wait_for};
use crate::nntp_out::far::Delay;
use crate::plan::Plan;
use crate::report::{Runs, every_run, medians};
use crate::site::{Batch, Expected, Site, settle};

/// Default number of rounds.
pub const ROUNDS: u32 = 3;
/// Number of articles, and with `--quick`; and of a distant server.
const ARTICLES: u64 = 20_000;
const ARTICLES_QUICK: u64 = 4_000;
const ARTICLES_FAR: u64 = 400;
const GROUPS: usize = 20;
/// The round trip to a distant server.
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// A program that fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Puller {
    Ours,
    Slrnpull,
    Suck,
}

impl Puller {
    const ALL: [Puller; 3] = [Puller::Ours, Puller::Slrnpull, Puller::Suck];

    fn name(self) -> &'static str {
        match self {
            Puller::Ours => "broadsheet pull",
            Puller::Slrnpull => "slrnpull",
            Puller::Suck => "suck",
        }
    }

    /// Its program; `None` where it is missing.
    fn program(self, site: &Site) -> Option<PathBuf> {
        let name = match self {
            Puller::Ours => return Some(site.binary.clone()),
            Puller::Slrnpull => "usr/bin/slrnpull",
            Puller::Suck => "usr/bin/suck",
        };
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let roots = [PathBuf::from(target).join("peers"), PathBuf::from("/")];
        let mut paths = roots.iter().map(|root| root.join(name));
        paths.find(|path| path.is_file())?.canonicalize().ok()
    }
}

/// Measures and prints.
///
/// # Errors
/// A program misses articles.
pub fn run(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    let command: Vec<String> = std::env::args().collect();
    println!("{}command  {}\n", machine::description(), command.join(" "));
    let near = if plan.quick { ARTICLES_QUICK } else { ARTICLES };
    let mut rows = Vec::new();
    for (articles, round_trip) in [(near, None), (ARTICLES_FAR, Some(ROUND_TRIP))] {
        let kind = Kind::Like {
            articles,
            groups: GROUPS,
        };
        let batch = site.batch(kind, &format!("pull-{articles}"))?;
        // No site is fed.
        fs::write(batch.dir.join("sys"), "ME:all\n")?;
        let server = Server::start(&mut site, &batch)?;
        let delay = round_trip.map(|time| Delay::start(server.port, time, None));
        let port = delay.transpose()?.map_or(server.port, |delay| delay.port);
        let mut of_server: Vec<(Puller, Runs)> = Vec::new();
        for puller in Puller::ALL {
            if puller != Puller::Ours && (plan.no_peer || puller.program(&site).is_none()) {
                println!("note  {}: left out, or not installed", puller.name());
                continue;
            }
            let far = round_trip.map_or("", |_| ", round trip 50 ms");
            let what = format!("{}{far}", puller.name());
            of_server.push((puller, Runs::of(what, articles, None)));
        }
        for round in 1..=plan.rounds {
            eprintln!("round {round} of {}", plan.rounds);
            for (puller, runs) in &mut of_server {
                let usages = fetch(*puller, &mut site, &batch, port)
                    .with_context(|| format!("{}, {articles} articles", puller.name()))?;
                runs.runs.push(usages);
            }
        }
        rows.extend(of_server.into_iter().map(|(_, runs)| runs));
    }
    println!("{}\n{}", every_run(&rows), medians(&rows));
    println!(
        "note  the server is broadsheet serve; only broadsheet pull files and syncs what it fetches; in the rows with a round trip a proxy in the bench holds every byte back for half of it each way"
    );
    Ok(())
}

/// A server with all articles of a batch.
struct Server {
    port: u16,
    _daemon: Ended,
}

impl Server {
    fn start(site: &mut Site, batch: &Batch) -> Result<Server> {
        let disk = site.disk.clone();
        let system = site.system(&disk, batch)?;
        let input = batch.dir.join("batch");
        let expected = Expected::all_filed(batch.articles);
        site.rnews(&system, &[], Input::File(&input), &expected)?;
        settle();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let log = system.dir.join("serve.log");
        let child = Command::new(&site.binary)
            .args(["serve", "--listen", &address.to_string(), "--dir"])
            .arg(system.dir.join("news"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("starting broadsheet serve")?;
        let mut daemon = Ended(child);
        wait_for(&mut daemon, address, &log)?;
        Ok(Server {
            port: address.port(),
            _daemon: daemon,
        })
    }
}

/// Fetches everything into a new directory; checks that all articles came.
fn fetch(puller: Puller, site: &mut Site, batch: &Batch, port: u16) -> Result<Usages> {
    let program = puller.program(site).context("no such program")?;
    let program = program.to_string_lossy().into_owned();
    let nothing = Input::File(Path::new("/dev/null"));
    let groups = groups_of(batch)?;
    let (dir, words) = match puller {
        Puller::Ours => {
            let disk = site.disk.clone();
            let dir = site.system(&disk, batch)?.dir;
            let file = dir.join("news/broadsheet.toml");
            let settings = fs::read_to_string(&file)?;
            let settings = settings.replacen("news.example.org", "leaf.example.org", 1);
            let table = format!(
                "\n[[pull]]\nname = \"up\"\nserver = \"127.0.0.1:{port}\"\ngroups = \"*\"\nfirst = 1000000\n"
            );
            fs::write(&file, settings + &table)?;
            let news = dir.join("news").to_string_lossy().into_owned();
            (
                dir,
                ["pull", "--json", "--dir", &news]
                    .map(str::to_owned)
                    .to_vec(),
            )
        }
        Puller::Slrnpull => {
            let disk = site.disk.clone();
            let dir = site.fresh(&disk)?;
            let lines = groups.iter().map(|group| format!("{group}\n"));
            let text = format!("default 0 0 0\n{}", lines.collect::<String>());
            fs::write(dir.join("slrnpull.conf"), text)?;
            let spool = dir.to_string_lossy().into_owned();
            let address = format!("127.0.0.1:{port}");
            (
                dir,
                ["-d", &spool, "-h", &address].map(str::to_owned).to_vec(),
            )
        }
        Puller::Suck => {
            let disk = site.disk.clone();
            let dir = site.fresh(&disk)?;
            let lines = groups.iter().map(|group| format!("{group} 0\n"));
            fs::write(dir.join("sucknewsrc"), lines.collect::<String>())?;
            let (here, port) = (dir.to_string_lossy().into_owned(), port.to_string());
            let into = dir.join("sucked").to_string_lossy().into_owned();
            let words = ["127.0.0.1", "-N", &port, "-H", "-K", "-m", "-dd", &here];
            let words = words.into_iter().chain(["-dt", &here, "-dm", &into]);
            (dir, words.map(str::to_owned).collect())
        }
    };
    settle();
    let command: Vec<&str> = std::iter::once(program.as_str())
        .chain(words.iter().map(String::as_str))
        .collect();
    let outcome = measured(&dir, &command, nothing)?;
    ensure!(
        outcome.status == 0,
        "exit status {}: {}",
        outcome.status,
        outcome.output
    );
    match puller {
        Puller::Ours => {
            let told: serde_json::Value = serde_json::from_str(outcome.output.trim())?;
            let accepted = told.get("accepted").and_then(serde_json::Value::as_u64);
            ensure!(accepted == Some(batch.articles), "not all came: {told}");
        }
        // slrnpull has a file for each group of an article.
        Puller::Slrnpull => {
            let files = files_in(&dir.join("news"), &is_number)?;
            ensure!(
                files >= batch.articles,
                "{files} of {} came",
                batch.articles
            );
        }
        Puller::Suck => {
            let files = files_in(&dir.join("sucked"), &|_| true)?;
            ensure!(
                files == batch.articles,
                "{files} of {} came",
                batch.articles
            );
        }
    }
    Ok(outcome.usages)
}

/// The names of the groups of a batch that have articles.
fn groups_of(batch: &Batch) -> Result<Vec<String>> {
    let active = fs::read_to_string(batch.dir.join("active"))?;
    let names = active.lines().filter_map(|line| line.split(' ').next());
    let is_ours = |name: &&str| !matches!(*name, "control" | "junk");
    Ok(names.filter(is_ours).map(str::to_owned).collect())
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// The number of such files in a tree.
fn files_in(dir: &Path, is_counted: &dyn Fn(&str) -> bool) -> Result<u64> {
    let mut count = 0;
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            count += files_in(&entry.path(), is_counted)?;
        } else {
            count += u64::from(is_counted(&entry.file_name().to_string_lossy()));
        }
    }
    Ok(count)
}
