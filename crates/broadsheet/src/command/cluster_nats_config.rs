//! `broadsheet cluster nats-config`

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use anyhow::Context;
use cluster::entry::ENTRY_BYTES_MAX;
use cluster::jetstream::{new_login, public_key};
use settings::cluster::LOGIN_FILE;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "nats-config"],
    also: &[],
    summary: "print a configuration for a NATS server that keeps the log",
    about: "\
Prints a configuration file for one of the NATS servers of a cluster (2.15.2 or newer), which
acknowledges nothing that is not on its disk. The first time, it makes the secret keys of
the nodes, in the file keys/cluster.login of the news directory; copy this file to the other nodes,
with the mode 600. The configuration has only the public keys.

  broadsheet cluster nats-config --host 10.0.0.1 --hosts 10.0.0.1,10.0.0.2,10.0.0.3 > nats.conf",
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
    let [user, system] = logins(&directory)?;
    let routes: Vec<String> = hosts
        .split(',')
        .map(|host| format!("\"nats://{}:6222\"", host.trim()))
        .collect();
    let routes = routes.join(", ");
    for text in [&host, &hosts, &store] {
        if text.contains(['"', '\\', '\n']) {
            return Err(given
                .usage(format!(
                    "`{text}' has a character that the configuration cannot have"
                ))
                .into());
        }
    }
    write!(
        out,
        "# One of the NATS servers that keep the log of a Broadsheet cluster.\n\
         server_name: \"{host}\"\n\
         listen: \"{host}:4222\"\n\
         max_payload: {ENTRY_BYTES_MAX}\n\
         jetstream {{\n  store_dir: \"{store}\"\n  # With any other value a power cut loses entries that were acknowledged.\n  sync_interval: always\n}}\n\
         cluster {{\n  name: news\n  listen: \"{host}:6222\"\n  routes: [{routes}]\n}}\n\
         accounts {{\n  NEWS {{ jetstream: enabled, users: [ {{ nkey: {user} }} ] }}\n  \
         SYS {{ users: [ {{ nkey: {system} }} ] }}\n}}\n\
         system_account: SYS\n"
    )?;
    Ok(Status::OK)
}

/// The public keys of the file, which is made if it is missing.
fn logins(directory: &NewsDirectory) -> anyhow::Result<[String; 2]> {
    let path = directory.file(LOGIN_FILE);
    let told = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(keys) = path.parent().filter(|keys| !keys.exists()) {
                DirBuilder::new().mode(0o700).create(keys)?;
            }
            let text = format!("{}\n{}\n", new_login()?, new_login()?);
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            text
        }
        read => read?,
    };
    let mut lines = told.lines();
    let mut next = || {
        let seed = lines.next();
        let seed = seed.with_context(|| format!("{}: it must have two lines", path.display()))?;
        public_key(seed.trim()).with_context(|| path.display().to_string())
    };
    Ok([next()?, next()?])
}
