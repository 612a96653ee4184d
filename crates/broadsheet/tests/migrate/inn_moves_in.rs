//! `import inn` of a real INN: numbers, overview rows and articles are byte for byte those of INN, ids that it had seen are refused, and the
//! settings pass `check`.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::program;

use program::Program;
use program::articles::{id, many, with};
use program::inn::Inn;
use program::nntp::{Client, Served, take_this};

const GROUPS: [&str; 4] = ["comp.test", "comp.other", "rec.test", "misc.empty"];
const READERS: &str = "auth all {\n  hosts: \"*\"\n  default: \"<reader>\"\n}\naccess all {\n  users: \"*\"\n  newsgroups: \"*\"\n  access: \"RP\"\n}\n";
const UNWANTED: &str = "<unwanted@example.com>";

/// What a server tells of a group: its high mark, overview rows, articles.
#[derive(Debug, PartialEq)]
struct Told {
    high: u64,
    rows: Vec<String>,
    articles: BTreeMap<u64, Vec<u8>>,
}

fn told(address: &str, group: &str) -> Told {
    let mut client = Client::greeted(address);
    client.ask("MODE READER");
    let answer = client.ask(&format!("GROUP {group}"));
    let words: Vec<&str> = answer.split(' ').collect();
    assert_eq!(words[0], "211", "{answer}");
    let high = words[3].parse().unwrap();
    let mut rows = Vec::new();
    if client.ask("OVER 1-").starts_with("224") {
        rows = client.lines();
    }
    let numbers: Vec<u64> = rows
        .iter()
        .map(|row| row.split('\t').next().unwrap().parse().unwrap())
        .collect();
    let mut articles = BTreeMap::new();
    for number in numbers {
        let answer = client.ask(&format!("ARTICLE {number}"));
        assert!(answer.starts_with("220"), "{answer}");
        articles.insert(number, client.block());
    }
    Told {
        high,
        rows,
        articles,
    }
}

/// Fills an INN: crossposts, odd bodies, cancels, an id that it only remembers.
fn fill(inn: &Inn) -> Vec<String> {
    let address = format!("127.0.0.1:{}", inn.port);
    let mut articles = many("a", 40, "comp.test", 3000);
    articles.extend(many("b", 10, "rec.test", 20));
    for number in 0..20 {
        let groups = [
            "comp.test,rec.test",
            "comp.other",
            "rec.test,comp.other,comp.test",
        ][number % 3];
        let header = [
            "",
            "Expires: Mon, 20 Dec 2093 04:39:21 GMT\n",
            "References: <x@y>\n <z@y>\n",
        ][number % 3];
        let body: &[u8] = [
            &b"\n"[..],
            b"a line\n\nafter it\n",
            b"\xe9\x80\xff\n\tx \n\n\n",
        ][number % 3];
        articles.push(with(
            &format!("<c.{number}@example.com>"),
            groups,
            header,
            body,
        ));
    }
    articles.push(with(
        "<large@example.com>",
        "comp.other",
        "",
        &b"a line of text\n".repeat(20_000),
    ));
    let mut client = Client::greeted(&address);
    let mut ids = Vec::new();
    for article in &articles {
        let id = program::corpus::id(article);
        client.say(take_this(&id, article));
        let answer = client.line();
        assert!(answer.starts_with("239"), "{answer}");
        ids.push(id);
    }
    let unwanted = with(UNWANTED, "alt.unknown", "", b"x\n");
    client.say(take_this(UNWANTED, &unwanted));
    assert!(client.line().starts_with("439"));
    for id in cancelled() {
        let done = inn.run("ctlinnd", &["cancel", &id], None);
        assert!(done.status.success(), "{done:?}");
    }
    ids
}

fn cancelled() -> Vec<String> {
    vec![
        id("a", 1),
        id("a", 7),
        id("b", 10),
        "<c.2@example.com>".to_owned(),
    ]
}

/// A program whose news directory is moved from this INN.
fn moves_in(mut inn: Inn) {
    fs::write(inn.path("etc/readers.conf"), READERS).unwrap();
    let ids = fill(&inn);
    let address = format!("127.0.0.1:{}", inn.port);
    let before: Vec<Told> = GROUPS.iter().map(|group| told(&address, group)).collect();
    assert!(before[0].rows.len() > 40 && before[3].rows.is_empty());
    inn.stop();
    let program = Program::new();
    let place = inn.path("etc").display().to_string();
    let dry = program.run(&["import", "inn", "-n", &place]);
    assert_eq!(dry.status, 0, "{dry:?}");
    assert!(
        dry.out.contains("ids that are only remembered: 1"),
        "{}",
        dry.out
    );
    assert!(!program.path("news").exists());
    let moved = program.run(&["import", "inn", &place, "--dir", "news"]);
    assert_eq!(moved.status, 0, "{moved:?}");
    let filed = ids.len() - cancelled().len();
    let expected = format!("{filed} articles filed");
    assert!(moved.out.contains(&expected), "{}", moved.out);
    program.assert_clean();
    // Again: nothing is filed twice.
    let again = program.run(&["import", "inn", &place, "--dir", "news", "--json"]);
    let again: serde_json::Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(again["counts"]["filed"], 0);
    assert_eq!(again["counts"]["known"], filed);
    program.assert_clean();
    let settings = program.read("news/broadsheet.toml");
    assert!(settings.contains("name = \"inn.example.org\""));
    let here = settings.replace(
        "listen = \"127.0.0.1:119, [::1]:119\"",
        "listen = \"127.0.0.1:0\"",
    );
    assert_ne!(settings, here);
    program.write("news/broadsheet.toml", here.as_bytes());
    let checked = program.run(&["check", "--dir", "news"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let served = Served::start(&program);
    for (group, before) in GROUPS.iter().zip(&before) {
        let after = told(&served.address, group);
        assert_eq!(after.rows, before.rows, "{group}");
        assert_eq!(after.high, before.high, "{group}");
        for (number, article) in &before.articles {
            let same = after.articles.get(number) == Some(article);
            let shown = after
                .articles
                .get(number)
                .map(|bytes| String::from_utf8_lossy(bytes));
            assert!(same, "{group} {number}: {shown:?}");
        }
        assert_eq!(after.articles.len(), before.articles.len());
    }
    let mut client = served.client();
    for id in ids.iter().map(String::as_str).chain([UNWANTED]) {
        let answer = client.ask(&format!("CHECK {id}"));
        assert!(answer.starts_with("438"), "{answer}");
    }
    let answer = client.ask("CHECK <new@example.com>");
    assert!(answer.starts_with("238"), "{answer}");
    drop(client);
    // New articles come after the old ones.
    let mut client = served.client();
    let new = with("<new@example.com>", "rec.test", "", b"x\n");
    client.say(take_this("<new@example.com>", &new));
    assert!(client.line().starts_with("239"));
    let high = told(&served.address, "rec.test").high;
    assert_eq!(high, before[2].high + 1);
}

#[test]
fn from_tradspool() {
    if let Some(inn) = Inn::start(&GROUPS) {
        moves_in(inn);
    }
}

#[test]
fn from_cnfs_timecaf_and_timehash() {
    let edit = |dir: &Path| {
        let buffer = dir.join("spool/one.buffer");
        fs::write(&buffer, vec![0; 2 << 20]).unwrap();
        let storage = "method cnfs {\n    newsgroups: comp.other\n    class: 1\n    options: META\n}\n\
                       method timecaf {\n    newsgroups: rec.*\n    class: 2\n}\n\
                       method timehash {\n    newsgroups: *\n    class: 3\n}\n";
        fs::write(dir.join("etc/storage.conf"), storage).unwrap();
        let cycbuff = format!(
            "cycbuff:ONE:{}:2048\nmetacycbuff:META:ONE\n",
            buffer.display()
        );
        fs::write(dir.join("etc/cycbuff.conf"), cycbuff).unwrap();
    };
    if let Some(inn) = Inn::start_edited(&GROUPS, edit) {
        moves_in(inn);
    }
}

/// Most real articles that an INN gets: its answers are read one by one.
const REAL_MAX: usize = 500;

/// Real articles, crossposts among them; INN has expired one group, and forgotten none of its ids.
#[test]
fn from_tradspool_with_real_articles_after_an_expire() {
    let Some(feed) = program::shared("corpus/feed") else {
        return;
    };
    // Some of each batch.
    let batches = program::corpus::batches(&feed);
    let share = REAL_MAX / batches.len() + 1;
    let mut articles = Vec::new();
    for path in &batches {
        let all = program::corpus::unbatch(&program::corpus::unpack(path));
        articles.extend(all.into_iter().take(share));
    }
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for article in &articles {
        for group in groups_of(article) {
            *groups.entry(group).or_default() += 1;
        }
    }
    let (expired, _) = groups.iter().max_by_key(|(_, count)| **count).unwrap();
    let policy = format!("/remember/:10\n*:A:never:never:never\n{expired}:A:0:0:0\n");
    let names: Vec<&str> = groups.keys().map(String::as_str).collect();
    let edit = |dir: &Path| {
        fs::write(dir.join("etc/expire.ctl"), &policy).unwrap();
        fs::write(dir.join("etc/readers.conf"), READERS).unwrap();
    };
    let Some(mut inn) = Inn::start_edited(&names, edit) else {
        return;
    };
    let address = inn.address();
    let mut client = Client::greeted(&address);
    let mut seen = Vec::new();
    for article in &articles {
        let id = program::corpus::id(article);
        client.say(take_this(&id, article));
        if client.line().starts_with("239") {
            seen.push(id);
        }
    }
    drop(client);
    assert!(
        seen.len() > REAL_MAX / 2,
        "{} of {}",
        seen.len(),
        articles.len()
    );
    let high = told(&address, expired).high;
    assert!(high > 20, "{expired} {high}");
    for words in [&["expireover", "-f", "/dev/null"][..], &["expire"]] {
        let done = inn.run(words[0], &words[1..], None);
        assert!(done.status.success(), "{words:?}: {done:?}");
    }
    let before: Vec<Told> = names.iter().map(|group| told(&address, group)).collect();
    let left: usize = before.iter().map(|told| told.rows.len()).sum();
    inn.stop();
    let program = Program::new();
    let place = inn.path("etc").display().to_string();
    let moved = program.run(&["import", "inn", &place, "--dir", "news", "--json"]);
    assert_eq!(moved.status, 0, "{moved:?}");
    program.assert_clean();
    let settings = program.read("news/broadsheet.toml");
    let here = "listen = \"127.0.0.1:0\"";
    let settings = settings.replace("listen = \"127.0.0.1:119, [::1]:119\"", here);
    program.write("news/broadsheet.toml", settings.as_bytes());
    let served = Served::start(&program);
    for (group, before) in names.iter().zip(&before) {
        let after = told(&served.address, group);
        assert_eq!(after.high, before.high, "{group}");
        assert_eq!(after.rows.len(), before.rows.len(), "{group}");
        for (one, other) in after.rows.iter().zip(&before.rows) {
            let (one, mut other) = (fields(one), fields(other));
            // INN counts some doubled dots; RFC 3977, 8.1.1, leaves all of them out.
            let article = &before.articles[&other[0].parse().unwrap()];
            let dots = article.windows(2).filter(|two| two == b"\n.").count();
            let bytes = |row: &[String]| row[6].parse::<usize>().unwrap();
            let (ours, theirs) = (bytes(&one), bytes(&other));
            assert!((ours..=ours + dots).contains(&theirs), "{one:?} {other:?}");
            other[6].clone_from(&one[6]);
            assert_eq!(one, other, "{group}");
        }
        for (number, article) in &before.articles {
            assert!(
                after.articles.get(number) == Some(article),
                "{group} {number}"
            );
        }
    }
    assert!(left > REAL_MAX / 3, "{left}");
    let mut client = served.client();
    for id in &seen {
        let answer = client.ask(&format!("CHECK {id}"));
        assert!(answer.starts_with("438"), "{answer}");
    }
}

/// The fields of an overview row.
fn fields(row: &str) -> Vec<String> {
    row.split('\t').map(str::to_owned).collect()
}

/// The groups in the header of an article.
fn groups_of(article: &[u8]) -> Vec<String> {
    let (header, _) = program::corpus::split_header(article);
    let header = String::from_utf8_lossy(header);
    let line = header
        .lines()
        .find_map(|line| line.strip_prefix("Newsgroups:"));
    let names = line.unwrap_or_default().split(',').map(str::trim);
    let is_plain = |name: &&str| {
        name.contains('.')
            && !name.starts_with("control.")
            && name.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-+_".contains(&byte)
            })
    };
    names.filter(is_plain).map(str::to_owned).collect()
}

/// The files of an INN made by hand, without its programs: each below `inn`.
fn by_hand(files: &[(&str, &str)]) -> Program {
    let program = Program::new();
    let root = program.path("inn").display().to_string();
    for dir in ["etc", "db", "spool/articles"] {
        fs::create_dir_all(program.path("inn").join(dir)).unwrap();
    }
    let conf = format!(
        "pathhost: inn.example.org\npathetc: {root}/etc\npathdb: {root}/db\npathspool: {root}/spool\n"
    );
    let usual = [
        ("etc/inn.conf", conf.as_str()),
        (
            "db/active",
            "comp.test 0000000000 0000000001 y\ncontrol 0000000000 0000000001 n\njunk 0000000000 0000000001 n\n",
        ),
        ("db/history", ""),
    ];
    for (name, text) in usual.iter().chain(files) {
        program.write(&format!("inn/{name}"), text.as_bytes());
    }
    program
}

const BY_HAND: [&str; 5] = ["import", "inn", "inn/etc", "--dir", "news"];

#[test]
fn an_empty_history_raises_no_low_marks() {
    let marks = "misc.test 0000000003 0000000001 y\n";
    let program = by_hand(&[
        ("db/active", marks),
        ("spool/tradspool.map", "misc.test 1\n"),
    ]);
    let mut history = String::new();
    fs::create_dir_all(program.path("inn/spool/articles/misc/test")).unwrap();
    for number in 1..=3 {
        let id = id("a", number);
        let xref = format!("Xref: inn.example.org misc.test:{number}\n");
        let article = with(&id, "misc.test", &xref, b"x\n");
        program.write(&format!("inn/spool/articles/misc/test/{number}"), &article);
        history += &format!(
            "{id}\t1700000000~-~-\t@0500{:08X}{number:08X}0000000000000000@\n",
            1
        );
    }
    let empty = program.run(&BY_HAND);
    assert_eq!(empty.status, 1, "{empty:?}");
    assert!(
        empty.out.contains("by the marks in active there are some"),
        "{}",
        empty.out
    );
    program.write("inn/db/history", history.as_bytes());
    let right = program.run(&[&BY_HAND[..], &["--json"]].concat());
    assert_eq!(right.status, 0, "{right:?}");
    let right: serde_json::Value = serde_json::from_str(&right.out).unwrap();
    assert_eq!(right["counts"]["filed"], 3);
    program.assert_clean();
}

/// All groups are empty, so an empty history is right.
#[test]
fn an_inn_without_articles_moves_in() {
    let marks = "comp.test 0000000000 0000000001 y\nmisc.old 0000000007 0000000008 y\n";
    let program = by_hand(&[("db/active", marks)]);
    let moved = program.run(&BY_HAND);
    assert_eq!(moved.status, 0, "{moved:?}");
}

#[test]
fn a_pattern_without_counterpart_stops_no_move() {
    let newsfeeds = "ME:*,!control*,!local*::\ninnfeed!:!*:Tc:innfeed\n\
                     good:comp.*/!local:Tm:innfeed!\nbad:*/loc*:Tm:innfeed!\n";
    let program = by_hand(&[
        ("etc/newsfeeds", newsfeeds),
        (
            "etc/innfeed.conf",
            "peer good { ip-name: 127.0.0.1  port-number: 433 }\npeer bad { ip-name: 127.0.0.2 }\n",
        ),
        (
            "etc/incoming.conf",
            "peer ME {\n  hostname: \"localhost, 127.0.0.1\"\n}\n",
        ),
        (
            "etc/readers.conf",
            "auth own {\n  hosts: \"localhost, 127.0.0.1, stdin\"\n  default: own\n}\n\
             access own {\n  users: own\n  newsgroups: \"*,!private.*\"\n}\n",
        ),
    ]);
    let dry = program.run(&["import", "inn", "-n", "inn/etc"]);
    assert_eq!(dry.status, 0, "{dry:?}");
    assert!(
        dry.out
            .contains("newsfeeds:4: NOT KEPT: bad: by NNTP to 127.0.0.2"),
        "{}",
        dry.out
    );
    let moved = program.run(&BY_HAND);
    assert_eq!(moved.status, 0, "{moved:?}");
    let settings = program.read("news/broadsheet.toml");
    assert!(
        settings.contains("distributions = \"all,!local\""),
        "{settings}"
    );
    assert!(settings.contains("nntp = \"127.0.0.1:433\""), "{settings}");
    assert!(settings.contains("\n# name = \"bad\"\n"), "{settings}");
    let checked = program.run(&["check", "--dir", "news"]);
    assert_eq!(checked.status, 0, "{checked:?}");
}

/// Settings that are in no table: nothing comes over, and the message shows the line, since there is no file with it.
#[test]
fn errors_of_the_translated_settings_end_a_dry_run_too() {
    let program = by_hand(&[]);
    let conf = program.read("inn/etc/inn.conf");
    let conf = conf.replace("inn.example.org", "\"inn example org\"");
    program.write("inn/etc/inn.conf", conf.as_bytes());
    for words in [&["import", "inn", "-n", "inn/etc"][..], &BY_HAND] {
        let told = program.run(words);
        assert_eq!(told.status, 2, "{told:?}");
        let all = format!("{}{}", told.out, told.err);
        assert!(all.contains("`name = \"inn example org\"': "), "{all}");
        assert!(!all.contains("broadsheet.toml:"), "{all}");
    }
    assert!(!program.path("news").exists());
}

/// A tradspool with articles 1 to `count` of misc.test, and the lines of their history.
fn tradspool(count: usize) -> (Program, Vec<String>) {
    let program = by_hand(&[
        ("db/active", "misc.test 0000000003 0000000001 y\n"),
        ("spool/tradspool.map", "misc/test 1\n"),
    ]);
    fs::create_dir_all(program.path("inn/spool/articles/misc/test")).unwrap();
    let lines = (1..=count).map(|number| {
        let xref = format!("Xref: inn.example.org misc.test:{number}\n");
        let article = with(&id("a", number), "misc.test", &xref, b"x\n");
        program.write(&format!("inn/spool/articles/misc/test/{number}"), &article);
        line(&id("a", number), number)
    });
    let lines = lines.collect();
    (program, lines)
}

/// A line of the history: an article of misc.test.
fn line(id: &str, number: usize) -> String {
    let hash = store::seen_hashes::md5_of(id.as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02X}")).collect();
    format!(
        "[{hash}]\t1700000000~-~-\t@0500{:08X}{number:08X}0000000000000000@\n",
        1
    )
}

/// The counts of an import by hand.
fn counts(program: &Program, status: i32) -> serde_json::Value {
    let told = program.run(&[&BY_HAND[..], &["--json"]].concat());
    assert_eq!(told.status, status, "{told:?}");
    let told: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    told["counts"].clone()
}

#[test]
fn articles_that_inn_cancelled_since_are_listed() {
    let (program, mut lines) = tradspool(5);
    program.write("inn/db/history", lines.concat().as_bytes());
    assert_eq!(counts(&program, 0)["gone_here"], 0);
    assert!(!program.path("news/import.gone").exists());
    // Cancelled; expired; cancelled under one number and there under another.
    let articles = program.path("inn/spool/articles/misc/test");
    for number in [2, 3, 4] {
        fs::rename(
            articles.join(number.to_string()),
            articles.join(format!("{number}0")),
        )
        .unwrap();
    }
    let (expired, _) = lines[2].rsplit_once('\t').unwrap();
    lines[2] = format!("{expired}\n");
    lines.insert(0, line(&id("a", 4), 40));
    program.write("inn/db/history", lines.concat().as_bytes());
    let told = program.run(&BY_HAND);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out
            .contains("2 articles are here that were cancelled or have expired there"),
        "{told:?}"
    );
    let ids = format!("{}\n{}\n", id("a", 2), id("a", 3));
    assert_eq!(program.read("news/import.gone"), ids);
    // The command in the answer removes them, and the next run has nothing to list.
    let command = told
        .out
        .lines()
        .find(|line| line.contains("xargs"))
        .unwrap()
        .trim();
    assert!(command.contains(" broadsheet article remove "), "{command}");
    let command = command.replace(
        " broadsheet ",
        &format!(" {} ", env!("CARGO_BIN_EXE_broadsheet")),
    );
    let done = std::process::Command::new("sh")
        .args(["-c", &command])
        .current_dir(program.path(""))
        .status();
    assert!(done.unwrap().success(), "{command}");
    let rows = program.run(&["overview", "--dir", "news", "misc.test"]).out;
    assert_eq!(rows.lines().count(), 3, "{rows}");
    assert_eq!(counts(&program, 0)["gone_here"], 0);
    assert!(!program.path("news/import.gone").exists());
    // A spool that is not mounted is no reason to remove anything.
    fs::rename(
        program.path("inn/spool/articles"),
        program.path("inn/spool/elsewhere"),
    )
    .unwrap();
    assert_eq!(counts(&program, 1)["gone_here"], 0);
    assert!(!program.path("news/import.gone").exists());
}

#[test]
fn an_article_without_xref_has_the_number_of_its_file() {
    let (program, mut lines) = tradspool(1);
    let bare = with("<bare@example.com>", "misc.test,alt.other", "", b"x\n");
    program.write("inn/spool/articles/misc/test/2", &bare);
    lines.push(line("<bare@example.com>", 2));
    // A timehash, whose token has neither.
    let other = with("<other@example.com>", "misc.test", "", b"x\n");
    fs::create_dir_all(program.path("inn/spool/articles/time-00/22/33")).unwrap();
    program.write("inn/spool/articles/time-00/22/33/0005-1144", &other);
    lines.push(
        "<other@example.com>\t1700000000~-~-\t@020011223344000500000000000000000000@\n".to_owned(),
    );
    program.write("inn/db/history", lines.concat().as_bytes());
    assert_eq!(counts(&program, 1)["filed"], 2);
    let rows = program.run(&["overview", "--dir", "news", "misc.test"]).out;
    assert!(
        rows.contains("\n2\t") && rows.contains("<bare@example.com>"),
        "{rows}"
    );
    let refused = program.read("news/import.refused");
    assert!(
        refused.starts_with("<other@example.com>: it has no Xref"),
        "{refused}"
    );
    program.assert_clean();
}

/// The clients of the hidden table are those of another one, so `check` finds no error.
#[test]
fn a_usual_readers_conf_has_no_hidden_table() {
    let program = by_hand(&[(
        "etc/readers.conf",
        "auth people { hosts: \"*\" auth: \"/bin/true\" }\nauth local { hosts: localhost default: \"<local>\" }\n\
         access people { users: \"*\" newsgroups: \"*\" }\naccess local { users: \"<local>\" newsgroups: \"*\" access: \"RPA\" }\n",
    )]);
    let moved = program.run(&BY_HAND);
    assert_eq!(moved.status, 0, "{moved:?}");
    let checked = program.run(&["check", "--dir", "news"]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let warning = "(and users of auth.program cannot use it: no login works for them)";
    assert!(checked.out.contains(warning), "{checked:?}");
}
