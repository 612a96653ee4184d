//! The circumstances of a bench, printed above every result.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

/// The lines with machine, kernel and commit.
pub fn description() -> String {
    let processor =
        line_of("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = line_of("/proc/meminfo", "MemTotal").unwrap_or_else(|| "unknown".into());
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = output("uname", &["-srm"]);
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    let changed = if output("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty() {
        ""
    } else {
        ", with changes"
    };
    let date = output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split(' ').take(3).collect();
    format!(
        "machine  {processor}, {count} processors, memory {memory}\nkernel   {kernel}\ncommit   {commit}{changed}\ndate     {date}, load {}\n",
        load.join(" "),
    )
}

fn line_of(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The output of a command, trimmed; empty if it fails.
pub fn output(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}

/// The type of the file system of `dir`: "ext4", "tmpfs", ...
pub fn file_system(dir: &Path) -> String {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let holding = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (mount_point, kind) = (words.next()?, words.next()?);
        dir.starts_with(mount_point)
            .then_some((mount_point.len(), kind))
    });
    // Of several mounts on one path the last is visible.
    holding
        .max_by_key(|(length, _)| *length)
        .map_or_else(|| "unknown".into(), |(_, kind)| kind.to_owned())
}

/// An unused port.
///
/// # Errors
/// There is none.
pub fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}
