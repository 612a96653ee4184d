//! Old articles are in an object store: readers, feeds and commands get them from there, and the daemon serves everything else while the
//! store is down.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use program::articles::{batch, filed, id, many, with};
use program::daemon::{Daemon, until};
use program::mounted::Mounted;
use program::nntp::{ALL_MAY, Served, listen};
use program::taker::Taker;
use program::wire::{address, http};
use program::{Program, faults};

/// Longer than what one fetch brings.
const BODY_BYTES: usize = 300 << 10;
const ARTICLES: usize = 16;

struct Site {
    program: Program,
    articles: Vec<Vec<u8>>,
}

impl Site {
    /// Articles in some full segments, the first of which is in the object store.
    fn new() -> Site {
        let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 2);
        fs::create_dir(program.path("objects")).unwrap();
        let url = format!("url = \"file://{}\"", program.path("objects").display());
        program.set("url = \"\"", &url);
        let mut articles = many("old", ARTICLES, "comp.test", BODY_BYTES);
        articles[1] = with(&id("old", 2), "comp.test", "X-Color: red\n", b"short\n");
        for article in &articles {
            program.rnews(&batch(std::slice::from_ref(article)));
        }
        Site { program, articles }
    }

    fn segments(&self) -> Vec<serde_json::Value> {
        let told = self
            .program
            .run(&["segments", "list", "--json", "--dir", "news"]);
        assert_eq!(told.status, 0, "{}", told.err);
        let told: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        told["segments"].as_array().unwrap().clone()
    }

    fn move_first_away(&self) {
        let base = self.segments()[0]["base"].to_string();
        let told = self
            .program
            .run(&["segments", "offload", "--dir", "news", &base]);
        assert_eq!((told.status, told.err.as_str()), (0, ""), "{}", told.out);
        assert!(told.out.starts_with("moved 1 segment, "), "{}", told.out);
    }

    fn objects(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(self.program.path("objects/news.example.org/segments"));
        names.unwrap().map(|name| name.unwrap().path()).collect()
    }

    /// The article in wire form, as a client gets it.
    fn wire(&self, number: usize) -> Vec<u8> {
        let links = format!("comp.test:{number}");
        let text = filed(&self.articles[number - 1], &links);
        let text = String::from_utf8(text).unwrap();
        text.replace('\n', "\r\n").into_bytes()
    }
}

#[test]
fn readers_get_them() {
    let site = Site::new();
    site.move_first_away();
    assert!(site.segments()[0]["local_bytes"].as_u64().unwrap() < 64 << 10);
    listen(&site.program, ALL_MAY);
    let served = Served::start(&site.program);
    let mut client = served.client();
    // Replies come in the order of the commands, also where some wait.
    let commands = format!(
        "ARTICLE {}\r\nDATE\r\nGROUP comp.test\r\nSTAT 3\r\nARTICLE 4\r\nARTICLE 2\r\nDATE\r\n",
        id("old", 1)
    );
    client.say(commands);
    assert_eq!(client.line(), format!("220 0 {}", id("old", 1)));
    assert!(client.block() == site.wire(1));
    assert!(client.line().starts_with("111 "));
    assert_eq!(client.line(), "211 16 1 16 comp.test");
    assert_eq!(client.line(), format!("223 3 {}", id("old", 3)));
    assert_eq!(client.line(), format!("220 4 {}", id("old", 4)));
    assert!(client.block() == site.wire(4));
    assert_eq!(client.line(), format!("220 2 {}", id("old", 2)));
    assert!(client.block() == site.wire(2));
    assert!(client.line().starts_with("111 "));
    // A header that the overview lacks, of all: some are there, others are fetched in the middle of the reply.
    assert_eq!(client.ask("HDR X-Color 1-16"), "225 Headers follow");
    let lines = client.lines();
    assert_eq!(lines.len(), ARTICLES);
    assert_eq!(lines[1], "2 red");
    for number in 1..=ARTICLES {
        assert_eq!(
            client.ask(&format!("ARTICLE {number}")).get(..4),
            Some("220 ")
        );
        assert!(client.block() == site.wire(number), "{number}");
    }
    served.daemon.stop();
    let told = site
        .program
        .run(&["article", "--dir", "news", &id("old", 3)]);
    assert!(told.out.as_bytes() == filed(&site.articles[2], "comp.test:3"));
    site.program.assert_clean();
}

/// RFC 3977, 6.2.4: STAT tells whether there is an article, for which nothing has to be read.
#[test]
fn stat_next_and_last_need_no_object_store() {
    let site = Site::new();
    site.move_first_away();
    listen(&site.program, ALL_MAY);
    let here = "metrics = \"127.0.0.1:0\"";
    site.program.set("metrics = \"\"", here);
    let served = Served::start(&site.program);
    let metrics = address(&served.daemon, "metrics at http://");
    let mut client = served.client();
    client.ask("GROUP comp.test");
    let objects = [site.program.path("objects"), site.program.path("unplugged")];
    for is_down in [false, true] {
        if is_down {
            fs::rename(&objects[0], &objects[1]).unwrap();
        }
        let found = |number| format!("223 {number} {}", id("old", number));
        assert_eq!(client.ask("STAT 1"), found(1));
        assert_eq!(client.ask("STAT"), found(1));
        assert_eq!(client.ask("NEXT"), found(2));
        assert_eq!(client.ask("NEXT"), found(3));
        assert_eq!(client.ask("LAST"), found(2));
        let by_id = format!("STAT {}", id("old", 3));
        assert_eq!(client.ask(&by_id), format!("223 0 {}", id("old", 3)));
        assert!(client.ask("STAT 1000").starts_with("423 "));
    }
    let requests = || {
        let page = http(&metrics, "GET /metrics HTTP/1.1\r\n\r\n");
        let counter = "broadsheet_object_store_fetches_total ";
        let mut lines = page.lines();
        lines.find_map(|line| line.strip_prefix(counter)?.parse::<u64>().ok())
    };
    // The daemon has not asked it once.
    assert_eq!(requests(), None);
    fs::rename(&objects[1], &objects[0]).unwrap();
    assert!(client.ask("HEAD 3").starts_with("221 "));
    client.block();
    assert_eq!(requests(), Some(1));
    served.daemon.stop();
}

#[test]
fn a_store_that_is_down_is_told_and_all_else_is_served() {
    let site = Site::new();
    site.move_first_away();
    listen(&site.program, ALL_MAY);
    let served = Served::start(&site.program);
    let mut client = served.client();
    client.ask("GROUP comp.test");
    let (here, away) = (site.program.path("objects"), site.program.path("unplugged"));
    fs::rename(&here, &away).unwrap();
    // A temporary error, and never that there is no such article.
    assert_eq!(
        client.ask("ARTICLE 3"),
        "403 Lookup failed; try again later"
    );
    let line = served.daemon.until_said("object_store_down");
    assert!(line.contains("is its disk mounted?"), "{line}");
    assert_eq!(client.ask("BODY 3"), "403 Lookup failed; try again later");
    assert_eq!(client.ask("HEAD 16").get(..4), Some("221 "));
    client.block();
    assert_eq!(client.ask("OVER 3").get(..4), Some("224 "));
    client.block();
    let told = site
        .program
        .rnews(&batch(&many("new", 1, "comp.test", 100)));
    assert_eq!(told.status, 0);
    fs::rename(&away, &here).unwrap();
    program::daemon::until("the store answers", || {
        let reply = client.ask("ARTICLE 3");
        if reply.starts_with("403 ") {
            std::thread::sleep(Duration::from_millis(100));
            return false;
        }
        assert!(client.block() == site.wire(3));
        true
    });
    served.daemon.until_said("object_store_up");
    served.daemon.stop();
}

#[test]
fn commands_say_what_is_wrong() {
    let site = Site::new();
    site.move_first_away();
    let objects = site.objects();
    assert_eq!(objects.len(), 1);
    let listed = |words: &[&str]| {
        site.program
            .run(&[&["segments", "list", "--dir", "news"], words].concat())
    };
    assert_eq!(listed(&["--check"]).status, 0);
    let aside = site.program.path("aside");
    fs::rename(&objects[0], &aside).unwrap();
    let told = listed(&["--check"]);
    assert_eq!(told.status, 1);
    assert!(told.out.contains("LOST: segments/"), "{}", told.out);
    let told = site.program.run(&["fsck", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.out.contains(&id("old", 3)), "{}", told.out);
    let told = site
        .program
        .run(&["segments", "fetch", "--all", "--dir", "news"]);
    assert_ne!(told.status, 0);
    assert!(told.err.contains("does not have segments/"), "{}", told.err);
    // The object is the file itself.
    fs::rename(&aside, &objects[0]).unwrap();
    let told = site
        .program
        .run(&["segments", "fetch", "--all", "--dir", "news"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""));
    assert!(site.objects().is_empty());
    site.program.assert_clean();
    let told = site
        .program
        .run(&["segments", "offload", "--dir", "news", "x"]);
    assert!(
        told.err.contains("is not the number of a segment"),
        "{}",
        told.err
    );
    site.program.set("url = ", "url = \"\" #");
    let base = site.segments()[0]["base"].to_string();
    let told = site
        .program
        .run(&["segments", "offload", "--dir", "news", &base]);
    assert!(
        told.err
            .contains("[offload] url' in broadsheet.toml is empty"),
        "{}",
        told.err
    );
}

#[test]
fn what_came_back_is_counted_and_what_stays_is_told() {
    let site = Site::new();
    site.move_first_away();
    let owner = site.program.path("objects/news.example.org/owner");
    let own = fs::read(&owner).unwrap();
    fs::write(&owner, b"0123456789abcdef0123456789abcdef\n").unwrap();
    let fetch = || {
        let words = ["segments", "fetch", "--all", "--dir", "news"];
        site.program.run(&words)
    };
    for moved in ["moved 1 segment, ", "moved 0 segments, 0 bytes"] {
        let told = fetch();
        assert_eq!(told.status, 2, "{told:?}");
        assert!(told.out.starts_with(moved), "{told:?}");
        assert!(told.err.contains("not deleted: 1 object "), "{told:?}");
        assert!(told.err.contains("another news directory"), "{told:?}");
        assert_eq!(site.objects().len(), 1);
    }
    fs::write(&owner, own).unwrap();
    let told = fetch();
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(site.objects().len(), 0);
    site.program.assert_clean();
}

#[test]
fn the_settings_choose_by_age_and_by_space() {
    let site = Site::new();
    let full = site.segments().len() - 1;
    assert!(full > 1);
    let offload = || {
        let told = site
            .program
            .run(&["segments", "offload", "--json", "--dir", "news"]);
        assert_eq!(told.status, 0, "{}", told.err);
        let told: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        told["moved"].as_array().unwrap().len()
    };
    // Articles of today.
    assert_eq!(offload(), 0);
    site.program.set("keep_local = 0", "keep_local = \"2 MiB\"");
    assert_eq!(offload(), full - 1);
    let segments = site.segments();
    assert!(segments[full - 1]["object"].is_null() && segments[0]["object"].is_string());
}

/// They are the oldest, and would go first, for space that is not here.
#[test]
fn articles_there_do_not_go_for_space_here() {
    let site = Site::new();
    site.move_first_away();
    let program = &site.program;
    program.write("news/explist", b"/expired/ x 20 -\nall x 10 -\n");
    let settings = program.read("news/broadsheet.toml");
    let settings = settings + "\n[expiry]\nkeep_free = \"900 TiB\"\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    for words in [
        &["expire", "--dir", "news", "-n"][..],
        &["expire", "--dir", "news"],
    ] {
        let told = program.run(words);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(
            told.err
                .contains("the oldest articles are in the object store"),
            "{told:?}"
        );
        assert!(
            told.out.contains("more needed; lives stay as they are"),
            "{told:?}"
        );
    }
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), ARTICLES);
}

#[test]
fn a_batch_has_them() {
    let site = Site::new();
    site.move_first_away();
    let ids: String = (1..=ARTICLES)
        .map(|number| id("old", number) + "\n")
        .collect();
    let told = site
        .program
        .feed(&["batcher", "--dir", "news", "-"], ids.as_bytes());
    assert_eq!(told.status, 0, "{}", told.err);
    assert_eq!(
        told.out.matches("#! rnews ").count(),
        ARTICLES,
        "{}",
        told.err
    );
}

#[test]
fn feeds_that_do_not_need_it_go_on_while_it_is_down() {
    let site = Site::new();
    site.move_first_away();
    let takers = [Taker::start(), Taker::start()];
    let via = |address: &str| format!("{{ nntp = \"{address}\" }}");
    let directory = |name: &str| {
        fs::create_dir(site.program.path(name)).unwrap();
        format!("{{ directory = \"../{name}\" }}")
    };
    let mut settings = site.program.read("news/broadsheet.toml");
    for (name, via, start) in [
        ("behind", directory("behind"), "oldest"),
        ("level", directory("level"), "now"),
        ("peer-behind", via(&takers[0].address), "oldest"),
        ("peer-level", via(&takers[1].address), "now"),
    ] {
        settings += &format!(
            "\n[[site]]\nname = \"{name}\"\ngroups = \"comp\"\nvia = {via}\nstart = \"{start}\"\n"
        );
    }
    site.program
        .write("news/broadsheet.toml", settings.as_bytes());
    let run = |words: &[&str]| site.program.run(&[words, &["--dir", "news"]].concat());
    assert_eq!(run(&["feed", "list"]).status, 0);
    let (here, away) = (site.program.path("objects"), site.program.path("unplugged"));
    fs::rename(&here, &away).unwrap();
    let new = batch(&many("new", 3, "comp.test", 100));
    assert_eq!(site.program.rnews(&new).status, 0);

    let told = run(&["sendbatches"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("behind: "), "{told:?}");
    assert_eq!(site.program.files("level").len(), 1, "{told:?}");
    assert!(site.program.files("behind").is_empty());
    let told = run(&["feed", "list"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("behind: cannot "), "{told:?}");
    assert!(told.out.starts_with("level"), "{told:?}");

    let daemon = Daemon::start(&site.program);
    let newer = batch(&many("newer", 3, "comp.test", 100));
    assert_eq!(site.program.rnews(&newer).status, 0);
    until("the peer without a backlog has all", || {
        takers[1].count() == 6
    });
    assert_eq!(takers[0].count(), 0);
    fs::rename(&away, &here).unwrap();
    // Who calls is answered at once; otherwise the peer waits until it tries again.
    run(&["feed", "flush", "peer-behind"]);
    until("the other one has all", || {
        takers[0].count() == ARTICLES + 6
    });
    daemon.stop();
}

#[test]
fn no_place_is_in_the_news_directory_or_above_it() {
    for place in ["news/objects", ""] {
        let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 2);
        fs::create_dir(program.path("news/objects")).unwrap();
        let path = program.path(place).display().to_string();
        let url = format!("url = \"file://{}\"", path.trim_end_matches('/'));
        program.set("url = \"\"", &url);
        let check = program.run(&["check", "-q", "--dir", "news"]);
        assert_eq!(check.status, 1, "{check:?}");
        let said = "neither may be in the other";
        assert!(
            check.out.contains("[offload]: ERROR: ") && check.out.contains(said),
            "{check:?}"
        );
        for article in many("old", 3, "comp.test", BODY_BYTES) {
            program.rnews(&batch(&[article]));
        }
        let told = program.run(&["segments", "offload", "--dir", "news", "0"]);
        assert_ne!(told.status, 0, "{told:?}");
        assert!(told.err.contains(said), "{told:?}");
    }
}

#[test]
fn nothing_goes_to_the_place_of_a_disk_that_is_not_mounted() {
    let site = Site::new();
    site.move_first_away();
    let place = site.program.path("objects/news.example.org");
    let disk = site.program.path("disk");
    fs::rename(&place, &disk).unwrap();
    let offload = || {
        let base = site.segments()[1]["base"].to_string();
        site.program
            .run(&["segments", "offload", "--dir", "news", &base])
    };
    let told = offload();
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("is its disk mounted?"), "{told:?}");
    assert!(!place.exists());
    assert!(site.segments()[1]["object"].is_null());
    fs::rename(&disk, &place).unwrap();
    let told = offload();
    assert_eq!(told.status, 0, "{told:?}");
    site.program.assert_clean();
}

#[test]
fn a_backup_leaves_them_where_they_are() {
    let site = Site::new();
    site.move_first_away();
    // Some are in the cache.
    site.program
        .run(&["article", "--dir", "news", &id("old", 3)]);
    let told = site
        .program
        .run(&["backup", "--json", "--dir", "news", "backups"]);
    assert_eq!(told.status, 0, "{}", told.err);
    let told = site.program.run(&["restore", "backups", "--dir", "other"]);
    assert_eq!(told.status, 0, "{}", told.err);
    let told = site
        .program
        .run(&["article", "--dir", "other", &id("old", 3)]);
    assert!(
        told.out.as_bytes() == filed(&site.articles[2], "comp.test:3"),
        "{}",
        told.err
    );
}

#[test]
fn a_backup_is_restored_without_the_objects() {
    let site = Site::new();
    site.move_first_away();
    let run = |words: &[&str]| site.program.run(words);
    assert_eq!(run(&["backup", "--dir", "news", "backups"]).status, 0);
    let check = || run(&["restore", "backups", "--check"]);
    let told = check();
    assert_eq!((told.status, told.err.as_str()), (0, ""));
    assert!(
        told.out
            .contains("1 object are in the object store, 0 missing"),
        "{told:?}"
    );
    let object = site.objects().remove(0);
    let name = object.file_name().unwrap().to_str().unwrap().to_owned();
    let (here, aside) = (site.program.path("objects"), site.program.path("aside"));
    for (round, (from, cause)) in [(&object, name.as_str()), (&here, "is its disk mounted?")]
        .into_iter()
        .enumerate()
    {
        fs::rename(from, &aside).unwrap();
        let told = check();
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.err.contains(cause), "{told:?}");
        let other = format!("other{round}");
        let told = run(&["restore", "backups", "--dir", &other]);
        assert_eq!(told.status, 1, "{told:?}");
        let notice = told.out.lines().next().unwrap();
        assert!(
            notice.contains(".art: its articles cannot be reached"),
            "{told:?}"
        );
        assert!(notice.contains(&name), "{told:?}");
        // All else is there, and so are the ids.
        let told = run(&["article", "--dir", &other, &id("old", ARTICLES)]);
        assert!(told.out.as_bytes() == filed(&site.articles[ARTICLES - 1], "comp.test:16"));
        let again = batch(&site.articles);
        let told = site
            .program
            .feed(&["rnews", "--dir", &other, "--json"], &again);
        assert_eq!(told.count("duplicates"), ARTICLES as u64, "{told:?}");
        assert_ne!(run(&["article", "--dir", &other, &id("old", 3)]).status, 0);
        fs::rename(&aside, from).unwrap();
        let told = run(&["article", "--dir", &other, &id("old", 3)]);
        assert!(
            told.out.as_bytes() == filed(&site.articles[2], "comp.test:3"),
            "{}",
            told.err
        );
        let told = run(&["fsck", "--dir", &other]);
        assert_eq!(told.status, 0, "{told:?}");
    }
}

#[test]
fn a_feed_waits_for_an_object_until_it_is_given_up() {
    let site = Site::new();
    site.move_first_away();
    fs::create_dir(site.program.path("behind")).unwrap();
    let settings = site.program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"behind\"\ngroups = \"comp\"\nvia = { directory = \"../behind\" }\nstart = \"oldest\"\n";
    site.program
        .write("news/broadsheet.toml", settings.as_bytes());
    let run = |words: &[&str]| site.program.run(&[words, &["--dir", "news"]].concat());
    assert_eq!(run(&["feed", "list"]).status, 0);
    let object = site.objects().remove(0);
    let name = object.file_name().unwrap().to_str().unwrap().to_owned();
    fs::remove_file(&object).unwrap();
    for words in [&["sendbatches"][..], &["feed", "list"]] {
        let told = run(words);
        assert_ne!(told.status, 0, "{told:?}");
        assert!(
            told.err.contains("behind: ") && told.err.contains(&name),
            "{told:?}"
        );
    }
    assert!(site.program.files("behind").is_empty());
    // As docs/book/offload.md says.
    let base = site.segments()[0]["base"].as_u64().unwrap();
    let news = site.program.path("news");
    let art = format!("{base:020}.art");
    fs::rename(
        news.join("segments").join(&art),
        news.join("bad").join(&art),
    )
    .unwrap();
    run(&["fsck", "--repair"]);
    let told = run(&["fsck"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = run(&["sendbatches"]);
    assert_eq!(told.status, 0, "{told:?}");
    let sent: String = site
        .program
        .files("behind")
        .iter()
        .map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned())
        .collect();
    assert!(sent.contains(&id("old", ARTICLES)) && !sent.contains(&id("old", 1)));
    // Its articles may come again.
    let again = batch(&site.articles[..1]);
    assert_eq!(site.program.rnews(&again).count("accepted"), 1);
}

#[test]
fn a_deletion_is_on_the_disk_before_its_name_is_forgotten() {
    if !faults::can_trace() {
        return;
    }
    let site = Site::new();
    site.move_first_away();
    let root = site.program.path("").canonicalize().unwrap();
    let calls = "unlink,unlinkat,fsync,rename,renameat,renameat2";
    let mut strace = faults::strace(&root, calls, &["-f", "-y"]);
    let words = ["segments", "fetch", "--all", "--dir", "news"];
    assert!(strace.args(words).status().unwrap().success());
    let trace = site.program.read("trace");
    let lines: Vec<&str> = trace.lines().collect();
    let place = |is: &dyn Fn(&str) -> bool| lines.iter().rposition(|line| is(line)).unwrap();
    let deleted =
        place(&|line| line.contains("unlink") && line.contains("objects/news.example.org"));
    let synced = place(&|line| {
        line.contains("fsync") && line.contains("objects/news.example.org/segments>")
    });
    let forgotten = place(&|line| line.contains("rename") && line.contains("objects.unnamed"));
    assert!(deleted < synced && synced < forgotten, "{trace}");
}

#[test]
fn a_mount_shows_them() {
    let site = Site::new();
    site.move_first_away();
    let Some(mounted) = Mounted::start(&site.program, &[]) else {
        return;
    };
    for number in [3, 1, ARTICLES] {
        let expected = filed(&site.articles[number - 1], &format!("comp.test:{number}"));
        assert!(mounted.read(&format!("comp/test/{number}")) == expected);
    }
}

#[test]
fn names_and_attributes_in_a_mount_need_no_object_store() {
    let site = Site::new();
    site.move_first_away();
    let Some(mounted) = Mounted::start(&site.program, &[]) else {
        return;
    };
    let local = || site.segments()[0]["local_bytes"].as_u64().unwrap();
    let before = local();
    fs::rename(site.program.path("objects"), site.program.path("unplugged")).unwrap();
    let names = mounted.names("comp/test");
    assert_eq!(names.len(), ARTICLES + 1, "{names:?}");
    for number in 1..=ARTICLES {
        let expected = filed(&site.articles[number - 1], &format!("comp.test:{number}"));
        let told = fs::metadata(mounted.path(&format!("comp/test/{number}"))).unwrap();
        assert_eq!(told.len(), expected.len() as u64);
        assert!(told.modified().unwrap().elapsed().unwrap() < program::daemon::PATIENCE);
    }
    let overview = mounted.read("comp/test/.overview");
    let told = fs::metadata(mounted.path("comp/test/.overview")).unwrap();
    assert_eq!(told.len(), overview.len() as u64);
    assert_eq!(local(), before);
    // The text alone does.
    assert!(fs::read(mounted.path("comp/test/3")).is_err());
}

#[test]
fn two_news_directories_do_not_share_a_place() {
    let site = Site::new();
    site.move_first_away();
    site.program
        .run(&["backup", "--json", "--dir", "news", "backups"]);
    let told = site.program.run(&["restore", "backups", "--dir", "other"]);
    assert_eq!(told.status, 0, "{}", told.err);
    let theirs = "is that of another news directory";
    let second = site.segments()[1]["base"].to_string();
    for words in [
        &["segments", "offload", "--dir", "other", &second][..],
        &["segments", "fetch", "--all", "--dir", "other"],
    ] {
        let told = site.program.run(words);
        assert_ne!(told.status, 0);
        assert!(told.err.contains(theirs), "{}", told.err);
    }
    // The first one has what it had.
    assert_eq!(site.objects().len(), 1);
    let told = site
        .program
        .run(&["segments", "list", "--check", "--dir", "news"]);
    assert_eq!(told.status, 0, "{}", told.out);
    // When it is gone, the other one takes its place.
    fs::remove_file(site.program.path("objects/news.example.org/owner")).unwrap();
    let told = site
        .program
        .run(&["segments", "offload", "--dir", "other", &second]);
    assert_eq!((told.status, told.err.as_str()), (0, ""));
}
