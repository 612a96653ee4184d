//! Debian's newsreaders and feeders, installed or unpacked under `target/peers` (`make peers`), and our server for them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
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
    /// Where TLS comes first; empty for nowhere.
    pub tls_port: String,
}

impl Server {
    /// Starts it where this machine alone may read, post and feed.
    pub fn start() -> Server {
        Server::start_at("127.0.0.1:0")
    }

    /// As [`Server::start`], at this address.
    pub fn start_at(address: &str) -> Server {
        Server::start_with(|_, settings| set(settings, "listen", &format!("\"{address}\"")))
    }

    /// Starts it with what is made of the settings.
    pub fn start_with(change: impl FnOnce(&Program, String) -> String) -> Server {
        let program = Program::with_news("test.one 0 1 y\n");
        let told = program.run(&["group", "add", "--dir", "news", "test.two"]);
        assert_eq!(told.status, 0, "{told:?}");
        program.write(
            "news/newsgroups",
            b"test.one\tThe first group\ntest.two\tThe second group\n",
        );
        let told = program.rnews(&batch(&thread()));
        assert_eq!(told.count("accepted"), 5, "{told:?}");
        let settings = change(&program, program.read("news/broadsheet.toml"));
        program.write("news/broadsheet.toml", settings.as_bytes());
        let daemon = Daemon::launch(&program);
        let port_said = || {
            let said = daemon.until_said("listening at ");
            let (_, port) = said.rsplit_once(':').unwrap();
            port.trim().trim_end_matches(" with TLS").to_owned()
        };
        let port = port_said();
        let tls_port = match settings.contains("\nlisten_tls = \"\"") {
            true => String::new(),
            false => port_said(),
        };
        daemon.until_notified("READY=1");
        Server {
            program,
            daemon,
            port,
            tls_port,
        }
    }

    /// As [`Server::start`], with a certificate for 127.0.0.1 (`news/chain.pem`) and the users `anna` and `berta`, whose
    /// passwords are `hazelnut` and `walnutshell`. Only who has logged in may read and post.
    pub fn start_with_users() -> Server {
        Server::start_with(|program, settings| {
            let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
            program.write("news/chain.pem", made.cert.pem().as_bytes());
            program.write("news/key.pem", made.signing_key.serialize_pem().as_bytes());
            let owner_only = Permissions::from_mode(0o600);
            std::fs::set_permissions(program.path("news/key.pem"), owner_only).unwrap();
            for (user, password) in [("anna", "hazelnut\n"), ("berta", "walnutshell\n")] {
                let words = ["user", "add", "--dir", "news", user];
                let told = program.feed(&words, password.as_bytes());
                assert_eq!(told.status, 0, "{told:?}");
            }
            let values = [
                ("listen", "\"127.0.0.1:0\""),
                ("listen_tls", "\"127.0.0.1:0\""),
                ("certificate", "\"chain.pem\""),
                ("key", "\"key.pem\""),
            ];
            let settings = values
                .into_iter()
                .fold(settings, |settings, (key, value)| set(settings, key, value));
            settings
                + "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\npost = \"*\"\n"
        })
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

/// Settings with another value, as TOML has it, for this key.
pub fn set(settings: String, key: &str, value: &str) -> String {
    let (before, after) = settings.split_once(&format!("\n{key} = ")).expect(key);
    let (_, after) = after.split_once('\n').expect("a line ends");
    format!("{before}\n{key} = {value}\n{after}")
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
    // tin takes an article that is not younger than it was for unchanged, to the second.
    let script = format!(
        "#!/bin/sh\nfor file; do :; done\necho '{line}' >> \"$file\"\ntouch -d '+1 minute' \"$file\"\n"
    );
    program.write("editor", script.as_bytes());
    let path = program.path("editor");
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}
