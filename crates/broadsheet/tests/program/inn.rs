//! An INN of its own in a fresh directory: every path in its `inn.conf` is there, and what it listens at is on loopback.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::nntp::{Client, take_this};
use super::{corpus, peers};

/// How long `innd` may take to open its door, and to leave.
const PATIENCE: Duration = Duration::from_secs(30);

/// The files of an INN that does not run.
pub struct InnFiles {
    programs: PathBuf,
    room: tempfile::TempDir,
}

/// A running `innd`, that keeps a batch file for the site `elsewhere`.
pub struct Inn {
    child: Child,
    files: InnFiles,
    /// What it listens at, of 127.0.0.1.
    pub port: u16,
}

impl InnFiles {
    /// Makes the files of one with these groups. `None`, and a line that says why, where that is not possible.
    pub fn make(groups: &[&str]) -> Option<InnFiles> {
        let root = peers::root_of("usr/lib/news/bin/innd", "inn2")?;
        if !peers::is_root("INN, which has to be started as the user news") {
            return None;
        }
        let news = peers::ids_of("news")?;
        let programs = root.join("usr/lib/news/bin");
        let as_it = as_news(&programs, Path::new("/"), "innconfval")
            .arg("-v")
            .output();
        if !as_it.is_ok_and(|told| told.status.code().is_some_and(|status| status < 126)) {
            eprintln!(
                "skipped: INN (the user news cannot run {})",
                programs.display()
            );
            return None;
        }
        // The name of a socket may have only 107 bytes; a room of its own under the temporary directory is short.
        let room = tempfile::tempdir().expect("a temporary directory");
        let dir = room.path();
        for place in [
            "etc/filter",
            "db",
            "run",
            "spool/articles",
            "spool/overview",
            "spool/incoming/bad",
            "spool/outgoing",
            "spool/archive",
            "spool/innfeed",
            "log",
            "tmp",
            "http",
        ] {
            fs::create_dir_all(dir.join(place)).expect("made");
        }
        write_settings(dir, &root);
        let mut active =
            String::from("control 0000000000 0000000001 n\njunk 0000000000 0000000001 n\n");
        active.push_str("control.cancel 0000000000 0000000001 n\n");
        for group in groups {
            active.push_str(&format!("{group} 0000000000 0000000001 y\n"));
        }
        fs::write(dir.join("db/active"), active).expect("written");
        for file in ["db/history", "db/active.times", "db/newsgroups", "log/news"] {
            fs::write(dir.join(file), "").expect("written");
        }
        peers::give(dir, news);
        let made = as_news(&programs, dir, "makedbz")
            .args(["-i", "-o", "-f"])
            .arg(dir.join("db/history"))
            .output()
            .expect("makedbz runs");
        assert!(made.status.success(), "{made:?}");
        Some(InnFiles { programs, room })
    }

    fn launch(&self, port: u16) -> Child {
        let log = fs::File::create(self.room.path().join("innd.out")).expect("made");
        self.command("innd")
            .args(["-f", "-P", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("cloned"))
            .stderr(log)
            .spawn()
            .expect("innd starts")
    }

    /// Feeds these sites by innfeed, which tries again soon.
    fn feed(&self, sites: &[(&str, u16)]) {
        let dir = self.room.path();
        let mut feeds = fs::read_to_string(dir.join("etc/newsfeeds")).expect("read");
        feeds += &format!(
            "innfeed!:!*:Tc,Wnm*:{}\n",
            self.programs.join("innfeed").display()
        );
        let mut settings = format!(
            "pid-file: {0}/tmp/innfeed.pid\nlog-file: {0}/log/innfeed.log\nstatus-file: innfeed.status\ngen-html: false\n\
             initial-reconnect-time: 1\nmax-reconnect-time: 1\nbacklog-rotate-period: 1\nbacklog-newfile-period: 1\nbacklog-ckpt-period: 1\n",
            dir.display()
        );
        for (name, port) in sites {
            feeds += &format!("{name}:*:Tm:innfeed!\n");
            settings +=
                &format!("peer {name} {{\n  ip-name: 127.0.0.1\n  port-number: {port}\n}}\n");
        }
        fs::write(dir.join("etc/newsfeeds"), feeds).expect("written");
        fs::write(dir.join("etc/innfeed.conf"), settings).expect("written");
    }

    /// A program of INN's with these files.
    pub fn command(&self, program: &str) -> Command {
        as_news(&self.programs, self.room.path(), program)
    }
}

impl Inn {
    /// Starts one with these groups. `None`, and a line that says why, where that is not possible.
    pub fn start(groups: &[&str]) -> Option<Inn> {
        Inn::start_feeding(groups, &[])
    }

    /// As [`Inn::start`], with files that `edit` changed in its directory.
    pub fn start_edited(groups: &[&str], edit: impl FnOnce(&Path)) -> Option<Inn> {
        let files = InnFiles::make(groups)?;
        edit(files.room.path());
        peers::give(files.room.path(), peers::ids_of("news")?);
        let port = free_port();
        let child = files.launch(port);
        let mut inn = Inn { child, files, port };
        inn.wait_for_door(port);
        Some(inn)
    }

    /// As [`Inn::start`]; its innfeed feeds everything to these sites as it comes: the name, and the port.
    pub fn start_feeding(groups: &[&str], sites: &[(&str, u16)]) -> Option<Inn> {
        let files = InnFiles::make(groups)?;
        if !sites.is_empty() {
            files.feed(sites);
        }
        let port = free_port();
        let child = files.launch(port);
        let mut inn = Inn { child, files, port };
        inn.wait_for_door(port);
        Some(inn)
    }

    /// Lets everybody read and post.
    pub fn let_readers_in(&self) {
        let readers = "auth all {\n  hosts: \"*\"\n  default: \"<reader>\"\n}\naccess all {\n  users: \"*\"\n  newsgroups: \"*\"\n  access: \"RPA\"\n}\n";
        self.write("etc/readers.conf", readers);
    }

    /// Lets nobody read who has not logged in: `anna`, whose password is `hazelnut`.
    pub fn let_users_in(&self) {
        let (users, program) = (self.path("etc/users"), self.path("etc/auth"));
        let programs = &self.files.programs;
        // nnrpd runs it without the environment that an unpacked INN needs.
        let script = format!(
            "#!/bin/sh\nLD_LIBRARY_PATH={} exec {} -f {}\n",
            programs.with_file_name("").display(),
            programs.join("auth/passwd/ckpasswd").display(),
            users.display()
        );
        self.write("etc/auth", &script);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
        let readers = format!(
            "auth all {{\n  hosts: \"*\"\n  auth: \"{}\"\n}}\naccess all {{\n  users: \"anna\"\n  newsgroups: \"*\"\n  access: \"RPA\"\n}}\n",
            program.display()
        );
        self.write("etc/readers.conf", &readers);
        self.write("etc/users", "anna:$6$sunflower$CaI2YG1foo.3rtKJJjj8jWsuy.EFYJGiF6pnd1sftb8ifGgTkyWiuPHbZDuKypeV4XVWsTyKDjGJQW2ywtBBF/\n");
    }

    /// Writes one of its files.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    /// Runs ctlinnd, which must succeed.
    pub fn control(&self, words: &[&str]) {
        let told = self.run("ctlinnd", words, None);
        assert!(told.status.success(), "{words:?}: {told:?}");
    }

    /// Its copy of an article; empty if there is none.
    pub fn article(&self, id: &str) -> Vec<u8> {
        let token = self.run("grephistory", &[id], None).stdout;
        let token = String::from_utf8(token).expect("UTF-8");
        self.run("sm", &[token.trim()], None).stdout
    }

    /// A program of INN's with its files.
    pub fn command(&self, program: &str) -> Command {
        self.files.command(program)
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Feeds it articles, which it takes.
    pub fn feed(&self, articles: &[Vec<u8>]) {
        let mut client = Client::greeted(&self.address());
        for article in articles {
            client.say(take_this(&corpus::id(article), article));
            let answer = client.line();
            let log = || fs::read_to_string(self.path("log/news")).unwrap_or_default();
            assert!(answer.starts_with("239"), "{answer}: {}", log());
        }
    }

    /// Ends it as an administrator does, and what feeds its sites.
    pub fn stop(&mut self) {
        let _ = self.run("ctlinnd", &["shutdown", "tested"], None);
        self.until_ended();
        let innfeed = fs::read_to_string(self.path("tmp/innfeed.pid")).unwrap_or_default();
        let is_there = || {
            Path::new("/proc")
                .join(innfeed.trim())
                .join("stat")
                .exists()
        };
        let begin = Instant::now();
        while !innfeed.trim().is_empty() && is_there() {
            // It waits for peers that do not answer.
            if begin.elapsed() > Duration::from_secs(2) {
                let _ = Command::new("kill").arg(innfeed.trim()).status();
            }
            assert!(begin.elapsed() < PATIENCE, "innfeed does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts it again, at another port.
    pub fn start_again(&mut self) {
        self.port = free_port();
        self.child = self.files.launch(self.port);
        self.wait_for_door(self.port);
    }

    fn until_ended(&mut self) {
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The number of articles in its history, while it does not run.
    pub fn filed(&self) -> usize {
        let history = fs::read(self.path("db/history")).expect("a history");
        let lines = history.split(|&byte| byte == b'\n');
        // Three fields: it has the article. Two: it refused it.
        lines
            .filter(|line| line.iter().filter(|&&byte| byte == b'\t').count() == 2)
            .count()
    }

    fn wait_for_door(&mut self, port: u16) {
        let begin = Instant::now();
        let run = self.files.room.path().join("run");
        while std::os::unix::net::UnixStream::connect(run.join("nntpin")).is_err()
            || std::net::TcpStream::connect(("127.0.0.1", port)).is_err()
        {
            let left = self.child.try_wait().expect("asked");
            if left.is_some() || begin.elapsed() > PATIENCE {
                let said = |name| {
                    fs::read_to_string(self.files.room.path().join(name)).unwrap_or_default()
                };
                panic!(
                    "innd did not start: {}{}",
                    said("innd.out"),
                    said("log/errlog")
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs a program of INN's, with `input` from a file.
    pub fn run(&self, program: &str, words: &[&str], input: Option<&Path>) -> Output {
        let input = match input {
            Some(path) => Stdio::from(fs::File::open(path).expect("opened")),
            None => Stdio::null(),
        };
        self.files
            .command(program)
            .args(words)
            .stdin(input)
            .output()
            .expect("it runs")
    }

    /// The words that run a program of INN's as [`Inn::run`] does, for a command of `via`.
    pub fn words(&self, program: &str) -> String {
        let command = self.files.command(program);
        let mut words = "env".to_owned();
        for (name, value) in command.get_envs() {
            let value = value.unwrap_or_default().to_string_lossy();
            words.push_str(&format!(" {}={value}", name.to_string_lossy()));
        }
        for word in std::iter::once(command.get_program()).chain(command.get_args()) {
            words.push_str(&format!(" {}", word.to_string_lossy()));
        }
        words
    }

    /// A path in its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.files.room.path().join(name)
    }

    /// Does its history know this id?
    pub fn has(&self, id: &str) -> bool {
        self.run("grephistory", &[id], None).status.success()
    }
}

impl Drop for Inn {
    fn drop(&mut self) {
        self.stop();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

fn as_news(programs: &Path, dir: &Path, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=news", "--regid=news", "--clear-groups"]);
    command
        .arg(programs.join(program))
        .env("INNCONF", dir.join("etc/inn.conf"))
        .env("LD_LIBRARY_PATH", programs.with_file_name(""))
        .current_dir(dir);
    command
}

/// One file an article, no age limit (the dates of the tests lie in the past), all batched for the site `elsewhere`.
fn write_settings(dir: &Path, root: &Path) {
    let (root, peers) = (dir.display(), root.join("usr/lib/news"));
    let peers = peers.display();
    let settings = format!(
        "mta: \"/bin/true\"\norganization: \"Test\"\npathhost: inn.example.org\ndomain: example.org\nmailcmd: /bin/true\n\
         ovmethod: tradindexed\nenableoverview: true\nhismethod: hisv6\nartcutoff: 0\nmaxartsize: 0\nlinecountfuzz: 0\n\
         docancels: none\ndoinnwatch: false\nnnrpdloadlimit: 0\nbindaddress: 127.0.0.1\nbindaddress6: \"::1\"\nrunasuser: news\nrunasgroup: news\n\
         pathnews: {peers}\npathbin: {peers}/bin\npathcontrol: {peers}/bin/control\npathetc: {root}/etc\npathfilter: {root}/etc/filter\n\
         pathdb: {root}/db\npathlog: {root}/log\npathhttp: {root}/http\npathtmp: {root}/tmp\npathrun: {root}/run\npathspool: {root}/spool\n\
         patharticles: {root}/spool/articles\npathoverview: {root}/spool/overview\npathincoming: {root}/spool/incoming\n\
         pathoutgoing: {root}/spool/outgoing\npatharchive: {root}/spool/archive\n",
    );
    for (file, text) in [
        ("inn.conf", settings.as_str()),
        (
            "storage.conf",
            "method tradspool {\n    newsgroups: *\n    class: 0\n}\n",
        ),
        (
            "incoming.conf",
            "streaming: true\nmax-connections: 100\npeer ME {\n    hostname: \"localhost, 127.0.0.1\"\n}\n",
        ),
        ("expire.ctl", "/remember/:10\n*:A:never:never:never\n"),
        ("control.ctl", "all:*:*:drop\n"),
        ("readers.conf", ""),
        ("newsfeeds", "ME:*::\nelsewhere:*:Tf,Wnb:\n"),
    ] {
        fs::write(dir.join("etc").join(file), text).expect("written");
    }
}
