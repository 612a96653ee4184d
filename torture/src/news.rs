//! A news directory on the file system under test, and the real binary working in it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use objects::Directory;
use serde::Deserialize;

use crate::plan::Plan;

/// Settings with which a few megabytes fill several segments and cause many checkpoints.
const SMALL: [(&str, &str); 6] = [
    (
        "article_bytes_max = \"8 MiB\"",
        "article_bytes_max = \"512 KiB\"",
    ),
    ("segment_bytes = \"256 MiB\"", "segment_bytes = \"1 MiB\""),
    ("commit_bytes = \"8 MiB\"", "commit_bytes = \"256 KiB\""),
    (
        "checkpoint_bytes = \"64 MiB\"",
        "checkpoint_bytes = \"1 MiB\"",
    ),
    ("cancel = \"locked\"", "cancel = \"classic\""),
    ("keep_free = \"128 MiB\"", "keep_free = \"1 MiB\""),
];
/// The name of the site.
const SITE: &str = "news.example.org";
/// Largest size of the cache of articles from the object store, bytes: so small that it is emptied.
const CACHE_BYTES_MAX: u64 = 1 << 20;
/// The access rules: everything for this host.
const ACCESS: &str =
    "\n[[access]]\nname = \"all\"\nfrom = [\"local\"]\nread = \"*\"\npost = \"*\"\nsend = \"*\"\n";

/// What `segments list --json` prints.
#[derive(Deserialize)]
struct Segments {
    segments: Vec<Segment>,
}

#[derive(Deserialize)]
struct Segment {
    base: u64,
    current: bool,
    object: Option<String>,
}

/// The news directory.
pub struct News {
    binary: PathBuf,
    dir: PathBuf,
}

/// The binary beside this program or one directory above it, where cargo puts tests.
pub fn binary() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let found = own
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join("broadsheet"))
        .find(|path| path.is_file());
    found.context(
        "there is no broadsheet binary beside this program; run `cargo build -p broadsheet`",
    )
}

impl News {
    /// A news directory that exists or will be created.
    pub fn at(dir: &Path) -> Result<News> {
        let news = News {
            binary: binary()?,
            dir: dir.to_owned(),
        };
        let objects = Directory::new(news.objects(), SITE);
        let connection = store::offload::Connection {
            objects: Arc::new(objects),
            cache_bytes_max: CACHE_BYTES_MAX,
        };
        store::offload::connect(dir, connection);
        Ok(news)
    }

    /// Its path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The sealed segments whose articles are here.
    pub fn sealed_segments(&self) -> Result<Vec<u64>> {
        let output = expect(self.run(&["segments", "list", "--json"])?)?;
        let Segments { segments } = serde_json::from_slice(&output.stdout)?;
        let sealed = segments
            .iter()
            .filter(|segment| !segment.current && segment.object.is_none());
        Ok(sealed.map(|segment| segment.base).collect())
    }

    /// Number of objects, with which articles of segments are away.
    pub fn objects_stored(&self) -> Result<usize> {
        let folder = self.objects().join(SITE).join("segments");
        match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            found => Ok(found?.count()),
        }
    }

    /// Writes the place of the objects into the settings, unless it is there: a recording may come from another mount point.
    pub fn name_objects(&self) -> Result<()> {
        let path = self.dir.join("broadsheet.toml");
        let text = std::fs::read_to_string(&path)?;
        let url = self.objects_url();
        let is_other = |line: &&str| line.starts_with("url = \"file://") && *line != url;
        if let Some(other) = text.lines().find(is_other) {
            std::fs::write(&path, text.replacen(other, &url, 1))?;
        }
        Ok(())
    }

    fn objects(&self) -> PathBuf {
        self.dir.with_file_name("objects")
    }

    fn objects_url(&self) -> String {
        format!("url = \"file://{}\"", self.objects().display())
    }

    /// Creates the news directory. `sync` is the setting store.sync.
    pub fn make(&self, plan: &Plan, sync: &str, beside: &Path) -> Result<()> {
        self.make_with(plan, (sync, &SMALL), beside)
    }

    /// As [`News::make`], with other settings than the small ones: pairs of a line of `init` and its replacement.
    pub fn make_with(
        &self,
        plan: &Plan,
        (sync, settings): (&str, &[(&str, &str)]),
        beside: &Path,
    ) -> Result<()> {
        let active = beside.join("active");
        std::fs::write(&active, &plan.active)?;
        let mut command = self.command(&["init", "--name", SITE, "--keep-free", "0"]);
        expect(command.arg("--active").arg(active).output()?)?;
        let path = self.dir.join("broadsheet.toml");
        let mut text = std::fs::read_to_string(&path)?;
        let sync = format!("sync = \"{sync}\"");
        let url = self.objects_url();
        // Synced, too.
        store::make_directories(&self.objects(), 0o755)?;
        let own = [("sync = \"commit\"", &*sync), ("url = \"\"", &*url)];
        for (usual, small) in settings.iter().copied().chain(own) {
            let changed = text.replacen(usual, small, 1);
            ensure!(usual == small || changed != text, "no setting {usual}");
            text = changed;
        }
        // Synced: btrfs, when it gives up, otherwise brings back the settings of init.
        let mut settings = File::create(&path)?;
        settings.write_all((text + ACCESS).as_bytes())?;
        settings.sync_all()?;
        // The first segment has the size set at init; without it, the first program that files creates one.
        for entry in std::fs::read_dir(self.dir.join("segments"))? {
            std::fs::remove_file(entry?.path())?;
        }
        std::fs::remove_file(self.dir.join("index"))?;
        expect(self.rnews(b"", &[])?)?;
        Ok(())
    }

    /// Adds a site to the settings.
    pub fn add_site(&self, lines: &str) -> Result<()> {
        let path = self.dir.join("broadsheet.toml");
        let mut settings = std::fs::OpenOptions::new().append(true).open(path)?;
        settings.write_all(format!("\n[[site]]\n{lines}").as_bytes())?;
        Ok(settings.sync_all()?)
    }

    /// A command of the binary.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).arg("--dir").arg(&self.dir);
        command.env_remove("BROADSHEET_DIR").current_dir("/");
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, words: &[&str]) -> Result<Output> {
        Ok(self.command(words).output()?)
    }

    /// Files a batch.
    pub fn rnews(&self, batch: &[u8], flags: &[&str]) -> Result<Output> {
        let mut command = self.command(&["rnews", "--json"]);
        let mut child = command
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // A program that exits early reports why.
            let _ = input.write_all(batch);
        }
        Ok(child.wait_with_output()?)
    }

    /// Starts the daemon, which ends with this program.
    pub fn serve(&self) -> Result<Daemon> {
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(&self.binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--dir"])
            .arg(&self.dir)
            .env_remove("BROADSHEET_DIR")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run setpriv")?;
        let mut said = BufReader::new(child.stderr.take().context("no standard error")?);
        let mut all = String::new();
        loop {
            let mut line = String::new();
            if said.read_line(&mut line)? == 0 {
                let _ = child.kill();
                bail!("the daemon did not start: {all}");
            }
            all.push_str(&line);
            if let Some((_, address)) = line.trim_end().split_once("listening at ") {
                return Ok(Daemon {
                    address: address.split(' ').next().unwrap_or(address).to_owned(),
                    child,
                    said,
                });
            }
        }
    }
}

/// The output of a command; an error unless it exited with 0.
pub fn expect(output: Output) -> Result<Output> {
    if !output.status.success() {
        let out = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {out}{error}", output.status);
    }
    Ok(output)
}

/// A running daemon.
pub struct Daemon {
    address: String,
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Daemon {
    /// Opens a connection and reads the greeting.
    pub fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        let mut connection = Connection(BufReader::new(stream));
        let greeting = connection.line()?;
        ensure!(greeting.starts_with("20"), "greeted by {greeting}");
        Ok(connection)
    }

    /// Whether the daemon has exited by itself.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Stops the daemon with SIGTERM; returns its output and exit status.
    pub fn stop(mut self) -> Result<(String, std::process::ExitStatus)> {
        let id = nix::unistd::Pid::from_raw(i32::try_from(self.child.id())?);
        let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM);
        let mut said = String::new();
        self.said.read_to_string(&mut said)?;
        Ok((said, self.child.wait()?))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An NNTP connection.
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.0.get_mut().write_all(bytes)?)
    }

    /// Reads the next line of a reply, without its line end.
    pub fn line(&mut self) -> Result<String> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line)?;
        ensure!(line.ends_with(b"\n"), "the connection ended");
        let line = line.strip_suffix(b"\r\n").unwrap_or(&line);
        Ok(String::from_utf8_lossy(line).into_owned())
    }

    /// Reads the lines of a block, without its end, dots undoubled.
    pub fn block(&mut self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let line = self.line()?;
            if line == "." {
                return Ok(lines);
            }
            lines.push(line.strip_prefix('.').unwrap_or(&line).to_owned());
        }
    }

    /// Sends a command; returns its reply.
    pub fn ask(&mut self, command: &str) -> Result<String> {
        self.send(format!("{command}\r\n").as_bytes())?;
        self.line()
    }
}

/// TAKETHIS with an article, in wire form.
pub fn take_this(id: &str, article: &[u8]) -> Vec<u8> {
    let mut wire = format!("TAKETHIS {id}\r\n").into_bytes();
    for line in article.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b".") {
            wire.push(b'.');
        }
        wire.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b".\r\n");
    wire
}
