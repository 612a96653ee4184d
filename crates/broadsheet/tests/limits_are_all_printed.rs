//! `broadsheet limits`: value, unit and purpose of every limit.

mod program;
use program::{Program, golden};

#[test]
fn the_defaults_without_a_news_directory() {
    let told = Program::new().run(&["limits"]);
    assert_eq!(told.status, 0, "{told:?}");
    golden("limits.txt", &told.out);
}

#[test]
fn those_of_the_news_directory_with_one() {
    let program = Program::with_news("");
    let changed = program
        .read("news/broadsheet.toml")
        .replace("\"8 MiB\"", "\"3 MiB\"");
    program.write("news/broadsheet.toml", changed.as_bytes());
    let told = program.run(&["limits", "--dir", "news"]);
    assert!(
        told.out
            .contains("limits.article_bytes_max: 3145728 bytes = 3 MiB\n"),
        "{told:?}"
    );
}

#[test]
fn json_has_the_same_rows() {
    let program = Program::new();
    let lines = program
        .run(&["limits"])
        .out
        .lines()
        .filter(|line| !line.starts_with(' '))
        .count();
    let told = program.run(&["limits", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    let rows = rows.as_array().expect("an array");
    assert_eq!(rows.len(), lines);
    for row in rows {
        assert!(
            row["value"].is_u64() && !row["unit"].as_str().unwrap().is_empty(),
            "{row}"
        );
        assert!(!row["for"].as_str().unwrap().is_empty(), "{row}");
    }
}
