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
    let section = format!(
        "\n[cluster]\nservers = \"{}\"\nstream = \"{}\"\n",
        options.servers.join(", "),
        options.stream
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

/// The place of a node in the log.
pub fn applied(program: &Program) -> (u64, String) {
    let told = program.run(&["cluster", "status", "--dir", "news", "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = told.summary();
    let chain = told["chain"].as_str().unwrap().to_owned();
    (told["applied"].as_u64().unwrap(), chain)
}
