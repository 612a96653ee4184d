//! `broadsheet report`

use std::io::{self, Write};

use anyhow::Context;
use inject::mail_queue::{self, QueuedMail};
use relay::Now;
use report::daily::DailyReport;
use report::day::Day;
use report::paths::PathStatistics;
use report::{figures, html, text};
use serde_json::{Value, json};
use settings::Settings;

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use daemon::client;

/// Days of articles in `--paths`, as sendinpaths takes them.
const PATH_DAYS: u64 = 30;
/// Days of `--week` and `--month`.
const WEEK_DAYS: u16 = 7;
const MONTH_DAYS: u16 = 30;
/// Most days of `--days`.
pub const PATH_DAYS_MAX: u64 = 36_500;

/// The table.
pub static COMMAND: Command = Command {
    words: &["report"],
    also: &[],
    summary: "report a day, a week or a month: articles, readers, feeds, expire, the disk",
    about: "\
Prints the report of yesterday, or of another day, in UTC: articles by neighbour (filed, and refused
by reason), offers by entry of [[access]], readers by network and group, posts, the lag of feeds,
slow moments, expire, and the disk with its forecast. It counts the lines of the file `log' and of
the renamed ones beside it (log.*, also with gzip), and the figures that the daemon and expire keep
in figures/ for report.days. Addresses of readers are shortened before they are counted. With
report.mail the daemon mails the report each day.

  broadsheet report --html > /var/www/news/yesterday.html
  broadsheet report --day today
  broadsheet report --month --html > /var/www/news/month.html
  broadsheet report --paths | mail ADDRESS

--paths prints something else: the statistics of Path headers that Top1000 collects, in the form of
INN's sendinpaths (inpaths 2.x). It sends nothing.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "day",
            "The day: `yesterday' (the default), `today', or a date such as 2026-11-22, in UTC.",
        )
        .value("DAY"),
        Flag::new(
            "week",
            "Report the seven days that end with that day, on one page.",
        ),
        Flag::new(
            "month",
            "Report the thirty days that end with that day, on one page.",
        ),
        Flag::new(
            "html",
            "Print HTML: one file with plots, without scripts and without anything from elsewhere.",
        ),
        Flag::new(
            "mail",
            "Mail the report to report.mail instead of printing it.",
        ),
        Flag::new(
            "paths",
            "Print the statistics of Path headers for Top1000 instead of a day.",
        ),
        Flag::new(
            "days",
            "With --paths: take the articles of the last N days instead of 30.",
        )
        .value("N"),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "with --mail: the mail waits in mail.queue/; with --paths: there are no articles",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let chosen = ["json", "html", "mail", "paths"];
    let chosen: Vec<&str> = chosen.into_iter().filter(|flag| given.has(flag)).collect();
    if let [one, other, ..] = chosen.as_slice() {
        return Err(given
            .usage(format!("--{one} and --{other} exclude each other"))
            .into());
    }
    let is_of_days = given.has("week") || given.has("month") || given.has("day");
    if given.has("paths") && is_of_days {
        return Err(given
            .usage("--paths has --days, but neither --day, --week nor --month".to_owned())
            .into());
    }
    if given.has("days") && !given.has("paths") {
        return Err(given.usage("--days belongs to --paths".to_owned()).into());
    }
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let now = Now::read().seconds;
    if given.has("paths") {
        return paths(given, &directory, &settings, now, out);
    }
    let day = day(given, now)?;
    if day == Day::of(now) {
        client::record_figures(directory.root());
    }
    let days = match (given.has("week"), given.has("month")) {
        (false, false) => 1,
        (true, false) => WEEK_DAYS,
        (false, true) => MONTH_DAYS,
        (true, true) => {
            return Err(given
                .usage("--week and --month exclude each other".to_owned())
                .into());
        }
    };
    let report = DailyReport::of_days(directory.root(), &settings.name, (day, days), now)
        .with_context(|| {
            format!(
                "cannot read {}",
                directory.file(figures::DIRECTORY).display()
            )
        })?;
    for problem in &report.problems {
        eprintln!("broadsheet: cannot read {problem}");
    }
    if given.has("mail") {
        return mail(&directory, &settings, &report, now);
    }
    if given.has("html") {
        html::write(&report, out)?;
    } else {
        given.print(&Printed(&report), out)?;
    }
    Ok(Status::OK)
}

fn day(given: &Given, now: i64) -> anyhow::Result<Day> {
    let today = Day::of(now);
    let word = given.value("day").map(|word| word.to_string_lossy());
    Ok(match word.as_deref() {
        None | Some("yesterday") => today.plus(-1),
        Some("today") => today,
        Some(word) => match Day::parse(word) {
            Some(day) if day <= today => day,
            Some(_) => {
                let what = format!("--day: {word} is in the future; today is {today}");
                return Err(given.usage(what).into());
            }
            None => {
                return Err(given
                    .usage(format!(
                        "--day takes `yesterday', `today' or a date such as {today}, not `{word}'"
                    ))
                    .into());
            }
        },
    })
}

struct Printed<'a>(&'a DailyReport);

impl Answer for Printed<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        text::write(self.0, out)
    }

    fn json(&self) -> Value {
        json!(self.0)
    }

    fn is_long(&self) -> bool {
        true
    }
}

fn paths(
    given: &Given,
    directory: &NewsDirectory,
    settings: &Settings,
    now: i64,
    out: &mut dyn Write,
) -> anyhow::Result<Status> {
    let days = given.number("days")?.unwrap_or(PATH_DAYS);
    if days == 0 || days > PATH_DAYS_MAX {
        return Err(given
            .usage(format!("--days takes 1 to {PATH_DAYS_MAX}"))
            .into());
    }
    let days = i64::try_from(days).unwrap_or(i64::MAX);
    let snapshot = directory.snapshot()?;
    let since = now.saturating_sub(days.saturating_mul(report::day::DAY_SECONDS));
    let paths = PathStatistics::since(&snapshot, since)?;
    if paths.articles() == 0 {
        eprintln!("broadsheet: no article of the last {days} days is here");
        return Ok(Status::NO);
    }
    paths.write(&settings.name, now, out)?;
    Ok(Status::OK)
}

/// Queues the mail durably, and passes it on.
fn mail(
    directory: &NewsDirectory,
    settings: &Settings,
    report: &DailyReport,
    now: i64,
) -> anyhow::Result<Status> {
    let to = &settings.report.mail;
    if to.is_empty() {
        anyhow::bail!("report.mail is empty: set it to the address that gets the report");
    }
    let host = settings.mailname(directory);
    let mut printed = Vec::new();
    text::write(report, &mut printed)?;
    let (address, subject) = ((to.as_str(), host.as_str()), text::title(report));
    let path = mail_queue::enqueue_own(directory.root(), address, &subject, &printed, now)?;
    match settings
        .mailer(directory)
        .send(&QueuedMail { path, since: now })
    {
        Ok(true) => return Ok(Status::OK),
        Ok(false) => eprintln!(
            "broadsheet: the report waits in mail.queue/: neither post.mail_server nor post.sendmail is set, or the program does not exist"
        ),
        Err(error) => eprintln!("broadsheet: the report waits in mail.queue/: {error}"),
    }
    if !client::send_mail(directory.root()) {
        eprintln!("broadsheet: no daemon runs that retries: `broadsheet mail send' does");
    }
    Ok(Status::NO)
}
