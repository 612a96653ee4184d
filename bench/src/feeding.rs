//! Measures feeds: the time until an article reaches a feed's program, and the cost of the walk along the log for many sites.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use bench::generate::Kind;

use crate::machine;
use crate::measure::{Input, measured};
use crate::report::{Goal, figure, median};
use crate::site::{Expected, Site};

/// Number of measured runs, and of warm-up runs before them.
const RUNS: usize = 200;
const WARM_UPS: usize = 10;
/// Pause between two runs.
const QUIET: Duration = Duration::from_millis(20);
/// Time limit for the start of the daemon, and for the arrival of an article.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Goal of the time from an article to the feed's program, ms.
const LATENCY: Goal = Goal {
    reach: 2.0,
    aim: 2.0,
};

/// The articles of the log.
const WALKED: Kind = Kind::Tiny {
    articles: 100_000,
    groups: 500,
};

/// Measures the rows.
///
/// # Errors
/// The binary fails, or an article does not arrive.
pub fn rows(site: &mut Site, rounds: u32) -> Result<String> {
    let mut out = String::new();
    let disk = site.disk.clone();
    for on in site.memory.clone().into_iter().chain([disk]) {
        out.push_str(&latency(site, &on)?);
    }
    out.push_str(&walks(site, rounds)?);
    Ok(out)
}

/// A program that is killed at the end of the bench.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `bench witness SOCKET`: the feed's program. Sends the time of each line to the bench, in nanoseconds since 1970.
///
/// # Errors
/// The bench does not listen.
pub fn witness(socket: &Path) -> Result<()> {
    let mut bench = UnixStream::connect(socket).context("telling the bench")?;
    let mut input = std::io::stdin().lock();
    let mut bytes = [0; 1 << 16];
    loop {
        let count = input.read(&mut bytes)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        if count == 0 {
            return Ok(());
        }
        let came = bytes.get(..count).unwrap_or_default();
        for _ in came.iter().filter(|&&byte| byte == b'\n') {
            bench.write_all(format!("{now}\n").as_bytes())?;
        }
    }
}

/// Measures the time from rnews to the program's standard input, one article at a time.
fn latency(site: &mut Site, on: &Path) -> Result<String> {
    let kind = Kind::Like {
        articles: (RUNS + WARM_UPS) as u64,
        groups: 20,
    };
    let batch = site.batch(kind, "one-by-one")?;
    let system = site.system(on, &batch)?;
    let news = system.dir.join("news");
    // The path of a socket must be short.
    let socket = std::env::temp_dir().join(format!("bench-feed-{}", std::process::id()));
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).context("listening for the feed's program")?;
    let settings = format!(
        "\n[[site]]\nname = \"far.example\"\ngroups = \"all\"\nvia = {{ program = \"'{}' witness '{}'\", gives = \"id\" }}\n",
        std::env::current_exe()?.display(),
        socket.display()
    );
    File::options()
        .append(true)
        .open(news.join("broadsheet.toml"))?
        .write_all(settings.as_bytes())?;
    let daemon = Command::new(&site.binary)
        .args(["serve", "--dir"])
        .arg(&news)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("starting the daemon")?;
    let mut daemon = Ended(daemon);
    wait_for(&mut daemon, &news.join("control.sock"))?;

    let text = fs::read(batch.dir.join("batch"))?;
    let (mut to_program, mut to_end, mut witness) = (Vec::new(), Vec::new(), None);
    for (number, article) in articles(&text).enumerate() {
        let input = system.dir.join("article");
        fs::write(&input, article)?;
        let begin = SystemTime::now();
        let status = Command::new(&site.binary)
            .args(["rnews", "--dir"])
            .arg(&news)
            .stdin(File::open(&input)?)
            .status()?;
        let end = SystemTime::now();
        if !status.success() {
            bail!("rnews: {status}");
        }
        let from = match &mut witness {
            Some(from) => from,
            None => {
                let (stream, _) = listener
                    .accept()
                    .context("waiting for the feed's program")?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                witness.insert(BufReader::new(stream))
            }
        };
        let mut line = String::new();
        from.read_line(&mut line).context("waiting for an id")?;
        let came = UNIX_EPOCH + Duration::from_nanos(line.trim().parse().context("an odd time")?);
        if number >= WARM_UPS {
            to_program.push(milliseconds(begin, came));
            to_end.push(milliseconds(begin, end));
        }
        std::thread::sleep(QUIET);
    }
    drop(daemon);
    fs::remove_file(&socket)?;
    let kind = machine::file_system(on);
    let late = percentile(&to_program, 99);
    let ended = format!(
        "rnews itself had ended after {:.3} ms, 99 % of its runs after {:.3} ms",
        median(to_end.clone()),
        percentile(&to_end, 99)
    );
    let what = format!("rnews' start to the feed's program, {kind}");
    let middle = figure(&what, median(to_program), "ms (median)", LATENCY);
    Ok(format!("{middle}    99 % within {late:.3} ms; {ended}\n"))
}

fn wait_for(daemon: &mut Ended, socket: &Path) -> Result<()> {
    let begin = Instant::now();
    while UnixStream::connect(socket).is_err() {
        if daemon.0.try_wait()?.is_some() || begin.elapsed() > TIMEOUT {
            bail!("the daemon did not start");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Splits a batch into its articles, each with its line.
fn articles(mut batch: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let end = batch.iter().position(|&byte| byte == b'\n')?;
        let (line, _) = batch.split_at_checked(end)?;
        let size = std::str::from_utf8(line.strip_prefix(b"#! rnews ")?).ok()?;
        let (article, rest) = batch.split_at_checked(end + 1 + size.parse::<usize>().ok()?)?;
        batch = rest;
        Some(article)
    })
}

/// Milliseconds between two times; negative if the clock was set back.
fn milliseconds(from: SystemTime, to: SystemTime) -> f64 {
    match to.duration_since(from) {
        Ok(later) => later.as_secs_f64() * 1e3,
        Err(earlier) => -earlier.duration().as_secs_f64() * 1e3,
    }
}

fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(last).copied().unwrap_or_default()
}

/// Measures the cost of the single walk along the log that serves all sites, with `feed list`, which walks like `sendbatches` and counts.
fn walks(site: &mut Site, rounds: u32) -> Result<String> {
    let mut out =
        String::from("the walk along 100,000 articles that wait for sites (feed list), CPU\n");
    let batch = site.batch(WALKED, "walked")?;
    let on = site.memory.clone().unwrap_or_else(|| site.disk.clone());
    let mut alone = 0.0;
    for (wanting, idle) in [(1, 0), (5, 0), (5, 495), (500, 0)] {
        let system = site.system(&on, &batch)?;
        let news = system.dir.join("news");
        fs::write(news.join("sys"), sys(wanting, idle))?;
        let nothing = Input::File(Path::new("/dev/null"));
        site.rnews(&system, &[], nothing, &Expected::all_filed(0))?;
        let input: PathBuf = batch.dir.join("batch");
        let expected = Expected::all_filed(batch.articles);
        site.rnews(&system, &[], Input::File(&input), &expected)?;
        let (binary, news) = (site.binary.to_string_lossy(), news.to_string_lossy());
        let mut seconds = Vec::new();
        for _ in 0..=rounds {
            let command = [&*binary, "feed", "list", "--json", "--dir", &*news];
            let outcome = measured(&system.dir, &command, Input::File(Path::new("/dev/null")))?;
            let complete = outcome.output.matches("\"articles\":100000").count();
            if outcome.status != 0 || complete != wanting {
                bail!("feed list: {complete} sites have 100,000 articles waiting, of {wanting}");
            }
            seconds.push(outcome.usages.cpu().as_secs_f64());
        }
        let median = median(seconds.split_off(1));
        if wanting == 1 {
            alone = median;
        }
        let more = (wanting + idle - 1) as f64 * batch.articles as f64;
        let more = match wanting + idle {
            1 => String::new(),
            _ => format!(
                ", {:.2} ns an article and further site",
                (median - alone) * 1e9 / more
            ),
        };
        out.push_str(&format!(
            "    {wanting:>3} sites want all of them, {idle:>3} none: {:>7.1} ms{more}\n",
            median * 1e3
        ));
        fs::remove_dir_all(&system.dir)?;
    }
    Ok(out)
}

fn sys(wanting: usize, idle: usize) -> String {
    let wanting = (0..wanting).map(|site| format!("wants{site}:all/all:f:\n"));
    let idle = (0..idle).map(|site| format!("idle{site}:region{site}/all:f:\n"));
    wanting.chain(idle).collect()
}
