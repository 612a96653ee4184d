//! The NNTP server of the daemon, with the settings and the addresses of the command line.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server::certificates::{Certificates, Watching};
use server::socket::{self, Listener};
use server::{ArticleSink, Capabilities, ConfigSnapshot, Plan, Server, Times};
use store::Published;

use super::journal::say_detail;
use super::sandbox::{Role, Sandbox, Starter};
use super::{say, warn};
use settings::{NewsDirectory, Settings, SystemZone};

/// The addresses of the command line, in addition to those of the settings.
#[derive(Debug, Clone, Default)]
pub struct Listen {
    /// As `nntp.listen`.
    pub plain: Vec<String>,
    /// As `nntp.listen_tls`.
    pub tls: Vec<String>,
}

/// Opens the sockets, and takes over those opened by systemd. Call it before other threads exist.
///
/// # Errors
/// The address, and how to correct the error.
pub fn listen(settings: &Settings, more: &Listen) -> anyhow::Result<Vec<Listener>> {
    let mut sockets = socket::inherited()?;
    let both = [
        (&settings.nntp.listen, &more.plain, false),
        (&settings.nntp.listen_tls, &more.tls, true),
    ];
    for (from_settings, from_flags, is_tls) in both {
        let words = from_settings.split(',').map(str::trim);
        let all = words.chain(from_flags.iter().map(String::as_str));
        for address in all.filter(|address| !address.is_empty()) {
            let bound = socket::bind_beside(&sockets, address, is_tls)?;
            sockets.extend(bound);
        }
    }
    Ok(sockets)
}

fn capabilities(settings: &Settings, has_tls: bool) -> Capabilities {
    let nntp = &settings.nntp;
    let off = nntp.switched_off();
    let article_bytes_max =
        usize::try_from(settings.limits.article_bytes_max).unwrap_or(usize::MAX);
    Capabilities {
        host: settings.name.clone(),
        software: concat!("Broadsheet ", env!("CARGO_PKG_VERSION")).to_owned(),
        has_tls,
        has_compression: true,
        has_plaintext_passwords: nntp.plaintext_passwords,
        article_bytes_max,
        wire_bytes_max: match settings.is_node() {
            // The log of the cluster has it in wire form, and its entries have a limit.
            true => article_bytes_max,
            // One of nothing but empty lines.
            false => article_bytes_max.saturating_mul(2),
        },
        headers_only: settings.headers_only,
        disabled: off.into_iter().map(access::Feature::capability).collect(),
    }
}

/// The certificate, if one is set.
///
/// # Errors
/// Its files cannot be used.
pub fn certificates(
    directory: &NewsDirectory,
    settings: &Settings,
) -> anyhow::Result<Option<Arc<Certificates>>> {
    Ok(match settings.nntp.certificate_files(directory.root()) {
        Some([certificate, key]) => Some(Arc::new(Certificates::open(&certificate, &key)?)),
        None => None,
    })
}

/// Starts serving.
///
/// # Errors
/// The reason why the server cannot start.
pub fn open(
    directory: &NewsDirectory,
    settings: &Settings,
    (sink, published): (Arc<dyn ArticleSink>, Arc<Published>),
    confining: (&Arc<Sandbox>, &Starter),
    listeners: Vec<Listener>,
    certificates: Option<Arc<Certificates>>,
) -> anyhow::Result<Option<NntpService>> {
    if listeners.is_empty() {
        return Ok(None);
    }
    let has_tls_doors = listeners.iter().any(|nntp_service| nntp_service.is_tls);
    if certificates.is_none() && has_tls_doors {
        anyhow::bail!("listening with TLS needs a certificate: set nntp.certificate and nntp.key");
    }
    for nntp_service in &listeners {
        let how = if nntp_service.is_tls { " with TLS" } else { "" };
        say(&format!("listening at {}{how}", nntp_service.address));
    }
    let watching = match &certificates {
        Some(certificates) => Some(certificates.watch(say)?),
        None => None,
    };
    let plan = plan(
        directory,
        settings,
        (sink, published),
        confining,
        certificates.clone(),
    );
    let config = ConfigSnapshot {
        connections_max: connections_max(plan.config.connections_max),
        ..plan.config
    };
    Ok(Some(NntpService {
        server: Server::start(Plan {
            listeners,
            config,
            ..plan
        })?,
        certificates,
        has_tls_doors,
        watching,
    }))
}

/// Descriptors reserved for the store and for programs that the daemon starts.
const DESCRIPTORS_KEPT: u64 = 256;

/// The maximum number of connections: the setting, limited by the number of open files, which is raised as far as permitted.
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
        let text =
            format!("maximum of {room} connections: the limit of open files is {open_files}");
        match room < wanted / 2 {
            true => warn(&text),
            // With the usual limit there is room for all that come.
            false => say_detail(&text),
        }
    }
    room.min(wanted)
}

/// Makes the server's plan from the settings, without listeners.
pub fn plan(
    directory: &NewsDirectory,
    settings: &Settings,
    (sink, published): (Arc<dyn ArticleSink>, Arc<Published>),
    (sandbox, starter): (&Arc<Sandbox>, &Starter),
    certificates: Option<Arc<Certificates>>,
) -> Plan {
    let nntp = &settings.nntp;
    let threads = match nntp.threads {
        0 => std::thread::available_parallelism().map_or(2, usize::from),
        count => usize::try_from(count).unwrap_or(1),
    };
    Plan {
        dir: directory.root().to_owned(),
        published,
        sink,
        listeners: Vec::new(),
        threads,
        spawn: starter.for_server(),
        begin: {
            let sandbox = sandbox.clone();
            Arc::new(move || sandbox.confine(Role::Reader))
        },
        config: config(directory, settings, certificates),
    }
}

/// The settings that a running server can change.
fn config(
    directory: &NewsDirectory,
    settings: &Settings,
    certificates: Option<Arc<Certificates>>,
) -> ConfigSnapshot {
    let nntp = &settings.nntp;
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    ConfigSnapshot {
        access: Arc::new(settings.access(directory.root())),
        capabilities: Arc::new(capabilities(settings, certificates.is_some())),
        certificates,
        zone: SystemZone::read(),
        times: Times {
            idle: Duration::from_secs(nntp.idle_seconds),
            first: Duration::from_secs(nntp.first_seconds),
        },
        connections_max: count(nntp.connections_max),
        connections_per_address_max: count(nntp.connections_per_address_max),
    }
}

/// The running NNTP service.
pub struct NntpService {
    /// The server.
    pub server: Server,
    certificates: Option<Arc<Certificates>>,
    has_tls_doors: bool,
    watching: Option<Watching>,
}

/// The certificate of new settings; an unchanged one is served in its new version from here on. `None` without one.
///
/// # Errors
/// The files cannot be used; then nothing has changed.
pub fn look_at_certificates(
    nntp_service: Option<&NntpService>,
    directory: &NewsDirectory,
    settings: &Settings,
) -> anyhow::Result<Option<Arc<Certificates>>> {
    let now = nntp_service.and_then(|nntp_service| nntp_service.certificates.as_ref());
    let files = settings.nntp.certificate_files(directory.root());
    match (files, now) {
        (Some(files), Some(now)) if now.paths() == files.each_ref().map(|file| file.as_path()) => {
            now.reload()?;
            Ok(Some(now.clone()))
        }
        (Some(_), _) => certificates(directory, settings),
        // A server that listens with TLS needs a certificate.
        (None, now) if nntp_service.is_some_and(|nntp_service| nntp_service.has_tls_doors) => {
            Ok(now.cloned())
        }
        (None, _) => Ok(None),
    }
}

impl NntpService {
    /// Applies the current settings and this certificate. The listeners stay.
    pub fn reload(
        &mut self,
        directory: &NewsDirectory,
        settings: &Settings,
        certificates: Option<Arc<Certificates>>,
    ) {
        let served =
            |certificates: &Option<Arc<Certificates>>| certificates.as_ref().map(Arc::as_ptr);
        if served(&certificates) != served(&self.certificates) {
            let watching = certificates.as_ref().map(|served| served.watch(say));
            self.watching = watching.and_then(|started| {
                let failed = |error| warn(&format!("the TLS certificate is not watched: {error}"));
                started.map_err(failed).ok()
            });
            self.certificates.clone_from(&certificates);
        }
        let config = config(directory, settings, certificates);
        self.server.reload(ConfigSnapshot {
            connections_max: connections_max(config.connections_max),
            ..config
        });
    }
}
