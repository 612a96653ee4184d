//! Lines for the journal of systemd begin with their severity; lines for other files do not.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use program::Program;
use program::daemon::PATIENCE;

/// Runs the daemon with a schedule and without a listener for peers, until its schedule has run; the text on its standard error.
fn said(program: &Program, of: impl Fn(&File) -> String) -> String {
    let path = program.path("said");
    let file = File::create(&path).unwrap();
    let mut command = program.command(&["serve", "--dir", "news"]);
    let mut child = command
        .env("JOURNAL_STREAM", of(&file))
        .stderr(file)
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !program.read("said").contains("sendbatches ended") {
        assert!(began.elapsed() < PATIENCE, "{}", program.read("said"));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert!(child.wait().unwrap().success());
    let text = program.read("said");
    std::fs::remove_file(program.path("news/schedule")).unwrap();
    text
}

#[test]
fn where_it_is_the_journal_only() {
    let program = Program::with_news("comp.test 0 1 y\n");
    let settings = program.read("news/broadsheet.toml");
    let settings = settings.replace("sendbatches = \"off\"", "sendbatches = \"every 1 h\"");
    program.write("news/broadsheet.toml", settings.as_bytes());
    let stream = |file: &File| {
        let data = file.metadata().unwrap();
        format!("{}:{}", data.dev(), data.ino())
    };
    let text = said(&program, stream);
    for start in [
        "<6>broadsheet: serving ",
        "<7>broadsheet: sendbatches started",
        "<7>broadsheet: sendbatches ended",
        "<6>broadsheet: stopped",
    ] {
        assert!(
            text.lines().any(|line| line.starts_with(start)),
            "{start}: {text}"
        );
    }
    // A variable that a parent has left behind.
    let text = said(&program, |_| "1:1".to_owned());
    assert!(!text.contains('<'), "{text}");
}
