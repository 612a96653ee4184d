//! The nodes of a cluster on this machine.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use cluster::log::LogOptions;

use super::Program;
use super::daemon::until;
use super::nats::Servers;
use super::nntp::{ALL_MAY, listen};

/// News directories that become the nodes of a new cluster; the first makes the log.
pub fn nodes(servers: &Servers, count: usize, active: &str) -> Vec<Program> {
    nodes_with_log(servers, count, active, "1 GiB")
}

/// As [`nodes`], with a log of this size.
pub fn nodes_with_log(servers: &Servers, count: usize, active: &str, size: &str) -> Vec<Program> {
    (0..count)
        .map(|place| {
            let program = Program::with_news(active);
            become_node(&program, servers.options(), (place == 0).then_some(size));
            program
        })
        .collect()
}

/// Makes a news directory a node of the cluster, or the first node of a new one with a log of this size.
pub fn become_node(program: &Program, options: LogOptions, log: Option<&str>) {
    listen(program, ALL_MAY);
    program.cancel_as_c_news();
    make_node(program, options);
    let mut words = vec!["cluster", "join", "--dir", "news"];
    if let Some(size) = log {
        words = vec!["cluster", "init", "--dir", "news", "--log-bytes", size];
    }
    // Servers that have just started need a moment, and one that was too slow may have made the log all the same.
    let mut last = String::new();
    until("a node", || {
        let told = program.run(&words);
        if told.err != last {
            eprintln!("{words:?}: {told:?}");
            last.clone_from(&told.err);
        }
        if told.err.contains("is the log of a cluster already") {
            words = vec!["cluster", "join", "--dir", "news"];
        }
        told.status == 0
    });
}

/// Writes the settings and the logins of a node.
pub fn make_node(program: &Program, options: LogOptions) {
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

/// Lets a node of [`make_node`] that the others contradict wait for the administrator.
pub fn reseed_by_hand(program: &Program) {
    let settings = program.read("news/broadsheet.toml") + "reseed = \"manual\"\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
}

/// The name of a node.
pub fn name(program: &Program) -> String {
    let room = program.path("");
    let name = room.file_name().unwrap().to_string_lossy().into_owned();
    name.trim_start_matches('.').to_owned()
}

/// The place of a node in the log: its name, the sequence number, the chain hash, the hash of the settings, that of the outcomes, and the
/// version of the decisions.
pub fn applied(program: &Program) -> String {
    let lines = program.read("news/cluster.applied");
    lines.lines().last().unwrap().to_owned()
}

/// Everything that readers can see of a node in these groups, and what it remembers.
pub fn seen(program: &Program, groups: &[&str]) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    for group in groups {
        let told = program.run(&["overview", "--dir", "news", group]);
        assert_eq!(told.status, 0, "{told:?}");
        seen.insert((*group).to_owned(), told.out);
    }
    seen.insert("active".to_owned(), program.read("news/active"));
    let history = program.run(&["history", "dump", "--dir", "news"]).out;
    // Without the position, which is local.
    let lines = history.lines().map(|line| {
        let (head, links) = line.rsplit_once('\t').unwrap_or((line, ""));
        let head = head.rsplit_once('~').map_or(head, |(head, _)| head);
        format!("{head}\t{links}\n")
    });
    seen.insert("history".to_owned(), lines.collect());
    seen
}

/// Waits until all nodes have applied the same entries.
pub fn until_equal(programs: &[Program]) {
    until("all nodes at the same entry", || {
        let places: Vec<_> = programs.iter().map(applied).collect();
        places.iter().all(|place| Some(place) == places.first())
    });
}
