//! Mails the administrator about feeds that have failed for longer than `report.alarm_after`: once an outage, even if the daemon restarts
//! meanwhile.
//!
//! The outages are in the files of the sites ([`site_state`]). The thread reads them when one begins or ends, and when a mail is due;
//! without an outage it sleeps.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use feed::{feeds, site_state};
use inject::mail_queue::{self, QueuedMail};
use relay::Now;
use settings::{NewsDirectory, Settings};

use super::system_status::FailingFeed;
use super::warn;
use super::writer_handle::WriterHandle;

/// Interval before another attempt, after the mail could not be queued, or the sites not be read.
const RETRY: Duration = Duration::from_secs(300);

/// Watches the feeds in a thread that runs until the process ends.
///
/// # Errors
/// The thread cannot be created.
pub fn start(directory: NewsDirectory, writer: Arc<WriterHandle>) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("alarms".to_owned());
    thread.spawn(move || {
        loop {
            let seen = writer.feeds.outages();
            let next = if is_feeding(&writer) {
                round(&directory, &writer).unwrap_or_else(|error| {
                    warn(&format!("cannot mail an alarm: {error:#}"));
                    Some(RETRY)
                })
            } else {
                None
            };
            writer.feeds.wait_for_outages(seen, next);
        }
    })?;
    Ok(())
}

/// On the other nodes of a cluster, the files of the sites are those of another time.
fn is_feeding(writer: &WriterHandle) -> bool {
    writer.cluster_feeds().is_none_or(|feeds| feeds.is_here)
}

/// Mails what is due. Returns the time until the next mail is.
fn round(directory: &NewsDirectory, writer: &WriterHandle) -> anyhow::Result<Option<Duration>> {
    // Settings with an error, which somebody edits, matter only then.
    if !site_state::any_failure(directory.root()) {
        return Ok(None);
    }
    let settings = directory.settings()?.settings;
    let (Some(after), false) = (
        settings.report.alarm_seconds(),
        settings.report.mail.is_empty(),
    ) else {
        return Ok(None);
    };
    let sites = directory.sys(&settings)?;
    let now = Now::read().seconds;
    let (mut due, mut next) = (Vec::new(), None);
    for name in feeds::names(&sites) {
        let root = directory.root();
        let Some(failure) = site_state::failure(root, name) else {
            continue;
        };
        let is_paused = site_state::paused(root, name).is_ok_and(|why| why.is_some());
        if is_paused || site_state::is_mailed(root, name, &failure) {
            continue;
        }
        let left = failure.since.saturating_add_unsigned(after) - now;
        match u64::try_from(left) {
            Ok(left @ 1..) => {
                let left = Duration::from_secs(left);
                next = Some(next.map_or(left, |next: Duration| next.min(left)));
            }
            _ => due.push((name, failure)),
        }
    }
    if due.is_empty() {
        return Ok(next);
    }
    let snapshot = store::Snapshot::open(directory.root())?;
    let names: Vec<&[u8]> = due.iter().map(|(name, _)| *name).collect();
    let failing = FailingFeed::all(directory.root(), &sites, &snapshot, &names);
    let mail = queue(directory, &settings, &failing, now)?;
    for (name, failure) in &due {
        site_state::note_mailed(directory.root(), name, failure)?;
    }
    match settings.mailer(directory).send(&mail) {
        Ok(true) => {}
        Ok(false) => warn(&format!(
            "an alarm waits in mail.queue/: {}",
            mail_queue::NO_WAY
        )),
        Err(error) => {
            warn(&format!("an alarm waits in mail.queue/: {error}"));
            writer.send_mail();
        }
    }
    Ok(next)
}

/// Queues the mail about these feeds.
fn queue(
    directory: &NewsDirectory,
    settings: &Settings,
    failing: &[FailingFeed],
    now: i64,
) -> anyhow::Result<QueuedMail> {
    let named: Vec<&str> = failing.iter().map(|feed| feed.site.as_str()).collect();
    let subject = format!(
        "{}: articles cannot be sent to {}",
        settings.name,
        named.join(", ")
    );
    let mut text = Vec::new();
    writeln!(
        text,
        "To these sites no article could be sent for longer than report.alarm_after ({}):\n",
        settings.report.alarm_after
    )?;
    for feed in failing {
        writeln!(
            text,
            "{}\n    {}\n    {}\n",
            feed.site,
            feed.state(),
            feed.remedy
        )?;
    }
    writeln!(
        text,
        "No other mail is sent about these outages. `broadsheet status' shows whether they last."
    )?;
    let host = settings.mailname(directory);
    let address = (settings.report.mail.as_str(), host.as_str());
    let path = mail_queue::enqueue_own(directory.root(), address, &subject, &text, now)?;
    Ok(QueuedMail { path, since: now })
}
