//! `broadsheet expire`, from the command line.

use crate::program;

use program::Program;

const ACTIVE: &str = "control 0 1 y\njunk 0 1 y\ntest.a 0 1 y\ntest.b 0 1 y\n";

fn article(id: &str, groups: &str) -> String {
    format!(
        "Path: far!user\nFrom: user@far\nNewsgroups: {groups}\nSubject: {id}\nDate: Fri, 20 Nov 2026 10:00:00 GMT\nMessage-ID: {id}\n\nbody\n"
    )
}

fn batch(articles: &[String]) -> Vec<u8> {
    let each = articles
        .iter()
        .map(|text| format!("#! rnews {}\n{text}", text.len()));
    each.collect::<String>().into_bytes()
}

#[test]
fn each_group_loses_what_is_old_by_its_own_rule() {
    let program = Program::with_news(ACTIVE);
    let both = article("<both@far>", "test.a,test.b");
    let input = batch(&[article("<a@far>", "test.a"), both.clone()]);
    assert_eq!(program.feed(&["rnews", "--dir", "news"], &input).status, 0);

    std::fs::remove_file(program.path("news/explist")).unwrap();
    let told = program.run(&["expire", "--dir", "news"]);
    assert_eq!(told.status, 2, "no policy: {told:?}");
    program.write("news/explist", b"test.a x 1 -\n");
    let told = program.run(&["expire", "--dir", "news"]);
    assert!(told.err.contains("no line covers group"), "{told:?}");
    program.write(
        "news/explist",
        b"/expired/ x 30 -\ntest.a x 1 -\nall x 9 -\n",
    );

    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let later = |days: u64| (now + days * 86_400).to_string();
    let (two, ten, fifty) = (later(2), later(10), later(50));
    let told = program.run(&["expire", "--dir", "news", "-n", "--now", &two]);
    assert!(
        told.out
            .contains("1 articles would be removed, 2 of 3 links"),
        "{told:?}"
    );
    let told = program.run(&["expire", "--dir", "news", "--now", &two]);
    assert!(told.err.contains("use --force"), "{told:?}");
    let told = program.run(&["expire", "--dir", "news", "--now", &two, "--force"]);
    assert_eq!(told.status, 0, "{told:?}");
    let shown = |id: &str| program.run(&["article", "--dir", "news", id]).status;
    assert_ne!(shown("<a@far>"), 0);
    assert_eq!(shown("<both@far>"), 0);
    let active = program.read("news/active");
    let line = active.lines().find(|line| line.starts_with("test.a "));
    assert!(line.is_some_and(|line| line.ends_with("3 y")), "{active}");

    let told = program.run(&[
        "expire", "--dir", "news", "--now", &ten, "--force", "--json",
    ]);
    assert!(told.out.contains("\"articles\":1"), "{told:?}");
    assert_ne!(shown("<both@far>"), 0);
    let again = batch(&[both]);
    program.feed(&["rnews", "--dir", "news"], &again);
    assert_ne!(shown("<both@far>"), 0, "its id is remembered");
    let told = program.run(&["expire", "--dir", "news", "--now", &fifty]);
    assert_eq!(told.status, 0, "{told:?}");
    program.feed(&["rnews", "--dir", "news"], &again);
    assert_eq!(shown("<both@far>"), 0, "its id is forgotten");
    let told = program.run(&["fsck", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
}
