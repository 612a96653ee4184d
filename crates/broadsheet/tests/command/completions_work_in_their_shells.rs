//! The completion each shell gets is one it can read; bash's is tried out.

use std::process::{Command, Stdio};

use crate::program;
use program::Program;

fn present(shell: &str) -> bool {
    let found = Command::new(shell)
        .args(["-c", "exit 0"])
        .stdout(Stdio::null())
        .status()
        .is_ok();
    if !found {
        eprintln!("skipped: the completion for {shell} ({shell} is not present)");
    }
    found
}

#[test]
fn the_shells_read_them() {
    let program = Program::new();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let told = program.run(&["completion", shell]);
        assert_eq!(told.status, 0);
        program.write(shell, told.out.as_bytes());
        if present(shell) {
            let output = Command::new(shell)
                .arg(check)
                .arg(program.path(shell))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && said.is_empty(),
                "{shell}: {said}"
            );
        }
    }
    let told = program.run(&["completion", "tcsh"]);
    assert_eq!(told.status, 64);
    assert!(told.err.contains("bash, zsh, fish"));
}

/// What bash would offer after these words, the last of which is being typed.
fn offered(program: &Program, words: &[&str]) -> Vec<String> {
    let script = "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _broadsheet; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .args(["-c", script])
        .arg(program.path("bash"))
        .args(words)
        .output()
        .expect("bash runs");
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_offers_commands_flags_and_choices() {
    if !present("bash") {
        return;
    }
    let program = Program::new();
    program.write("bash", program.run(&["completion", "bash"]).out.as_bytes());
    assert_eq!(offered(&program, &["broadsheet", "rn"]), ["rnews"]);
    assert_eq!(offered(&program, &["broadsheet", "group", "ma"]), ["match"]);
    assert_eq!(
        offered(&program, &["broadsheet", "group", "match", "--w"]),
        ["--wildmat"]
    );
    assert_eq!(
        offered(&program, &["broadsheet", "rnews", "--sync", "c"]),
        ["commit"]
    );
    assert_eq!(
        offered(&program, &["/usr/bin/relaynews", "--older", "1", "--js"]),
        ["--json"]
    );
    assert_eq!(
        offered(&program, &["broadsheet", "import", "e"]),
        ["expire.ctl"]
    );
    assert_eq!(
        offered(&program, &["broadsheet", "import", "expire.ctl", "--i"]),
        ["--install"]
    );
    assert!(
        !offered(&program, &["rnews", "--"]).contains(&"--debug".to_owned()),
        "refused flags are not offered"
    );
}
