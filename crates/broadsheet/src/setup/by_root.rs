//! A setup by root: the news user does the work, and root does what only root may: the directory, and systemd.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use groups::nntp_server::NNTP_PORT;

use super::question::Asker;
use super::{answers, unfinished};
use crate::account::Account;
use crate::directory::{DEFAULT, OWN_PROGRAM};
use crate::exit::Status;
use crate::flags::{Given, UsageError};
use crate::new_directory;
use crate::peer::entry::ANSWER_BYTES_MAX;
use crate::review::unit::PLACES;

/// The user of a news directory that nobody owns yet.
const USER: &str = "news";
/// The environment's word for the news user's part: `sockets` if systemd opens the ports, else `plain`.
pub const PART: &str = "BROADSHEET_SETUP_PART";
/// Units for the ports.
const SOCKETS: [&str; 2] = ["broadsheet-nntp.socket", "broadsheet-nntps.socket"];
/// Time for the daemon to answer under systemd.
const START: Duration = Duration::from_secs(60);

/// Runs the setup as the news user, and starts the daemon by systemd if that is wanted. `None`: this user does everything.
///
/// # Errors
/// There is no such user, the directory is another's, or the setup cannot be started.
pub fn run(given: &Given, root: &Path, out: &mut dyn Write) -> anyhow::Result<Option<Status>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let owner = owner(root);
    let user = match given.value("run-as") {
        Some(user) => user.to_string_lossy().into_owned(),
        None if owner != 0 => Account::name_of(owner),
        None => USER.to_owned(),
    };
    let (uid, gid) = ids(given, &user)?;
    if uid == 0 {
        return Ok(None);
    }
    let is_new = !root.exists();
    give(root, owner, (uid, gid))?;
    let by_systemd = root == Path::new(DEFAULT) && has_units() && !given.has("serve");
    let has_answers = answers::FLAGS.iter().any(|(flag, _)| given.has(flag));
    if by_systemd && !has_answers && is_made(root)? && !daemon::client::is_served(root) {
        // As when the terminal was lost before the last answer.
        let shown = root.display();
        eprintln!(
            "{shown} is a news directory already, and is not changed; its server does not run."
        );
        let is_started = start(given, root, out)?;
        return Ok(Some(if is_started { Status::OK } else { Status::NO }));
    }
    let status = as_user(root, (uid, gid))
        .env(PART, if by_systemd { "sockets" } else { "plain" })
        .status();
    let status = told(status.context("cannot run the setup as the news user")?);
    if !matches!(status, Status::OK | Status::NO) {
        if is_new {
            // It goes only if nothing was made in it.
            let _ = fs::remove_dir(root);
        }
        return Ok(Some(status));
    }
    if !is_made(root)? || given.has("serve") {
        return Ok(Some(status));
    }
    if !by_systemd {
        writeln!(
            out,
            "\nStart the server:\n    runuser -u {user} -- broadsheet serve --dir {}",
            root.display()
        )?;
        return Ok(Some(status));
    }
    out.flush()?;
    let is_started = start(given, root, out)?;
    Ok(Some(if is_started { status } else { Status::NO }))
}

/// Whether a setup is done.
fn is_made(root: &Path) -> anyhow::Result<bool> {
    Ok(root.join(settings::FILE).exists() && unfinished::read(root)?.is_none())
}

/// The owner of a directory; root if there is none.
pub fn owner(root: &Path) -> u32 {
    fs::metadata(root).map_or(0, |facts| facts.uid())
}

fn ids(given: &Given, user: &str) -> Result<(u32, u32), UsageError> {
    Account::ids_of(user).ok_or_else(|| {
        given.usage(format!(
            "there is no user `{user}', who is to run the server: make one (useradd --system --user-group --home-dir {DEFAULT} \
             --shell /usr/sbin/nologin {USER}), or name another with --run-as"
        ))
    })
}

/// Runs `init`, `restore` or `import` as the user who will run the server: that of `--run-as`, else the owner of the directory, else the user whom the administrator
/// names on the terminal. `None`: this process makes the directory.
///
/// # Errors
/// There is no such user, the directory is another's, or the command cannot be started.
pub fn init_as_user(given: &Given, root: &Path) -> anyhow::Result<Option<Status>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let owner = owner(root);
    let user = match given.value("run-as") {
        Some(user) => user.to_string_lossy().into_owned(),
        None if owner != 0 => Account::name_of(owner),
        None if io::stdin().is_terminal() => named_user()?,
        None => return Ok(None),
    };
    let (uid, gid) = ids(given, &user)?;
    if uid == 0 {
        return Ok(None);
    }
    let is_new = !root.exists();
    give(root, owner, (uid, gid))?;
    let status = as_user(root, (uid, gid)).status();
    let status = status.with_context(|| format!("cannot run as {user}"))?;
    if is_new && !status.success() {
        // It goes only if nothing was made in it.
        let _ = fs::remove_dir(root);
    }
    Ok(Some(told(status)))
}

/// Tells root, who named no user, that the new directory is root's.
pub fn note_owner(given: &Given, root: &Path) {
    if rustix::process::geteuid().is_root() && !given.has("run-as") {
        let root = root.display();
        eprintln!(
            "broadsheet: {root} belongs to root: if another user will run the server, give it to that user (`chown -R USER: {root}'), or use --run-as"
        );
    }
}

/// Asks for the user.
fn named_user() -> anyhow::Result<String> {
    eprint!("User who will run the server [{USER}]: ");
    let mut line = String::new();
    let mut input = io::stdin().lock().take(ANSWER_BYTES_MAX);
    input
        .read_line(&mut line)
        .context("cannot read the answer")?;
    Ok(match line.trim() {
        "" => USER.to_owned(),
        user => user.to_owned(),
    })
}

/// This command again, as another user.
fn as_user(root: &Path, (uid, gid): (u32, u32)) -> Command {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    // What follows `--' are operands.
    let end = words.iter().position(|word| word == "--");
    let (flags, operands) = words.split_at(end.unwrap_or(words.len()));
    let mut command = Command::new(OWN_PROGRAM);
    command
        .args(flags)
        .arg("--dir")
        .arg(root)
        .args(operands)
        .env("HOME", root)
        .uid(uid)
        .gid(gid);
    command
}

fn told(status: ExitStatus) -> Status {
    Status::told(u8::try_from(status.code().unwrap_or(2)).unwrap_or(2))
}

/// Makes the directory, and gives it to the news user.
fn give(root: &Path, owner: u32, (uid, gid): (u32, u32)) -> anyhow::Result<()> {
    let shown = root.display();
    if !root.exists() {
        if let Some(parent) = root.parent() {
            store::make_directories(parent, 0o777)
                .with_context(|| format!("cannot create {}", parent.display()))?;
        }
        DirBuilder::new()
            .mode(0o750)
            .create(root)
            .with_context(|| format!("cannot create {shown}"))?;
    } else if owner == uid {
        return Ok(());
    } else if owner != 0 {
        let name = Account::name_of(owner);
        bail!(
            "{shown} belongs to {name}; nothing was changed: name that user with --run-as, or choose another directory with --dir"
        );
    } else {
        new_directory::must_be_new(root)?;
    }
    chown(root, Some(uid), Some(gid))
        .with_context(|| format!("cannot give {shown} to the news user"))
}

/// Whether systemd runs, and has our units.
fn has_units() -> bool {
    let has = |unit: &&str| {
        let files = PLACES.map(|place| Path::new("/").join(place).join(unit));
        files.iter().any(|file| file.exists())
    };
    Path::new("/run/systemd/system").is_dir()
        && SOCKETS.iter().chain(&["broadsheet.service"]).all(has)
}

/// Starts the daemon by systemd, or prints how. Returns whether it answers, if it was started.
fn start(given: &Given, root: &Path, out: &mut dyn Write) -> anyhow::Result<bool> {
    let settings = settings::NewsDirectory::at(root).settings()?.settings;
    let nntp = &settings.nntp;
    let sockets = match (nntp.listen.trim().is_empty(), nntp.certificate.is_empty()) {
        (false, _) => SOCKETS.get(..0),
        (true, true) => SOCKETS.get(..1),
        (true, false) => SOCKETS.get(..),
    };
    let sockets = sockets.unwrap_or_default();
    // systemd gives ports to no service that runs already.
    let mut steps = vec![vec!["stop", "broadsheet.service"]];
    if !sockets.is_empty() {
        steps.push([&["enable", "--now"], sockets].concat());
    }
    steps.push(vec!["enable", "--now", "broadsheet.service"]);
    let shown: Vec<String> = steps
        .iter()
        .map(|words| format!("    systemctl {}", words.join(" ")))
        .collect();
    let asker = Asker::new(given, Vec::new());
    let is_wanted = given.has("yes")
        || asker.agrees(
            "\nStart the server now, and at each boot (systemctl enable --now)?",
            true,
        )?;
    if !is_wanted || !(given.has("yes") || asker.is_terminal()) {
        writeln!(
            out,
            "\nStart the server, now and at each boot:\n{}",
            shown.join("\n")
        )?;
        return Ok(true);
    }
    for words in &steps {
        let status = Command::new("systemctl").args(words).status();
        let status = status.context("cannot run systemctl")?;
        if !status.success() {
            bail!(
                "systemctl {} failed ({status}): `journalctl -u broadsheet' tells why",
                words.join(" ")
            );
        }
    }
    let addresses = server::socket::addresses(&nntp.listen).unwrap_or_default();
    let port = addresses
        .first()
        .map_or(NNTP_PORT, std::net::SocketAddr::port);
    let began = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if began.elapsed() > START {
            writeln!(
                out,
                "\nThe server does not answer at port {port}: `journalctl -u broadsheet' tells why."
            )?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    writeln!(
        out,
        "\nThe server runs, and starts at each boot; it answers at port {port}."
    )?;
    Ok(true)
}
