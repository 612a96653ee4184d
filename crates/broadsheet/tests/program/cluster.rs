//! The nodes of a cluster on this machine.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;

use super::Program;
use super::nats::Servers;
use super::nntp::{ALL_MAY, listen};

/// News directories that become the nodes of a new cluster; the first makes the log.
pub fn nodes(servers: &Servers, count: usize, active: &str) -> Vec<Program> {
    (0..count)
        .map(|place| {
            let program = Program::with_news(active);
            listen(&program, ALL_MAY);
            program.cancel_as_c_news();
            make_node(&program, servers);
            let told = match place {
                0 => program.run(&["cluster", "init", "--dir", "news", "--log-bytes", "1 GiB"]),
                _ => program.run(&["cluster", "join", "--dir", "news"]),
            };
            assert_eq!(told.status, 0, "{told:?}");
            program
        })
        .collect()
}

/// Writes the settings and the logins of a node.
pub fn make_node(program: &Program, servers: &Servers) {
    let options = servers.options();
    // All run on one machine: each needs a name of its own.
    let section = format!(
        "\n[cluster]\nservers = \"{}\"\nstream = \"{}\"\nnode = \"{}\"\n",
        options.servers.join(", "),
        options.stream,
        name(program)
    );
    let settings = program.read("news/broadsheet.toml") + &section;
    program.write("news/broadsheet.toml", settings.as_bytes());
    let logins: Vec<String> = [options.login, options.system_login]
        .into_iter()
        .flatten()
        .map(|seed| format!("{seed}\n"))
        .collect();
    let path = program.path("news/keys/cluster.login");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, logins.concat()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// The name of a node.
pub fn name(program: &Program) -> String {
    let room = program.path("");
    let name = room.file_name().unwrap().to_string_lossy().into_owned();
    name.trim_start_matches('.').to_owned()
}

/// The place of a node in the log: its name, the sequence number, the chain hash, the hash of the settings, and that of the outcomes.
pub fn applied(program: &Program) -> String {
    let lines = program.read("news/cluster.applied");
    lines.lines().last().unwrap().to_owned()
}
