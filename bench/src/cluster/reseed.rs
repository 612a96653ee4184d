//! A node takes the segments of another one, beside what the disk writes.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::start::{self, Cluster};
use super::until_there;
use crate::nntp::articles::Prepared;
use crate::nntp::transit::windowed;
use crate::nntp::{groups_alone, number};
use crate::site::Site;

/// Bytes that are written at once to the disk.
const PIECE_BYTES: usize = 1 << 20;

/// Files the articles, which are sent in parts that fit into memory; then a node that was away meanwhile fetches everything from another,
/// and the disk writes as many bytes.
pub fn measure(site: &mut Site, articles: u64, parts: u64) -> Result<()> {
    let mut prepared = Prepared::new(articles);
    let batch = groups_alone(site, &prepared)?;
    let mut cluster = Cluster::start(site, &batch)?;
    let node = cluster.nodes.last_mut().context("no node")?;
    node.running.take().context("no node")?.stop()?;
    // So that the log does not keep for it what it lacks.
    let first = cluster.nodes.first().context("no node")?.news();
    let left = Command::new(&site.binary)
        .args(["cluster", "leave", &format!("node{}", start::NODES - 1)])
        .arg("--dir")
        .arg(first)
        .output()?;
    ensure!(
        left.status.success(),
        "cluster leave: {}",
        String::from_utf8_lossy(&left.stderr)
    );
    for part in 1..=parts {
        let first = cluster.nodes.first().and_then(|node| node.running.as_ref());
        let count = prepared.ids.len();
        windowed(
            first.context("no node")?,
            &prepared,
            (0, count),
            usize::MAX / 2,
        )?;
        let last = prepared.ids.last().context("no articles")?.clone();
        if part < parts {
            drop(prepared);
            prepared = Prepared::part(articles, part);
        }
        for node in cluster.running() {
            until_there(node, &last)?;
        }
    }
    drop(prepared);
    let articles = articles * parts;
    let node = cluster.nodes.last_mut().context("no node")?;
    let news = node.news().to_owned();
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load = load.split(' ').next().unwrap_or_default();
    let done = Command::new(&site.binary)
        .args(["cluster", "reseed", "--json", "--from", "node0", "--dir"])
        .arg(&news)
        .output()?;
    ensure!(
        done.status.success(),
        "cluster reseed: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    let told: serde_json::Value = serde_json::from_slice(&done.stdout)?;
    let value = |name: &str| {
        let value = told.get(name).and_then(serde_json::Value::as_f64);
        value.with_context(|| format!("no {name} in {told}"))
    };
    let (bytes, seconds, check) = (value("bytes")?, value("seconds")?, value("check_seconds")?);
    let written = written_in(&news, bytes as u64)?;
    let begin = Instant::now();
    cluster.restart_node(start::NODES - 1)?;
    println!(
        "reseed: {articles} articles, {} MB in {} s, {} MB/s: {} s fetched ({} MB/s), {} s checked and indexed; the disk writes {} MB/s; \
         it serves after {} s; load before: {load}",
        number(bytes / 1e6),
        number(seconds),
        number(bytes / 1e6 / seconds),
        number(seconds - check),
        number(bytes / 1e6 / (seconds - check)),
        number(check),
        number(bytes / 1e6 / written),
        number(begin.elapsed().as_secs_f64()),
    );
    Ok(())
}

/// The time in which the disk takes so many bytes, seconds.
fn written_in(beside: &Path, bytes: u64) -> Result<f64> {
    let path = beside.join("written");
    let piece: Vec<u8> = (0..PIECE_BYTES).map(|at| (at * 31 % 251) as u8).collect();
    let begin = Instant::now();
    let mut file = File::create(&path)?;
    for _ in 0..bytes.div_ceil(PIECE_BYTES as u64) {
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    let time = begin.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    Ok(time)
}
