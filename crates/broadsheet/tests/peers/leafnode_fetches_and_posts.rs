//! leafnode's fetchnews takes a group that somebody reads there, every article as it is, goes on from there the next time, and posts.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;

use program::articles::{article, batch};
use program::clients::{Server, at_home, thread_here};
use program::pulling::{pull, pulled, pulling};
use program::{Program, Told, peers};

/// Runs a program where the directories `etc` and `spool` of the test are /etc and /var/spool: leafnode knows no others.
const WITH_OWN_FILES: &str =
    "mount --bind etc /etc && mount --bind spool /var/spool && exec \"$@\"";

/// The directories that leafnode expects in its spool.
const DIRECTORIES: [&str; 7] = [
    "failed.postings",
    "interesting.groups",
    "leaf.node",
    "message.id",
    "out.going",
    "temp.files",
    "test",
];

/// leafnode's files for a server. `None`, and a line that says why, where it cannot run.
fn files(server: &Server) -> Option<()> {
    peers::root_of("usr/sbin/fetchnews", "leafnode")?;
    if !peers::is_root("leafnode, whose files are at fixed places") {
        return None;
    }
    let news = peers::ids_of("news")?;
    let path = |name: &str| server.program.path(name);
    fs::create_dir_all(path("etc/news/leafnode")).unwrap();
    for file in ["passwd", "group", "nsswitch.conf", "hosts", "ld.so.cache"] {
        let _ = fs::copy(format!("/etc/{file}"), path(&format!("etc/{file}")));
    }
    let config = format!(
        "server = 127.0.0.1\nport = {}\nexpire = 40000\nmaxage = 40000\nhostname = leaf.home.arpa\n",
        server.port
    );
    server
        .program
        .write("etc/news/leafnode/config", config.as_bytes());
    for directory in DIRECTORIES {
        fs::create_dir_all(path("spool/news").join(directory)).unwrap();
    }
    for number in 0..1000 {
        fs::create_dir(path(&format!("spool/news/message.id/{number:03}"))).unwrap();
    }
    peers::give(&path("spool"), news);
    peers::give(&path("etc/news"), news);
    Some(())
}

/// A command for one of leafnode's programs with its own files.
fn leafnode(program: &Program, name: &str, words: &[&str]) -> Command {
    let root = peers::root_of("usr/sbin/fetchnews", "leafnode").unwrap();
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        WITH_OWN_FILES,
        "sh",
    ]);
    let path = root.join("usr/sbin").join(name);
    let at_home = at_home(program, &path);
    command.arg(at_home.get_program()).args(at_home.get_args());
    command.args(words).current_dir(program.path(""));
    command
}

fn fetch_news(server: &Server) -> Told {
    let told = leafnode(&server.program, "fetchnews", &["-vvv", "-w"])
        .output()
        .unwrap();
    Told {
        status: told.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&told.stdout).into_owned(),
        err: String::from_utf8_lossy(&told.stderr).into_owned(),
    }
}

/// Listens, with leafnode for each connection; returns the address. The thread ends with the test program.
fn listen(program: &Program) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let command = leafnode(program, "leafnode", &[]);
    let words: Vec<_> = command.get_args().map(OsStr::to_os_string).collect();
    let (name, directory) = (command.get_program().to_os_string(), program.path(""));
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let mut command = Command::new(&name);
            command.args(&words).current_dir(&directory);
            let input = OwnedFd::from(socket.try_clone().unwrap());
            let _ = command.stdin(input).stdout(OwnedFd::from(socket)).status();
        }
    });
    address
}

/// An article with the lines of its header sorted, as leafnode puts Message-ID higher, and without Xref, which it writes anew.
fn unordered(article: Vec<u8>) -> String {
    let text = String::from_utf8(article).unwrap();
    let (header, body) = text.split_once("\n\n").unwrap();
    let lines = header.lines().filter(|line| !line.starts_with("Xref: "));
    let mut lines: Vec<&str> = lines.collect();
    lines.sort_unstable();
    format!("{}\n\n{body}", lines.join("\n"))
}

/// The articles in its directory of `test.one`, in the order of its own numbers.
fn fetched(server: &Server) -> Vec<String> {
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let files = server.program.files("spool/news/test/one").into_iter();
    let mut files: Vec<_> = files
        .filter_map(|path| Some((number(&path)?, path)))
        .collect();
    files.sort();
    let articles = files.into_iter().map(|(_, path)| fs::read(path).unwrap());
    articles.map(unordered).collect()
}

#[test]
fn a_group_that_somebody_reads() {
    let server = Server::start();
    if files(&server).is_none() {
        return;
    }
    let told = fetch_news(&server);
    assert_eq!((told.status, fetched(&server).len()), (0, 0), "{told:?}");
    let groups = server.program.read("spool/news/leaf.node/groupinfo");
    assert!(
        groups.contains("test.one ") && groups.contains("The first group"),
        "{groups}"
    );
    server
        .program
        .write("spool/news/interesting.groups/test.one", b"");
    let told = fetch_news(&server);
    let here: Vec<String> = thread_here().into_iter().map(unordered).collect();
    assert_eq!((told.status, fetched(&server)), (0, here), "{told:?}");
    // The next time only what is new; and the post of a reader there goes up.
    server
        .program
        .rnews(&batch(&[article("<later@example.com>", "test.one")]));
    let post = "From: Poster <poster@example.com>\nNewsgroups: test.two\nSubject: by leafnode\n\
        Message-ID: <posted@leaf.home.arpa>\nPath: leaf.home.arpa!not-for-mail\n\nFirst\n.dot\n..\n.\nlast\n";
    server
        .program
        .write("spool/news/out.going/1-1-1", post.as_bytes());
    peers::give(
        &server.program.path("spool/news/out.going"),
        peers::ids_of("news").unwrap(),
    );
    let told = fetch_news(&server);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.contains("test.one: 1 article fetched"), "{told:?}");
    let now = fetched(&server);
    assert_eq!(now.len(), 6);
    assert!(
        now.last().unwrap().contains("<later@example.com>"),
        "{now:?}"
    );
    let posted = String::from_utf8(server.article("<posted@leaf.home.arpa>")).unwrap();
    assert!(
        posted.ends_with("\n\nFirst\n.dot\n..\n.\nlast\n"),
        "{posted}"
    );
    assert_eq!(server.program.files("spool/news/out.going").len(), 0);
    assert_eq!(server.program.files("spool/news/failed.postings").len(), 0);
    server.daemon.stop();
    server.program.assert_clean();
}

/// In a group that nobody has read, leafnode shows a placeholder for an article. It fetches the group when somebody has asked for it.
#[test]
fn we_pull_from_it() {
    let server = Server::start();
    if files(&server).is_none() {
        return;
    }
    assert_eq!(fetch_news(&server).status, 0);
    let leaf = pulling(&listen(&server.program), "");
    let told = leaf.run(&["group", "add", "--dir", "news", "test.one"]);
    assert_eq!(told.status, 0, "{told:?}");
    let settings = leaf.read("news/broadsheet.toml");
    let settings = settings.replace("groups = \"comp.*\"", "groups = \"test.one\"");
    leaf.write("news/broadsheet.toml", settings.as_bytes());
    let told = pull(&leaf);
    let counts = ["fetched", "placeholders"].map(|of| told.count(of));
    assert_eq!((told.status, counts), (0, [0, 1]), "{told:?}");
    assert_eq!(fetch_news(&server).status, 0);
    assert_eq!(pulled(&leaf), (5, 5));
    assert_eq!(pulled(&leaf), (0, 0));
    leaf.assert_clean();
}
