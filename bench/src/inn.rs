//! INN for comparison: a separate news system in a temporary directory, with its own
//! `innd` on a loopback port, fed by its own `rnews`.
//!
//! It does not touch an installed INN: every path in `inn.conf` is in that directory.

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::unistd::{Gid, Uid, User};

use crate::machine::free_port;
use crate::measure::{Input, Usages, measured};

/// The programs of Debian's inn2.
const PROGRAMS: &str = "/usr/lib/news/bin";

/// Time limit for `innd` to open its socket, and to exit.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Number of servers that this process has started.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// The kernel's unit in /proc/PID/stat (USER_HZ), in ticks a second.
const TICKS: u64 = 100;

/// The reason why INN cannot run here, if any.
pub fn missing_reason() -> Option<String> {
    if !Path::new(PROGRAMS).join("innd").is_file() {
        return Some("inn2 is not installed".into());
    }
    if !Uid::effective().is_root() {
        return Some("INN: only root can start innd as the user news".into());
    }
    match news() {
        Ok(_) => None,
        Err(error) => Some(format!("INN: {error}")),
    }
}

fn news() -> Result<User> {
    User::from_name("news")?.context("there is no user news")
}

/// The storage of articles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// tradspool.
    FileAnArticle,
    /// One CNFS buffer of this number of bytes, filled with zeros beforehand.
    Cyclic {
        /// Size of the buffer, bytes.
        bytes: u64,
    },
}

/// The options of an `innd`.
#[derive(Clone, Copy, Debug)]
pub struct InnOptions<'a> {
    /// The storage of articles.
    pub storage: Storage,
    /// The address of the peer; all others are readers.
    pub peer: &'a str,
    /// Further lines of newsfeeds.
    pub feeds: &'a str,
    /// The file innfeed.conf.
    pub innfeed: &'a str,
}

impl Default for InnOptions<'_> {
    fn default() -> Self {
        InnOptions {
            storage: Storage::FileAnArticle,
            peer: "localhost, 127.0.0.1",
            feeds: "",
            innfeed: "",
        }
    }
}

/// A running `innd`.
pub struct Server {
    child: Child,
    /// The address on which it listens: a port of its own, so that no other server replies in its place.
    pub address: SocketAddr,
    dir: PathBuf,
    /// The directory of the sockets, separate because the name of a socket may have only 107 bytes.
    sockets: PathBuf,
}

impl Server {
    /// Makes a news system under `dir` with the `active` and `newsgroups` of
    /// `batch`, and five sites fed by batch file as in `sys`, and starts it.
    ///
    /// # Errors
    /// A file cannot be written, or `innd` does not open its socket.
    pub fn start(dir: &Path, batch: &Path) -> Result<Server> {
        Server::start_as(dir, batch, &InnOptions::default())
    }

    /// As [`Server::start`], with other options.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_as(dir: &Path, batch: &Path, options: &InnOptions<'_>) -> Result<Server> {
        let dir = dir.canonicalize()?;
        // Several servers may run at once, and `innd` refuses to start where it finds another's sockets.
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("bench-inn-{}-{number}", std::process::id());
        let sockets = std::env::temp_dir().join(name);
        for name in [
            "etc/filter",
            "db",
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
            fs::create_dir_all(dir.join(name))?;
        }
        fs::create_dir_all(&sockets)?;
        let port = free_port()?;
        write_settings(&dir, &sockets, port, options)?;
        // `innd` does not start without this group.
        let active =
            fs::read_to_string(batch.join("active"))? + "control.cancel 0000000000 00001 n\n";
        fs::write(dir.join("db/active"), active)?;
        fs::copy(batch.join("newsgroups"), dir.join("db/newsgroups"))?;
        for file in ["db/history", "db/active.times", "log/news"] {
            fs::write(dir.join(file), "")?;
        }
        let feeds = newsfeeds(&batch.join("sys"))? + options.feeds;
        fs::write(dir.join("etc/newsfeeds"), feeds)?;
        fs::write(dir.join("etc/innfeed.conf"), options.innfeed)?;
        let news = news()?;
        give(&dir, &news)?;
        give(&sockets, &news)?;
        let made = as_news(&dir, "makedbz")
            .args(["-i", "-o", "-f"])
            .arg(dir.join("db/history"))
            .output()?;
        if !made.status.success() {
            bail!("makedbz: {}", String::from_utf8_lossy(&made.stderr));
        }
        let log = fs::File::create(dir.join("innd.out"))?;
        let child = as_news(&dir, "innd")
            .args(["-f", "-P", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut server = Server {
            child,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            dir,
            sockets,
        };
        server.wait_for_sockets()?;
        Ok(server)
    }

    fn wait_for_sockets(&mut self) -> Result<()> {
        let begin = Instant::now();
        let is_listening = |server: &Server| {
            let files = ["innd.pid", "nntpin"];
            let has_files = files.iter().all(|name| server.sockets.join(name).exists());
            has_files && TcpStream::connect(server.address).is_ok()
        };
        while !is_listening(self) {
            self.check_alive(begin)?;
            std::thread::sleep(Duration::from_millis(50));
        }
        // The local socket exists a moment before `innd` listens on it.
        std::thread::sleep(Duration::from_millis(500));
        self.check_alive(begin)
    }

    /// Checks that it runs and got its port. If another program has the port of 127.0.0.1, `innd` goes on with that of ::1 alone, and the
    /// other program would reply in its place.
    fn check_alive(&mut self, begin: Instant) -> Result<()> {
        let printed = fs::read_to_string(self.dir.join("innd.out")).unwrap_or_default();
        let has_no_port = printed.contains("cannot bind socket for 127.0.0.1");
        let status = self.child.try_wait()?;
        if !has_no_port && status.is_none() && begin.elapsed() <= TIMEOUT {
            return Ok(());
        }
        let read = |name| fs::read_to_string(self.dir.join(name)).unwrap_or_default();
        let words = printed + &read("log/errlog") + &read("log/news");
        let ended = match status {
            Some(status) => status.to_string(),
            None => "it is not listening".to_owned(),
        };
        match words.trim() {
            "" if !Path::new("/dev/log").exists() => bail!(
                "innd did not start ({ended}) and printed nothing: it reports errors to syslog only, and no syslog runs here (/dev/log is missing)"
            ),
            "" => bail!(
                "innd did not start ({ended}) and printed nothing: see what it reported to syslog (journalctl -t innd)"
            ),
            words => bail!("innd did not start ({ended}): {words}"),
        }
    }

    /// Feeds a batch through `rnews`; CPU time is that of `rnews` and of `innd`.
    ///
    /// # Errors
    /// `rnews` fails.
    pub fn feed(&self, batch: &Path) -> Result<Usages> {
        let (user, system) = self.times()?;
        let mut usages = self.measured("rnews", &[], batch)?;
        let (user_after, system_after) = self.times()?;
        usages.user += user_after.saturating_sub(user);
        usages.system += system_after.saturating_sub(system);
        Ok(usages)
    }

    /// Runs a program of INN's and measures it alone.
    ///
    /// # Errors
    /// It fails.
    pub fn measured(&self, program: &str, arguments: &[&str], input: &Path) -> Result<Usages> {
        let settings = format!("INNCONF={}", self.dir.join("etc/inn.conf").display());
        let path = format!("{PROGRAMS}/{program}");
        let mut command = vec!["setpriv", "--reuid=news", "--regid=news", "--clear-groups"];
        command.extend(["env", &settings, &path]);
        command.extend(arguments);
        let outcome = measured(&self.dir, &command, Input::File(input))?;
        if outcome.status != 0 {
            bail!("INN's {program}: exit status {}", outcome.status);
        }
        Ok(outcome.usages)
    }

    /// Makes `innd` write what it holds back for a site.
    ///
    /// # Errors
    /// `ctlinnd` cannot be started.
    pub fn flush(&self, site: &str) -> Result<()> {
        as_news(&self.dir, "ctlinnd")
            .args(["flush", site])
            .output()?;
        Ok(())
    }

    /// Writes a file that belongs to the user news.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.dir.join(name);
        let news = news()?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        chown(&path, Some(news.uid.as_raw()), Some(news.gid.as_raw()))?;
        Ok(path)
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts `nnrpd` as a daemon that forks for each reader.
    ///
    /// # Errors
    /// It cannot be started; its output is in `nnrpd.out`.
    pub fn readers(&self, port: u16) -> Result<Child> {
        let log = fs::File::create(self.dir.join("nnrpd.out"))?;
        as_news(&self.dir, "nnrpd")
            .args(["-D", "-f", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("starting nnrpd")
    }

    /// The process id of `innd`.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// User and system time of `innd` so far: fields 14 and 15 of its stat line.
    fn times(&self) -> Result<(Duration, Duration)> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))
            .context("asking what innd has used")?;
        let after_name = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut fields = after_name
            .split(' ')
            .skip(11)
            .map(|field| field.parse::<u64>());
        match (fields.next(), fields.next()) {
            (Some(Ok(user)), Some(Ok(system))) => Ok((
                Duration::from_millis(user * 1000 / TICKS),
                Duration::from_millis(system * 1000 / TICKS),
            )),
            _ => bail!("an odd line: {text}"),
        }
    }

    /// Stops `innd` and returns the number of articles in its history.
    ///
    /// # Errors
    /// It has ended before, or does not stop by itself; then it is killed.
    pub fn stop(mut self) -> Result<u64> {
        if let Some(status) = self.child.try_wait()? {
            bail!("innd has ended before it was stopped: {status}");
        }
        let _ = as_news(&self.dir, "ctlinnd")
            .args(["shutdown", "measured"])
            .output();
        let begin = Instant::now();
        while self.child.try_wait()?.is_none() {
            if begin.elapsed() > TIMEOUT {
                bail!("innd did not stop");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let history = fs::read(self.dir.join("db/history")).context("reading INN's history")?;
        let held = history
            .split(|&byte| byte == b'\n')
            .filter(|line| line.iter().filter(|&&byte| byte == b'\t').count() == 2);
        Ok(held.count() as u64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = fs::remove_dir_all(&self.sockets);
    }
}

/// A command of INN, as the user news, with our settings.
fn as_news(dir: &Path, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=news", "--regid=news", "--clear-groups"]);
    command.arg(Path::new(PROGRAMS).join(program));
    command
        .env("INNCONF", dir.join("etc/inn.conf"))
        .current_dir(dir);
    command
}

/// The command line of INN's batcher for a site: one batch of all articles, on standard output.
pub fn batcher(dir: &Path, site: &str) -> String {
    format!(
        "env INNCONF='{dir}/etc/inn.conf' {PROGRAMS}/batcher -b 2000000000 {site} '{dir}/spool/outgoing/{site}'",
        dir = dir.display()
    )
}

/// Changes the owner of the whole tree to the user news.
fn give(dir: &Path, news: &User) -> Result<()> {
    let (user, group): (Uid, Gid) = (news.uid, news.gid);
    chown(dir, Some(user.as_raw()), Some(group.as_raw()))?;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            give(&path, news)?;
        } else {
            chown(&path, Some(user.as_raw()), Some(group.as_raw()))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
        }
    }
    Ok(())
}

/// Writes the settings of an ordinary INN with one file per article (tradspool), overview
/// (tradindexed) and no age limit, because the dates of the batch are old.
fn write_settings(dir: &Path, sockets: &Path, port: u16, options: &InnOptions<'_>) -> Result<()> {
    let root = dir.display();
    let settings = format!(
        "mta: \"/bin/true\"\norganization: \"Bench\"\npathhost: news.bench.example\ndomain: bench.example\nmailcmd: /bin/true\n\
         ovmethod: tradindexed\nenableoverview: true\nhismethod: hisv6\nartcutoff: 0\nmaxartsize: 0\nlinecountfuzz: 0\n\
         docancels: none\ndoinnwatch: false\nport: {port}\nmaxconnections: 300\nbindaddress: 127.0.0.1\nbindaddress6: \"::1\"\nrunasuser: news\nrunasgroup: news\n\
         pathnews: /usr/lib/news\npathbin: {PROGRAMS}\npathcontrol: {PROGRAMS}/control\npathetc: {root}/etc\npathfilter: {root}/etc/filter\n\
         pathdb: {root}/db\npathlog: {root}/log\npathhttp: {root}/http\npathtmp: {root}/tmp\npathrun: {}\npathspool: {root}/spool\n\
         patharticles: {root}/spool/articles\npathoverview: {root}/spool/overview\npathincoming: {root}/spool/incoming\n\
         pathoutgoing: {root}/spool/outgoing\npatharchive: {root}/spool/archive\n",
        sockets.display(),
    );
    fs::write(dir.join("etc/inn.conf"), settings)?;
    let method = match options.storage {
        Storage::FileAnArticle => "method tradspool {\n    newsgroups: *\n    class: 0\n}\n",
        Storage::Cyclic { bytes } => {
            cyclic_buffer(dir, bytes)?;
            "method cnfs {\n    newsgroups: *\n    class: 0\n    options: ALL\n}\n"
        }
    };
    fs::write(dir.join("etc/storage.conf"), method)?;
    let peer = options.peer;
    fs::write(
        dir.join("etc/incoming.conf"),
        format!(
            "streaming: true\nmax-connections: 256\npeer ME {{\n    hostname: \"{peer}\"\n}}\n"
        ),
    )?;
    fs::write(
        dir.join("etc/expire.ctl"),
        "/remember/:10\n*:A:never:never:never\n",
    )?;
    fs::write(dir.join("etc/control.ctl"), "all:*:*:drop\n")?;
    fs::write(
        dir.join("etc/readers.conf"),
        "auth all {\n    hosts: \"*\"\n    default: \"reader\"\n}\naccess all {\n    users: \"*\"\n    newsgroups: \"*\"\n    access: R\n}\n",
    )?;
    Ok(())
}

/// Creates the CNFS buffer: a file with all blocks allocated and zeroed.
fn cyclic_buffer(dir: &Path, bytes: u64) -> Result<()> {
    let path = dir.join("spool/cycbuff");
    let mut file = fs::File::create(&path)?;
    std::io::copy(&mut std::io::repeat(0).take(bytes), &mut file)?;
    let conf = format!(
        "cycbuff:ONE:{}:{}\nmetacycbuff:ALL:ONE\n",
        path.display(),
        bytes >> 10
    );
    Ok(fs::write(dir.join("etc/cycbuff.conf"), conf)?)
}

/// The `newsfeeds` equivalent to a C News `sys` file: batch files (`Tf`) with name and size.
fn newsfeeds(sys: &Path) -> Result<String> {
    let mut text = String::from("ME:*::\n");
    for line in fs::read_to_string(sys)
        .context("reading the sys file")?
        .lines()
    {
        let mut fields = line.split(':');
        let (Some(site), Some(subscription), Some("f")) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let groups = subscription.split('/').next().unwrap_or("");
        let patterns: Vec<String> = groups
            .split(',')
            .map(|hierarchy| format!("{hierarchy}.*"))
            .collect();
        text.push_str(&format!("{site}:{}:Tf,Wnb:\n", patterns.join(",")));
    }
    Ok(text)
}
