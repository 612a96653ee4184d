//! Starts Broadsheet: a temporary news directory, and `broadsheet serve`.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Absent;
use super::server::{Server, make_certificate};
use crate::fixture;

/// Environment variable for another program than the one built beside this test.
const PROGRAM: &str = "BROADSHEET";

/// The access rules: this host reads, posts and is a peer; the user of the suite reads one group more.
const ACCESS: &str = "
[[access]]
name = \"user\"
users = [\"@USER@\"]
read = \"*\"
post = \"*\"
approve = true

[[access]]
name = \"local\"
from = [\"local\"]
read = \"*,!conf.secret\"
post = \"*,!conf.secret\"
send = \"*\"
";

/// Creates a news directory with the groups of the suite and starts the daemon on it.
pub(super) fn start() -> Result<Server, Absent> {
    let program = program()?;
    let broken = |error: std::io::Error| Absent::Broken(format!("broadsheet: {error}"));
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut server = Server::new(tempfile::tempdir().map_err(broken)?, anywhere);
    let dir = server.dir().to_path_buf();
    write_lists(&dir).map_err(broken)?;
    run(
        &program,
        &dir,
        "init --dir news --name news.example.org --active active --newsgroups newsgroups",
        "",
    )?;
    let news = dir.join("news");
    write_files(&news).map_err(broken)?;
    let has_tls = make_certificate(&news);
    write_settings(&news, has_tls).map_err(broken)?;
    let password = format!("{}\n", fixture::PASSWORD);
    run(
        &program,
        &dir,
        &format!("user add --dir news {}", fixture::USER),
        &password,
    )?;
    let mut serve = Command::new(&program);
    serve
        .current_dir(&dir)
        .args(["serve", "--dir", "news", "--listen", "127.0.0.1:0"]);
    if has_tls {
        serve.args(["--listen-tls", "127.0.0.1:0"]);
    }
    let (address, tls_address) = server.start_until("broadsheet", &mut serve, |printed| {
        let address = listens_at(printed, "")?;
        match has_tls {
            true => Some((address, Some(listens_at(printed, " with TLS")?))),
            false => Some((address, None)),
        }
    })?;
    (server.address, server.tls_address) = (address, tls_address);
    Ok(server)
}

/// The address that the daemon logs; the system chose the port.
fn listens_at(printed: &str, how: &str) -> Option<SocketAddr> {
    let mut whole = printed
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'));
    whole.find_map(|line| {
        let (_, address) = line.split_once("listening at ")?;
        address.strip_suffix(how)?.parse().ok()
    })
}

/// The program built beside this test, or the one in the environment.
fn program() -> Result<PathBuf, Absent> {
    if let Some(path) = std::env::var_os(PROGRAM) {
        return Ok(path.into());
    }
    // target/debug/deps/it_conforms-…
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.ancestors().nth(2).map(|dir| dir.join("broadsheet"));
    beside.filter(|path| path.is_file()).ok_or_else(|| {
        Absent::Missing("broadsheet is not built (cargo build -p broadsheet)".to_owned())
    })
}

fn run(program: &Path, dir: &Path, words: &str, input: &str) -> Result<(), Absent> {
    let broken = |error: std::io::Error| Absent::Broken(format!("broadsheet {words}: {error}"));
    let mut child = Command::new(program)
        .args(words.split_whitespace())
        .current_dir(dir)
        .env_remove("BROADSHEET_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(broken)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input may have exited already.
        let _ = stdin.write_all(input.as_bytes());
    }
    let done = child.wait_with_output().map_err(broken)?;
    match done.status.success() {
        true => Ok(()),
        false => Err(Absent::Broken(format!(
            "broadsheet {words}: {}",
            String::from_utf8_lossy(&done.stderr)
        ))),
    }
}

fn write_lists(dir: &Path) -> std::io::Result<()> {
    let mut active =
        String::from("control 0000000000 0000000001 n\njunk 0000000000 0000000001 n\n");
    let mut newsgroups = String::new();
    for (group, status, about) in fixture::GROUPS {
        active.push_str(&format!("{group} 0000000000 0000000001 {status}\n"));
        newsgroups.push_str(&format!("{group}\t{about}\n"));
    }
    fs::write(dir.join("active"), active)?;
    fs::write(dir.join("newsgroups"), newsgroups)
}

/// Writes the creation times of groups (RFC 3977, 7.6.4), and the files behind LIST.
fn write_files(news: &Path) -> std::io::Result<()> {
    for (name, text) in fixture::LISTS {
        fs::write(news.join(name), text)?;
    }
    let mut times = String::new();
    for (group, _, _) in fixture::GROUPS {
        let made = fixture::now() - 7200;
        times.push_str(&format!("{group} {made} maker@example.org\n"));
    }
    fs::write(news.join("active.times"), times)
}

/// Changes the settings that `init` wrote: anybody may cancel here, the certificate, and the access rules.
fn write_settings(news: &Path, has_tls: bool) -> std::io::Result<()> {
    let path = news.join("broadsheet.toml");
    let mut text = fs::read_to_string(&path)?;
    text = text.replace("\ncancel = \"locked\"", "\ncancel = \"classic\"");
    text = text.replace("\nsendmail = ", "\n# sendmail = ");
    if has_tls {
        text = text.replace("\ncertificate = \"\"", "\ncertificate = \"cert.pem\"");
        text = text.replace("\nkey = \"\"", "\nkey = \"key.pem\"");
    }
    text.push_str(&ACCESS.replace("@USER@", fixture::USER));
    fs::write(path, text)
}
