//! A fault in broadsheet.toml stops every command, with file, line, column and the nearest key.

mod program;
use program::Program;

#[test]
fn an_unknown_key() {
    let program = Program::with_news("");
    let text = program
        .read("news/broadsheet.toml")
        .replace("\nsync =", "\nsink =");
    program.write("news/broadsheet.toml", text.as_bytes());
    let line = text
        .lines()
        .position(|line| line.starts_with("sink"))
        .unwrap()
        + 1;
    for command in ["check", "limits", "rnews"] {
        let told = program.run(&[command, "--dir", "news"]);
        assert_eq!(told.status, 78, "{command}: {told:?}");
        let place = format!(
            "news/broadsheet.toml:{line}:1: unknown key `sink' in [store]; did you mean sync?"
        );
        assert!(told.err.contains(&place), "{command}: {told:?}");
    }
}

#[test]
fn no_settings_at_all() {
    let told = Program::new().run(&["check", "--dir", "nowhere"]);
    assert_eq!(told.status, 2);
    assert!(
        told.err.contains("nowhere is no news directory"),
        "{told:?}"
    );
    assert!(told.err.contains("broadsheet init"), "{told:?}");
}
