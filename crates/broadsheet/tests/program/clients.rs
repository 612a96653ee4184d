//! Debian's newsreaders and feeders, installed or unpacked under `target/peers` (`make peers`), and our server for them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use super::Program;
use super::articles::{batch, filed, with};
use super::daemon::Daemon;
use super::peers;

/// How long a client may take, in seconds.
const PATIENCE: &str = "120";

/// Our server on loopback: a thread of five articles in `test.one`, which it began with; nothing in `test.two`, which is
/// new.
pub struct Server {
    pub program: Program,
    pub daemon: Daemon,
    pub port: String,
}

impl Server {
    /// Starts it where this machine alone may read, post and feed.
    pub fn start() -> Server {
        Server::start_at("127.0.0.1:0", "")
    }

    /// Starts it at this address, with these further settings.
    pub fn start_at(address: &str, settings: &str) -> Server {
        let program = Program::with_news("test.one 0 1 y\n");
        let told = program.run(&["group", "add", "--dir", "news", "test.two"]);
        assert_eq!(told.status, 0, "{told:?}");
        program.write(
            "news/newsgroups",
            b"test.one\tThe first group\ntest.two\tThe second group\n",
        );
        let told = program.rnews(&batch(&thread()));
        assert_eq!(told.count("accepted"), 5, "{told:?}");
        let listen = format!("listen = \"{address}\"");
        let mut all = program
            .read("news/broadsheet.toml")
            .replacen("listen = \"\"", &listen, 1);
        assert!(all.contains(&listen));
        all.push_str(settings);
        program.write("news/broadsheet.toml", all.as_bytes());
        let daemon = Daemon::launch(&program);
        let said = daemon.until_said("listening at ");
        let (_, port) = said.rsplit_once(':').unwrap();
        let port = port.trim().to_owned();
        daemon.until_notified("READY=1");
        Server {
            program,
            daemon,
            port,
        }
    }

    /// An article as `broadsheet article` prints it, by `group/number` or by id.
    pub fn article(&self, name: &str) -> Vec<u8> {
        self.program.run_bytes(&["article", "--dir", "news", name])
    }

    /// Is this article here?
    pub fn has(&self, name: &str) -> bool {
        self.program.run(&["article", "--dir", "news", name]).status == 0
    }
}

/// What lies in `test.one`: each article answers all before it; Subjects are encoded, bodies have dots in front.
pub fn thread() -> Vec<Vec<u8>> {
    let id = |number| format!("<one-{number}@example.com>");
    let article = |number| {
        let before: Vec<String> = (1..number).map(id).collect();
        let mut header = String::new();
        if !before.is_empty() {
            header = format!("References: {}\n", before.join(" "));
        }
        let body = format!("Line one of {number}\n.a line with a dot in front\n.\n..\nlast\n");
        let made = with(&id(number), "test.one", &header, body.as_bytes());
        let text = String::from_utf8(made).unwrap();
        let re = if before.is_empty() { "" } else { "Re: " };
        let subject = format!("Subject: {re}=?UTF-8?Q?Gr=C3=BC=C3=9Fe=2C?= {number}\n");
        text.replace("Subject: a test\n", &subject).into_bytes()
    };
    (1..=5).map(article).collect()
}

/// The articles of `test.one` as they are here, first to last.
pub fn thread_here() -> Vec<Vec<u8>> {
    let numbered = (1..).zip(thread());
    numbered
        .map(|(number, article)| filed(&article, &format!("test.one:{number}")))
        .collect()
}

/// The command that runs a client in the temporary directory, which is its home, too. `None`, and a line that says so, where
/// it is missing.
pub fn client(program: &Program, path: &str, package: &str) -> Option<Command> {
    let root = peers::root_of(path, package)?;
    Some(at_home(program, &root.join(path)))
}

/// The command that runs this program in the temporary directory as its home, and ends it after a while.
pub fn at_home(program: &Program, path: &Path) -> Command {
    let home = program.path("");
    let mut command = Command::new("timeout");
    command
        .args(["--foreground", "-k", "5", PATIENCE])
        .arg(path)
        .current_dir(&home)
        .env("HOME", &home)
        .env("LC_ALL", "C.UTF-8")
        .env("TERM", "screen")
        .env_remove("NNTPSERVER")
        .env_remove("XDG_CONFIG_HOME");
    command
}

/// A command for newsreaders to call as their editor: it adds this line to the file named last on its command line.
pub fn editor(program: &Program, line: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    // tin takes an article that is not younger than it was for unchanged, to the second.
    let script = format!(
        "#!/bin/sh\nfor file; do :; done\necho '{line}' >> \"$file\"\ntouch -d '+1 minute' \"$file\"\n"
    );
    program.write("editor", script.as_bytes());
    let path = program.path("editor");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}
