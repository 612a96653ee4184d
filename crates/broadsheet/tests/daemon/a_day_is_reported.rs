//! The daily report: what the daemon, rnews and expire did stands in it, as text, HTML and JSON; it is mailed; and the statistics of
//! Path headers are those of INN's ninpaths.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use program::Program;
use program::articles::{article, batch, id, many, with};
use program::daemon::{Daemon, until};
use program::nntp::{ALL_MAY, Served, listen};
use program::peers;

/// The day of UTC, counted from 1970.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_secs() / 86_400
}

fn report(program: &Program, flags: &[&str]) -> String {
    let told = program.run(&[&["report", "--dir", "news"], flags].concat());
    assert_eq!(told.status, 0, "{told:?}");
    told.out
}

fn json(program: &Program) -> serde_json::Value {
    let told = report(program, &["--day", "today", "--json"]);
    serde_json::from_str(&told).unwrap()
}

fn named<'a>(list: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let found = list.as_array().unwrap().iter();
    let mut found = found.filter(|one| one["name"] == name);
    found
        .next()
        .unwrap_or_else(|| panic!("{name} is not in {list}"))
}

#[test]
fn as_text_html_and_json() {
    let day = today();
    let program = Program::with_news("comp.test 0000000000 00001 y\ncomp.mod 0000000000 00001 m\n");
    listen(&program, ALL_MAY);
    let empty = report(&program, &[]);
    assert!(
        empty.contains("The daemon counted nothing that day"),
        "{empty}"
    );

    let served = Served::start(&program);
    let told = program.rnews(&batch(&many("b", 3, "comp.test", 10)));
    assert_eq!(told.count("accepted"), 3, "{told:?}");
    let told = program.rnews(&batch(&many("b", 3, "comp.test", 10)));
    assert_eq!(told.count("duplicates"), 3, "{told:?}");
    let mut peer = served.client();
    for (article, code) in [
        (article(&id("a", 1), "comp.test"), "239"),
        (article(&id("a", 1), "comp.test"), "439"),
        (article(&id("a", 2), "comp.mod"), "439"),
    ] {
        let text = String::from_utf8(article).unwrap().replace('\n', "\r\n");
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("Message-ID: "));
        peer.say(format!("TAKETHIS {}\r\n{text}.\r\n", id.unwrap()));
        assert_eq!(&peer.line()[..3], code);
    }
    let mut reader = served.client();
    reader.say("GROUP comp.test\r\n");
    assert_eq!(reader.line()[..3], *"211");
    for number in 1..=2 {
        reader.say(format!("ARTICLE {number}\r\n"));
        while reader.line() != "." {}
    }
    let first = json(&program);
    let again = json(&program);
    let mut gone = served.client();
    gone.say("GROUP comp.test\r\nQUIT\r\n");
    assert_eq!(gone.line()[..3], *"211");
    assert_eq!(gone.line()[..3], *"205");
    until("the end of a connection", || {
        json(&program)["readers"]["networks"][0]["connections"] == 1
    });
    drop((peer, reader));
    // Not by the report, which would record them.
    until("the ends of the connections", || {
        let told = program.run(&["connections", "--dir", "news", "--json"]);
        told.out.is_empty()
    });
    served.daemon.stop();
    // What happened between the last report and the end is recorded.
    let last = json(&program);
    let expired = program.run(&["expire", "--dir", "news"]);
    assert_eq!(expired.status, 0, "{expired:?}");
    let expired = json(&program);
    let text = report(&program, &["--day", "today"]);
    let html = report(&program, &["--day", "today", "--html"]);
    if today() != day {
        eprintln!("skipped: a day ended meanwhile");
        return;
    }

    assert_eq!(first["articles"]["total"]["filed"], 4, "{first}");
    // That of the peer was refused before it was received: it is in the entry.
    assert_eq!(first["articles"]["total"]["duplicate"], 3, "{first}");
    assert_eq!(first["articles"]["total"]["unapproved"], 1, "{first}");
    let neighbour = named(&first["articles"]["neighbours"], "far");
    assert_eq!(
        (&neighbour["articles"], &neighbour["filed"]),
        (&8.into(), &4.into())
    );
    assert_eq!(first["filing"]["articles"], 4);
    assert!(first["filing"]["commits"].as_u64().unwrap() >= 2);
    let entry = &first["nntp"]["entries"]["all"];
    assert_eq!(
        (&entry["offered"], &entry["accepted"]),
        (&3.into(), &1.into())
    );
    assert_eq!(entry["refused_unapproved"], 1);
    assert_eq!(entry["duplicates"], 1);
    assert_eq!(entry["articles_sent"], 2);
    let network = &first["readers"]["networks"][0];
    assert_eq!(
        (&network["name"], &network["articles"]),
        (&"local".into(), &2.into())
    );
    assert_eq!(
        (&network["commands"], &network["connections"]),
        (&3.into(), &0.into())
    );
    assert_eq!(
        named(&first["readers"]["groups"], "comp.test")["requests"],
        3
    );
    assert!(first["disk"]["free_bytes"].as_u64().unwrap() > 0);
    assert_eq!(first["disk"]["forecast"]["kind"], "unknown");
    // A second look counts nothing twice.
    assert_eq!(again["readers"], first["readers"]);
    assert_eq!(again["nntp"]["entries"], first["nntp"]["entries"]);
    assert_eq!(last["nntp"]["connected"], 3);
    assert_eq!(last["readers"]["networks"][0]["connections"], 2);
    assert_eq!(
        named(&last["readers"]["groups"], "comp.test")["requests"],
        4
    );
    assert_eq!(last["expire"], serde_json::json!([]));
    // The articles are of 1993, but they came today.
    assert_eq!(expired["expire"][0]["articles"], 0);

    for part in [
        "Articles by neighbour",
        "far  ",
        "by entry of [[access]]",
        "local  ",
        "comp.test  ",
        "\nExpire\n",
        "\nDisk\n",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    for part in [
        "<!DOCTYPE html>",
        "<svg",
        "<td>far</td>",
        "<h2>Refused articles by reason, without duplicates</h2>",
        "</html>\n",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    assert!(!html.contains("<script"));
    let files = program.files("news/figures");
    assert_eq!(files.len(), 1);
    let mode = std::fs::metadata(&files[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for bad in [
        &["--html", "--json"][..],
        &["--days", "3"],
        &["--day", "2026-02-31"],
        &["--day", "2199-01-01"],
    ] {
        let told = program.run(&[&["report", "--dir", "news"], bad].concat());
        assert_eq!(told.status, 64, "{told:?}");
    }
}

#[test]
fn by_mail() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let told = program.run(&["report", "--dir", "news", "--mail"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("report.mail is empty"), "{told:?}");
    program.set("mail = \"\"", "mail = \"admin@example.org\"");
    program.set("report = \"00:30\"", "report = \"every 6 h\"");
    let mail = program.path("mail");
    program.set("mail_server = \"auto\"", "mail_server = \"\"");
    let sendmail = program.read("news/broadsheet.toml");
    let sendmail = sendmail
        .lines()
        .find(|line| line.starts_with("sendmail = "));
    program.set(sendmail.unwrap(), "sendmail = \"/nonexistent/sendmail\"");
    // Without a mail program the report waits.
    let told = program.run(&["report", "--dir", "news", "--mail"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert_eq!(program.files("news/mail.queue").len(), 1);
    let told = program.run(&["mail", "list", "--dir", "news"]);
    assert!(told.out.contains("admin@example.org"), "{told:?}");
    std::fs::remove_dir_all(program.path("news/mail.queue")).unwrap();
    let command = format!("sendmail = \"tee {}\"", mail.display());
    program.set("sendmail = \"/nonexistent/sendmail\"", &command);
    // The daemon sends it by its schedule: at once, where it never did.
    let daemon = Daemon::start(&program);
    daemon.until_said("report started");
    daemon.until_said("report ended");
    let text = program.read("mail");
    let (header, body) = text.split_once("\n\n").unwrap();
    for line in [
        "To: admin@example.org",
        "From: News <news@news.example.org>",
        "Auto-Submitted: auto-generated",
        "Content-Type: text/plain; charset=utf-8",
    ] {
        assert!(
            header.lines().any(|one| one == line),
            "{line} is not in {header}"
        );
    }
    assert!(
        header.contains("\nSubject: News at news.example.org on "),
        "{header}"
    );
    assert!(body.starts_with("News at news.example.org on "), "{body}");
    assert!(program.files("news/mail.queue").is_empty());
    daemon.stop();
}

/// The lists of a submission: sites with their counts, and links with theirs.
#[derive(Debug, PartialEq)]
struct Submission {
    head: Vec<String>,
    sites: BTreeMap<String, u64>,
    links: BTreeMap<(String, String), u64>,
}

fn parsed(text: &str) -> Submission {
    let mut submission = Submission {
        head: Vec::new(),
        sites: BTreeMap::new(),
        links: BTreeMap::new(),
    };
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("ZCZC begin ") {
            // Without the age, which is of articles there and of the program here.
            let (head, age) = head.rsplit_once(' ').unwrap();
            assert!(age.parse::<f64>().is_ok(), "{line}");
            submission.head.push(head.to_owned());
        } else if let Some((count, site)) = line.split_once('\t') {
            let count = count.parse().unwrap();
            assert_eq!(submission.sites.insert(site.to_owned(), count), None);
        } else if let Some((site, rest)) = line.split_once(" H ") {
            let words: Vec<&str> = rest.split_whitespace().collect();
            for link in words.chunks(4) {
                assert_eq!((link[1], link[3]), ("Z", "U"), "{line}");
                let link_of = (site.to_owned(), link[2].to_owned());
                let count = link[0].parse().unwrap();
                assert_eq!(submission.links.insert(link_of, count), None);
            }
        } else {
            assert!(line.starts_with("ZCZC end "), "{line}");
        }
    }
    submission
}

#[test]
fn paths_are_those_of_ninpaths() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let told = program.run(&["report", "--dir", "news", "--paths"]);
    assert_eq!(told.status, 1, "{told:?}");
    let mut articles = Vec::new();
    let mut paths = String::new();
    for number in 1..=300usize {
        let hops: Vec<String> = (0..number % 7)
            .map(|hop| format!("site{}.example", (number * 31 + hop * hop * 7) % 23))
            .collect();
        let path = format!(
            "{}!user",
            [vec!["north".to_owned()], hops].concat().join("!")
        );
        let text = String::from_utf8(with(&id("p", number), "comp.test", "", b"x\n")).unwrap();
        articles.push(text.replace("far!near!user", &path).into_bytes());
        paths.push_str(&format!("Path: news.example.org!{path}\n"));
    }
    let told = program.rnews(&batch(&articles));
    assert_eq!(told.count("accepted"), 300, "{told:?}");
    let ours = report(&program, &["--paths", "--days", "2"]);
    let ours = parsed(&ours);
    assert_eq!(ours.head.len(), 2);
    assert_eq!(ours.head[0], "inhosts 3.1.1 news.example.org 2 300");
    assert!(ours.links.len() > 50 && ours.sites.contains_key("north"));
    assert!(!ours.sites.contains_key("news.example.org"));

    let ninpaths = "usr/lib/news/bin/ninpaths";
    let Some(root) = peers::root_of(ninpaths, "inn2") else {
        return;
    };
    let dump = program.path("dump");
    let mut child = Command::new(root.join(ninpaths))
        .args(["-p", "-d"])
        .arg(&dump)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(paths.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
    let told = Command::new(root.join(ninpaths))
        .args(["-r", "news.example.org", "-v", "2", "-u"])
        .arg(&dump)
        .output()
        .unwrap();
    assert_eq!(ours, parsed(&String::from_utf8(told.stdout).unwrap()));
}

/// A week and a month are on one page, with a row for each day.
#[test]
fn a_week_and_a_month() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let mut log = String::new();
    for (stamp, count) in [("Oct 31", 1), ("Nov  1", 5), ("Nov 24", 2), ("Nov 30", 3)] {
        for number in 0..count {
            log += &format!("{stamp} 04:39:2{number}.045 utzoo + <{number}@{stamp}> x\n");
        }
        log += &format!("{stamp} 05:00:00.000 utzoo - <r@{stamp}> duplicate\n");
    }
    program.write("news/log", log.as_bytes());
    std::fs::create_dir_all(program.path("news/figures")).unwrap();
    // 2025-11-01 and 2025-11-30, noon.
    for (day, noon, connected) in [
        ("2025-11-01", 1_761_998_400_i64, 7),
        ("2025-11-30", 1_764_504_000, 5),
    ] {
        let line = format!(
            "{{\"from\":{},\"to\":{noon},\"daemon\":{{\"connected\":{connected},\"bytes\":1000,\"connections\":{connected},\"intake\":\"open\",\
             \"free_bytes\":4096,\"disk_bytes\":8192}}}}\n{{\"from\":{noon},\"to\":{noon},\"expire\":{{\"articles\":4}}}}\n",
            noon - 900
        );
        program.write(&format!("news/figures/{day}"), line.as_bytes());
    }
    let of = |flags: &[&str]| {
        let words = ["report", "--dir", "news", "--day", "2025-11-30"];
        program.run(&[&words[..], flags].concat())
    };
    let json = |flag: &str| -> serde_json::Value {
        serde_json::from_str(&of(&[flag, "--json"]).out).unwrap()
    };
    let (week, month) = (json("--week"), json("--month"));
    assert_eq!(week["day"], "2025-11-24 to 2025-11-30");
    assert_eq!(month["day"], "2025-11-01 to 2025-11-30");
    assert_eq!(week["articles"]["total"]["filed"], 5, "{week}");
    assert_eq!(month["articles"]["total"]["filed"], 10, "{month}");
    assert_eq!(
        (&week["nntp"]["connected"], &month["nntp"]["connected"]),
        (&5.into(), &12.into())
    );
    let days = month["days"].as_array().unwrap();
    assert_eq!(
        (week["days"].as_array().unwrap().len(), days.len()),
        (7, 30)
    );
    let first = serde_json::json!({
        "day": "2025-11-01", "filed": 5, "refused": 1, "posted": 0, "connected": 7, "bytes": 1000,
        "expired": 4, "free_bytes": 4096,
    });
    assert_eq!(days[0], first);
    assert_eq!(days[23]["filed"], 2);
    assert_eq!(month["expire"].as_array().unwrap().len(), 2);
    let text = of(&["--week"]).out;
    assert!(
        text.starts_with("News at news.example.org from 2025-11-24 to 2025-11-30 (UTC)\n"),
        "{text}"
    );
    assert!(!text.contains("is not over"), "{text}");
    assert!(text.contains("\nBy day\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("2025-11-30 "));
    let row: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(row[1..5], ["3", "1", "0", "5"], "{text}");
    assert!(text.contains("2025-11-30 12:00  4 articles"), "{text}");
    let html = of(&["--month", "--html"]).out;
    assert!(html.contains("2025-11-01: 5 filed, 1 refused"), "{html}");
    assert!(html.contains("<h2>By day</h2>"), "{html}");
    // A day has no such table.
    assert!(!of(&[]).out.contains("By day"));
    assert_eq!(of(&["--week", "--month"]).status, 64);
    assert_eq!(of(&["--week", "--paths"]).status, 64);
}
