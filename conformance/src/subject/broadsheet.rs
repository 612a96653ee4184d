//! Ours: a news directory of its own, and `broadsheet serve`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Absent;
use super::server::Server;
use crate::fixture;

/// Where the program is looked for before the target directory.
const PROGRAM: &str = "BROADSHEET";

/// Makes a news directory with the groups of the suite and starts the daemon on it.
pub(super) fn start() -> Result<Server, Absent> {
    let program = program()?;
    let help = Command::new(&program).args(["serve", "--help"]).output();
    let serves = help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--listen"));
    if !serves {
        let missing = format!("{} serve has no --listen", program.display());
        return Err(Absent::Missing(missing));
    }
    let broken = |error: std::io::Error| Absent::Broken(format!("broadsheet: {error}"));
    let room = tempfile::tempdir().map_err(broken)?;
    let server = &mut Server::new(room)?;
    write_lists(server.dir()).map_err(broken)?;
    Err(Absent::Missing("not written yet".to_owned()))
}

/// The program built beside this test, or the one that the environment names.
fn program() -> Result<PathBuf, Absent> {
    if let Some(path) = std::env::var_os(PROGRAM) {
        return Ok(path.into());
    }
    // target/debug/deps/conforms-…
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.ancestors().nth(2).map(|dir| dir.join("broadsheet"));
    beside.filter(|path| path.is_file()).ok_or_else(|| {
        Absent::Missing("broadsheet is not built (cargo build -p broadsheet)".to_owned())
    })
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
