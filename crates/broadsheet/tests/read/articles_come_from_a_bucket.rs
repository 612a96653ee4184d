//! Old articles are in a bucket, of each provider. Readers get them over NNTP, byte for byte; errors name a server that is down and wrong keys, and
//! a reload takes up other ones.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use program::Program;
use program::articles::{batch, filed, id, many};
use program::bucket_server::{BucketServer, PROVIDERS, Provider};
use program::faults::{calls, can_trace, copy, inject, rounds, strace};
use program::mounted::Mounted;
use program::nntp::{ALL_MAY, Client, Served, listen};
use program::s3_server::{REGION, write_login};

const BODY_BYTES: usize = 300 << 10;
const ARTICLES: usize = 16;
const LOGIN: &str = "news/keys/offload.login";

struct Site {
    server: BucketServer,
    program: Program,
    articles: Vec<Vec<u8>>,
}

impl Site {
    /// Articles in some full segments. `None`: there is no server.
    fn new(provider: Provider) -> Option<Site> {
        let server = BucketServer::start(provider)?;
        let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 2);
        let url = format!(
            "url = \"{}\"\nendpoint = \"{}\"\nregion = \"{REGION}\"",
            server.url("old"),
            server.endpoint()
        );
        program.set("url = \"\"", &url);
        server.write_login(&program.path(LOGIN));
        let articles = many("old", ARTICLES, "comp.test", BODY_BYTES);
        for article in &articles {
            program.rnews(&batch(std::slice::from_ref(article)));
        }
        Some(Site {
            server,
            program,
            articles,
        })
    }

    fn first(&self) -> String {
        self.segments()[0]["base"].to_string()
    }

    fn segments(&self) -> Vec<serde_json::Value> {
        let told = self
            .program
            .run(&["segments", "list", "--json", "--dir", "news"]);
        let told: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        told["segments"].as_array().unwrap().clone()
    }

    fn move_first_away(&self) {
        let told = self.offload();
        assert_eq!((told.status, told.err.as_str()), (0, ""), "{}", told.out);
        assert!(told.out.starts_with("moved 1 segment, "), "{}", told.out);
    }

    fn offload(&self) -> program::Told {
        self.program
            .run(&["segments", "offload", "--dir", "news", &self.first()])
    }

    /// Checks the number of the objects, without that of the owner, where the server shows them.
    fn assert_objects(&self, count: usize) {
        if let Some(files) = self.server.files() {
            let found = files.iter().filter(|file| file.ends_with(".art"));
            assert_eq!(found.count(), count, "{files:?}");
        }
    }

    /// The article in wire form, as a client gets it.
    fn wire(&self, number: usize) -> Vec<u8> {
        let text = filed(&self.articles[number - 1], &format!("comp.test:{number}"));
        let text = String::from_utf8(text).unwrap();
        text.replace('\n', "\r\n").into_bytes()
    }

    /// Reads an article until it is there.
    fn until_read(&self, client: &mut Client, number: usize) {
        program::daemon::until("the store answers", || {
            let reply = client.ask(&format!("ARTICLE {number}"));
            if reply.starts_with("403 ") {
                std::thread::sleep(Duration::from_millis(100));
                return false;
            }
            assert!(client.block() == self.wire(number), "{number}");
            true
        });
    }
}

#[test]
fn they_are_read_and_come_back() {
    for site in PROVIDERS.into_iter().filter_map(Site::new) {
        read_and_fetch(&site);
    }
}

fn read_and_fetch(site: &Site) {
    let before = fs::read(site.program.path("news/segments").join(first_art(site))).unwrap();
    site.move_first_away();
    assert!(site.segments()[0]["local_bytes"].as_u64().unwrap() < 64 << 10);
    site.assert_objects(1);
    let listed = ["segments", "list", "--check", "--dir", "news"];
    assert_eq!(site.program.run(&listed).status, 0);
    listen(&site.program, ALL_MAY);
    let served = Served::start(&site.program);
    let mut client = served.client();
    client.ask("GROUP comp.test");
    assert_eq!(client.ask("HEAD 16").get(..4), Some("221 "));
    client.block();
    // The thread starts with the first request, and is confined.
    assert_eq!(filters_of_objects(&served), [""; 0]);
    for number in 1..=ARTICLES {
        let reply = client.ask(&format!("ARTICLE {number}"));
        assert_eq!(reply.get(..4), Some("220 "), "{reply}");
        assert!(client.block() == site.wire(number), "{number}");
    }
    let status = site.program.run(&["status", "--json", "--dir", "news"]);
    let status = status.out.replace(char::is_whitespace, "");
    assert!(status.contains("\"sandbox\":\""), "{status}");
    // Otherwise the kernel lacks something.
    if status.contains("\"sandbox\":\"on\"") {
        assert_eq!(filters_of_objects(&served), ["2"]);
    }
    let mounted = Mounted::start(&site.program, &[]);
    if let Some(mounted) = mounted {
        let expected = filed(&site.articles[2], "comp.test:3");
        assert!(mounted.read("comp/test/3") == expected);
    }
    // The daemon lends its lock.
    let fetch = ["segments", "fetch", "--all", "--dir", "news"];
    let told = site.program.run(&fetch);
    assert_eq!((told.status, told.err.as_str()), (0, ""));
    served.daemon.stop();
    let after = fs::read(site.program.path("news/segments").join(first_art(site))).unwrap();
    assert!(before == after);
    site.assert_objects(0);
    site.program.assert_clean();
}

/// The line `Seccomp` in /proc of each thread that asks a bucket: 2 for one with filters.
fn filters_of_objects(served: &Served) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", served.daemon.pid())).unwrap();
    let mut found = Vec::new();
    for task in tasks {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap_or_default();
        if status.starts_with("Name:\tobjects\n") {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("Seccomp:"));
            found.push(line.unwrap().trim().to_owned());
        }
    }
    found
}

fn first_art(site: &Site) -> String {
    let mut names: Vec<String> = fs::read_dir(site.program.path("news/segments"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".art"))
        .collect();
    names.sort();
    names.swap_remove(0)
}

#[test]
fn a_server_that_is_down_is_told_and_used_again() {
    let Some(mut site) = Site::new(Provider::S3) else {
        return;
    };
    site.move_first_away();
    listen(&site.program, ALL_MAY);
    let served = Served::start(&site.program);
    let mut client = served.client();
    client.ask("GROUP comp.test");
    site.server.kill();
    let down = "403 Lookup failed; try again later";
    assert_eq!(client.ask("ARTICLE 3"), down);
    let line = served.daemon.until_said("object_store_down");
    assert!(line.contains("offload.endpoint: cannot reach"), "{line}");
    assert_eq!(client.ask("BODY 3"), down);
    assert_eq!(client.ask("HEAD 16").get(..4), Some("221 "));
    client.block();
    let told = site
        .program
        .run(&["segments", "list", "--check", "--dir", "news"]);
    assert_ne!(told.status, 0);
    assert!(told.err.contains("cannot reach"), "{}", told.err);
    site.server.restart();
    site.until_read(&mut client, 3);
    served.daemon.until_said("object_store_up");
    served.daemon.stop();
}

#[test]
fn wrong_keys_are_told_and_a_reload_takes_up_right_ones() {
    for provider in [Provider::S3, Provider::Azure] {
        if let Some(site) = Site::new(provider) {
            take_up_keys(&site);
        }
    }
}

fn take_up_keys(site: &Site) {
    let login = site.program.path(LOGIN);
    let [key, _] = site.server.keys();
    let [_, wrong] = site.server.wrong_keys();
    write_login(&login, key, wrong);
    let told = site.offload();
    assert_ne!(told.status, 0);
    assert!(told.err.contains("keys/offload.login: "), "{}", told.err);
    fs::remove_file(&login).unwrap();
    let told = site.offload();
    assert!(
        told.err.contains("keys/offload.login is missing: write"),
        "{}",
        told.err
    );
    let told = site.program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1);
    assert!(
        told.out.contains("keys/offload.login is missing: write"),
        "{}",
        told.out
    );
    site.server.write_login(&login);
    site.move_first_away();
    listen(&site.program, ALL_MAY);
    let served = Served::start(&site.program);
    let mut client = served.client();
    client.ask("GROUP comp.test");
    let reload = || site.program.run(&["reload", "--dir", "news"]);
    // A file that others can read is no login.
    fs::set_permissions(&login, fs::Permissions::from_mode(0o644)).unwrap();
    let told = reload();
    assert_ne!(told.status, 0);
    assert!(told.err.contains("chmod 600"), "{}", told.err);
    write_login(&login, key, wrong);
    assert_eq!(reload().status, 0);
    assert!(client.ask("ARTICLE 3").starts_with("403 "));
    let line = served.daemon.until_said("object_store_down");
    assert!(line.contains("keys/offload.login: "), "{line}");
    site.server.write_login(&login);
    assert_eq!(reload().status, 0);
    site.until_read(&mut client, 3);
    served.daemon.stop();
}

#[test]
fn killed_offloads_lose_nothing() {
    if !can_trace() {
        return;
    }
    let Some(site) = Site::new(Provider::S3) else {
        return;
    };
    // Afterwards the place belongs to this news directory.
    site.move_first_away();
    let fetch = ["segments", "fetch", "--all", "--dir", "news"];
    assert_eq!(site.program.run(&fetch).status, 0);
    let root = site.program.path("");
    copy(&root.join("news"), &root.join("news.before"));
    let base = site.first();
    let words = ["segments", "offload", "--dir", "news", &base];
    // What goes to the server, and what changes the news directory.
    let names = "connect,sendto,recvfrom,write,writev,pwrite64,rename,renameat,renameat2";
    let ended = strace(&root, names, &["-f"]).args(words).status().unwrap();
    assert!(ended.success());
    let all = calls(&root, "objects.unnamed");
    assert!(all.len() > 8, "{all:?}");
    let step = (all.len() / rounds(12)).max(1);
    for (name, count) in all.into_iter().step_by(step) {
        copy(&root.join("news.before"), &root.join("news"));
        site.server.clear("old");
        let fault = inject(&name, "signal=KILL", count);
        // The calls of the threads do not come in the same order each time: it may end before.
        let _ = strace(&root, names, &["-f", "-e", &fault])
            .args(words)
            .status();
        for number in [1, 3, ARTICLES] {
            let told = site
                .program
                .run(&["article", "--dir", "news", &id("old", number)]);
            let expected = filed(&site.articles[number - 1], &format!("comp.test:{number}"));
            assert!(
                told.out.as_bytes() == expected,
                "{name} {count}: {}",
                told.err
            );
        }
        let told = site.program.run(&words);
        assert_eq!(told.status, 0, "{name} {count}: {}", told.err);
        site.assert_objects(1);
        site.program.assert_clean();
    }
}
