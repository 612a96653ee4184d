//! `broadsheet cluster nats-config`

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::Context;
use cluster::entry::ENTRY_BYTES_MAX;
use cluster::jetstream::{new_login, public_key};
use cluster::login_secrets::{ROUTE_USER, route_password};
use rustix::fs::FileType;
use settings::cluster::LOGIN_FILE;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// Time that a server has to log in at another one, s.
const ROUTE_LOGIN_SECONDS: u32 = 2;

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "nats-config"],
    also: &[],
    summary: "print a configuration for a NATS server that keeps the log",
    about: "\
Prints a configuration file for one of the NATS servers of a cluster (2.15.2 or newer), which
acknowledges nothing that is not on its disk. The first time, it makes the secret keys of
the nodes, in the file keys/cluster.login of the news directory; copy this file to the other nodes,
with the mode 600, before you run the command there.

The configuration has the public keys of the nodes, and the password by which the servers accept each
other. The password is a secret, derived from keys/cluster.login, so that all servers have the same:
nobody but the user of nats-server may read the file.

A cluster has three servers, or one: then write `replicas = 1' in [cluster] of broadsheet.toml before
`cluster init'. Two are no safer than one, because a log needs most of its servers.

  (umask 077; broadsheet cluster nats-config --host 10.0.0.1 --hosts 10.0.0.1,10.0.0.2,10.0.0.3 > nats.conf)",
    operands: Operands::NONE,
    flags: &[
        DIR,
        Flag::new(
            "host",
            "Address of this server, for clients and for the other servers.",
        )
        .value("ADDRESS"),
        Flag::new("hosts", "Addresses of all servers, separated by commas.").value("LIST"),
        Flag::new("store", "Directory for the log (/var/lib/nats).").value("DIR"),
    ],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let value = |name: &str| {
        given
            .value(name)
            .map(|value| value.to_string_lossy().into_owned())
    };
    let host =
        value("host").ok_or_else(|| given.usage("--host: the address of the server".to_owned()))?;
    let hosts = value("hosts")
        .ok_or_else(|| given.usage("--hosts: the addresses of all servers".to_owned()))?;
    let store = value("store").unwrap_or_else(|| "/var/lib/nats".to_owned());
    let no_store = ['"', '\\', '\n'];
    let no_host = ['"', '\\', '\n', '@', '/'];
    for (text, forbidden) in [
        (&host, &no_host[..]),
        (&hosts, &no_host),
        (&store, &no_store),
    ] {
        if text.contains(forbidden) {
            return Err(given
                .usage(format!(
                    "`{text}' has a character that the configuration cannot have"
                ))
                .into());
        }
    }
    let all: Vec<&str> = hosts.split(',').map(str::trim).collect();
    if !all.contains(&host.as_str()) {
        let what = format!("--host is {host}, which is not among --hosts: {hosts}");
        return Err(given.usage(what).into());
    }
    let Logins {
        keys: [user, system],
        password,
    } = logins(&directory)?;
    let (note, cluster) = match all.len() {
        1 => (
            "# It is the only one: write `replicas = 1' in [cluster] of broadsheet.toml.\n",
            String::new(),
        ),
        _ => (
            "# It has a secret, the password in the section cluster: chmod 600, and chown to the user of nats-server.\n",
            cluster_section(&host, &all, &password),
        ),
    };
    write!(
        out,
        "# One of the NATS servers that keep the log of a Broadsheet cluster.\n\
         {note}\
         server_name: \"{host}\"\n\
         listen: \"{host}:4222\"\n\
         max_payload: {ENTRY_BYTES_MAX}\n\
         jetstream {{\n  store_dir: \"{store}\"\n  # With any other value a power cut loses entries that were acknowledged.\n  sync_interval: always\n}}\n\
         {cluster}\
         accounts {{\n  NEWS {{ jetstream: enabled, users: [ {{ nkey: {user} }} ] }}\n  \
         SYS {{ users: [ {{ nkey: {system} }} ] }}\n}}\n\
         system_account: SYS\n"
    )?;
    if all.len() == 2 {
        eprintln!(
            "broadsheet: two servers take entries only while both run: when one dies, no articles are taken. Use three, or one (and \
             `replicas = 1' in [cluster])"
        );
    }
    if all.len() > 1 {
        warn_of_readers();
    }
    Ok(Status::OK)
}

/// The section by which the servers find each other, and let in no stranger.
fn cluster_section(host: &str, all: &[&str], password: &str) -> String {
    let routes: Vec<String> = all
        .iter()
        .map(|host| format!("\"nats-route://{ROUTE_USER}:{password}@{host}:6222\""))
        .collect();
    let routes = routes.join(", ");
    format!(
        "# Only the other servers need port 6222. Without TLS the password and all articles go over the network as they are.\n\
         cluster {{\n  name: news\n  listen: \"{host}:6222\"\n  \
         authorization {{ user: {ROUTE_USER}, password: \"{password}\", timeout: {ROUTE_LOGIN_SECONDS} }}\n  routes: [{routes}]\n}}\n"
    )
}

/// Warns if the output goes to a file that others may read.
fn warn_of_readers() {
    let Ok(status) = rustix::fs::fstat(io::stdout()) else {
        return;
    };
    let is_file = FileType::from_raw_mode(status.st_mode).is_file();
    if is_file && status.st_mode & 0o077 != 0 {
        eprintln!(
            "broadsheet: the configuration has a secret password, and other users may read the file: chmod 600 it, and chown it to the user \
             of nats-server"
        );
    }
}

/// The parts of a configuration that come from `keys/cluster.login`.
struct Logins {
    /// The public keys of the users.
    keys: [String; 2],
    /// The password of the servers.
    password: String,
}

/// Reads the file, which is made if it is missing.
fn logins(directory: &NewsDirectory) -> anyhow::Result<Logins> {
    let path = directory.file(LOGIN_FILE);
    let told = match store::regular::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(keys) = path.parent() {
                store::make_directories(keys, 0o700)?;
            }
            let text = format!("{}\n{}\n", new_login()?, new_login()?);
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            store::sync_parent(&store::disk::RealDisk, &path)?;
            text
        }
        read => read?,
    };
    let mut lines = told.lines().map(str::trim);
    let mut next = || {
        let seed = lines.next();
        seed.with_context(|| format!("{}: it must have two lines", path.display()))
    };
    let (login, system) = (next()?, next()?);
    let key = |seed| public_key(seed).with_context(|| path.display().to_string());
    let keys = [key(login)?, key(system)?];
    let password = route_password(login);
    let password = password.with_context(|| format!("{}: no key", path.display()))?;
    Ok(Logins { keys, password })
}
