//! A news directory with articles that wait for peers, and its daemon.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::wait_until;
use crate::measure::{Input, Usages};
use crate::nntp::process;
use crate::nntp::running::Ended;
use crate::site::{Batch, Expected, Site, settle};

/// A daemon whose peers are paused until [`Feeder::send`].
pub struct Feeder {
    daemon: Ended,
    binary: PathBuf,
    news: PathBuf,
    names: Vec<String>,
}

/// The lines of a site for each port.
pub fn sites(ports: &[u16]) -> String {
    let sites = ports.iter().enumerate().map(|(number, port)| {
        format!("\n[[site]]\nname = \"p{number}\"\ngroups = \"all\"\nvia = {{ nntp = \"127.0.0.1:{port}\" }}\n")
    });
    sites.collect()
}

impl Feeder {
    /// Files the batch for a peer at each port, and starts the daemon.
    ///
    /// # Errors
    /// The binary fails.
    pub fn start(site: &mut Site, batch: &Batch, ports: &[u16]) -> Result<Feeder> {
        let disk = site.disk.clone();
        let system = site.system(&disk, batch)?;
        let news = system.dir.join("news");
        let file = news.join("broadsheet.toml");
        let settings = fs::read_to_string(&file)? + &sites(ports);
        fs::write(&file, settings).context("adding the sites")?;
        let nothing = Input::File(Path::new("/dev/null"));
        site.rnews(&system, &[], nothing, &Expected::all_filed(0))?;
        let names: Vec<String> = (0..ports.len())
            .map(|number| format!("p{number}"))
            .collect();
        command(&site.binary, &news, &["feed", "pause"], &names)?;
        let input = batch.dir.join("batch");
        let expected = Expected::all_filed(batch.articles);
        site.rnews(&system, &[], Input::File(&input), &expected)?;
        settle();
        // Filing bypasses the page cache; INN's files are in it.
        for entry in fs::read_dir(news.join("segments"))? {
            std::io::copy(&mut File::open(entry?.path())?, &mut std::io::sink())?;
        }
        let log = system.dir.join("serve.log");
        let child = Command::new(&site.binary)
            .args(["serve", "--dir"])
            .arg(&news)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("starting broadsheet serve")?;
        let mut daemon = Ended(child);
        let socket = news.join("control.sock");
        wait_until("the daemon starts", || {
            if daemon.0.try_wait()?.is_some() {
                bail!("the daemon did not start: {}", fs::read_to_string(&log)?);
            }
            Ok(std::os::unix::net::UnixStream::connect(&socket).is_ok())
        })?;
        Ok(Feeder {
            daemon,
            binary: site.binary.clone(),
            news,
            names,
        })
    }

    /// Resumes all peers and waits; returns the beginning, after a wait until the daemon is idle, and what the daemon has used.
    ///
    /// # Errors
    /// `is_over` fails, or does not come true.
    pub fn send(&self, is_over: impl FnMut() -> Result<bool>) -> Result<(Instant, Usages)> {
        let ids = [self.daemon.0.id()];
        let before = process::at_rest(&ids)?;
        let begin = Instant::now();
        command(&self.binary, &self.news, &["feed", "resume"], &self.names)?;
        wait_until("everything is sent", is_over)?;
        let real = begin.elapsed();
        let used = Usages {
            real,
            user: process::at_rest(&ids)?.saturating_sub(before),
            ..Usages::default()
        };
        Ok((begin, used))
    }
}

/// Runs `broadsheet WORDS --dir NEWS NAMES`.
fn command(binary: &Path, news: &Path, words: &[&str], names: &[String]) -> Result<()> {
    let output = Command::new(binary)
        .args(words)
        .arg("--dir")
        .arg(news)
        .args(names)
        .output()
        .with_context(|| words.join(" "))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("broadsheet {}: {errors}", words.join(" "));
    }
    Ok(())
}
