//! The NNTP server in front: what the settings say, and what the command line adds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server::certificates::{Certificates, Watching};
use server::socket::{self, Listening};
use server::{Newsroom, Plan, Server, Terms, Times};
use store::Board;

use super::say;
use crate::directory::NewsDirectory;
use crate::settings::Settings;

/// Where the command line wants it to listen, besides the settings.
#[derive(Debug, Clone, Default)]
pub struct Listen {
    /// As `nntp.listen`.
    pub plain: Vec<String>,
    /// As `nntp.listen_tls`.
    pub tls: Vec<String>,
}

/// Opens the sockets, those that systemd opened too. To be called before there are other threads.
///
/// # Errors
/// Which address, and what to do.
pub fn listen(settings: &Settings, more: &Listen) -> anyhow::Result<Vec<Listening>> {
    let mut sockets = socket::inherited()?;
    let both = [
        (&settings.nntp.listen, &more.plain, false),
        (&settings.nntp.listen_tls, &more.tls, true),
    ];
    for (from_settings, from_flags, is_tls) in both {
        let words = from_settings.split(',').map(str::trim);
        let all = words.chain(from_flags.iter().map(String::as_str));
        for address in all.filter(|address| !address.is_empty()) {
            sockets.extend(socket::bind_all(address, is_tls)?);
        }
    }
    Ok(sockets)
}

fn terms(settings: &Settings, has_tls: bool) -> Terms {
    let nntp = &settings.nntp;
    let words = nntp.without.split(',').map(str::trim);
    Terms {
        host: settings.name.clone(),
        software: concat!("Broadsheet ", env!("CARGO_PKG_VERSION")).to_owned(),
        has_tls,
        has_compression: true,
        has_plaintext_passwords: nntp.plaintext_passwords,
        article_bytes_max: usize::try_from(settings.limits.article_bytes_max).unwrap_or(usize::MAX),
        switched_off: words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

/// The certificate, where there is one.
///
/// # Errors
/// Its files cannot be used.
pub fn certificates(
    directory: &NewsDirectory,
    settings: &Settings,
) -> anyhow::Result<Option<Arc<Certificates>>> {
    let nntp = &settings.nntp;
    if nntp.certificate.is_empty() {
        return Ok(None);
    }
    let place = |name: &str| -> PathBuf { directory.root().join(Path::new(name)) };
    let certificates = Certificates::open(&place(&nntp.certificate), &place(&nntp.key))?;
    Ok(Some(Arc::new(certificates)))
}

/// Starts serving.
///
/// # Errors
/// What keeps it from it.
pub fn open(
    directory: &NewsDirectory,
    settings: &Settings,
    (newsroom, board): (Arc<dyn Newsroom>, Arc<Board>),
    doors: Vec<Listening>,
) -> anyhow::Result<Option<Door>> {
    if doors.is_empty() {
        return Ok(None);
    }
    let certificates = certificates(directory, settings)?;
    if certificates.is_none() && doors.iter().any(|door| door.is_tls) {
        anyhow::bail!("to listen with TLS takes a certificate: say nntp.certificate and nntp.key");
    }
    for door in &doors {
        let how = if door.is_tls { " with TLS" } else { "" };
        say(&format!("listening at {}{how}", door.address));
    }
    let plan = plan(directory, settings, (newsroom, board), certificates);
    let plan = Plan {
        connections_max: connections_max(plan.connections_max),
        ..plan
    };
    let watching = match &plan.certificates {
        Some(certificates) => Some(certificates.watch(say)?),
        None => None,
    };
    let certificates = plan.certificates.clone();
    Ok(Some(Door {
        server: Server::start(Plan { doors, ..plan })?,
        certificates,
        _watching: watching,
    }))
}

/// Descriptors that no connection gets: the store needs them, and programs that are started.
const DESCRIPTORS_KEPT: u64 = 256;

/// As many connections as are wanted, or as the limit on open files has room for; that is raised as far as it may be.
fn connections_max(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let open_files = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let Some(open_files) = open_files else {
        return wanted;
    };
    let room = open_files - DESCRIPTORS_KEPT.min(open_files / 2);
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    if room < wanted {
        say(&format!(
            "{room} connections at most: not more than {open_files} files may be open"
        ));
    }
    room.min(wanted)
}

/// What the settings say; no doors as yet.
pub fn plan(
    directory: &NewsDirectory,
    settings: &Settings,
    (newsroom, board): (Arc<dyn Newsroom>, Arc<Board>),
    certificates: Option<Arc<Certificates>>,
) -> Plan {
    let nntp = &settings.nntp;
    let threads = match nntp.threads {
        0 => std::thread::available_parallelism().map_or(2, usize::from),
        count => usize::try_from(count).unwrap_or(1),
    };
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Plan {
        dir: directory.root().to_owned(),
        board,
        newsroom,
        access: Arc::new(settings.access(directory.root())),
        terms: terms(settings, certificates.is_some()),
        doors: Vec::new(),
        certificates,
        times: Times {
            idle: Duration::from_secs(nntp.idle_seconds),
            first: Duration::from_secs(nntp.first_seconds),
        },
        threads,
        connections_max: count(nntp.connections_max),
        connections_per_address_max: count(nntp.connections_per_address_max),
    }
}

/// The open door.
pub struct Door {
    /// The server.
    pub server: Server,
    certificates: Option<Arc<Certificates>>,
    _watching: Option<Watching>,
}

/// Goes by the settings as they are now. Where it listens stays as it was.
pub fn reload(door: &Door, directory: &NewsDirectory, settings: &Settings) {
    if let Some(Err(fault)) = door.certificates.as_ref().map(|files| files.reload()) {
        say(&format!("{fault}; the certificate stays as it was"));
    }
    let server = &door.server;
    let access = Arc::new(settings.access(directory.root()));
    server.reload(access, terms(settings, server.has_tls()));
}
