//! The NATS servers of a cluster, as `cluster nats-config` sets them up, find each other, and accept no server without their password: it
//! could append to the log.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cluster::jetstream::members;
use cluster::log::LogOptions;
use program::Program;
use program::cluster::make_node;
use program::daemon::until;
use program::nats;
use program::nntp::{ALL_MAY, listen};

const ACTIVE: &str = "comp.test 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";

/// A server, with what it says in a file.
struct Server(Child);

impl Server {
    fn start(binary: &Path, config: &Path) -> Server {
        let log = std::fs::File::create(config.with_extension("log")).unwrap();
        let child = Command::new(binary)
            .arg("-c")
            .arg(config)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Server(child.unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Addresses of this machine that no other test has: the ports are fixed.
fn hosts() -> Vec<String> {
    let process = std::process::id();
    let (high, low) = ((process >> 8) as u8, process as u8);
    (1..=4)
        .map(|last| Ipv4Addr::new(127, 1 + (high & 0x7f), low, last + (high >> 7) * 8))
        .map(|host| host.to_string())
        .collect()
}

/// The configuration for a server, and what was said beside it.
fn config(program: &Program, host: &str, hosts: &[String]) -> (String, String) {
    let store = program.path(&format!("store-{host}"));
    let told = program.run(&[
        "cluster",
        "nats-config",
        "--dir",
        "news",
        "--host",
        host,
        "--hosts",
        &hosts.join(","),
        "--store",
        &store.to_string_lossy(),
    ]);
    assert_eq!(told.status, 0, "{told:?}");
    (told.out, told.err)
}

/// Publishes an entry by a connection to a server that asks for no login.
fn publish(host: &str, subject: &str) {
    let mut stream = TcpStream::connect((host, 4222)).unwrap();
    let timeout = Some(Duration::from_secs(5));
    stream.set_read_timeout(timeout).unwrap();
    let text = format!("CONNECT {{\"verbose\":false}}\r\nPUB {subject} 5\r\nhello\r\nPING\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    let mut told = Vec::new();
    let mut some = [0; 1024];
    while !told.windows(4).any(|window| window == b"PONG") {
        let count = stream.read(&mut some).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&told));
        told.extend_from_slice(&some[..count]);
    }
}

#[test]
fn a_server_needs_the_password_of_the_others() {
    let Some(binary) = nats::program() else {
        return;
    };
    let program = Program::with_news(ACTIVE);
    let hosts = hosts();
    let (own, stranger) = hosts.split_at(3);
    let stranger = &stranger[0];
    let write = |name: &str, text: &str| {
        program.write(name, text.as_bytes());
        program.path(name)
    };
    let mut texts = Vec::new();
    let mut servers = Vec::new();
    for host in own {
        let (text, said) = config(&program, host, own);
        // To a pipe.
        assert_eq!(said, "");
        let path = write(&format!("{host}.conf"), &text);
        servers.push(Server::start(&binary, &path));
        texts.push(text);
    }
    let password = |text: &str| {
        let (_, rest) = text.split_once("password: \"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let secret = password(&texts[0]);
    assert!(texts.iter().all(|text| password(text) == secret));
    assert!(!program.read("news/keys/cluster.login").contains(&secret));
    // They form a cluster.
    listen(&program, ALL_MAY);
    let url = |host: &String| format!("nats://{host}:4222");
    let urls: Vec<String> = own.iter().map(url).collect();
    let section = format!("\n[cluster]\nservers = \"{}\"\n", urls.join(", "));
    let settings = program.read("news/broadsheet.toml") + &section;
    program.write("news/broadsheet.toml", settings.as_bytes());
    // Little room: a server offers three quarters of the free space of the disk.
    let words = ["cluster", "init", "--dir", "news", "--log-bytes", "64 MiB"];
    until("a cluster", || {
        let told = program.run(&words);
        eprint!("{}", told.err);
        told.status == 0
    });
    let login = program.read("news/keys/cluster.login");
    let mut lines = login.lines().map(str::to_owned);
    let options = LogOptions {
        servers: urls,
        stream: "NEWS".to_owned(),
        subject: "broadsheet.NEWS".to_owned(),
        login: lines.next(),
        system_login: lines.next(),
        ..LogOptions::default()
    };
    let last = || members(&options).unwrap().1.last;
    let begun = last();
    // A stranger who knows everything but the secret, and lets in anybody.
    let store = program.path("store-stranger").display().to_string();
    for userinfo in ["", "broadsheet:wrong@"] {
        let routes: Vec<String> = own
            .iter()
            .map(|host| format!("\"nats-route://{userinfo}{host}:6222\""))
            .collect();
        let text = format!(
            "server_name: stranger\nlisten: \"{stranger}:4222\"\njetstream {{ store_dir: \"{store}\" }}\n\
             cluster {{ name: news, listen: \"{stranger}:6222\", routes: [{}] }}\n\
             accounts {{ NEWS {{ jetstream: enabled, users: [ {{ user: x, password: x }} ] }}, SYS {{ users: [ {{ user: y, password: y }} ] }} }}\n\
             system_account: SYS\nno_auth_user: x\n",
            routes.join(", ")
        );
        let path = write("stranger.conf", &text);
        let refused = || -> usize {
            let said = own.iter().map(|host| program.read(&format!("{host}.log")));
            said.map(|said| said.matches("authentication error").count())
                .sum()
        };
        let before = refused();
        let _server = Server::start(&binary, &path);
        until("a refused stranger", || refused() > before);
        for _ in 0..10 {
            publish(stranger, &options.subject);
            std::thread::sleep(Duration::from_millis(200));
        }
        assert_eq!(last(), begun, "{userinfo}");
    }
}

#[test]
fn a_secret_that_others_may_read_is_told() {
    let program = Program::with_news(ACTIVE);
    let hosts = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    for (mode, is_told) in [(0o644, true), (0o640, true), (0o600, false)] {
        let path = program.path("nats.conf");
        let file = std::fs::File::create(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let words = [
            "cluster",
            "nats-config",
            "--dir",
            "news",
            "--host",
            hosts[0],
            "--hosts",
            &hosts.join(","),
        ];
        let done = program.command(&words).stdout(file).output().unwrap();
        assert!(done.status.success());
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(said.contains("chmod 600"), is_told, "{mode:o}: {said}");
    }
    // What would be no host in an address.
    let told = program.run(&[
        "cluster",
        "nats-config",
        "--dir",
        "news",
        "--host",
        "a",
        "--hosts",
        "a,x@b",
    ]);
    assert_ne!(told.status, 0);
    assert!(told.err.contains("cannot have"), "{told:?}");
}

#[test]
fn one_server_waits_for_no_other() {
    let program = Program::with_news(ACTIVE);
    let hosts =
        |count: u8| -> Vec<String> { (1..=count).map(|last| format!("192.0.2.{last}")).collect() };
    let (text, said) = config(&program, "192.0.2.1", &hosts(1));
    assert!(
        !text.contains("cluster {") && !text.contains("routes"),
        "{text}"
    );
    assert!(text.contains("replicas = 1"), "{text}");
    assert_eq!(said, "");
    let (text, said) = config(&program, "192.0.2.1", &hosts(2));
    assert!(text.contains("routes"), "{text}");
    assert!(said.contains("only while both run"), "{said}");
    let words = "cluster nats-config --dir news --host 192.0.2.9 --hosts 192.0.2.1,192.0.2.2";
    let words: Vec<&str> = words.split(' ').collect();
    let told = program.run(&words);
    assert_eq!((told.status, told.out.as_str()), (64, ""), "{told:?}");
    assert!(told.err.contains("not among --hosts"), "{told:?}");
}

#[test]
fn a_login_that_is_missing_or_of_others_is_named() {
    let Some(servers) = nats::Servers::start(1) else {
        return;
    };
    let program = Program::with_news(ACTIVE);
    make_node(&program, servers.options());
    let login = program.path("news/keys/cluster.login");
    let join = || program.run(&["cluster", "join", "--dir", "news"]).err;
    std::fs::remove_file(&login).unwrap();
    let mut said = String::new();
    until("an answer", || {
        said = join();
        said.contains("authorization violation")
    });
    assert!(said.contains("keys/cluster.login is missing"), "{said}");
    let seeds = [
        cluster::jetstream::new_login().unwrap(),
        cluster::jetstream::new_login().unwrap(),
    ];
    std::fs::write(&login, seeds.join("\n")).unwrap();
    std::fs::set_permissions(&login, std::fs::Permissions::from_mode(0o600)).unwrap();
    let said = join();
    assert!(said.contains("no login that the servers know"), "{said}");
}

#[test]
fn a_log_that_would_take_no_article_is_not_made() {
    let program = Program::with_news(ACTIVE);
    let words = ["cluster", "init", "--dir", "news", "--log-bytes", "17 MiB"];
    let told = program.run(&words);
    assert_eq!(told.status, 64, "{told:?}");
    assert!(told.err.contains("at least 18 MiB"), "{told:?}");
}
