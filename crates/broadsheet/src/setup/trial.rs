//! The trial of a new news directory: its settings, name, certificate and port; then a post over NNTP that is read back.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use daemon::client;
use feed::{BlockingConnection, Remote};
use groups::Flag;
use groups::nntp_server::{NNTP_PORT, NntpServer, Tls};
use nntp::client::Step;
use rustix::process::{Pid, Signal, kill_process};
use server::certificates::Certificates;
use server::socket;
use settings::{Settings, Severity};

use super::answers::resolves;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::peer::checks::{Checks, Over};
use crate::review::filing::shortage;
use crate::review::{self, Calls, Review};

/// Time for the daemon to start, and for each reply, seconds.
const PATIENCE_SECONDS: u64 = 60;
/// Most lines of the daemon that are shown when it does not start.
const LINES_SHOWN: usize = 5;

/// Tries the news directory. A daemon that does not run yet runs for the time of the trial.
pub fn run(directory: &NewsDirectory) -> Checks {
    let mut checks = Checks::default();
    // The checks tell how far it came.
    let _ = all(directory, &mut checks);
    checks
}

fn all(directory: &NewsDirectory, checks: &mut Checks) -> Result<(), Over> {
    let settings = look(directory, checks)?;
    let clients = Clients::of(&settings);
    name(&settings, clients, checks);
    // Without a certificate the daemon does not start.
    let has_tls = certificate(directory, &settings, checks)?;
    let root = directory.root();
    let running = if client::is_served(root) {
        checks.ok("daemon", "runs already");
        Running::other(&settings)
    } else {
        port(&settings, checks)?;
        let running = Running::start(root, &settings).map_err(|why| {
            let advice = "correct this, then run setup again, which goes on here";
            checks.failed("daemon", why, advice)
        })?;
        checks.ok(
            "daemon",
            format!("starts, and listens at {}", running.address),
        );
        running
    };
    post(directory, &settings, running.address, checks)?;
    if has_tls {
        tls(directory, &settings, running.address, checks);
    }
    if clients == Clients::OfTheNetwork {
        reach(&settings, running.address, checks);
    }
    Ok(())
}

fn look(directory: &NewsDirectory, checks: &mut Checks) -> Result<Settings, Over> {
    let read = directory.settings().map_err(|error| {
        let advice = "correct it, then run setup again, which goes on here";
        checks.failed("settings", format!("{error:#}"), advice)
    })?;
    let reviews = review::all(directory, &read, Calls::Nobody);
    if let Some(review) = reviews.iter().find(|review| review.is_error()) {
        let advice = "`broadsheet check' shows all; correct it, then run setup again";
        let found = format!("{}: {}", review.subject, review.text());
        return Err(checks.failed("settings", found, advice));
    }
    let findings = reviews.iter().flat_map(Review::findings);
    let warnings: Vec<String> = findings
        .filter(|finding| finding.severity == Severity::Warning)
        .map(ToString::to_string)
        .collect();
    checks.ok(
        "settings",
        if warnings.is_empty() {
            "`broadsheet check' finds no errors".to_owned()
        } else {
            format!("no errors; {}", warnings.join("; "))
        },
    );
    Ok(read.settings)
}

/// The machines that can connect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clients {
    OfThisMachine,
    OfTheNetwork,
}

impl Clients {
    /// Other machines can connect if systemd listens, or the daemon does at such an address.
    fn of(settings: &Settings) -> Clients {
        let addresses = socket::addresses(&settings.nntp.listen).unwrap_or_default();
        if !addresses.is_empty() && addresses.iter().all(|address| address.ip().is_loopback()) {
            Clients::OfThisMachine
        } else {
            Clients::OfTheNetwork
        }
    }
}

fn name(settings: &Settings, clients: Clients, checks: &mut Checks) {
    let name = &settings.name;
    let addresses: Vec<String> = resolves(name).iter().map(IpAddr::to_string).collect();
    if !addresses.is_empty() {
        checks.ok("name", format!("{name} is {}", addresses.join(", ")));
        return;
    }
    match clients {
        Clients::OfThisMachine => checks.skipped(
            "name",
            format!("{name} has no address, and only this machine connects"),
        ),
        Clients::OfTheNetwork => {
            let advice =
                "add an A or AAAA record to the DNS zone; until then others connect by address";
            checks.failed("name", format!("{name} has no address in DNS"), advice);
        }
    }
}

/// Returns whether there is a certificate.
fn certificate(
    directory: &NewsDirectory,
    settings: &Settings,
    checks: &mut Checks,
) -> Result<bool, Over> {
    let what = "certificate";
    let Some([certificate, key]) = settings.nntp.certificate_files(directory.root()) else {
        checks.skipped(what, "none: no TLS");
        return Ok(false);
    };
    let opened = Certificates::open(&certificate, &key).map_err(|fault| {
        let advice =
            "correct nntp.certificate and nntp.key, then run setup again, which goes on here";
        checks.failed(what, fault.to_string(), advice)
    })?;
    let facts = opened.facts();
    let is_right = facts.names.iter().any(|name| covers(name, &settings.name));
    match is_right {
        true => checks.ok(what, format!("{facts}")),
        false => {
            let found = format!("{facts}, not for {}", settings.name);
            checks.failed(
                what,
                found,
                "clients that use this name refuse it: get one with the name",
            );
        }
    }
    Ok(true)
}

/// Whether a name of a certificate is for a host (RFC 9525, 6.3).
fn covers(name: &str, host: &str) -> bool {
    match name.strip_prefix("*.") {
        Some(domain) => host
            .split_once('.')
            .is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(domain)),
        None => name.eq_ignore_ascii_case(host),
    }
}

/// The ports are free.
fn port(settings: &Settings, checks: &mut Checks) -> Result<(), Over> {
    let nntp = &settings.nntp;
    let addresses =
        [&nntp.listen, &nntp.listen_tls].map(|text| socket::addresses(text).unwrap_or_default());
    match is_free(&addresses.concat()) {
        Ok(told) => checks.ok("port", told),
        Err(Occupied { found, advice }) => return Err(checks.failed("port", found, advice)),
    }
    Ok(())
}

/// The address at which a daemon could not listen.
#[derive(Debug)]
pub struct Occupied {
    /// The address and the error.
    pub found: String,
    /// What to do.
    pub advice: &'static str,
}

/// Listens at these addresses for a moment, as a daemon would. Returns the result as a sentence.
///
/// # Errors
/// One of them cannot be used.
pub fn is_free(addresses: &[SocketAddr]) -> Result<String, Occupied> {
    for address in addresses {
        if let Err(error) = TcpListener::bind(address) {
            let advice = match error.kind() {
                std::io::ErrorKind::AddrInUse => {
                    "another program listens there (`ss -ltnp' shows it): stop it, or choose another port"
                }
                std::io::ErrorKind::PermissionDenied => {
                    "ports below 1024 are for systemd to open (packaging/systemd), or choose another port"
                }
                _ => "choose another address or port",
            };
            let found = format!("{address}: {error}");
            return Err(Occupied { found, advice });
        }
    }
    let shown: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    Ok(match shown.is_empty() {
        true => "systemd opens it".to_owned(),
        false => format!("{} can be used", shown.join(", ")),
    })
}

/// A daemon.
struct Running<'a> {
    address: SocketAddr,
    /// Where it is ours: its directory and process.
    ours: Option<(&'a Path, Child)>,
}

impl<'a> Running<'a> {
    fn other(settings: &Settings) -> Running<'a> {
        let addresses = socket::addresses(&settings.nntp.listen).unwrap_or_default();
        let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, NNTP_PORT));
        Running {
            address: local(addresses.first().copied().unwrap_or(usual)),
            ours: None,
        }
    }

    fn start(root: &'a Path, settings: &Settings) -> Result<Running<'a>, String> {
        let mut command = Command::new(OWN_PROGRAM);
        command.arg("serve").arg("--dir").arg(root);
        if settings.nntp.listen.trim().is_empty() {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let child = command
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| format!("cannot be started: {error}"))?;
        let (sender, lines) = channel();
        if let Some(stderr) = child.stderr.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    // It is read to its end even if nobody listens.
                    let _ = sender.send(line);
                }
            });
        }
        let mut running = Running {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ours: Some((root, child)),
        };
        running.address = address_of(&lines)?;
        Ok(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some((root, mut child)) = self.ours.take() {
            if !client::stop(root).unwrap_or_default() {
                // As systemd does: a clean end leaves nothing to be taken up again.
                let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            }
            let end = Instant::now() + Duration::from_secs(PATIENCE_SECONDS);
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The address at which the daemon says that it listens, when it accepts connections there.
fn address_of(lines: &Receiver<String>) -> Result<SocketAddr, String> {
    let end = Instant::now() + Duration::from_secs(PATIENCE_SECONDS);
    let left = || end.saturating_duration_since(Instant::now());
    let mut said = Vec::new();
    loop {
        let line = match lines.recv_timeout(left()) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Err("does not start in time".to_owned()),
            Err(RecvTimeoutError::Disconnected) => {
                let begin = said.len().saturating_sub(LINES_SHOWN);
                let last = said.get(begin..).unwrap_or_default();
                return Err(format!("ended: {}", last.join("; ")));
            }
        };
        let told = line.split_once("listening at ").map(|(_, told)| told);
        // One with TLS says so behind the address.
        let address = told.and_then(|told| told.trim().parse().ok()).map(local);
        said.push(line);
        if let Some(address) = address {
            while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
                if left().is_zero() {
                    return Err(format!("does not accept connections at {address}"));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            return Ok(address);
        }
    }
}

/// The address by which this machine connects.
fn local(address: SocketAddr) -> SocketAddr {
    match address.ip().is_unspecified() {
        true => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        false => address,
    }
}

/// Posts an article to a group for tests, and reads it back.
fn post(
    directory: &NewsDirectory,
    settings: &Settings,
    address: SocketAddr,
    checks: &mut Checks,
) -> Result<(), Over> {
    let what = "post";
    let active = directory
        .active()
        .map_err(|error| checks.failed(what, error.to_string(), ""))?;
    let names = active.ids().filter(|id| active.flag(*id) == Flag::Open);
    let names = names.map(|id| String::from_utf8_lossy(active.name(id)).into_owned());
    let for_tests = names.filter(|name| name.rsplit('.').next() == Some("test"));
    // Other sites have no use for it.
    let Some(group) = for_tests.min_by_key(|name| !name.starts_with("local.")) else {
        checks.skipped(what, "there is no group for tests (its name ends in .test)");
        return Ok(());
    };
    let test = TestPost {
        own: &settings.name,
        group: &group,
    };
    match test.post_and_read(directory.root(), address) {
        Ok(number) => {
            checks.ok(
                what,
                format!("article {number} of {group} was posted over NNTP and read back"),
            );
            Ok(())
        }
        Err(why) => {
            let advice = advice(directory, settings);
            Err(checks.failed(what, why, &advice))
        }
    }
}

/// What helps when an article cannot be posted.
fn advice(directory: &NewsDirectory, settings: &Settings) -> String {
    let intake = client::status(directory.root()).map(|daemon| daemon.status.intake);
    if let Some(intake) = intake.filter(|intake| !intake.why.is_empty()) {
        // It says what makes room.
        let sentence = intake.sentence();
        return format!("the server takes no articles: {sentence}; then run setup again");
    }
    if shortage(&directory.file("segments"), settings).is_some() {
        return format!("{}, then run setup again", store::MAKE_ROOM);
    }
    "`broadsheet access explain' shows what clients may do; correct it, then run setup again"
        .to_owned()
}

/// The article of the trial.
struct TestPost<'a> {
    /// The name of this site.
    own: &'a str,
    /// A group for tests.
    group: &'a str,
}

impl TestPost<'_> {
    /// Posts it and reads it back. Returns its number.
    fn post_and_read(&self, root: &Path, address: SocketAddr) -> Result<u64, String> {
        let TestPost { own, group } = self;
        let server = NntpServer::new(&address.ip().to_string(), address.port());
        let mut talk = Talk::open(root, &server, address)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |age| age.as_nanos());
        let mark = format!("{now:x}.{:x}", std::process::id());
        talk.must("POST", "340")?;
        let article = format!(
            "From: News administrator <news@{own}>\r\nNewsgroups: {group}\r\nSubject: test of a new server\r\nDistribution: local\r\n\
         \r\nbroadsheet setup posted this to see whether {own} works.\r\n{mark}\r\n."
        );
        talk.must(&article, "240")?;
        let line = talk.must(&format!("GROUP {group}"), "211")?;
        let number = line.split(' ').nth(3).and_then(|high| high.parse().ok());
        let number: u64 = number.ok_or_else(|| format!("GROUP: {line}"))?;
        talk.must(&format!("ARTICLE {number}"), "220")?;
        let mut is_it = false;
        loop {
            match talk.line()?.as_str() {
                "." => break,
                line => is_it |= line == mark,
            }
        }
        let _ = talk.must("QUIT", "205");
        if !is_it {
            return Err(format!(
                "article {number} of {group} is not the one that was posted"
            ));
        }
        Ok(number)
    }
}

/// Talk with the daemon.
struct Talk(BlockingConnection);

impl Talk {
    /// Connects, and starts TLS if the server is to have it.
    fn open(root: &Path, server: &NntpServer, address: SocketAddr) -> Result<Talk, String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let remote = Remote::open(root, server).map_err(|error| told(&error))?;
        let times = (Duration::from_secs(PATIENCE_SECONDS), PATIENCE_SECONDS);
        let mut connection =
            BlockingConnection::open(&remote, address, times).map_err(|error| told(&error))?;
        let mut opening = remote.opening().for_reading();
        loop {
            let line = connection
                .reply_line()
                .map_err(|error| told(&error))?
                .to_vec();
            let mut out = Vec::new();
            match opening
                .receive(&line, &mut out)
                .map_err(|error| told(&error))?
            {
                Step::GoOn => {}
                Step::Ready(_) => return Ok(Talk(connection)),
                Step::BeginTls => {
                    connection
                        .begin_tls(&remote)
                        .map_err(|error| told(&error))?;
                    opening.tls_began(&mut out);
                }
                Step::BeginDeflate => return Err("the server compresses unasked".to_owned()),
            }
            connection.send(&out).map_err(|error| told(&error))?;
        }
    }

    fn line(&mut self) -> Result<String, String> {
        let line = self.0.reply_line().map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(line).into_owned())
    }

    /// Sends a command, and reads its reply, which must begin with `code`.
    fn must(&mut self, command: &str, code: &str) -> Result<String, String> {
        let bytes = format!("{command}\r\n");
        self.0
            .send(bytes.as_bytes())
            .map_err(|error| error.to_string())?;
        let line = self.line()?;
        match line.starts_with(code) {
            true => Ok(line),
            false => {
                let word = command.split([' ', '\r']).next().unwrap_or_default();
                Err(format!("{word}: {line}"))
            }
        }
    }
}

/// TLS as clients see it, which trust the CAs of the system.
fn tls(directory: &NewsDirectory, settings: &Settings, address: SocketAddr, checks: &mut Checks) {
    let server = NntpServer {
        tls: Tls::StartTls,
        ..NntpServer::new(&settings.name, address.port())
    };
    match Talk::open(directory.root(), &server, address) {
        Ok(mut talk) => {
            let _ = talk.must("QUIT", "205");
            checks.ok(
                "tls",
                "STARTTLS works, and the CAs of this system vouch for the certificate",
            );
        }
        Err(why) => {
            let advice = "newsreaders refuse this certificate until their users accept it: enough for a trial; for others get one by certbot";
            checks.failed("tls", why, advice);
        }
    }
}

/// Whether the server answers by its name.
fn reach(settings: &Settings, address: SocketAddr, checks: &mut Checks) {
    let port = match settings.nntp.listen.trim().is_empty() {
        // The trial listens elsewhere.
        true => return,
        false => address.port(),
    };
    let addresses = resolves(&settings.name);
    if addresses.is_empty() {
        return;
    }
    let answers = |ip: &IpAddr| {
        let patience = Duration::from_secs(5);
        TcpStream::connect_timeout(&SocketAddr::new(*ip, port), patience).is_ok()
    };
    let what = "reach";
    match addresses.iter().find(|ip| answers(ip)) {
        Some(ip) => checks.ok(
            what,
            format!("{} port {port} ({ip}) answers from here", settings.name),
        ),
        None => {
            let found = format!("{} port {port} does not answer from here", settings.name);
            let advice = "look at the firewall, or the router's port forwarding; some routers cannot be tried from inside";
            checks.failed(what, found, advice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_covers_one_part() {
        assert!(
            covers("News.a.example", "news.a.example") && covers("*.a.example", "news.a.example")
        );
        assert!(
            !covers("*.a.example", "x.news.a.example") && !covers("a.example", "news.a.example")
        );
    }

    #[test]
    fn a_port_in_use_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let Occupied { found, advice } = is_free(&[address]).unwrap_err();
        assert!(found.starts_with(&address.to_string()) && advice.contains("ss -ltnp"));
        drop(listener);
    }
}
