//! The answers of a setup: what is asked, and what an answer means.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use access::Network;
use expire::explist::KEEP_DAYS;
use groups::nntp_server::{NNTP_PORT, NNTPS_PORT, NntpServer};
use groups::{Active, size};
use server::certificates::Certificates;

use super::question::Asker;
use super::suggested_groups::SETS;
use crate::command::init::with_needed_groups;
use crate::keep_free::Disk;
use crate::operand;
use crate::peer::entry;

/// The port where the usual one needs rights.
const HIGH_PORT: u16 = 1119;

/// The flags of answers, each with the way to change it after the directory was made.
pub const FLAGS: [(&str, &str); 10] = [
    ("name", "edit broadsheet.toml"),
    ("groups", "see `broadsheet group add'"),
    ("readers", "edit broadsheet.toml"),
    ("login", "see `broadsheet user add'"),
    ("peers", "see `broadsheet peer add'"),
    ("tls", "edit broadsheet.toml"),
    ("keep-free", "edit broadsheet.toml"),
    ("keep-days", "edit explist"),
    ("port", "edit broadsheet.toml"),
    ("tls-port", "edit broadsheet.toml"),
];

/// All answers.
pub struct Answers {
    /// The site's name.
    pub name: String,
    /// Its groups.
    pub groups: Groups,
    /// The permissions to read and post.
    pub readers: Readers,
    /// The first login.
    pub login: Option<String>,
    /// The other sites.
    pub peers: Vec<Peer>,
    /// Certificate and key.
    pub tls: Option<[PathBuf; 2]>,
    /// Free disk space to leave, bytes.
    pub keep_free: u64,
    /// Life of articles, days.
    pub keep_days: u64,
    /// The port.
    pub port: u16,
    /// The port with TLS from the first byte.
    pub tls_port: u16,
    /// Whether systemd opens the ports.
    pub uses_sockets: bool,
}

/// The groups: the files `active` and `newsgroups`.
#[derive(Default)]
pub struct Groups {
    pub active: Vec<u8>,
    pub newsgroups: Vec<u8>,
}

/// The permissions to read and post, besides those of clients on this machine.
#[derive(Default)]
pub struct Readers {
    /// In these networks everybody.
    pub networks: Vec<String>,
    /// From anywhere users that have logged in.
    pub users: bool,
    /// Everybody may read.
    pub anyone: bool,
}

impl Readers {
    /// Whether only this machine reads.
    pub fn are_local(&self) -> bool {
        self.networks.is_empty() && !self.users && !self.anyone
    }
}

/// Another site.
pub struct Peer {
    pub name: String,
    /// Its host, with a port that is not the usual one.
    pub host: String,
    /// The addresses from which it calls.
    pub from: Vec<String>,
}

/// The circumstances of a setup.
pub struct Circumstances {
    /// The news directory.
    pub root: PathBuf,
    /// systemd can open ports 119 and 563.
    pub has_sockets: bool,
}

/// Asks everything. `None`: answers are missing, which [`Asker::finish`] reports.
///
/// # Errors
/// Those of [`Asker::ask`].
pub fn ask(
    asker: &mut Asker<'_>,
    given: &crate::flags::Given,
    about: &Circumstances,
) -> anyhow::Result<Option<Answers>> {
    let name = asker.ask(
        "name",
        "\n1. Name of this site in Path, usually its full host name:",
        &host_name(),
        |text| match text {
            "" => Err("write a name, such as news.example.org".to_owned()),
            name => settings::check_name(name).map(|()| name.to_owned()),
        },
    )?;
    let groups = asker.ask(
        "groups",
        "\n2. Groups: `local' (three for this site), `usenet' (some that most servers have), names, or a file in the form of active (such as that of ftp.isc.org/pub/usenet/CONFIG):",
        "local",
        groups,
    )?;
    let readers = asker.ask(
        "readers",
        "\n3. Readers and posters: `local' (on this machine), networks such as 192.0.2.0/24, `users' (from anywhere, with a login), `anyone' (may read only), or several of these:",
        "local",
        readers,
    )?;
    let has_users = readers.as_ref().is_some_and(|readers| readers.users);
    let login = match has_users || given.value("login").is_some() {
        true => asker.ask(
            "login",
            "\n   Name of the first login (`none': add logins later by `broadsheet user add'):",
            "none",
            login,
        )?,
        false => Some(None),
    };
    let peers = asker.ask(
        "peers",
        "\n4. Other sites that exchange all groups but local and local.* with this one, by their host names (`none': add them later by `broadsheet peer add'):",
        "none",
        peers,
    )?;
    let usual_tls = name.as_deref().map_or("none".to_owned(), usual_certificate);
    let tls = asker.ask(
        "tls",
        "\n5. TLS: the files of the certificate (with its chain) and of its key, or `none':",
        &usual_tls,
        tls,
    )?;
    let disk = Disk::of(&about.root);
    let are_free = match disk.free {
        None => "its file system does not report its size".to_owned(),
        Some(free) => format!(
            "{} of {} are free now",
            size::rough_bytes(free),
            size::rough_bytes(disk.whole)
        ),
    };
    let keep_free = asker.ask(
        "keep-free",
        &format!(
            "\n6. Disk: space to leave free at {} ({are_free}); articles expire earlier when less is left:",
            disk.place.display()
        ),
        &size::bytes(disk.usual()),
        |text| disk.parse(text),
    )?;
    let keep_days = asker.number("keep-days", KEEP_DAYS)?;
    if keep_days == 0 {
        let what = "--keep-days is at least 1: with 0, expire removes all articles";
        return Err(given.usage(what).into());
    }
    let is_local = readers.as_ref().is_some_and(Readers::are_local)
        && peers.as_ref().is_some_and(Vec::is_empty);
    // The units open it for everybody.
    let usual = match about.has_sockets && !is_local {
        true => NNTP_PORT,
        false => HIGH_PORT,
    };
    let port = port(asker, given, "port", usual)?;
    let tls_usual = port
        .checked_add(NNTPS_PORT - NNTP_PORT)
        .unwrap_or(NNTPS_PORT);
    let tls_port = self::port(asker, given, "tls-port", tls_usual)?;
    if matches!(tls, Some(None)) && given.value("tls-port").is_some() {
        let what = "--tls-port needs a certificate: add --tls 'CERTIFICATE KEY'";
        match asker.is_terminal() {
            // The answers would be lost.
            true => eprintln!("broadsheet: {what}; without one, there is no port with TLS"),
            false => return Err(given.usage(what).into()),
        }
    }
    let all = (name, groups, readers, login, peers, tls, keep_free);
    let (
        Some(name),
        Some(groups),
        Some(readers),
        Some(login),
        Some(peers),
        Some(tls),
        Some(keep_free),
    ) = all
    else {
        return Ok(None);
    };
    Ok(Some(Answers {
        name,
        groups,
        readers,
        login,
        peers,
        tls,
        keep_free,
        keep_days,
        port,
        tls_port,
        uses_sockets: about.has_sockets && (port, tls_port) == (NNTP_PORT, NNTPS_PORT),
    }))
}

fn port(
    asker: &mut Asker<'_>,
    given: &crate::flags::Given,
    flag: &'static str,
    usual: u16,
) -> anyhow::Result<u16> {
    let number = asker.number(flag, usual.into())?;
    let port = u16::try_from(number).ok().filter(|port| *port > 0);
    Ok(port.ok_or_else(|| given.usage(format!("--{flag}: a port is a number from 1 to 65535")))?)
}

/// The words of an answer, with commas or blanks between.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ', '\t']).filter(|word| !word.is_empty())
}

fn groups(text: &str) -> Result<Groups, String> {
    if text.contains('/')
        || (Path::new(text).is_file() && !SETS.iter().any(|(word, _)| *word == text))
    {
        return groups_of_file(Path::new(text));
    }
    let mut groups = Groups::default();
    let mut put = |name: &str, flag: &str, description: &str| {
        let line = format!("{name} 0000000000 0000000001 {flag}\n");
        groups.active.extend_from_slice(line.as_bytes());
        if !description.is_empty() {
            let line = format!("{name}\t{description}\n");
            groups.newsgroups.extend_from_slice(line.as_bytes());
        }
    };
    let mut seen = Vec::new();
    for word in words(text) {
        if word == "none" {
            continue;
        }
        let set = SETS.iter().find(|(name, _)| *name == word);
        if set.is_none() {
            groups::name::check_new(word.as_bytes())
                .map_err(|fault| format!("`{word}' is no name of a group: {fault}"))?;
            if !word.contains('.') {
                return Err(format!(
                    "`{word}' is neither local, usenet, a file, nor the name of a group (which has a dot)"
                ));
            }
        }
        let single = [(word, "y", "")];
        for &(name, flag, description) in set.map_or(single.as_slice(), |(_, set)| set) {
            if !seen.contains(&name) {
                seen.push(name);
                put(name, flag, description);
            }
        }
    }
    Ok(groups)
}

fn groups_of_file(path: &Path) -> Result<Groups, String> {
    let text = operand::read(path).map_err(|error| format!("{error:#}"))?;
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    let active =
        Active::parse(text.clone()).map_err(|fault| format!("{}: {fault}", path.display()))?;
    if let Some(line) = active.bad_lines().first() {
        return Err(format!(
            "{}: {} of {lines} lines are not lines of active (GROUP HIGH LOW FLAG): {line}",
            path.display(),
            active.bad_line_count()
        ));
    }
    let (active, _) = with_needed_groups(text).map_err(|error| format!("{error:#}"))?;
    Ok(Groups {
        active,
        newsgroups: Vec::new(),
    })
}

fn readers(text: &str) -> Result<Readers, String> {
    let mut readers = Readers::default();
    for word in words(text) {
        match word {
            "local" => {}
            "users" => readers.users = true,
            "anyone" => readers.anyone = true,
            network => {
                let parsed = Network::parse(network).map_err(|why| {
                    format!("`{network}' is neither local, users, anyone, nor a network: it {why}")
                })?;
                // The table of this machine comes before that of the networks, and would leave it nothing.
                let is_here = Network::parse("local").is_ok_and(|here| here.includes(&parsed));
                if !is_here {
                    readers.networks.push(network.to_owned());
                }
            }
        }
    }
    Ok(readers)
}

fn login(text: &str) -> Result<Option<String>, String> {
    match text {
        "none" | "" => Ok(None),
        name => access::users::new_name(name)
            .map(Some)
            .map_err(|why| format!("`{name}' {why}")),
    }
}

fn peers(text: &str) -> Result<Vec<Peer>, String> {
    let mut peers: Vec<Peer> = Vec::new();
    for host in words(text).filter(|word| *word != "none") {
        let (name, port) = match host.split_once(':') {
            None => (host, NNTP_PORT),
            Some((name, port)) => (
                name,
                port.parse()
                    .map_err(|_| format!("`{host}': `{port}' is no port"))?,
            ),
        };
        settings::check_name(name).map_err(|why| format!("`{name}': {why}"))?;
        if peers.iter().any(|peer| peer.name == name) {
            return Err(format!("`{name}' is named twice"));
        }
        let from = entry::addresses(&NntpServer::new(name, port));
        if from.is_empty() {
            return Err(format!(
                "`{name}' has no address now: leave it out, and add it later by `broadsheet peer add {name} --from ADDRESS'"
            ));
        }
        let from: Vec<String> = from.split(',').map(str::to_owned).collect();
        let is_here = |address: &String| {
            let address = address.parse::<IpAddr>();
            address.is_ok_and(|address| address.is_loopback())
        };
        if from.iter().any(is_here) {
            return Err(format!("`{name}' is this machine"));
        }
        peers.push(Peer {
            name: name.to_owned(),
            host: host.to_owned(),
            from,
        });
    }
    Ok(peers)
}

fn tls(text: &str) -> Result<Option<[PathBuf; 2]>, String> {
    let paths: Vec<&str> = words(text).collect();
    let full = |path: &str| std::path::absolute(path).map_err(|error| format!("{path}: {error}"));
    let files = match paths.as_slice() {
        [] | ["none"] => return Ok(None),
        [both] => [full(both)?, full(both)?],
        [certificate, key] => [full(certificate)?, full(key)?],
        _ => return Err("name two files: the certificate, and its key".to_owned()),
    };
    for file in &files {
        // There are no settings yet to which the error of the server refers.
        match std::fs::metadata(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(format!("{} does not exist", file.display()));
            }
            Ok(facts) if !facts.is_file() => {
                return Err(format!("{} is not a regular file", file.display()));
            }
            _ => {}
        }
    }
    let [certificate, key] = &files;
    match Certificates::open(certificate, key) {
        Ok(_) => Ok(Some(files)),
        Err(fault) => Err(fault.to_string()),
    }
}

/// The certificate of certbot, where this user may read it.
fn usual_certificate(name: &str) -> String {
    let folder = Path::new("/etc/letsencrypt/live").join(name);
    let files = [folder.join("fullchain.pem"), folder.join("privkey.pem")];
    let [certificate, key] = &files;
    match Certificates::open(certificate, key) {
        Ok(_) => format!("{} {}", certificate.display(), key.display()),
        Err(_) => "none".to_owned(),
    }
}

/// The full host name; empty if the system does not tell one.
fn host_name() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let short = read("/proc/sys/kernel/hostname").trim().to_owned();
    let hosts = read("/etc/hosts");
    let of_hosts = hosts
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .filter(|line| line.split_ascii_whitespace().any(|word| word == short))
        .flat_map(|line| line.split_ascii_whitespace().skip(1).map(str::to_owned));
    let names = std::iter::once(short.clone())
        .chain(of_hosts)
        .chain([read("/etc/mailname").trim().to_owned()]);
    let is_full = |name: &String| {
        name.contains('.')
            && name.parse::<IpAddr>().is_err()
            && !name.starts_with("localhost")
            && settings::check_name(name).is_ok()
    };
    names.into_iter().find(is_full).unwrap_or_default()
}

/// Whether the name has an address here.
pub fn resolves(name: &str) -> Vec<IpAddr> {
    let found = (name, NNTP_PORT).to_socket_addrs();
    found.map_or_else(
        |_| Vec::new(),
        |all| all.map(|address| address.ip()).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_words_names_or_a_file() {
        let found = groups("local, comp.lang.c local.test").unwrap();
        let active = String::from_utf8(found.active).unwrap();
        let names: Vec<&str> = active
            .lines()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(
            names,
            [
                "local.announce",
                "local.general",
                "local.test",
                "comp.lang.c"
            ]
        );
        assert_eq!(
            String::from_utf8(found.newsgroups).unwrap().lines().count(),
            3
        );
        assert!(groups("none").unwrap().active.is_empty());
        for bad in ["locla", "a..b", "Comp.X", "/nonexistent/active"] {
            assert!(groups(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn readers_are_words_and_networks() {
        assert!(readers("local").unwrap().are_local());
        let found = readers("192.0.2.0/24 users").unwrap();
        assert!(found.users && !found.anyone && found.networks == ["192.0.2.0/24"]);
        assert!(readers("192.0.2.1/24").is_err() && readers("everyone").is_err());
    }

    #[test]
    fn peers_need_an_address() {
        let found = peers("192.0.2.7:1119").unwrap();
        assert_eq!(
            (found[0].name.as_str(), found[0].host.as_str()),
            ("192.0.2.7", "192.0.2.7:1119")
        );
        assert_eq!(found[0].from, ["192.0.2.7"]);
        assert!(peers("none").unwrap().is_empty());
        for bad in [
            "nowhere.invalid",
            "192.0.2.7 192.0.2.7",
            "192.0.2.7:x",
            "localhost",
        ] {
            assert!(peers(bad).is_err(), "{bad}");
        }
    }
}
