//! `[[site]]` and `accept` of broadsheet.toml.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use std::path::PathBuf;

use groups::CommandLine;
use groups::nntp_server::{Hours, NntpServer, Tls};
use groups::sites::{BatchVia, Compress, Gives, ListForm, Only, Queue, Start, To, Via};
use proptest::prelude::*;

const HEAD: &str = "[[site]]\nname = \"x\"\ngroups = \"all\"\n";

fn via(text: &str) -> Via {
    let text = format!("{HEAD}via = {text}\n");
    let tables = settings::sites(&text).unwrap_or_else(|faults| panic!("{text}: {faults}"));
    tables.sites[0].via.clone()
}

fn faults(text: &str) -> String {
    settings::sites(text).expect_err(text).to_string()
}

fn command(line: &str) -> CommandLine {
    CommandLine::parse(line.as_bytes()).unwrap()
}

#[test]
fn a_table_reads_as_it_is_written() {
    let text = "\
name = \"us.example\"
accept = [\"comp\", \"!comp.os\"]

[[site]]
name = \"news.example.net\"
groups = [\"comp\", \"sci\", \"!comp.os,comp.os.x\"]
distributions = \"world,na\"
exclude = [\"old\", \"older\"]
max_size = \"100 kB\"
only = \"moderated\"
hops = 3
start = \"2026-01-31\"
via = \"batchparms\"

[[site]]
name = \"b\"
groups = \"all\"
via.batch = \"ssh SITE rnews\"
";
    let tables = settings::sites(text).unwrap();
    let accept = tables.accept.unwrap();
    assert_eq!(accept.place.to_string(), "broadsheet.toml:2:1");
    assert!(accept.groups.matches(b"comp.x") && !accept.groups.matches(b"comp.os.x"));
    let [net, b] = &tables.sites[..] else {
        panic!("{:?}", tables.sites);
    };
    assert_eq!(net.name, b"news.example.net");
    assert_eq!(net.place.to_string(), "broadsheet.toml:5:8");
    assert!(net.subs.matches(b"sci.x") && net.subs.matches(b"comp.os.x.y"));
    assert!(!net.subs.matches(b"comp.os.y"));
    let dists = net.dists.as_ref().unwrap();
    assert!(dists.matches(b"na") && !dists.matches(b"eu"));
    assert_eq!(net.exclusions, [b"old".to_vec(), b"older".to_vec()]);
    assert_eq!(net.size_max, Some(100_000));
    assert_eq!((net.only, net.hops_max), (Only::Moderated, Some(3)));
    assert_eq!(net.start, Start::Date(1_769_817_600));
    assert_eq!(net.via, Via::Batch(BatchVia::default()));
    // What is not said.
    assert!(b.dists.as_ref().unwrap().matches(b"local"));
    assert_eq!((b.only, b.hops_max, b.size_max), (Only::Any, None, None));
    assert_eq!((b.start, b.exclusions.len()), (Start::Now, 0));
    assert!(
        matches!(&b.via, Via::Batch(batch) if batch.to == Some(To::Command(command("ssh b rnews"))))
    );
}

#[test]
fn starts() {
    for (text, want) in [
        ("\"now\"", Start::Now),
        ("\"oldest\"", Start::Oldest),
        ("\"1970-01-02\"", Start::Date(86_400)),
        ("2000-02-29", Start::Date(951_782_400)),
    ] {
        let text = format!("{HEAD}start = {text}\nvia = \"batchparms\"\n");
        assert_eq!(settings::sites(&text).unwrap().sites[0].start, want);
    }
}

#[test]
fn every_way_to_travel() {
    let batch = BatchVia {
        size: Some(200_000),
        size_max: Some(1 << 20),
        compress: Some(Compress::Zstd),
        to: Some(To::Command(command("uux - -r -z x!rnews"))),
        queue: Some(Queue::Batches(20)),
        class: Some(b'n'),
        build: None,
        schedule: Some(groups::When::Every(600)),
    };
    let text = "{ batch = \"uux - -r -z SITE!rnews\", size = \"200 kB\", size_max = \"1 MiB\", \
                compress = \"zstd\", queue = 20, class = \"n\", schedule = \"every 10 minutes\" }";
    assert_eq!(via(text), Via::Batch(batch));
    let Via::Batch(batch) = via("{ directory = \"/srv/in.coming\", queue = \"unlimited\" }") else {
        panic!("no batch");
    };
    assert_eq!(
        batch.to,
        Some(To::Directory(PathBuf::from("/srv/in.coming")))
    );
    assert_eq!(batch.queue, Some(Queue::Unlimited));
    assert_eq!((batch.size(), batch.size_max()), (100_000, 300_000));
    for (text, form) in [
        ("", ListForm::NameSize),
        (", form = \"f\"", ListForm::NameSize),
        (", form = \"F\"", ListForm::Name),
        (", form = \"n\"", ListForm::NameId),
        (", form = \"I\"", ListForm::Id),
    ] {
        let path = PathBuf::from("out.going/x/togo");
        let text = format!("{{ files = \"out.going/x/togo\"{text} }}");
        assert_eq!(via(&text), Via::FileList { form, path });
    }
    let program = |gives| Via::Program {
        command: command("nntpsend -x"),
        gives,
    };
    assert_eq!(
        via("{ program = \"nntpsend -x\", gives = \"id\" }"),
        program(Gives::Id)
    );
    assert_eq!(
        via("{ program = \"nntpsend -x\", gives = \"article\" }"),
        program(Gives::Article)
    );
    assert_eq!(
        via("{ command = \"sh -c 'cat %s | mail SITE'\" }"),
        Via::Command(command("sh -c 'cat %s | mail x'"))
    );
    for (text, overview) in [("", false), (", overview = true", true)] {
        let directory = PathBuf::from("/srv/spool");
        let text = format!("{{ tree = \"/srv/spool\"{text} }}");
        assert_eq!(
            via(&text),
            Via::Tree {
                directory,
                overview
            }
        );
    }
    for (text, host, port) in [
        ("news.example.net", "news.example.net", 119),
        ("news.example.net:1119", "news.example.net", 1119),
        ("192.0.2.7:433", "192.0.2.7", 433),
        ("2001:db8::7", "2001:db8::7", 119),
        ("[2001:db8::7]", "2001:db8::7", 119),
        ("[2001:db8::7]:433", "2001:db8::7", 433),
    ] {
        let host = host.to_owned();
        let Via::Nntp(read) = via(&format!("{{ nntp = \"{text}\" }}")) else {
            panic!("not by NNTP");
        };
        assert_eq!((read.server.host, read.server.port), (host, port));
    }
    let directory = PathBuf::from("/srv/other");
    assert_eq!(via("{ news = \"/srv/other\" }"), Via::News { directory });
}

#[test]
fn a_peer_may_need_much() {
    let hex = "0123456789abcdef".repeat(4);
    let pairs: Vec<&str> = (0..32).map(|at| &hex[2 * at..2 * at + 2]).collect();
    let read = |text: &str| match via(&format!("{{ nntp = \"news.example.net\", {text} }}")) {
        Via::Nntp(read) => read,
        other => panic!("{other:?}"),
    };
    let plain = read("tls = \"none\"");
    assert_eq!(plain.server, NntpServer::new("news.example.net", 119));
    assert_eq!(
        (plain.connections, plain.rate, plain.hours),
        (4, None, None)
    );
    assert_eq!(read("tls = \"implicit\"").server.port, 563);
    for written in [
        hex.clone(),
        pairs.join(":").to_uppercase(),
        format!("sha256:{hex}"),
    ] {
        let text = format!("tls = \"implicit\", tls_fingerprint = \"{written}\"");
        let pinned = read(&text).server.tls_fingerprint.unwrap();
        assert_eq!(pinned[..4], [0x01, 0x23, 0x45, 0x67]);
    }
    let read = read(
        "tls = \"starttls\", tls_ca = \"ca.pem\", tls_name = \"peer\", user = \"we\", \
         password_file = \"p\", compress = true, bind = \"::1\", connections = 9, \
         rate = \"1 MB\", hours = \"22:00-06:00\"",
    );
    let server = NntpServer {
        tls: Tls::StartTls,
        tls_ca: Some("ca.pem".into()),
        tls_name: Some("peer".to_owned()),
        login: Some(("we".to_owned(), "p".into())),
        compress: true,
        bind: Some("::1".parse().unwrap()),
        ..NntpServer::new("news.example.net", 119)
    };
    assert_eq!(read.server, server);
    assert_eq!((read.connections, read.rate), (9, Some(1_000_000)));
    assert_eq!(read.hours, Some(Hours::parse("22:00-06:00").unwrap()));
}

#[test]
fn what_batchparms_says_fills_what_is_not_said() {
    let said = BatchVia {
        size: Some(1000),
        ..BatchVia::default()
    };
    let parms = BatchVia {
        size: Some(50_000),
        size_max: Some(60_000),
        queue: Some(Queue::Batches(5)),
        ..BatchVia::default()
    };
    let both = said.or(parms.clone());
    assert_eq!((both.size(), both.size_max()), (1000, 3000));
    assert_eq!(both.queue, Some(Queue::Batches(5)));
    assert_eq!(BatchVia::default().or(parms.clone()), parms);
}

#[test]
fn each_fault_names_its_place() {
    for (text, told) in [
        (
            "nam = 1",
            "4:1: unknown key `nam' in [[site]]; did you mean name?",
        ),
        (
            "accept = \"all\"",
            "4:1: `accept' stands at the top of the file",
        ),
        (
            "distributions = 3",
            "4:17: distributions needs a text or a list of texts, not 3",
        ),
        ("distributions = \"\"", "4:17: distributions is empty"),
        ("distributions = \",\"", "4:17: distributions names nothing"),
        (
            "distributions = [\"a\", 3]",
            "4:17: distributions needs text in quotes, not 3",
        ),
        (
            "distributions = \"a, b\"",
            "4:17: distributions has a blank in ` b'",
        ),
        ("exclude = \"a/b\"", "4:11: exclude `a/b' has '/'"),
        (
            "exclude = [\"..\"]",
            "4:11: exclude `..' is not the name of a site",
        ),
        (
            "max_size = \"lots\"",
            "4:12: max_size needs a number of bytes, or a size in quotes",
        ),
        ("max_size = -1", "4:12: max_size needs"),
        (
            "max_size = 0",
            "4:12: max_size is 0, so that the site would get nothing; leave it out for no limit",
        ),
        (
            "max_size = \"0 kB\"",
            "4:12: max_size is 0, so that the site would get nothing",
        ),
        (
            "only = \"moderate\"",
            "4:8: only is one of \"moderated\", \"unmoderated\", not \"moderate\"; did you mean moderated?",
        ),
        (
            "only = true",
            "4:8: only needs a word in quotes, not a TOML boolean",
        ),
        ("hops = \"3\"", "4:8: hops needs a whole number, not \"3\""),
        ("hops = 4294967296", "4:8: hops needs a whole number"),
        (
            "start = \"2026-02-30\"",
            "4:9: start needs \"oldest\", \"now\", or a day",
        ),
        ("start = 2026-01-31T10:00:00Z", "4:9: start needs"),
        ("start = 5", "4:9: start needs"),
    ] {
        let faults = faults(&format!("{HEAD}{text}\nvia = \"batchparms\"\n"));
        assert!(
            faults.starts_with(&format!("broadsheet.toml:{told}")),
            "{text}: {faults}"
        );
        assert_eq!(faults.lines().count(), 1, "{faults}");
    }
    for (text, told) in [
        (
            "\"batch\"",
            "4:7: via needs \"batchparms\", or a table such as",
        ),
        (
            "{}",
            "4:7: via names no transport: use one of batch, directory, files",
        ),
        (
            "{ batch = \"a\", news = \"b\" }",
            "4:7: via has both batch and news; take one",
        ),
        (
            "{ batch = \"a | b\" }",
            "4:17: batch cannot be run: the command contains `|', but runs without a shell",
        ),
        (
            "{ directory = \"./segments\" }",
            "4:21: directory names ./segments, which belongs to the news system itself",
        ),
        (
            "{ files = \"active\" }",
            "4:17: files names active, which belongs to the news system itself",
        ),
        (
            "{ batch = \"a\", sise = 3 }",
            "4:22: unknown key `sise' in via with batch; did you mean size?",
        ),
        (
            "{ batch = \"a\", form = \"f\" }",
            "4:22: unknown key `form' in via with batch",
        ),
        (
            "{ batch = \"a\", size = 10 }",
            "4:29: size may not be below 1000",
        ),
        (
            "{ batch = \"a\", size_max = 2000 }",
            "4:33: size_max is less than size (100000)",
        ),
        (
            "{ batch = \"a\", queue = 0 }",
            "4:30: queue is at least 1; to send nothing for a while, use `feed pause'",
        ),
        (
            "{ batch = \"a\", compress = \"gz\" }",
            "4:33: compress is one of \"none\", \"compress\", \"gzip\"",
        ),
        (
            "{ batch = \"a\", schedule = \"every day\" }",
            "4:33: schedule is a time of the day such as",
        ),
        (
            "{ batch = \"a\", build = \"sendme\" }",
            "4:30: build answers messages of another site: the name of this one should be HOST.ihave",
        ),
        (
            "{ batch = \"a\", queue = \"few\" }",
            "4:30: queue needs a number of batches, or \"unlimited\"",
        ),
        (
            "{ batch = \"a\", class = \"nn\" }",
            "4:30: class needs one letter",
        ),
        (
            "{ files = \"a\", form = \"x\" }",
            "4:29: form is one of \"f\", \"F\", \"n\", \"I\", not \"x\"",
        ),
        (
            "{ program = \"a\" }",
            "4:7: via program has no gives: say \"id\" or \"article\"",
        ),
        ("{ command = \"a %d\" }", "4:19: command may hold %s"),
        (
            "{ nntp = \"a b\" }",
            "4:16: nntp should be a host and perhaps a port: \"news.example.net\"",
        ),
        (
            "{ nntp = \"a\", tls = \"ssl\" }",
            "4:27: tls is one of \"none\", \"starttls\", \"implicit\", not \"ssl\"",
        ),
        (
            "{ nntp = \"a\", fingerprint = \"b\" }",
            "4:21: unknown key `fingerprint' in via with nntp; did you mean tls_fingerprint?",
        ),
        (
            "{ nntp = \"a\", tls_ca = \"b\" }",
            "4:21: tls_ca has no effect without tls = \"starttls\" or \"implicit\"",
        ),
        (
            "{ nntp = \"a\", tls = \"starttls\", tls_fingerprint = \"b\" }",
            "4:57: tls_fingerprint is not a fingerprint: write",
        ),
        (
            "{ nntp = \"a\", user = \"b\" }",
            "4:21: user needs password_file",
        ),
        (
            "{ nntp = \"a\", user = \"b\", password_file = \"c\" }",
            "4:21: user would send its password in the clear: set tls",
        ),
        (
            "{ nntp = \"a\", bind = \"eth0\" }",
            "4:28: bind needs an address of this machine",
        ),
        (
            "{ nntp = \"a\", connections = 0 }",
            "4:35: connections is at least 1",
        ),
        (
            "{ nntp = \"a\", rate = 0 }",
            "4:28: rate is at least 1 byte a second",
        ),
        (
            "{ nntp = \"a\", hours = \"22-6\" }",
            "4:29: hours is a part of the day such as \"22:00-06:00\", not \"22-6\"",
        ),
        ("{ news = 3 }", "4:16: news needs text in quotes, not 3"),
    ] {
        let faults = faults(&format!("{HEAD}via = {text}\n"));
        assert!(
            faults.starts_with(&format!("broadsheet.toml:{told}")),
            "{text}: {faults}"
        );
        assert_eq!(faults.lines().count(), 1, "{faults}");
    }
    for (text, told) in [
        (
            "accept = 1\n",
            "1:10: accept needs a text or a list of texts, not 1",
        ),
        (
            "accept = \"comp.*\"\n",
            "1:10: accept has `*' in `comp.*'; patterns are those of C News, where `comp'",
        ),
        (
            "[site]\nname = \"a\"\n",
            "1:2: a site is written as [[site]], one for each",
        ),
        ("site = [3]\n", "1:9: a site is a table: write [[site]]"),
        (
            "[[site]]\nname = \"a b\"\ngroups = \"all\"\nvia = \"batchparms\"",
            "2:8: name `a b' has ' '",
        ),
        ("name = \"a\n", "1:"),
    ] {
        let faults = faults(text);
        assert!(
            faults.starts_with(&format!("broadsheet.toml:{told}")),
            "{text}: {faults}"
        );
    }
}

#[test]
fn all_faults_come_together() {
    let told = faults("accept = 1\n\n[[site]]\nhops = -1\n[[site]]\nname = \"a\"\n");
    let want = [
        "broadsheet.toml:1:10: accept needs",
        "broadsheet.toml:4:8: hops needs",
        "broadsheet.toml:3:1: this site has no name",
        "broadsheet.toml:3:1: this site has no groups",
        "broadsheet.toml:3:1: this site has no via",
        "broadsheet.toml:5:1: this site has no groups",
        "broadsheet.toml:5:1: this site has no via",
    ];
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), want.len(), "{told}");
    for (line, want) in lines.iter().zip(want) {
        assert!(line.starts_with(want), "{line} / {want}");
    }
}

proptest! {
    #[test]
    fn no_values_make_it_panic(
        key in "name|groups|exclude|max_size|only|hops|start|via|[a-z]{1,6}",
        value in "\\PC{0,12}|\"\\PC{0,12}\"|\\{ (batch|files|news|size) = [^\n]{0,9} \\}",
    ) {
        let _ = settings::sites(&format!("accept = {value}\n"));
        let _ = settings::sites(&format!("{HEAD}{key} = {value}\n"));
    }
}
