//! `broadsheet peer add`

use std::io::{self, BufRead, IsTerminal, Write};
use std::net::Ipv6Addr;
use std::path::Path;

use anyhow::Context;
use groups::Pattern;
use groups::nntp_server::NntpServer;
use serde_json::{Value, json};
use settings::Settings;

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::peer::checks::Checks;
use crate::peer::entry::{self, Direction};
use crate::peer::exchanged::ExchangedGroups;
use crate::peer::lines::{Headers, Lines, Ours, for_others};
use crate::peer::probe::{Probe, probe};
use crate::review;

/// Where the peer reaches us.
pub const OWN_HOST: Flag = Flag::new(
    "own-host",
    "The host at which the peer reaches us, for the lines of its administrator; default: our name.",
)
.value("HOST");

/// The value of [`OWN_HOST`].
///
/// # Errors
/// It has a port.
pub fn own_host(given: &Given) -> anyhow::Result<Option<String>> {
    let host = given.value(OWN_HOST.name);
    let host = host.map(|host| host.to_string_lossy().into_owned());
    let has_port = |host: &String| host.contains(':') && host.parse::<Ipv6Addr>().is_err();
    match host.as_ref().is_some_and(has_port) {
        true => Err(given
            .usage("--own-host is a host or an address without a port; the port is that of [nntp] listen")
            .into()),
        false => Ok(host),
    }
}

/// The table.
pub static COMMAND: Command = Command {
    words: &["peer", "add"],
    also: &[],
    summary: "add a site with which articles are exchanged by NNTP",
    about: "\
Tests the connection to the peer as `peer test' does, writes a [[site]] (we feed the peer) and an
[[access]] (the peer feeds us) into broadsheet.toml, and prints the lines that the administrator of
the other site needs: for Broadsheet, and for INN. The other lines of broadsheet.toml stay as they
are. `broadsheet reload' puts the peer in force; in a cluster `broadsheet cluster apply' puts the
[[site]] in force on all nodes, and the [[access]] stays on this one.

NAME is the peer's name in Path. On a terminal the command asks for what the flags do not say. The
peer is written also when the test fails, since the other site may have to do its part first;
`peer test NAME' repeats the test.

  broadsheet peer add news.peer.example --groups comp,news
  broadsheet peer add news.peer.example --direction in --from 192.0.2.7",
    operands: Operands {
        shown: "NAME",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new("host", "The peer's host, with its port if that is not the usual one; default: NAME.")
            .value("HOST"),
        Flag::new("groups", "The groups to exchange, as C News patterns: `comp,news,!comp.binaries,@local' (`@': no article that is also there); default: all but those of this site (all,!local).")
            .value("PATTERNS"),
        Flag::new("direction", "Who feeds whom: both each other, the peer us (in), or we the peer (out); default: both.")
            .value("both|in|out"),
        Flag::new("from", "The addresses and networks from which the peer calls, with commas; default: the addresses of its host.")
            .value("LIST"),
        entry::TLS,
        entry::TLS_CA,
        entry::TLS_FINGERPRINT,
        entry::TLS_NAME,
        entry::USER,
        entry::PASSWORD_FILE,
        entry::ALLOW_PLAINTEXT_LOGIN,
        entry::COMPRESS,
        entry::BIND,
        entry::CONNECTIONS,
        entry::RATE,
        entry::HOURS,
        entry::HEADFEED,
        OWN_HOST,
        Flag::new("no-test", "Do not call the peer."),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "the site or the table is there already, an answer is not usable, or somebody edited broadsheet.toml meanwhile: nothing was changed",
    }],
    run,
};

/// The reason why nothing was changed, for status 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unchanged(String);

fn unchanged(why: impl Into<String>) -> anyhow::Error {
    Unchanged(why.into()).into()
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let Err(error) = add(given, out) else {
        return Ok(Status::OK);
    };
    let why: Unchanged = error.downcast()?;
    eprintln!("broadsheet: {why}");
    Ok(Status::NO)
}

fn add(given: &Given, out: &mut dyn Write) -> anyhow::Result<()> {
    let own = own_host(given)?;
    let directory = NewsDirectory::meant(given)?;
    let before = directory.settings()?.settings;
    let name = free_name(given, &directory, &before)?;
    let answers = Answers::ask(given, &name)?;
    let headers = Headers {
        sent: before.headers_only || given.has(entry::HEADFEED.name),
        taken: before.headers_only,
    };
    // On the nodes of a cluster, it is a matter of each node, as the table of access is.
    let own_line = own.as_deref().map(entry::own_host).unwrap_or_default();
    let site = site_table(given, &name, &answers, headers, &own_line)?;
    let path = directory.file(settings::FILE);
    let text = read_text(&path)?;
    // Also where we feed nobody: the host is checked and called the same way.
    let with_site = entry::parsed(&path, &entry::with(&text, Some(&site), None))?;
    let server = entry::server(&with_site, &name)?;
    let access = if answers.direction.is_in() {
        let access = access_table(given, server, &name, &answers, headers)? + &own_line;
        Some(usable(given, access)?)
    } else {
        None
    };
    if access.is_some()
        && let Some(change) = &answers.exchanged.wildmat.change
    {
        eprintln!(
            "broadsheet: `send' of the [[access]] `{name}': {change}; edit it if there are such groups"
        );
    }
    let site = answers.direction.is_out().then_some(site);
    let changed = entry::with(&text, site.as_deref(), access.as_deref());
    warn_of_hidden(&entry::parsed(&path, &changed)?, &name);
    let checks = if given.has("no-test") {
        Checks::default()
    } else {
        let probed = Probe {
            news: directory.root(),
            own: &before.name,
            group: None,
            fed_at: None,
        };
        probe(server, &probed)
    };
    // Questions and the test take time.
    if read_text(&path)? != text {
        let path = path.display();
        return Err(unchanged(format!(
            "{path} was edited meanwhile; nothing was changed: try again"
        )));
    }
    replace(&path, &changed)?;
    let ours = Ours::of(&before, own.as_deref(), server.bind);
    let exchanged = &answers.exchanged;
    let added = Added {
        name: &name,
        is_node: before.is_node(),
        checks,
        ours: [site, access],
        lines: for_others(&ours, answers.direction, exchanged, exchanged, headers),
    };
    given.print(&added, out)?;
    Ok(())
}

/// The operand, if it can be the name of a new peer.
fn free_name(
    given: &Given,
    directory: &NewsDirectory,
    before: &Settings,
) -> anyhow::Result<String> {
    let name = given.operands.first();
    let name = name
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    if let Err(what) = settings::check_name(&name) {
        return Err(given.usage(format!("`{name}': {what}")).into());
    }
    if name == before.name {
        return Err(unchanged(format!(
            "`{name}' is this system itself; nothing was changed: give the name of the peer"
        )));
    }
    if let Some(there) = already(directory, before, &name)? {
        return Err(unchanged(format!(
            "{there}; nothing was changed (`peer show {name}' shows it)"
        )));
    }
    Ok(name)
}

/// The answers to the questions.
struct Answers {
    host: String,
    /// The groups to exchange, as C News patterns.
    patterns: String,
    exchanged: ExchangedGroups,
    direction: Direction,
}

impl Answers {
    /// Takes them from the flags, else from the terminal.
    fn ask(given: &Given, name: &str) -> anyhow::Result<Answers> {
        let question = "Host of the peer, with its port if that is not 119";
        let host = answer(given, "host", question, name)?;
        let patterns = answer(given, "groups", "Groups to exchange", entry::FOR_OTHERS)?;
        let exchanged = exchanged(given, &patterns)?;
        let question = "Who feeds whom: both, in (the peer us), out (we the peer)";
        let word = answer(given, "direction", question, "both")?;
        let known = Direction::ALL.iter().find(|(known, _)| *known == word);
        let Some((_, direction)) = known.copied() else {
            return Err(unchanged(format!(
                "the direction is both, in or out, not `{word}'; nothing was changed"
            )));
        };
        let mut of_feed = entry::FEED_FLAGS.iter().chain([&entry::HEADFEED]);
        if !direction.is_out()
            && let Some(flag) = of_feed.find(|flag| given.has(flag.name))
        {
            let what = format!(
                "--{} says how we feed the peer, and with the direction in we do not",
                flag.name
            );
            return Err(given.usage(what).into());
        }
        Ok(Answers {
            host,
            patterns,
            exchanged,
            direction,
        })
    }
}

/// The groups of C News patterns that match something.
fn exchanged(given: &Given, patterns: &str) -> anyhow::Result<ExchangedGroups> {
    if let Some(what) = groups::pattern::star_in(patterns.as_bytes()) {
        let what = format!("--groups has {what}; nothing was changed");
        return Err(given.usage(what).into());
    }
    let exchanged = ExchangedGroups::of_patterns(patterns);
    if !exchanged.wildmat.text.is_empty()
        && Pattern::parse_poison(patterns.as_bytes()).only_excludes()
    {
        let what = "--groups only excludes, so that nothing matches; begin with `all,'; nothing was changed";
        return Err(given.usage(what).into());
    }
    Ok(exchanged)
}

/// The lines of the `[[site]]`.
fn site_table(
    given: &Given,
    name: &str,
    answers: &Answers,
    headers: Headers,
    own_line: &str,
) -> anyhow::Result<String> {
    let flags = entry::VIA_FLAGS.iter().chain(&entry::FEED_FLAGS);
    let mut keys = entry::keys(given, flags);
    if headers.sent {
        keys.push(entry::HEADFEED_KEY.to_owned());
    }
    let mut site = entry::site(name, &answers.host, &answers.patterns, &keys);
    if !answers.direction.is_in() {
        site += own_line;
    }
    usable(given, site)
}

/// The lines of the `[[access]]`.
fn access_table(
    given: &Given,
    server: &NntpServer,
    name: &str,
    answers: &Answers,
    headers: Headers,
) -> anyhow::Result<String> {
    let from = callers(given, server)?;
    if from.is_empty() {
        return Err(unchanged(format!(
            "{} has no address: add --from with the addresses from which the peer calls; nothing was changed",
            server.host
        )));
    }
    let wildmat = &answers.exchanged.wildmat;
    Ok(entry::access(name, &from, &wildmat.text, headers.taken))
}

/// The lines of a table, if they cause no error.
fn usable(given: &Given, table: String) -> anyhow::Result<String> {
    match entry::fault_of(&table) {
        None => Ok(table),
        Some(what) => Err(given.usage(format!("{what}; nothing was changed")).into()),
    }
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path);
    text.with_context(|| format!("cannot read {}", path.display()))
}

/// Replaces the file.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    // It may be a link to a file in another directory (`init --etc').
    let real = std::fs::canonicalize(path);
    let real = real.with_context(|| format!("cannot read {}", path.display()))?;
    store::replace(&store::disk::RealDisk, &real, |file| {
        file.write_at(text.as_bytes(), 0)
    })?;
    Ok(())
}

/// The addresses from which the peer calls, as the flag, the user or the name server gives them.
fn callers(given: &Given, server: &NntpServer) -> anyhow::Result<Vec<String>> {
    let question = "Addresses from which the peer calls";
    let from = answer(given, "from", question, &entry::addresses(server))?;
    let from: Vec<String> = from
        .split(',')
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect();
    if from.iter().any(|one| is_local(one)) {
        eprintln!(
            "broadsheet: newsreaders on this machine will have only the rights of this peer, since they have its address; if that is not meant, let the tunnel come from another address (such as 127.0.0.2)"
        );
    }
    Ok(from)
}

/// Reports the `[[access]]` tables that the new one keeps from being used, or that keep it from being used.
fn warn_of_hidden(after: &Settings, name: &str) {
    for (hidden, by) in review::access::hidden(&after.access.entries) {
        if hidden.name == name || by.name == name {
            eprintln!(
                "broadsheet: the [[access]] table `{}' is never used now: `{}', before it, matches all its clients; change their `from'",
                hidden.name, by.name
            );
        }
    }
}

/// Whether an address is one of this machine's own.
fn is_local(address: &str) -> bool {
    let address = address.parse::<std::net::IpAddr>();
    address.is_ok_and(|address| {
        address == std::net::Ipv4Addr::LOCALHOST || address == std::net::Ipv6Addr::LOCALHOST
    })
}

/// The entries that the settings already have under this name.
fn already(
    directory: &NewsDirectory,
    settings: &Settings,
    name: &str,
) -> anyhow::Result<Option<String>> {
    let sites = directory.sys(settings)?;
    if sites.feed(name.as_bytes()).is_some() {
        return Ok(Some(format!("the site `{name}' is there already")));
    }
    let mut entries = settings.access.entries.iter();
    let is_there = entries.any(|entry| entry.name == name);
    Ok(is_there.then(|| format!("an [[access]] table `{name}' is there already")))
}

/// The value of a flag; else what is typed on the terminal; else the usual one.
fn answer(given: &Given, flag: &str, question: &str, usual: &str) -> anyhow::Result<String> {
    if let Some(value) = given.value(flag) {
        return Ok(value.to_string_lossy().into_owned());
    }
    let stdin = io::stdin();
    if !stdin.is_terminal() || given.has("json") {
        return Ok(usual.to_owned());
    }
    eprint!("{question} [{usual}]: ");
    io::stderr().flush()?;
    let mut line = String::new();
    let mut input = io::Read::take(stdin.lock(), entry::ANSWER_BYTES_MAX);
    input
        .read_line(&mut line)
        .context("cannot read the answer")?;
    Ok(match line.trim() {
        "" => usual.to_owned(),
        typed => typed.to_owned(),
    })
}

/// The entries that were written, and the lines for the other site.
struct Added<'a> {
    name: &'a str,
    is_node: bool,
    checks: Checks,
    ours: [Option<String>; 2],
    lines: Vec<Lines>,
}

impl Answer for Added<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.checks.write_text(out)?;
        if !self.checks.are_good() {
            writeln!(
                out,
                "The test failed; `broadsheet peer test {}' repeats it.",
                self.name
            )?;
        }
        let [site, access] = self.ours.each_ref().map(Option::is_some);
        let in_force = match (self.is_node, site, access) {
            (false, _, _) => "`broadsheet reload' puts it in force",
            (true, false, _) => {
                "`broadsheet reload' puts it in force on this node alone: add it on each node that the peer calls"
            }
            (true, true, false) => "`broadsheet cluster apply' puts it in force on all nodes",
            (true, true, true) => {
                "`broadsheet cluster apply' puts the [[site]] in force on all nodes, and the [[access]] on this one alone: add it on each \
                 node that the peer calls"
            }
        };
        writeln!(out, "\nAdded to {}; {in_force}:\n", settings::FILE)?;
        for text in self.ours.iter().flatten() {
            indent(text, out)?;
            writeln!(out)?;
        }
        write_lines(&self.lines, out)
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "test": self.checks.json(),
            "site": self.ours.first(),
            "access": self.ours.last(),
            "lines": lines_json(&self.lines),
        })
    }
}

fn indent(text: &str, out: &mut dyn Write) -> io::Result<()> {
    text.lines().try_for_each(|line| match line {
        "" => writeln!(out),
        line => writeln!(out, "    {line}"),
    })
}

/// Prints the lines for the other site.
pub fn write_lines(lines: &[Lines], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "The administrator of the other site adds (for the news system there):"
    )?;
    for Lines { system, file, text } in lines {
        writeln!(out, "\n{system}, {file}:\n")?;
        indent(text, out)?;
    }
    Ok(())
}

/// The same for programs.
pub fn lines_json(lines: &[Lines]) -> Value {
    let lines = lines.iter();
    lines
        .map(|Lines { system, file, text }| json!({ "system": system, "file": file, "text": text }))
        .collect()
}
