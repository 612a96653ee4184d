//! `bench generate` makes batches, `bench run` measures the real binary with them.

mod batch;
mod cancels;
mod cluster;
mod expire;
mod feeding;
mod import;
mod index;
mod inn;
mod instructions;
mod limit;
mod machine;
mod measure;
mod namei;
mod nntp;
mod nntp_out;
mod offload;
mod paper;
mod plan;
mod pull;
mod report;
mod run;
mod s3_server;
mod selection;
mod site;
mod start;
mod techniques;
mod tree;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use lexopt::prelude::*;

use bench::generate::{self, Kind};

/// Default number of rounds.
const ROUNDS: u32 = 9;

const HELP: &str = "\
bench generate KIND [--out FILE] [--active FILE] [--newsgroups FILE] [--sys FILE] [--dir DIR]
               [--articles N] [--groups G] [--seed S]
    makes a batch; KIND is paper, ten-thousand, gigabyte, demo, or like and tiny,
    which --articles and --groups size. --out - is standard output; --dir DIR
    writes batch, active, newsgroups and sys into DIR.
bench run [--quick] [--rounds N] [--binary FILE] [--dir DIR] [--no-peer] [--keep]
    times broadsheet's rnews, beside INN's where it is installed, and prints
    every run. --binary: the broadsheet to time (target/release/broadsheet);
    --dir: where to work on a disk (target/bench); --keep: leave the runs there.
bench index [--ids N] [--binary FILE] [--dir DIR] [--keep]
    bytes an id and time a look-up of the index.
bench batch [--quick] [--rounds N] [--binary FILE] [--dir DIR] [--no-peer] [--keep]
    times batcher: plain, beside INN's where it is installed, and each compression.
bench feed [--rounds N] [--binary FILE] [--dir DIR] [--keep]
    how soon an article is at a feed's program, and what the walk along the log
    costs for 1, 5 and 500 sites.
bench selection [--rounds N] [--binary FILE] [--dir DIR] [--keep]
    what filing costs with 500 sites beside 5, equally few wanting each article.
bench cancels [--rounds N] [--binary FILE] [--dir DIR] [--keep]
    the rate of a mass of cancels beside articles of the same size.
bench nntp [--quick] [--rounds N] [--only ROW] [--json] [--binary FILE] [--dir DIR]
           [--no-peer] [--keep]
    the server under load, beside INN's innd and nnrpd where they are installed and
    beside what the load program itself can do. ROW: takethis, takethis4, window, ihave, tls, check,
    known, over, article, connections, quiet or idle.
bench nntp-out [--quick] [--rounds N] [--only ROW] [--json] [--binary FILE] [--dir DIR]
               [--no-peer] [--keep]
    feeding peers by NNTP, beside innxmit and innfeed where INN is installed. ROW: one, innd,
    durable, many, quiet, far, line or dead.
bench pull [--quick] [--rounds N] [--binary FILE] [--dir DIR] [--no-peer] [--keep]
    fetching all articles of a server: broadsheet pull, slrnpull and suck, near and with a
    round trip of 50 ms.
bench cluster [--quick | --large] [--rounds N] [--only ROW] [--binary FILE] [--dir DIR] [--keep]
    three nodes and three NATS servers (nats-server, or NATS_SERVER) on this machine, beside
    a site of one machine. ROW: takethis, window, quiet, readers, silence, rejoin or reseed.
    --large: reseed fetches 12 GB; takes ten minutes and 55 GB of disk.
bench start [--rounds N] [--binary FILE] [--beside FILE] [--dir DIR] [--keep]
    what it costs to start rnews, for one binary or two in turn.
bench paper [--rounds N] [--binary FILE] [--dir DIR] [--keep]
    the appendix of News Need Not Be Slow: the paper's batch with one process an
    article (B News' way) and with one for all, beside the paper's figures.
bench namei [--rounds N] [--binary FILE] [--dir DIR] [--keep]
    name translation, as section 4 of the paper on 4.2BSD measured it: ls -l of 600
    files, a scan of 20 directories, the look-ups of a day, with and without the
    directory offset cache and the name cache, alone and through a mount.
bench techniques [--binary FILE] [--dir DIR] [--keep]
    what the techniques of the 4.3BSD paper save today, each without and with it.
bench instructions [--binary FILE] [--dir DIR] [--keep]
    instructions to file and to refuse an article, by valgrind.
bench tree [--rounds N] [--binary FILE] [--dir DIR] [--keep]
    what a tree of files costs an article, beside creating the same files and links alone.
bench import [--rounds N] [--binary FILE] [--dir DIR] [--keep]
    moving in 20,000 articles from INN's tradspool, C News and a mailbox, beside rnews.
bench offload [--rounds N] [--binary FILE] [--dir DIR] [--keep]
    articles of old segments in a directory as an object store: moving them, reading one and all.
bench expire [--large] [--binary FILE] [--dir DIR] [--keep]
    times expire when nothing goes and when a fifth goes, and filing beside it.
    --large: with ten million articles, too; takes minutes and 12 GB of disk.
";

fn main() -> ExitCode {
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command() -> Result<()> {
    let mut arguments = lexopt::Parser::from_env();
    match arguments.next()? {
        Some(Value(word)) if word == "generate" => make(arguments),
        Some(Value(word)) if word == "run" => time(arguments),
        Some(Value(word)) if word == "index" => look_up(arguments),
        Some(Value(word)) if word == "batch" => batches_alone(arguments),
        Some(Value(word)) if word == "expire" => expire_alone(arguments),
        Some(Value(word)) if word == "cancels" => mass_of_cancels(arguments),
        Some(Value(word)) if word == "selection" => select(arguments),
        Some(Value(word)) if word == "start" => start_alone(arguments),
        Some(Value(word)) if word == "tree" => tree_alone(arguments),
        Some(Value(word)) if word == "import" => import_alone(arguments),
        Some(Value(word)) if word == "offload" => offload_alone(arguments),
        Some(Value(word)) if word == "paper" => paper_alone(arguments),
        Some(Value(word)) if word == "techniques" => techniques_alone(arguments),
        Some(Value(word)) if word == "instructions" => count_alone(arguments),
        Some(Value(word)) if word == "namei" => translate_names(arguments),
        Some(Value(word)) if word == "feed" => feed(arguments),
        Some(Value(word)) if word == "nntp" => load(arguments),
        Some(Value(word)) if word == "nntp-out" => feed_peers(arguments),
        Some(Value(word)) if word == "cluster" => nodes(arguments),
        Some(Value(word)) if word == "pull" => fetch(arguments),
        Some(Value(word)) if word == "sink" => sink(arguments),
        Some(Value(word)) if word == "witness" => {
            feeding::witness(&PathBuf::from(arguments.value()?))
        }
        Some(Value(word)) if word == "measure" => {
            let report = arguments.value()?;
            let command: Vec<_> = arguments.raw_args()?.collect();
            measure::measure(report.into(), &command)
        }
        Some(Long("help") | Short('h')) => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => Err(other.unexpected().into()),
        None => bail!("which command?\n{HELP}"),
    }
}

/// `bench run`.
fn time(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::run(&plan)
}

/// `bench index`.
fn look_up(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, ids) = planned(&mut arguments, ROUNDS)?;
    run::index_alone(&plan, ids)
}

/// `bench batch`.
fn batches_alone(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::batches_alone(&plan)
}

/// `bench expire`.
fn expire_alone(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::expire_alone(&plan)
}

/// `bench start`.
fn start_alone(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::start_alone(&plan)
}

/// `bench paper`.
fn paper_alone(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::paper_alone(&plan)
}

/// `bench tree`.
fn tree_alone(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::tree_alone(&plan)
}

/// `bench import`.
fn import_alone(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::import_alone(&plan)
}

/// `bench offload`.
fn offload_alone(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::offload_alone(&plan)
}

/// `bench namei`.
fn translate_names(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::namei_alone(&plan)
}

/// `bench techniques`.
fn techniques_alone(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::techniques_alone(&plan)
}

/// `bench instructions`.
fn count_alone(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::instructions_alone(&plan)
}

/// `bench feed`.
fn feed(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::feeding_alone(&plan)
}

/// `bench cancels`.
fn mass_of_cancels(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    cancels::run(&plan)
}

/// `bench selection`.
fn select(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, ROUNDS)?;
    run::selection_alone(&plan)
}

/// `bench nntp`: its rounds are long, so there are fewer.
fn load(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, nntp::ROUNDS)?;
    nntp::run(&plan)
}

/// `bench nntp-out`.
fn feed_peers(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, nntp_out::ROUNDS)?;
    nntp_out::run(&plan)
}

/// `bench cluster`.
fn nodes(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, cluster::ROUNDS)?;
    cluster::run(&plan)
}

/// `bench pull`.
fn fetch(mut arguments: lexopt::Parser) -> Result<()> {
    let (plan, _) = planned(&mut arguments, pull::ROUNDS)?;
    pull::run(&plan)
}

/// `bench sink`.
fn sink(mut arguments: lexopt::Parser) -> Result<()> {
    let mut options = nntp::SinkOptions {
        ports: 1,
        wants: false,
    };
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("ports") => options.ports = arguments.value()?.parse()?,
            Long("wants") => options.wants = true,
            other => return Err(other.unexpected().into()),
        }
    }
    nntp::sink(options)
}

/// Parses the plan, and the ids of `bench index`; `rounds` is the default number without `--quick`.
fn planned(arguments: &mut lexopt::Parser, rounds: u32) -> Result<(plan::Plan, u64)> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let mut ids = index::IDS;
    let mut plan = plan::Plan {
        binary: target.join("release/broadsheet"),
        beside: None,
        dir: PathBuf::from("target/bench"),
        rounds: 0,
        quick: false,
        no_peer: false,
        large: false,
        keep: false,
        only: None,
        json: false,
    };
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("quick") => plan.quick = true,
            Long("rounds") => plan.rounds = arguments.value()?.parse()?,
            Long("binary") => plan.binary = arguments.value()?.into(),
            Long("beside") => plan.beside = Some(arguments.value()?.into()),
            Long("dir") => plan.dir = arguments.value()?.into(),
            Long("no-peer") => plan.no_peer = true,
            Long("large") => plan.large = true,
            Long("keep") => plan.keep = true,
            Long("only") => plan.only = Some(arguments.value()?.string()?),
            Long("json") => plan.json = true,
            Long("ids") => ids = arguments.value()?.parse()?,
            other => return Err(other.unexpected().into()),
        }
    }
    if plan.rounds == 0 {
        plan.rounds = if plan.quick { rounds.min(3) } else { rounds };
    }
    Ok((plan, ids))
}

/// `bench generate`.
fn make(mut arguments: lexopt::Parser) -> Result<()> {
    let (mut name, mut articles, mut groups, mut seed) = (None, 100_000, 500, generate::SEED);
    let (mut out, mut dir) = (None, None);
    let mut beside: Vec<(&str, PathBuf)> = Vec::new();
    while let Some(argument) = arguments.next()? {
        match argument {
            Value(kind) if name.is_none() => name = Some(kind.string()?),
            Long("out") => out = Some(PathBuf::from(arguments.value()?)),
            Long("dir") => dir = Some(PathBuf::from(arguments.value()?)),
            Long("active") => beside.push(("active", arguments.value()?.into())),
            Long("newsgroups") => beside.push(("newsgroups", arguments.value()?.into())),
            Long("sys") => beside.push(("sys", arguments.value()?.into())),
            Long("articles") => articles = arguments.value()?.parse()?,
            Long("groups") => groups = arguments.value()?.parse()?,
            Long("seed") => seed = arguments.value()?.parse()?,
            other => return Err(other.unexpected().into()),
        }
    }
    let Some(name) = name else {
        bail!("generate which kind?\n{HELP}")
    };
    let Some(kind) = Kind::named(&name, articles, groups) else {
        bail!("no kind `{name}'\n{HELP}")
    };
    for (what, file) in beside {
        let text = match what {
            "active" => generate::active(kind),
            "newsgroups" => generate::newsgroups(kind),
            _ => generate::sys(),
        };
        std::fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    if let Some(dir) = dir {
        generate::files(kind, seed, &dir)
            .with_context(|| format!("writing into {}", dir.display()))?;
    }
    if let Some(file) = out {
        let sink: Box<dyn Write> = match file.as_os_str() == "-" {
            true => Box::new(io::stdout().lock()),
            false => Box::new(
                std::fs::File::create(&file)
                    .with_context(|| format!("making {}", file.display()))?,
            ),
        };
        let totals = generate::batch(kind, seed, &mut BufWriter::with_capacity(1 << 18, sink))?;
        eprintln!(
            "{} articles, {} bytes, {} cross-postings",
            totals.articles, totals.bytes, totals.cross_postings
        );
    }
    Ok(())
}
