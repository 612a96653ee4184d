//! `bench run`: the real binary, row by row, each run in a fresh directory.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bench::generate::Kind;

use crate::measure::{Input, Usages, counted_calls};
use crate::plan::Plan;
use crate::report::{Goal, Runs, every_run, figure, median, medians};
use crate::site::{Batch, Expected, Site, just_emptied, settle};
use crate::{
    batch, expire, feeding, import, index, inn, instructions, limit, machine, namei, nntp,
    nntp_out, offload, paper, selection, start, techniques, tree,
};

/// Runs of the paper's batch per round; it is small.
const PAPER_RUNS: u32 = 5;

/// Number of rounds with INN.
const PEER_ROUNDS: u32 = 3;

const FILE_DISK: Goal = Goal {
    reach: 9.7,
    aim: 3.0,
};
const FILE_TMPFS: Goal = Goal {
    reach: 3.0,
    aim: 1.4,
};
const PAPER: Goal = Goal {
    reach: 12.0,
    aim: 6.0,
};
const DUPLICATES: Goal = Goal {
    reach: 1.0,
    aim: 0.5,
};
const SYSTEM_CALLS: Goal = Goal {
    reach: 0.1,
    aim: 0.02,
};
const REAL_TO_LIMIT: Goal = Goal {
    reach: 2.0,
    aim: 1.25,
};
const MEMORY_MB: Goal = Goal {
    reach: 128.0,
    aim: 64.0,
};

/// Runs all benches and prints them.
///
/// # Errors
/// The binary is missing, fails, or does not file all articles.
pub fn run(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!(
        "{}{}",
        machine::description(),
        just_emptied(&plan.dir).unwrap_or_default()
    );
    let command: Vec<String> = std::env::args().collect();
    println!("command  {}\n", command.join(" "));

    let ten = site.batch(Kind::TenThousand, "ten-thousand")?;
    let paper = site.batch(Kind::Paper, "paper")?;
    let rows = rounds(plan, &mut site, &ten, &paper)?;
    print!("{}\n{}", every_run(&rows), medians(&rows));
    print!("{}{}", beside_inn(plan, &rows), ratio_to_limit(&rows));
    print!("{}", system_calls(&mut site, &ten)?);
    print!("{}", start::rows(&mut site, None, plan.rounds)?);
    print!("{}", paper::rows(&mut site, plan.rounds)?);
    print!("{}", instructions::rows(&mut site)?);
    print!("{}", selection::rows(&mut site, &ten, plan.rounds)?);
    print!("{}", feeding::rows(&mut site, plan.rounds)?);
    print!("{}", nntp::rows(plan, &mut site)?);
    print!("{}", nntp_out::rows(plan, &mut site)?);
    batch::rows(&mut site, plan)?;
    print!("{}", memory_of_large(plan, &mut site)?);
    let ids = if plan.quick {
        index::IDS / 10
    } else {
        index::IDS
    };
    print!("{}", index_rows(&mut site, ids)?);
    print!("{}", expire::rows(&mut site, expire::ARTICLES)?);
    print!("{}", expire::beside_filing(&mut site)?);
    Ok(())
}

/// `bench expire`: only those rows, and the large one on request.
///
/// # Errors
/// The binary is missing or fails.
pub fn expire_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    print!("{}", expire::rows(&mut site, expire::ARTICLES)?);
    print!("{}", expire::beside_filing(&mut site)?);
    if plan.large {
        print!("{}", expire::large(&mut site)?);
    }
    Ok(())
}

/// `bench batch`: only those rows.
///
/// # Errors
/// A program cannot be started or fails.
pub fn batches_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    batch::rows(&mut site, plan)
}

/// `bench feed`: only those rows.
///
/// # Errors
/// The binary is missing or fails, or an article does not arrive.
pub fn feeding_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    print!("{}", feeding::rows(&mut site, plan.rounds)?);
    Ok(())
}

/// `bench start`: only those rows.
///
/// # Errors
/// A binary is missing or fails.
pub fn start_alone(plan: &Plan) -> Result<()> {
    let beside = plan.beside.as_deref().map(std::path::Path::canonicalize);
    let beside = beside.transpose().context("the binary beside")?;
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    print!(
        "{}",
        start::rows(&mut site, beside.as_deref(), plan.rounds)?
    );
    Ok(())
}

/// `bench paper`: only those rows.
///
/// # Errors
/// The binary is missing or fails.
pub fn paper_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    print!("{}", paper::rows(&mut site, plan.rounds)?);
    Ok(())
}

/// `bench tree`: only those rows.
///
/// # Errors
/// The binary is missing or fails.
pub fn tree_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    print!("{}", tree::rows(&mut site, plan.rounds)?);
    Ok(())
}

/// `bench import`: only those rows.
///
/// # Errors
/// The binary is missing or fails.
pub fn import_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    print!("{}", import::rows(&mut site, plan.rounds)?);
    Ok(())
}

/// `bench offload`: only those rows.
///
/// # Errors
/// The binary is missing or fails.
pub fn offload_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    print!("{}", offload::rows(&mut site, plan.rounds)?);
    Ok(())
}

/// `bench techniques`: only those rows.
///
/// # Errors
/// The binary is missing, or a row cannot be measured.
pub fn techniques_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    let disk = site.disk.clone();
    let batch = site.batch(Kind::Demo, "demo")?;
    let system = site.system(&disk, &batch)?;
    print!("{}", machine::description());
    let rows = techniques::rows(&system.dir, &system.dir.join("news"))?;
    print!("{rows}");
    Ok(())
}

/// `bench instructions`: only those rows.
///
/// # Errors
/// The binary is missing or fails.
pub fn instructions_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", instructions::rows(&mut site)?);
    Ok(())
}

/// `bench selection`: only those rows.
///
/// # Errors
/// The binary is missing or fails.
pub fn selection_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    let ten = site.batch(Kind::TenThousand, "ten-thousand")?;
    print!("{}", selection::rows(&mut site, &ten, plan.rounds)?);
    Ok(())
}

/// Measures the index in a news directory of its own.
fn index_rows(site: &mut Site, ids: u64) -> Result<String> {
    let disk = site.disk.clone();
    let batch = site.batch(Kind::Demo, "demo")?;
    let system = site.system(&disk, &batch)?;
    index::rows(&system.dir.join("news"), ids)
}

/// `bench index`: only that row.
///
/// # Errors
/// The store fails, or the binary is missing.
pub fn index_alone(plan: &Plan, ids: u64) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}{}", machine::description(), index_rows(&mut site, ids)?);
    Ok(())
}

/// `bench namei`: name translation alone.
///
/// # Errors
/// The binary is missing or fails.
pub fn namei_alone(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    let rows = namei::rows(&mut site, plan.rounds)?;
    print!("{}{rows}", machine::description());
    Ok(())
}

/// The repeated rows, in the order that the functions below expect.
fn rounds(plan: &Plan, site: &mut Site, ten: &Batch, paper: &Batch) -> Result<Vec<Runs>> {
    let (disk, memory) = (site.disk.clone(), site.memory.clone());
    let kind = machine::file_system(&disk);
    let mut filed = Runs::of(
        format!("file {}, {kind}, durable", ten.articles),
        ten.articles,
        Some(FILE_DISK),
    );
    let mut bare = Runs::of(
        format!("limit: write + fdatasync, {kind}"),
        ten.articles,
        None,
    );
    let mut refused = Runs::of(
        format!("refuse {} as duplicates, {kind}", ten.articles),
        ten.articles,
        Some(DUPLICATES),
    );
    let mut quick = Runs::of(
        format!("file {}, tmpfs", ten.articles),
        ten.articles,
        Some(FILE_TMPFS),
    );
    let mut small = Runs::of(
        format!("the paper's {}, {kind}, whole process", paper.articles),
        paper.articles,
        Some(PAPER),
    );
    let batch = ten.dir.join("batch");
    let bytes = fs::read(&batch).context("reading the batch back")?;
    let mut peer = Peer::new(plan, &kind, ten);
    for round in 1..=plan.rounds {
        eprintln!("round {round} of {}", plan.rounds);
        let system = site.system(&disk, ten)?;
        filed.runs.push(site.rnews(
            &system,
            &[],
            Input::File(&batch),
            &Expected::all_filed(ten.articles),
        )?);
        settle();
        bare.runs.push(limit::write_and_sync(
            &site.fresh(&disk)?.join("bytes"),
            &bytes,
        )?);
        refused.runs.push(site.rnews(
            &system,
            &[],
            Input::File(&batch),
            &Expected::all_duplicates(ten.articles),
        )?);
        if let Some(memory) = &memory {
            let system = site.system(memory, ten)?;
            quick.runs.push(site.rnews(
                &system,
                &[],
                Input::File(&batch),
                &Expected::all_filed(ten.articles),
            )?);
            // Memory must be freed; on tmpfs deleting is cheap.
            fs::remove_dir_all(&system.dir)?;
        }
        for _ in 0..PAPER_RUNS {
            let system = site.warm_system(paper)?;
            let input = paper.dir.join("batch");
            small.runs.push(site.rnews(
                &system,
                &[],
                Input::File(&input),
                &Expected::all_filed(paper.articles),
            )?);
        }
        peer.round(site, ten)?;
    }
    Ok(vec![
        filed,
        bare,
        refused,
        quick,
        small,
        peer.filed,
        peer.refused,
    ])
}

/// Real time of durable filing, run by run against the limit of the same round.
fn ratio_to_limit(rows: &[Runs]) -> String {
    let (Some(filed), Some(bare)) = (rows.first(), rows.get(1)) else {
        return String::new();
    };
    let pairs = filed.runs.iter().zip(&bare.runs);
    let ratios: Vec<f64> = pairs
        .map(|(filed, bare)| filed.real.as_secs_f64() / bare.real.as_secs_f64())
        .collect();
    figure(
        "real time against the machine's limit",
        median(ratios),
        "× (median of rounds)",
        REAL_TO_LIMIT,
    )
}

/// INN, measured in the same rounds.
struct Peer {
    /// Remaining rounds; INN takes the most time.
    left: u32,
    filed: Runs,
    refused: Runs,
}

impl Peer {
    fn new(plan: &Plan, kind: &str, ten: &Batch) -> Self {
        let left = if plan.no_peer || inn::missing_reason().is_some() {
            0
        } else {
            plan.rounds.min(PEER_ROUNDS)
        };
        let filed = Runs::of(
            format!("INN: file {}, {kind}, rnews + innd", ten.articles),
            ten.articles,
            None,
        );
        Peer {
            left,
            filed,
            refused: Runs::of("INN: refuse them as duplicates", ten.articles, None),
        }
    }

    /// A new INN files the batch, then refuses it.
    fn round(&mut self, site: &mut Site, ten: &Batch) -> Result<()> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let disk = site.disk.clone();
        let dir = site.fresh(&disk)?;
        let server = inn::Server::start(&dir, &ten.dir).context("starting INN")?;
        let batch = ten.dir.join("batch");
        settle();
        self.filed.runs.push(server.feed(&batch)?);
        settle();
        self.refused.runs.push(server.feed(&batch)?);
        let held = server.stop()?;
        if held != ten.articles {
            bail!(
                "INN holds {held} articles of {} after the run in {}",
                ten.articles,
                dir.display()
            );
        }
        Ok(())
    }
}

/// The ratio of INN's CPU time to ours, or the reason why there is none.
fn beside_inn(plan: &Plan, rows: &[Runs]) -> String {
    if plan.no_peer {
        return String::from("INN: left out as asked\n");
    }
    if let Some(reason) = inn::missing_reason() {
        return format!("{reason}: skipped\n");
    }
    let cpu = |row: usize| rows.get(row).map_or(0.0, |runs| runs.median(Usages::cpu));
    format!(
        "INN's cpu time is {:.1} × ours to file on disk, {:.1} × to refuse duplicates\n",
        cpu(5) / cpu(0),
        cpu(6) / cpu(2)
    )
}

/// System calls per article, in a separate run because counting is slow.
fn system_calls(site: &mut Site, ten: &Batch) -> Result<String> {
    if machine::output("strace", &["-V"]).is_empty() {
        return Ok(String::from(
            "system calls an article: strace is not installed: skipped\n",
        ));
    }
    let disk = site.disk.clone();
    let system = site.system(&disk, ten)?;
    let counts = system.dir.join("calls");
    let counts = counts.to_string_lossy();
    let batch = ten.dir.join("batch");
    site.rnews(
        &system,
        &["strace", "-f", "-c", "-S", "calls", "-o", &counts],
        Input::File(&batch),
        &Expected::all_filed(ten.articles),
    )?;
    let text = fs::read_to_string(&*counts).context("reading what strace counted")?;
    let (total, most) = counted_calls(&text)?;
    let an_article = total as f64 / ten.articles as f64;
    Ok(
        figure("system calls an article", an_article, "calls", SYSTEM_CALLS)
            + &format!("    {total} in all:{most}\n"),
    )
}

/// Largest resident set with a very large batch.
fn memory_of_large(plan: &Plan, site: &mut Site) -> Result<String> {
    let kind = match plan.quick {
        true => Kind::Like {
            articles: 27_000,
            groups: 2_000,
        },
        false => Kind::Gigabyte,
    };
    let disk = site.disk.clone();
    let batch = site.batch(kind, "large")?;
    let mut text = String::new();
    for through in ["a pipe", "a file"] {
        let system = site.system(&disk, &batch)?;
        let file = batch.dir.join("batch");
        let input = match through {
            "a pipe" => {
                let mut source = Command::new("cat");
                source.arg(&file);
                Input::Pipe(source)
            }
            _ => Input::File(&file),
        };
        let usages = site.rnews(&system, &[], input, &Expected::all_filed(batch.articles))?;
        let megabytes = usages.resident_kib as f64 * 1024.0 / 1e6;
        let what = format!(
            "peak memory, {:.2} GB from {through}",
            batch.bytes as f64 / 1e9
        );
        text.push_str(&figure(&what, megabytes, "MB", MEMORY_MB));
        let an_article = |time: Duration| time.as_secs_f64() * 1e6 / batch.articles as f64;
        text.push_str(&format!(
            "    {} articles in {:.2} s; cpu {:.3} µs and real {:.3} µs an article\n",
            batch.articles,
            usages.real.as_secs_f64(),
            an_article(usages.cpu()),
            an_article(usages.real),
        ));
        fs::remove_dir_all(&system.dir)?;
    }
    Ok(text)
}
