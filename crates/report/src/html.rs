//! The report of a day as HTML: one file without scripts, with its plots inside.

use std::io::{self, Write};

use groups::size::rough_bytes;

use crate::daily::DailyReport;
use crate::day::{DAY_SECONDS, Day, clock};
use crate::escape::escape;
use crate::log_fold::Fate;
use crate::plot::Plot;
use crate::text;

const STYLE: &str = "\
body{font:15px/1.45 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}\
svg{width:100%;height:auto}svg text{font-size:11px;fill:#555}.axis{stroke:#999}.filed{fill:#3a7d44}.refused{fill:#c0504d}\
polyline{fill:none;stroke-width:1.5}polyline.one{stroke:#2a5d9f}circle.one{fill:#2a5d9f}.note{color:#666}";

/// Writes the report.
///
/// # Errors
/// An error of `out`.
pub fn write(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let title = escape(&text::title(report));
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<h1>{title}</h1>"
    )?;
    for note in text::notes(report) {
        writeln!(out, "<p class=\"note\">{}</p>", escape(&note))?;
    }
    days(report, out)?;
    articles(report, out)?;
    server(report, out)?;
    readers(report, out)?;
    feeds(report, out)?;
    filing(report, out)?;
    expire(report, out)?;
    tasks(report, out)?;
    disk(report, out)?;
    writeln!(out, "</body>\n</html>")
}

fn section(out: &mut dyn Write, name: &str) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>", escape(name))
}

fn table(out: &mut dyn Write, head: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let cells = |kind: &str, cells: &[String]| -> String {
        let cells = cells.iter();
        cells
            .map(|cell| format!("<{kind}>{}</{kind}>", escape(cell)))
            .collect()
    };
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    writeln!(out, "<table>\n<tr>{}</tr>", cells("th", &head))?;
    for row in rows {
        writeln!(out, "<tr>{}</tr>", cells("td", row))?;
    }
    writeln!(out, "</table>")
}

fn row(name: &str, counts: &[u64]) -> Vec<String> {
    let counts = counts.iter().map(u64::to_string);
    [name.to_owned()].into_iter().chain(counts).collect()
}

fn hours() -> Vec<String> {
    ["00:00", "06:00", "12:00", "18:00", "24:00"]
        .map(str::to_owned)
        .into()
}

/// The seconds that the plots show.
fn span(report: &DailyReport) -> i64 {
    DAY_SECONDS.saturating_mul(report.days.len().max(1) as i64)
}

/// The labels of the plots: hours, or where there are several days, some of them.
fn times(report: &DailyReport) -> Vec<String> {
    if report.days.is_empty() {
        return hours();
    }
    let quarter = |place: i64| report.from + (span(report) - 1) * place / 4;
    (0..=4)
        .map(|place| Day::of(quarter(place)).to_string())
        .collect()
}

fn days(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    if report.days.is_empty() {
        return Ok(());
    }
    section(out, "By day")?;
    let bars = report.days.iter().map(|day| {
        let text = format!("{}: {} filed, {} refused", day.day, day.filed, day.refused);
        (text, vec![day.filed, day.refused])
    });
    let bars: Vec<(String, Vec<u64>)> = bars.collect();
    let most = report.days.iter().map(|day| day.filed + day.refused).max();
    let plot = Plot {
        title: "Filed and refused articles by day",
        labels: times(report),
        scale: most.unwrap_or_default().to_string(),
    };
    write!(out, "{}", plot.bars(&["filed", "refused"], &bars))?;
    let head: Vec<&str> = ["day"].into_iter().chain(text::DAY_COLUMNS).collect();
    let rows = report.days.iter().map(|day| {
        let name = [day.day.clone()].into_iter();
        name.chain(text::day_columns(day)).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    table(out, &head, &rows)
}

fn tasks(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let lines = text::task_lines(report);
    if lines.is_empty() {
        return Ok(());
    }
    section(out, "Backup and fsck")?;
    for line in lines {
        writeln!(out, "<p>{}</p>", escape(&line))?;
    }
    Ok(())
}

fn articles(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let articles = &report.articles;
    if articles.log_files == 0 {
        return Ok(());
    }
    section(out, "Articles by neighbour, from all sources")?;
    let most = articles
        .hours
        .iter()
        .map(|[filed, refused]| filed + refused)
        .max();
    let plot = Plot {
        title: "Filed and refused articles by hour",
        labels: hours(),
        scale: most.unwrap_or_default().to_string(),
    };
    let bars = articles
        .hours
        .iter()
        .zip(0..)
        .map(|([filed, refused], hour)| {
            let text = format!("{hour:02}:00: {filed} filed, {refused} refused");
            (text, vec![*filed, *refused])
        });
    let bars: Vec<(String, Vec<u64>)> = bars.collect();
    write!(out, "{}", plot.bars(&["filed", "refused"], &bars))?;
    let fates = Fate::ALL.iter().map(|fate| fate.name());
    let head: Vec<&str> = ["neighbour", "articles"].into_iter().chain(fates).collect();
    let rows = articles.neighbours.iter();
    let rows = rows.map(|one| row(text::named(&one.name), &text::fates(one)));
    let rows: Vec<Vec<String>> = rows.collect();
    table(out, &head, &rows)?;
    if articles.reasons.is_empty() {
        return Ok(());
    }
    section(out, "Refused articles by reason, without duplicates")?;
    let rows = articles.reasons.iter().take(text::SHOWN);
    let rows = rows.map(|one| row(text::named(&one.reason), &[one.articles]));
    let rows: Vec<Vec<String>> = rows.collect();
    table(out, &["reason", "articles"], &rows)
}

fn server(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let nntp = &report.nntp;
    if nntp.connected + nntp.rejected == 0 {
        return Ok(());
    }
    section(out, "NNTP server, by entry of [[access]]")?;
    let columns = text::ENTRY_COLUMNS.iter().map(|(name, _)| *name);
    let head: Vec<&str> = ["entry"]
        .into_iter()
        .chain(columns)
        .chain(["refused"])
        .collect();
    let rows = nntp.entries.iter().map(|(name, counts)| {
        let name = if name.is_empty() { "(no entry)" } else { name };
        let count = |key: &str| counts.get(key).copied().unwrap_or_default();
        let each = text::ENTRY_COLUMNS.iter().map(|(_, key)| count(key));
        let each: Vec<u64> = each.chain([text::refused(counts)]).collect();
        row(name, &each)
    });
    let rows: Vec<Vec<String>> = rows.collect();
    table(out, &head, &rows)?;
    writeln!(
        out,
        "<p>{} connections, at most {} at the ends of the quarters of an hour, {} rejected, {} timed out; {} logins succeeded, {} failed; {} posts.</p>",
        nntp.connected,
        nntp.connections_most,
        nntp.rejected,
        nntp.timed_out,
        nntp.logins,
        nntp.logins_failed,
        nntp.posted
    )?;
    line(
        report,
        out,
        "NNTP connections",
        |moment| moment.connections,
        |most| most.to_string(),
    )
}

/// A line through a value of the moments of the day, if it ever was above 0.
fn line(
    report: &DailyReport,
    out: &mut dyn Write,
    title: &str,
    value: impl Fn(&crate::daily::Moment) -> u64,
    scale: impl Fn(u64) -> String,
) -> io::Result<()> {
    let most = report.moments.iter().map(&value).max().unwrap_or_default();
    if most == 0 {
        return Ok(());
    }
    let place = |at: i64| (at - report.from) as f64 / span(report) as f64;
    let points = report
        .moments
        .iter()
        .map(|moment| (place(moment.at), value(moment)));
    let points: Vec<(f64, u64)> = points.collect();
    let plot = Plot {
        title,
        labels: times(report),
        scale: scale(most),
    };
    writeln!(out, "<p class=\"note\">{}</p>", escape(title))?;
    write!(out, "{}", plot.line("one", &points, most))
}

fn readers(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let readers = &report.readers;
    if !readers.networks.is_empty() {
        section(out, "Readers by network")?;
        writeln!(
            out,
            "<p class=\"note\">Addresses are shortened before they are counted, so that no reader is followed.</p>"
        )?;
        let rows = readers.networks.iter().map(|one| {
            let mut row = row(
                text::named(&one.name),
                &[one.articles, one.connections, one.commands],
            );
            row.push(rough_bytes(one.bytes));
            row
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let head = ["network", "articles", "connections", "commands", "sent"];
        table(out, &head, &rows)?;
    }
    if !readers.groups.is_empty() {
        section(out, "Requests by group")?;
        let rows = readers.groups.iter();
        let rows = rows.map(|one| row(text::named(&one.name), &[one.requests]));
        let rows: Vec<Vec<String>> = rows.collect();
        table(out, &["group", "requests"], &rows)?;
    }
    Ok(())
}

fn feeds(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    if report.feeds.is_empty() {
        return Ok(());
    }
    section(out, "Feeds to other sites")?;
    line(
        report,
        out,
        "Longest lag of a feed",
        |moment| moment.lag_seconds,
        text::duration,
    )?;
    let rows = report.feeds.iter().map(|feed| {
        let one = &feed.figures;
        let mut cells = row(
            &one.site,
            &[
                one.waiting,
                one.offered,
                one.accepted,
                one.not_wanted,
                one.refused,
                one.deferred,
            ],
        );
        cells.insert(1, text::duration(feed.lag_seconds_most));
        cells.push(rough_bytes(one.bytes));
        cells.push(one.why.clone());
        cells
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = [
        "site",
        "longest lag",
        "waiting",
        "offered",
        "accepted",
        "not wanted",
        "refused",
        "deferred",
        "sent",
        "why they wait",
    ];
    table(out, &head, &rows)
}

fn filing(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    let filing = &report.filing;
    if filing.commits > 0 {
        section(out, "Filing by the daemon")?;
        writeln!(
            out,
            "<p>{} articles, {} in {} commits; half of them within {}, 99 % within {}.</p>",
            filing.articles,
            escape(&rough_bytes(filing.bytes)),
            filing.commits,
            escape(&text::within(filing.p50_micros)),
            escape(&text::within(filing.p99_micros))
        )?;
        let most = Some;
        line(
            report,
            out,
            "Duration of commits, 99th percentile",
            |moment| moment.p99_micros.unwrap_or_default(),
            |micros| text::within(most(micros)),
        )?;
    }
    if !report.slow.is_empty() || !report.intake_closed.is_empty() {
        section(out, "Slow moments")?;
        let slow = report.slow.iter().map(|slow| {
            vec![
                format!("{}\u{2013}{}", report.clock(slow.from), clock(slow.to)),
                format!(
                    "{} of {} commits took longer than 250 ms, the longest up to {}",
                    slow.slow_commits,
                    slow.commits,
                    text::within(slow.within_micros)
                ),
            ]
        });
        let closed = report.intake_closed.iter();
        let closed = closed.map(|one| {
            vec![
                report.clock(one.at),
                format!("the intake was {}", one.state),
            ]
        });
        let rows: Vec<Vec<String>> = slow.chain(closed).collect();
        table(out, &["time", ""], &rows)?;
    }
    Ok(())
}

fn expire(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    if report.expire.is_empty() {
        return Ok(());
    }
    section(out, "Expire")?;
    let rows = report.expire.iter().map(|run| {
        let one = &run.figures;
        vec![
            report.clock(run.at),
            one.articles.to_string(),
            rough_bytes(one.bytes),
            rough_bytes(one.returned_bytes),
            rough_bytes(one.missing_bytes),
            one.problems.to_string(),
            text::duration(one.seconds),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = [
        "end", "articles", "bytes", "returned", "missing", "problems", "duration",
    ];
    table(out, &head, &rows)
}

fn disk(report: &DailyReport, out: &mut dyn Write) -> io::Result<()> {
    section(out, "Disk")?;
    writeln!(out, "<p>{}</p>", escape(&text::disk(report)))?;
    let days = &report.disk.days;
    let (Some((first, _)), Some((last, _))) = (days.first(), days.last()) else {
        return Ok(());
    };
    let plot = Plot {
        title: "Least free space of each day",
        labels: vec![first.clone(), last.clone()],
        scale: rough_bytes(report.disk.disk_bytes),
    };
    let end = days.len().saturating_sub(1).max(1) as f64;
    let points = days.iter().zip(0u32..);
    let points = points.map(|((_, free), place)| (f64::from(place) / end, *free));
    let points: Vec<(f64, u64)> = points.collect();
    writeln!(out, "<p class=\"note\">{}</p>", escape(plot.title))?;
    write!(out, "{}", plot.line("one", &points, report.disk.disk_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daily::Neighbour;
    use crate::figures::{FeedFigures, GroupFigures, NetworkFigures};

    #[test]
    fn nothing_from_outside_is_markup() {
        let evil = "<script>alert(1)</script>\u{1b}'\"&".to_owned();
        let mut report = DailyReport {
            site: evil.clone(),
            day: "2026-11-22".to_owned(),
            problems: vec![evil.clone()],
            ..DailyReport::default()
        };
        report.articles.log_files = 1;
        report.articles.neighbours.push(Neighbour {
            name: evil.clone(),
            articles: 1,
            fates: [("filed", 1)].into(),
        });
        report.nntp.connected = 1;
        report
            .nntp
            .entries
            .insert(evil.clone(), [("offered".to_owned(), 1)].into());
        report.readers.networks.push(NetworkFigures {
            name: evil.clone(),
            ..NetworkFigures::default()
        });
        report.readers.groups.push(GroupFigures {
            name: evil.clone(),
            requests: 1,
        });
        report.feeds.push(crate::daily::FeedDay {
            figures: FeedFigures {
                site: evil.clone(),
                why: evil.clone(),
                ..FeedFigures::default()
            },
            lag_seconds_most: 0,
        });
        report.disk.days.push((evil, 5));
        let mut page = Vec::new();
        write(&report, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(
            !page.contains("<script") && !page.contains('\u{1b}'),
            "{page}"
        );
        assert!(
            page.matches("&lt;script&gt;alert(1)").count() >= 8,
            "{page}"
        );
        // Every element that is not empty is closed.
        for element in ["table", "tr", "svg", "p", "h2", "body", "html", "g"] {
            let opened = page.matches(&format!("<{element}>")).count()
                + page.matches(&format!("<{element} ")).count();
            assert_eq!(
                opened,
                page.matches(&format!("</{element}>")).count(),
                "{element}"
            );
        }
        for word in ["http:", "https:", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
        let mut told = Vec::new();
        text::write(&report, &mut told).unwrap();
        assert!(
            String::from_utf8(told)
                .unwrap()
                .contains("Articles by neighbour")
        );
    }
}
