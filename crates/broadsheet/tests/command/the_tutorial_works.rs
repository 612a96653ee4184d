//! The commands of the tutorial, as they stand in the manual, make two servers of which one gets the articles of the other.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::program::Program;

/// Ends the servers if a command fails, and waits for them where a person would be slow enough.
const BEGINNING: &str = "\
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
until_serving() { until broadsheet status --dir \"$1\" | grep '^daemon *process' > /dev/null; do sleep 0.1; done; }
until_arrived() { until broadsheet overview misc.hello 2 --dir second | grep Across > /dev/null; do sleep 0.1; done; }
";

/// The commands of the chapter, without those that build the program.
fn commands() -> String {
    let chapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/tutorial.md");
    let chapter = std::fs::read_to_string(chapter).unwrap();
    let lines = chapter.lines().filter_map(|line| line.strip_prefix("    "));
    let lines: Vec<&str> = lines
        .skip_while(|line| !line.starts_with("mkdir"))
        .collect();
    assert!(lines.len() > 25, "{lines:?}");
    lines.join("\n")
}

/// The same with free ports, for the user of the test, and without a time by which a slow machine has to be ready.
fn on_this_machine(commands: &str) -> String {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [first, second] = listeners.map(|listener| listener.local_addr().unwrap().port());
    let mut script = String::from(BEGINNING);
    for line in commands.lines() {
        let mut line = line.to_owned();
        if line.contains("broadsheet setup") {
            line.push_str(" --run-as root --keep-free 0");
            if !line.contains("--port") {
                line.push_str(" --port 1119");
            }
        }
        script.push_str(match line.as_str() {
            "sleep 1" => "until_serving first",
            "sleep 2" => "until_arrived",
            other => other,
        });
        if line.contains("serve --dir second") {
            script.push_str("\nuntil_serving second");
        }
        script.push('\n');
    }
    script
        .replace("1119", &first.to_string())
        .replace("1120", &second.to_string())
}

#[test]
fn command_by_command() {
    let program = Program::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_broadsheet"));
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &on_this_machine(&commands())])
        .current_dir(program.path(""))
        .env("HOME", program.path(""))
        .env("PATH", path)
        .env_remove("BROADSHEET_DIR")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}\n{err}");
    // Over NNTP, at the second server, and its story there.
    assert!(out.contains("\nHello, world.\r\n.\r\n"), "{out}");
    assert!(out.contains("2\tAcross\tAnna <anna@example.org>"), "{out}");
    assert!(out.contains("came from  first.example.org"), "{out}");
    assert!(!program.path("tutorial").exists());
}
