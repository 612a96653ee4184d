//! However an article is spelled, and whichever way it comes, the rights are asked about the groups that it is filed in.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::time::SystemTime;

use program::Program;
use program::articles::date;
use program::nntp::{Client, Served, listen};

const ACTIVE: &str = "control 0 1 y\njunk 0 1 y\n\
    open.a 0 1 y\nopen.mod 0 1 m\nopen.x 0 1 x\nopen.j 0 1 j\nopen.n 0 1 n\n\
    closed.a 0 1 y\nclosed.mod 0 1 m\nother.a 0 1 y\n\
    open.alias 0 1 =closed.a\nopen.chain 0 1 =open.alias\nopen.same 0 1 =open.a\nopen.other 0 1 =other.a\n\
    open.moderated 0 1 =closed.mod\nclosed.alias 0 1 =open.a\nopen.void 0 1 =none.such\nopen.loop 0 1 =open.loop\n";

/// `anna` posts to open.*, `peer` sends open.* and nothing of closed.*, `narrow` sends open.*, `berta` may everything.
const ACCESS: &str = r#"
[[access]]
name = "anna"
users = "anna"
read = "open.*"
post = "open.*"

[[access]]
name = "peer"
users = "peer"
send = "open.*,@closed.*"

[[access]]
name = "narrow"
users = "narrow"
send = "open.*"

[[access]]
name = "berta"
users = "berta"
read = "*"
post = "*"
send = "*"
approve = true
"#;

/// The lines that name the groups, as they go over the wire, and who gets through: P by POST as `anna`, S by IHAVE and TAKETHIS as
/// `peer`, N by inews as the administrator, who may post to every group.
const SPELLINGS: &[(&[u8], &str)] = &[
    (b"Newsgroups: open.a\r\n", "PSN"),
    (b"Newsgroups: closed.a\r\n", "N"),
    // The colon and the blank behind it.
    (b"Newsgroups:open.a\r\n", "PN"),
    (b"Newsgroups:closed.a\r\n", "N"),
    (b"newsgroups: closed.a\r\n", "N"),
    (b"NEWSGROUPS:closed.a\r\n", "N"),
    (b"Newsgroups:\tclosed.a\r\n", "N"),
    (b"Newsgroups: \t closed.a \t\r\n", "N"),
    (b"Newsgroups: open.a \t\r\n", "PSN"),
    (b"Newsgroups : closed.a\r\n", ""),
    (b"Newsgroups\t: closed.a\r\n", ""),
    (b" Newsgroups: closed.a\r\n", ""),
    (b"Newsgroups closed.a\r\n", ""),
    (b"Newsgroups;closed.a\r\n", ""),
    // Folds.
    (b"Newsgroups:\r\n open.a\r\n", "PSN"),
    (b"Newsgroups:\r\n closed.a\r\n", "N"),
    (b"Newsgroups:\r\n\tclosed.a\r\n", "N"),
    (b"Newsgroups: open.a,\r\n closed.a\r\n", "N"),
    (b"Newsgroups: open.a,\r\n\topen.same\r\n", "PSN"),
    (b"Newsgroups: open.a\r\n closed.a\r\n", ""),
    (b"Newsgroups: open.a\r\n ,closed.a\r\n", "N"),
    (b"Newsgroups:\r\n \r\n closed.a\r\n", "N"),
    // Twice.
    (b"Newsgroups: open.a\r\nNewsgroups: closed.a\r\n", ""),
    (b"Newsgroups: closed.a\r\nNewsgroups: open.a\r\n", ""),
    (b"Newsgroups: open.a\r\nnewsgroups:closed.a\r\n", ""),
    (b"Newsgroups:\r\nNewsgroups: closed.a\r\n", "N"),
    (b"Newsgroups:\r\nNewsgroups: open.a\r\n", "PN"),
    // Lines that only some see.
    (b"X-A: b\nNewsgroups: closed.a\r\n", "N"),
    (
        b"X-A: b\nNewsgroups: closed.a\r\nNewsgroups: open.a\r\n",
        "",
    ),
    (
        b"Newsgroups: open.a\r\nX-A: b\nNewsgroups: closed.a\r\n",
        "",
    ),
    (b"Newsgroups: open.a\nApproved: a@example.com\r\n", "N"),
    (
        b"Newsgroups: open.a\r\nX-A: b\nControl: newgroup closed.new\r\n",
        "N",
    ),
    (b"Newsgroups: open.a\nclosed.a\r\n", ""),
    (b"X-A: b\rNewsgroups: closed.a\r\n", ""),
    (b"X-A: b\r\rNewsgroups: closed.a\r\n", ""),
    (b"Newsgroups: open.a\rclosed.a\r\n", ""),
    (b"Newsgroups: closed.a\r\r\n", "N"),
    (
        b"X-A: b\rNewsgroups: closed.a\r\nNewsgroups: open.a\r\n",
        "",
    ),
    // Bytes that are no text.
    (b"Newsgroups: \0closed.a\r\n", ""),
    (b"Newsgroups: open.a\0,closed.a\r\n", ""),
    (b"Newsgroups: open.a,closed.a\0\r\n", ""),
    (b"Newsgroups\0: closed.a\r\n", ""),
    (b"Newsgroups: closed.a\xff\r\n", ""),
    (b"Newsgroups: closed\xc2\xad.a\r\n", ""),
    (b"\xef\xbb\xbfNewsgroups: closed.a\r\n", ""),
    // Commas and blanks.
    (b"Newsgroups: open.a,closed.a\r\n", "N"),
    (b"Newsgroups: closed.a,open.a\r\n", "N"),
    (b"Newsgroups: open.a,,closed.a\r\n", "N"),
    (b"Newsgroups: ,closed.a\r\n", "N"),
    (b"Newsgroups: closed.a,\r\n", "N"),
    (b"Newsgroups: open.a, closed.a\r\n", "N"),
    (b"Newsgroups: open.a ,closed.a\r\n", "N"),
    (b"Newsgroups: open.a\t, open.other\r\n", "SN"),
    (b"Newsgroups: open.a closed.a\r\n", ""),
    (b"Newsgroups: closed.a (open.a)\r\n", ""),
    (b"Newsgroups: ,\r\n", ""),
    (b"Newsgroups: ,,\r\n", ""),
    (b"Newsgroups: \r\n", ""),
    (b"Newsgroups:\r\n", ""),
    (b"X-Newsgroups: closed.a\r\n", ""),
    // Names that are others.
    (b"Newsgroups: Closed.A\r\n", ""),
    (b"Newsgroups: open.a,Closed.A\r\n", "SN"),
    (b"Newsgroups: \"closed.a\"\r\n", ""),
    (b"Newsgroups: =?utf-8?q?closed.a?=\r\n", ""),
    (b"Newsgroups: closed.none\r\n", ""),
    (b"Newsgroups: open.a,closed.none\r\n", "N"),
    (b"Newsgroups: open.a,open.none\r\n", "PSN"),
    (b"Newsgroups: !open.a,closed.a\r\n", ""),
    (b"Newsgroups: *\r\n", ""),
    // Aliases: what stands behind them counts, and their own names do.
    (b"Newsgroups: open.same\r\n", "PSN"),
    (b"Newsgroups: open.alias\r\n", "N"),
    (b"Newsgroups: open.chain\r\n", "N"),
    (b"Newsgroups: open.a,open.alias\r\n", "N"),
    (b"Newsgroups:open.chain\r\n", "N"),
    (b"Newsgroups: closed.alias\r\n", "N"),
    (b"Newsgroups: open.other\r\n", "N"),
    (b"Newsgroups: open.a,open.other\r\n", "SN"),
    (b"Newsgroups: open.none,other.a\r\n", "N"),
    (b"Newsgroups: open.a,other.a\r\n", "SN"),
    // x'ed, junked and moderated groups.
    (b"Newsgroups: open.x\r\n", ""),
    (b"Newsgroups: open.x,closed.a\r\n", ""),
    (b"Newsgroups: open.j,closed.a\r\n", ""),
    (b"Newsgroups: open.x,other.a\r\n", ""),
    (b"Newsgroups: open.mod\r\n", ""),
    (
        b"Newsgroups: closed.mod\r\nApproved: a@example.com\r\n",
        "N",
    ),
    (
        b"Newsgroups: open.moderated\r\nApproved: a@example.com\r\n",
        "N",
    ),
    (b"Newsgroups: open.a,open.moderated\r\n", ""),
    // Approved, control messages, and other fields that name groups.
    (b"Newsgroups: open.mod\r\nApproved: a@example.com\r\n", "SN"),
    (b"Newsgroups: open.a\r\nApproved: a@example.com\r\n", "SN"),
    (b"Newsgroups: open.a\r\nApproved:a@example.com\r\n", "N"),
    (
        b"Newsgroups: open.a\r\nAPPROVED:\r\n\ta@example.com\r\n",
        "SN",
    ),
    (
        b"Newsgroups: open.a\r\nApproved:\r\nApproved: a@example.com\r\n",
        "SN",
    ),
    (b"Newsgroups: open.a\r\nApproved:\r\n", "PSN"),
    (
        b"Newsgroups: open.a\r\nControl: newgroup closed.new\r\n",
        "SN",
    ),
    (
        b"Newsgroups: open.a\r\nControl:newgroup closed.new\r\n",
        "N",
    ),
    (
        b"Newsgroups: open.a\r\ncontrol:\r\n\tNewGroup closed.new\r\n",
        "SN",
    ),
    (
        b"Newsgroups: open.a\r\nControl: cancelled closed.a\r\n",
        "SN",
    ),
    (
        b"Newsgroups: open.a\r\nAlso-Control: newgroup closed.new\r\n",
        "SN",
    ),
    (
        b"Newsgroups: open.a\r\nAlso-Control:rmgroup closed.a\r\n",
        "N",
    ),
    (
        b"Newsgroups: closed.a\r\nControl: cancel <none@example.com>\r\n",
        "N",
    ),
    (
        b"Newsgroups: open.a\r\nControl: cancel <none@example.com>\r\n",
        "PSN",
    ),
    (b"Newsgroups: control\r\n", "N"),
    (b"Newsgroups: junk\r\n", "N"),
    (b"Newsgroups: open.a\r\nX-Newsgroups: closed.a\r\n", "PSN"),
    (b"Newsgroups: open.a\r\nFollowup-To: closed.a\r\n", "PSN"),
    (b"Article-I.D.: far.1\r\nNewsgroups: closed.a\r\n", "N"),
    (
        b"Newsgroups: open.a\r\nXref: news.example.org closed.a:1\r\n",
        "S",
    ),
];

/// A server, and somebody who sees everything.
struct Site {
    program: Program,
    served: Served,
    watch: Client,
}

fn log_in(served: &Served, user: &str) -> Client {
    let mut client = Client::connect(&served.address);
    client.line();
    assert!(
        client
            .ask(&format!("AUTHINFO USER {user}"))
            .starts_with("381")
    );
    assert!(client.ask("AUTHINFO PASS secretive").starts_with("281"));
    client
}

impl Site {
    fn new() -> Site {
        let program = Program::with_classic_cancels(ACTIVE);
        listen(&program, ACCESS);
        program.set("plaintext_passwords = false", "plaintext_passwords = true");
        std::fs::create_dir(program.path("home")).unwrap();
        for user in ["anna", "peer", "narrow", "berta"] {
            let told = program.feed(&["user", "add", "--dir", "news", user], b"secretive\n");
            assert_eq!(told.status, 0, "{told:?}");
        }
        let served = Served::start(&program);
        let watch = log_in(&served, "berta");
        Site {
            program,
            served,
            watch,
        }
    }

    /// The groups with their high marks, those of closed ones and `other.a` alone.
    fn guarded(&mut self) -> Vec<String> {
        let first = self.watch.ask("LIST ACTIVE closed.*,other.*");
        assert!(first.starts_with("215"), "{first}");
        self.watch.lines()
    }

    fn inews(&self, article: &[u8]) -> i32 {
        let mut command = self.program.command(&["inews", "-h", "-S"]);
        command
            .env("HOME", self.program.path("home"))
            .env("BROADSHEET_DIR", "news")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let written = std::io::Write::write_all(&mut child.stdin.take().unwrap(), article);
        written.unwrap();
        child.wait_with_output().unwrap().status.code().unwrap()
    }
}

/// An article with these lines in its header, in wire form without its terminator.
fn wire(id: &str, lines: &[u8]) -> Vec<u8> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let date = date(now.unwrap().as_secs());
    let head = format!(
        "Path: far!near!user\r\nFrom: User <user@example.com>\r\nSubject: a test\r\nMessage-ID: {id}\r\nDate: {date}\r\n"
    );
    [head.as_bytes(), lines, b"\r\nbody\r\n"].concat()
}

fn native(wire: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    article::wire::push_native(&mut text, wire);
    text
}

fn post(client: &mut Client, id: &str, lines: &[u8]) -> String {
    let answer = client.ask("POST");
    assert!(answer.starts_with("340"), "{answer}");
    client.say([&wire(id, lines), b".\r\n".as_slice()].concat());
    client.line()
}

fn ihave(client: &mut Client, id: &str, lines: &[u8]) -> String {
    let answer = client.ask(&format!("IHAVE {id}"));
    assert!(answer.starts_with("335"), "{answer}");
    client.say([&wire(id, lines), b".\r\n".as_slice()].concat());
    client.line()
}

fn take_this(client: &mut Client, id: &str, lines: &[u8]) -> String {
    let command = format!("TAKETHIS {id}\r\n");
    client.say([command.as_bytes(), &wire(id, lines), b".\r\n"].concat());
    client.line()
}

#[test]
fn however_it_is_spelled_and_whichever_way_it_comes() {
    let mut site = Site::new();
    let mut anna = log_in(&site.served, "anna");
    let mut peer = log_in(&site.served, "peer");
    let mut faults = Vec::new();
    for (number, (lines, may)) in SPELLINGS.iter().enumerate() {
        let shown = lines.escape_ascii();
        // Where `peer` may, it may beside open.* as well.
        let is_beside = String::from_utf8_lossy(lines).contains("other") && may.contains('S');
        for (way, letter) in [("post", 'P'), ("ihave", 'S'), ("takethis", 'S')] {
            let before = site.guarded();
            let id = format!("<{number}.{way}@example.com>");
            let answer = match way {
                "post" => post(&mut anna, &id, lines),
                "ihave" => ihave(&mut peer, &id, lines),
                _ => take_this(&mut peer, &id, lines),
            };
            let is_taken = answer.starts_with('2');
            assert!(is_taken || answer.starts_with('4'), "{answer}");
            if is_taken != may.contains(letter) {
                faults.push(format!("{shown} by {way}: {answer}"));
            }
            let after = site.guarded();
            if before != after && !(is_beside && letter == 'S') {
                faults.push(format!("{shown} by {way}: {before:?} became {after:?}"));
            }
        }
    }
    // Behind all others: the daemon learns a while later of what it files.
    for (number, (lines, may)) in SPELLINGS.iter().enumerate() {
        let id = format!("<{number}.inews@example.com>");
        let status = site.inews(&native(&wire(&id, lines)));
        if (status == 0) != may.contains('N') {
            faults.push(format!("{} by inews: {status}", lines.escape_ascii()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(SPELLINGS.len() >= 60);
    site.served.daemon.stop();
    site.program.assert_clean();
}

#[test]
fn a_cancel_reaches_no_group_that_is_closed_to_its_sender() {
    let mut site = Site::new();
    let mut anna = log_in(&site.served, "anna");
    let mut peer = log_in(&site.served, "peer");
    let mut berta = log_in(&site.served, "berta");
    let there =
        |site: &mut Site, id: &str| site.watch.ask(&format!("STAT {id}")).starts_with("223");
    for (number, groups, is_open) in [
        (1, "closed.a", false),
        (2, "open.a,closed.a", false),
        (3, "open.alias", false),
        (4, "open.a", true),
    ] {
        for (way, header) in [
            ("cancel", "Control: cancel ID\r\n"),
            ("also", "Also-Control: cancel ID\r\n"),
            ("supersedes", "Supersedes: ID\r\n"),
        ] {
            for who in ["anna", "peer"] {
                let id = format!("<{number}.{way}.{who}@victim.example.com>");
                let lines = format!("Newsgroups: {groups}\r\n");
                let answer = take_this(&mut berta, &id, lines.as_bytes());
                assert!(answer.starts_with("239"), "{answer}");
                let by = format!("<{number}.{way}.{who}@example.com>");
                let lines = format!("Newsgroups: open.a\r\n{}", header.replace("ID", &id));
                let answer = match who {
                    "anna" => post(&mut anna, &by, lines.as_bytes()),
                    _ => take_this(&mut peer, &by, lines.as_bytes()),
                };
                assert!(answer.starts_with('2'), "{answer}");
                assert_eq!(there(&mut site, &id), !is_open, "{id} by {header}");
            }
        }
    }
    site.served.daemon.stop();
}

#[test]
fn a_peer_that_sends_few_groups_files_in_no_other_alone() {
    let mut site = Site::new();
    let mut narrow = log_in(&site.served, "narrow");
    for (number, (groups, may)) in [
        ("open.a", true),
        ("open.same", true),
        ("open.a,other.a", true),
        ("closed.alias", false),
        // Nothing is filed in junk by default.
        ("open.none", false),
        ("open.alias", false),
        ("open.chain", false),
        ("open.none,other.a", false),
        ("other.a", false),
        ("", false),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("<{number}.narrow@example.com>");
        let lines = format!("Newsgroups: {groups}\r\n");
        let answer = take_this(&mut narrow, &id, lines.as_bytes());
        assert_eq!(answer.starts_with("239"), may, "{groups}: {answer}");
        // Whoever may send it still can.
        if !may && !groups.is_empty() && groups != "open.none" {
            let answer = take_this(&mut log_in(&site.served, "berta"), &id, lines.as_bytes());
            assert!(answer.starts_with("239"), "{groups}: {answer}");
        }
    }
    assert!(
        site.guarded()
            .iter()
            .any(|line| line.starts_with("closed.a 2 "))
    );
    site.served.daemon.stop();
}

/// Whoever may not know a group is told the same whether it is there or not.
#[test]
fn posts_and_questions_do_not_tell_which_closed_groups_there_are() {
    let site = Site::new();
    let mut berta = log_in(&site.served, "berta");
    let hidden = "<hidden@example.com>";
    let answer = take_this(&mut berta, hidden, b"Newsgroups: closed.a\r\n");
    assert!(answer.starts_with("239"), "{answer}");
    let mut anna = log_in(&site.served, "anna");
    let mut ask = |line: &str, name: &str| {
        let answer = anna.ask(&line.replace("NAME", name));
        if answer.starts_with("215") || answer.starts_with("230") {
            assert_eq!(anna.lines(), [""; 0], "{line} {name}");
        }
        answer.replace(name, "NAME")
    };
    for line in [
        "GROUP NAME",
        "LISTGROUP NAME",
        "LIST ACTIVE NAME",
        "LIST COUNTS NAME",
        "NEWNEWS NAME 20200101 000000",
    ] {
        let there = ask(line, "closed.a");
        assert_eq!(there, ask(line, "closed.none"), "{line}");
        assert_eq!(there, ask(line, "open.none"), "{line}");
    }
    for line in ["STAT ID", "ARTICLE ID", "OVER ID", "HDR Subject ID"] {
        let of = |id| line.replace("ID", id);
        assert_eq!(ask(&of(hidden), "-"), ask(&of("<none@example.com>"), "-"));
    }
    let list = anna.ask("LIST ACTIVE open.*");
    assert!(list.starts_with("215"), "{list}");
    let lines = anna.lines().join("\n");
    assert!(
        !lines.contains("closed") && lines.contains("open.alias 0 1 n"),
        "{lines}"
    );
    let of = ["closed.a", "closed.mod", "closed.none"].map(|group| {
        let id = format!("<{group}@example.com>");
        post(
            &mut anna,
            &id,
            format!("Newsgroups: {group}\r\n").as_bytes(),
        )
    });
    assert!(
        of[0].starts_with("441 ") && of.iter().all(|answer| *answer == of[0]),
        "{of:?}"
    );
    site.served.daemon.stop();
}
