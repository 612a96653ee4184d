//! A small news directory as a release left it, `VERSION.tar.gz`, with the answers of that release to [`look`] and [`act`].
//! To add one of a new release, run `made_by_this_release` with the sources of that release: it prints the path of the packed directory.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::fmt::Write;
use std::process::Command;
use std::time::UNIX_EPOCH;

use crate::program::articles::{batch, date, id, with};
use crate::program::{Program, Told};

/// Made by the first release, which every later one must open.
const PACKED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/earlier_release/0.1.0.tar.gz"
);
const DAY: u64 = 86_400;
const ACTIVE: &str = "control 0 1 y\njunk 0 1 y\ngo.run 0 1 y\ngo.some 0 1 y\nmid.one 0 1 y\nstay.here 0 1 y\n\
    stay.moderated 0 1 m\nold.gone 0 1 y\n";
const GROUPS: [&str; 8] = [
    "control",
    "junk",
    "go.run",
    "go.some",
    "mid.one",
    "stay.here",
    "stay.moderated",
    "new.made",
];
const POLICY: &str = "/expired/ x 30 -\n/bounds/ x 0-9-12 -\ngo.run x 1 -\ngo.some x 2 -\nmid.one x 4 -\n\
    stay x never -\nall x 9 -\n";
const SITES: &str = r#"
[[site]]
name = "west"
groups = "all"
via = { directory = "../west/in.coming", size = "60 kB" }

[[site]]
name = "north"
groups = "stay,mid"
via = { files = "out.going/north/togo", form = "n" }

[[site]]
name = "south"
groups = "new,stay"
via = { program = "cat", gives = "id" }
"#;
const PARTS: usize = 7;
const ARTICLES: usize = 60;
/// The Cancel-Lock that [`KEY`] opens.
const LOCK: &str = "Cancel-Lock: sha256:5W+WZOGhvQpfAtzvdZLG/AwcOGV386h9qL7bl0qQKNs=\n";
const KEY: &str = "Cancel-Key: sha256:b2xkLXNlY3JldC0x\n";
/// Comes after its cancel.
const LATE: &str = "<late@example.com>";

/// Articles to be filed `made` seconds after 1970. In the first parts those that go lie scattered, so that segments are written anew; then in
/// runs, so that holes are punched; then come whole segments that go. Some are in two groups, and some have an Expires.
fn articles(part: usize, made: u64) -> Vec<Vec<u8>> {
    let article = |number: usize| {
        let groups = match (part, number) {
            (4 | 5, _) | (_, 0..25) => "go.run",
            (2 | 3, _) => "stay.here",
            _ if number.is_multiple_of(7) => "stay.here,go.some",
            _ => ["go.some", "stay.here", "mid.one"][number % 3],
        };
        let expires = match number % 11 {
            0 if part < 4 => format!("Expires: {}\n", date(made + 8 * DAY)),
            _ => String::new(),
        };
        let line = format!(".{part} {number} lies here\n");
        let body = line.repeat(400 + number * 37 % 400);
        let id = id(&format!("p{part}"), number);
        with(&id, groups, &format!("{LOCK}{expires}"), body.as_bytes())
    };
    (0..ARTICLES).map(article).collect()
}

fn control(id: &str, groups: &str, command: &str, more: &str, body: &str) -> Vec<u8> {
    let header = format!("Control: {command}\nApproved: admin@example.org\n{more}");
    with(id, groups, &header, body.as_bytes())
}

/// Control messages that count, for they are dated `now`.
fn messages(now: u64) -> Vec<Vec<u8>> {
    let newsgroups = "For your newsgroups file:\nnew.made\tMade by a message.\n";
    let list = "new.made\tMade, and listed.\n";
    let cancel = |id: &str, of: &str| control(id, "stay.here", &format!("cancel {of}"), KEY, "\n");
    let all = [
        control("<c1@x>", "new.made", "newgroup new.made", "", newsgroups),
        control("<c2@x>", "old.gone", "rmgroup old.gone", "", "\n"),
        control("<c3@x>", "new.made", "checkgroups new #7", "", list),
        cancel("<c4@x>", &id("p0", 31)),
        cancel("<c5@x>", &id("p1", 49)),
        cancel("<c6@x>", &id("p6", 58)),
        cancel("<c7@x>", LATE),
        with("<refused@x>", "stay.moderated", "", b"not approved\n"),
        with("<junk@x>", "not.here", "", b"junk\n"),
        with("<made@x>", "new.made,stay.here", "", b"in two\n"),
        with("<moderated@x>", "stay.moderated", "Approved: m@x\n", b"\n"),
    ];
    let date = format!("\nDate: {}\n", date(now));
    let dated = |article: Vec<u8>| {
        let text = String::from_utf8(article).unwrap();
        text.replace("\nDate: Mon, 20 Dec 1993 04:39:21 GMT\n", &date)
            .into_bytes()
    };
    all.into_iter().map(dated).collect()
}

fn ok(told: Told) -> String {
    assert_eq!(told.status, 0, "{told:?}");
    told.out
}

/// Makes the directory, packs it with what this release answers, and prints where.
pub fn make() {
    let made = UNIX_EPOCH.elapsed().unwrap().as_secs();
    let program = Program::with_small_segments(ACTIVE, 1);
    program.write("made", made.to_string().as_bytes());
    program.set(
        "sendmail = \"/usr/sbin/sendmail -oi -t\"",
        "sendmail = \"\"",
    );
    let settings = program.read("news/broadsheet.toml") + SITES;
    program.write("news/broadsheet.toml", settings.as_bytes());
    program.write("news/explist", POLICY.as_bytes());
    program.write("news/mailpaths", b"stay mod@site.example\n");
    program.write(
        "news/control.ctl",
        b"newgroup:*:*:doit\nrmgroup:*:*:doit\ncheckgroups:*:*:doit\n",
    );
    let run = |words: &[&str], input: &[u8]| {
        let words = [words, &["--dir", "news"]].concat();
        ok(program.feed(&words, input))
    };
    run(&["user", "add", "anna"], b"a password\n");
    let key = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../openpgp/tests/vectors/ed25519.key.asc"
    );
    run(&["key", "import", key, "--hierarchy", "comp.*"], b"");
    program.init("west", "west");
    for part in 0..PARTS {
        run(&["rnews"], &batch(&articles(part, made)));
        if part == 1 {
            run(&["sendbatches", "west", "--batches", "1"], b"");
            run(&["feed", "pause", "north"], b"");
        }
    }
    run(&["rnews"], &batch(&messages(made)));
    let at = |days: u64| (made + days * DAY + 600).to_string();
    run(&["expire", "--force", "--now", &at(1)], b"");
    run(&["expire", "--force", "--now", &at(2)], b"");
    let posted = ["injnews", "-h"];
    let post = b"Newsgroups: stay.here\nSubject: posted\nFrom: a@b.example\nMessage-ID: <posted@b.example>\n\nhere\n";
    run(&posted[..1], post);
    let post = b"Newsgroups: stay.moderated\nSubject: waits\nFrom: a@b.example\nMessage-ID: <waits@b.example>\n\nhere\n";
    run(&posted[..1], post);
    run(&["feed", "pause", "south", "--why", "a new disk"], b"");
    let find = run(&["history", "find", "<made@x>"], b"");
    let position = find.split('\t').nth(1).unwrap().split('~').nth(3).unwrap();
    let deferred = feed::deferred::Deferred {
        position: store::Position(position.parse().unwrap()),
        due: made as i64,
        attempts: 3,
        is_blamed: false,
        is_unreadable: false,
    };
    feed::deferred::write(&program.path("news/feeds/south"), "south", &[deferred]).unwrap();
    run(
        &["rnews", "--spool"],
        &batch(&[with("<spooled@x>", "stay.here", "", b"waited\n")]),
    );
    let _ = program.rnews(b"#! rnews 1000\ncut off");

    // On a copy this release shows what it makes of it.
    tar(&program, &["-cSf", "copy.tar", "news"]);
    program.write("looked", look(&program).as_bytes());
    program.write("acted", act(&program).as_bytes());
    std::fs::remove_dir_all(program.path("news")).unwrap();
    tar(&program, &["-xf", "copy.tar"]);
    let tree = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner"];
    let packed = [
        "-czSf",
        "packed.tar.gz",
        "--exclude=news/lock*",
        "made",
        "looked",
        "acted",
        "news",
    ];
    tar(&program, &[&tree[..], &packed].concat());
    let to = std::env::temp_dir().join("earlier_release.tar.gz");
    std::fs::copy(program.path("packed.tar.gz"), &to).unwrap();
    println!("{}", to.display());
}

fn tar(program: &Program, words: &[&str]) {
    let mut tar = Command::new("tar");
    let done = tar.args(words).current_dir(program.path("")).status();
    assert!(done.unwrap().success(), "tar {words:?}");
}

/// The directory `news` as that release left it, and its answers in `looked` and `acted`.
pub fn unpacked() -> Program {
    let program = Program::new();
    tar(&program, &["-xzf", PACKED, "--no-same-owner"]);
    program
}

/// Answers gathered, each behind what was asked.
struct Answers<'a> {
    program: &'a Program,
    text: String,
}

impl Answers<'_> {
    /// Runs a command and keeps its status and standard output.
    fn ask(&mut self, words: &[&str], input: &[u8]) {
        let told = self.program.feed(words, input);
        writeln!(self.text, "$ {}", words.join(" ")).unwrap();
        writeln!(self.text, "{}[{}]", told.out, told.status).unwrap();
    }

    /// Plays an NNTP session, and keeps of the first line of each answer no more than numbers and ids.
    fn session(&mut self, commands: &str) {
        let session = ["session", "--dir", "news"];
        let told = ok(self.program.feed(&session, commands.as_bytes()));
        self.text += "$ session\n";
        for line in told.lines() {
            let code = line.split(' ').next().unwrap_or_default();
            let is_status = code.len() == 3 && code.parse::<u16>().is_ok() && code != line;
            let is_kept = |word: &&str| word.parse::<u64>().is_ok() || word.starts_with('<');
            let kept: Vec<&str> = line.split(' ').take_while(is_kept).collect();
            let kept = if is_status {
                kept.join(" ")
            } else {
                line.to_owned()
            };
            writeln!(self.text, "{kept}").unwrap();
        }
    }

    /// Runs a command and keeps these numbers of its JSON.
    fn count(&mut self, words: &[&str], input: &[u8], of: &[&str]) {
        let told = self.program.feed(words, input);
        writeln!(self.text, "$ {}", words.join(" ")).unwrap();
        for line in told.out.lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect(&told.out);
            let of: Vec<String> = of.iter().map(|of| format!("{of}={}", line[of])).collect();
            writeln!(self.text, "{}", of.join(" ")).unwrap();
        }
        writeln!(self.text, "[{}]", told.status).unwrap();
    }

    fn overview(&mut self, dir: &str) {
        for group in GROUPS {
            self.ask(&["overview", "--dir", dir, group], b"");
        }
    }

    fn feeds(&mut self) {
        let of = [
            "site", "state", "articles", "bytes", "deferred", "sent", "skipped", "paused",
        ];
        self.count(&["feed", "list", "--dir", "news", "--json"], b"", &of);
    }
}

/// What is in `news`, without a change to it.
pub fn look(program: &Program) -> String {
    let mut seen = Answers {
        program,
        text: String::new(),
    };
    seen.ask(&["group", "list", "--dir", "news", "--json"], b"");
    seen.ask(&["history", "dump", "--dir", "news"], b"");
    seen.overview("news");
    let history = ok(program.run(&["history", "dump", "--dir", "news"]));
    let ids = history.lines().map(|line| line.split('\t').next().unwrap());
    let lines: String = ids.map(|id| format!("ARTICLE {id}\r\n")).collect();
    let more = "GROUP stay.here\r\nLISTGROUP\r\nOVER 1-\r\nSTAT 3\r\nNEWGROUPS 20200101 000000\r\nLIST NEWSGROUPS\r\nQUIT\r\n";
    seen.session(&(lines + more));
    seen.ask(
        &["article", "--dir", "news", "stay.here/8", "<made@x>"],
        b"",
    );
    seen.ask(&["article", "--dir", "news", &id("p0", 31)], b"");
    for about in [["user", "list"], ["key", "list"], ["mail", "list"]] {
        seen.ask(&[about[0], about[1], "--dir", "news", "--json"], b"");
    }
    seen.count(
        &["control", "log", "--dir", "news", "--json"],
        b"",
        &["seconds", "done", "id", "control", "group", "from", "why"],
    );
    seen.feeds();
    seen.text
}

/// What this release does with it: refuses what it had, files what waits, feeds, and expires.
pub fn act(program: &Program) -> String {
    let mut done = Answers {
        program,
        text: String::new(),
    };
    let made: u64 = program.read("made").parse().unwrap();
    let counts = ["articles", "accepted", "duplicates", "refused"];
    let rnews = ["rnews", "--dir", "news", "--json"];
    for part in 0..PARTS {
        done.count(&rnews, &batch(&articles(part, made)), &counts);
    }
    done.count(&rnews, &batch(&messages(0)), &counts);
    // Cancels wait for ten days: in the file, not in the log, this one came just now.
    let waiting = program.read("news/cancels.early");
    let (_, of) = waiting.split_once('\t').unwrap();
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs();
    program.write("news/cancels.early", format!("{now}\t{of}").as_bytes());
    let late = with(LATE, "stay.here", LOCK, b"cancelled already\n");
    done.count(&rnews, &batch(&[late]), &counts);
    std::fs::remove_file(program.path("news/cancels.early")).unwrap();
    done.ask(&["article", "--dir", "news", LATE], b"");
    done.count(&["newsrun", "--dir", "news", "--json"], b"", &counts);

    program.write("active.list", ACTIVE.as_bytes());
    let _ = std::fs::remove_dir_all(program.path("west"));
    program.init("west", "west");
    let settings = program.read("west/broadsheet.toml");
    let settings = settings.replace("\njunk = false", "\njunk = true");
    program.write("west/broadsheet.toml", settings.as_bytes());
    done.count(
        &["sendbatches", "--dir", "news", "--json", "west"],
        b"",
        &["site", "articles", "batches", "bytes", "backlog"],
    );
    done.count(&["newsrun", "--dir", "west", "--json"], b"", &counts);
    done.overview("west");
    let _ = std::fs::remove_file(program.path("news/out.going/north/togo"));
    ok(program.run(&["feed", "resume", "--dir", "news", "north"]));
    done.count(
        &["feed", "flush", "--dir", "news", "--json", "north"],
        b"",
        &["site", "articles"],
    );
    done.text += &program.read("news/out.going/north/togo");
    done.feeds();

    let counts = ["articles", "links", "oldest_kept"];
    for days in [5, 10, 40] {
        let now = (made + days * DAY).to_string();
        let expire = [
            "expire", "--dir", "news", "--json", "--force", "--now", &now,
        ];
        done.count(&expire, b"", &counts);
        done.ask(&["group", "list", "--dir", "news", "--json"], b"");
        done.overview("news");
        let gone = [id("p0", 3), id("p0", 31), id("p0", 43)];
        done.ask(
            &[
                "history", "find", "--dir", "news", &gone[0], &gone[1], &gone[2],
            ],
            b"",
        );
    }
    done.text
}

/// Tells the first line that differs.
pub fn assert_same(said: &str, before: &str) {
    let mut asked = "";
    for (number, (now, then)) in said.lines().zip(before.lines()).enumerate() {
        if then.starts_with("$ ") {
            asked = then;
        }
        assert_eq!(now, then, "line {}, in the answer to {asked}", number + 1);
    }
    assert_eq!(said.lines().count(), before.lines().count());
}
