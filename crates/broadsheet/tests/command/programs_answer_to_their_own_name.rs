//! A link named as the classic program runs that command.

use crate::program;
use program::Program;

#[test]
fn by_a_link() {
    let program = Program::new();
    let help = program.run(&["help", "rnews"]).out;
    for name in ["rnews", "relaynews", "cunbatch"] {
        let link = program.path(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_broadsheet"), &link).unwrap();
        let told = program.run_as(&link, &["--help"], b"");
        assert_eq!(told.out, help, "{name}");
    }
}

#[test]
fn the_news_directory_may_come_from_the_environment() {
    let program = Program::with_news("");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_broadsheet"))
        .args(["check"])
        .env("BROADSHEET_DIR", program.path("news"))
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("BROADSHEET_DIR"));
}
