//! NNTP with the daemon beside a test.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::thread::JoinHandle;

use super::Program;
use super::daemon::{Daemon, PATIENCE, until};

/// A daemon that speaks NNTP to this machine, where anybody may read, post and send.
pub struct Served {
    pub daemon: Daemon,
    pub address: String,
}

impl Served {
    /// Starts it by the settings as they are.
    pub fn start(program: &Program) -> Served {
        Served::started(Daemon::launch(program))
    }

    /// Starts it where so many files may be open at most.
    pub fn start_with_files(program: &Program, most: u64) -> Served {
        let mut command = Command::new("sh");
        let line = format!("ulimit -n {most} && exec \"$0\" serve --dir news");
        command
            .args(["-c", &line, env!("CARGO_BIN_EXE_broadsheet")])
            .current_dir(program.path(""))
            .env_remove("BROADSHEET_DIR");
        Served::started(Daemon::launch_by(program, command))
    }

    fn started(daemon: Daemon) -> Served {
        let said = daemon.until_said("listening at ");
        daemon.until_notified("READY=1");
        let (_, address) = said.rsplit_once(' ').unwrap();
        Served {
            address: address.to_owned(),
            daemon,
        }
    }

    /// A client behind the greeting.
    pub fn client(&self) -> Client {
        Client::greeted(&self.address)
    }

    /// What it has on its heap and live reader now, bytes.
    pub fn memory(&self) -> usize {
        let told = std::fs::read_to_string(format!("/proc/{}/status", self.daemon.pid())).unwrap();
        let line = told.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<usize>().unwrap() << 10
    }
}

/// The access table of [`listen`].
pub const ALL_MAY: &str =
    "\n[[access]]\nname = \"all\"\nfrom = [\"local\"]\nread = \"*\"\npost = \"*\"\nsend = \"*\"\n";

/// Lets the news directory listen at a free port; `access` is put at the end of its settings.
pub fn listen(program: &Program, access: &str) {
    program.set("listen = \"\"", "listen = \"127.0.0.1:0\"");
    let settings = program.read("news/broadsheet.toml") + access;
    program.write("news/broadsheet.toml", settings.as_bytes());
}

/// A client.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects, and reads no greeting.
    pub fn connect(address: &str) -> Client {
        Client::of(TcpStream::connect(address).unwrap())
    }

    fn of(stream: TcpStream) -> Client {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client {
            stream: BufReader::new(stream),
        }
    }

    /// Connects to a server that may be dead, and is greeted.
    pub fn greeted_if_any(address: &str) -> Option<Client> {
        let mut client = Client::of(TcpStream::connect(address).ok()?);
        client.socket().set_write_timeout(Some(PATIENCE)).ok()?;
        let greeting = client.whole_line()?;
        greeting.starts_with("20").then_some(client)
    }

    /// Connects, and is greeted.
    pub fn greeted(address: &str) -> Client {
        let mut client = Client::connect(address);
        let greeting = client.line();
        assert!(greeting.starts_with("20"), "{greeting}");
        client
    }

    pub fn socket(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    pub fn say(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Says it in a thread of its own, however long that takes; it may break off.
    pub fn say_beside(&self, bytes: Vec<u8>) -> JoinHandle<std::io::Result<()>> {
        let mut stream = self.socket().try_clone().unwrap();
        std::thread::spawn(move || stream.write_all(&bytes))
    }

    /// Says that nothing more comes.
    pub fn say_end(&self) {
        self.socket().shutdown(Shutdown::Write).unwrap();
    }

    /// A line without its end; empty at the end of the connection.
    pub fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).unwrap();
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    /// A line with its end, if it comes before the end of the connection.
    pub fn line_if_any(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).ok()?;
        Some(line)
    }

    /// A line without its end; `None` if the connection ends before, or falls silent.
    pub fn whole_line(&mut self) -> Option<String> {
        let line = self.line_if_any()?;
        line.strip_suffix("\r\n").map(str::to_owned)
    }

    /// Says it to a server that may be dead.
    pub fn say_if_any(&mut self, bytes: impl AsRef<[u8]>) -> Option<()> {
        self.stream.get_mut().write_all(bytes.as_ref()).ok()
    }

    /// As [`Client::ask`], of a server that may be dead.
    pub fn ask_if_any(&mut self, command: &str) -> Option<String> {
        self.say_if_any(format!("{command}\r\n"))?;
        self.whole_line()
    }

    /// As [`Client::lines`], of a server that may be dead.
    pub fn lines_if_any(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            match self.whole_line()? {
                line if line == "." => return Some(lines),
                line => lines.push(line),
            }
        }
    }

    /// Says a command, and returns the line that answers.
    pub fn ask(&mut self, command: &str) -> String {
        self.say(format!("{command}\r\n"));
        self.line()
    }

    /// The lines up to a dot.
    pub fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match self.line() {
                line if line == "." => return lines,
                line => lines.push(line),
            }
        }
    }

    /// The bytes up to the line with a dot, as they come.
    pub fn block(&mut self) -> Vec<u8> {
        let mut block = Vec::new();
        loop {
            let before = block.len();
            let count = self.stream.read_until(b'\n', &mut block).unwrap();
            assert!(count > 0, "the block has no end");
            if block.get(before..) == Some(b".\r\n") {
                block.truncate(before);
                return block;
            }
        }
    }

    /// So many bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Everything up to the end of the connection.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        rest
    }
}

/// An article as it goes over the wire, with its terminator.
pub fn wire(article: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(article.len() + article.len() / 16);
    let mut before = b'\n';
    for &byte in article {
        match (before, byte) {
            (b'\n', b'.') => text.push(b'.'),
            (_, b'\n') => text.push(b'\r'),
            _ => {}
        }
        text.push(byte);
        before = byte;
    }
    text.extend_from_slice(b".\r\n");
    text
}

/// TAKETHIS with an article.
pub fn take_this(id: &str, article: &[u8]) -> Vec<u8> {
    [format!("TAKETHIS {id}\r\n").as_bytes(), &wire(article)].concat()
}

/// Offers an article, on a new connection each time, until it is taken or refused for good; the code of the reply.
pub fn offer(address: &str, id: &str, article: &[u8]) -> String {
    let mut reply = String::new();
    until("a reply to an article", || {
        let told = Client::greeted_if_any(address).and_then(|mut client| {
            client.say_if_any(take_this(id, article))?;
            client.whole_line()
        });
        reply = told.unwrap_or_default();
        reply.starts_with("239 ") || reply.starts_with("439 ")
    });
    reply[..3].to_owned()
}
