//! `expire -n`, `--what-if`, `-t`, `-v`: what would go is told, exactly, and nothing is touched.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // helpers of tests, too

use crate::program;

use program::{Program, Told};

const ACTIVE: &str =
    "control 0 1 y\njunk 0 1 y\ncomp.a 0 1 y\ncomp.b 0 1 y\nsci.x 0 1 y\nsci.y 0 1 y\n";
const POLICY: &[u8] = b"/expired/ x 30 -\ncomp.a x 1 -\ncomp.b x 9 -\nsci.x x 1 -\nall x 9 -\n";

fn article(id: &str, groups: &str) -> String {
    let text = format!(
        "Path: far!user\nFrom: user@far\nNewsgroups: {groups}\nSubject: {id}\nDate: Fri, 20 Nov 2026 10:00:00 GMT\nMessage-ID: {id}\n\nbody\n"
    );
    format!("#! rnews {}\n{text}", text.len())
}

fn news() -> Program {
    let program = Program::with_news(ACTIVE);
    let articles = [
        article("<1@far>", "comp.a"),
        article("<2@far>", "comp.a,comp.b"),
        article("<3@far>", "sci.x,comp.a"),
        article("<4@far>", "sci.y"),
    ];
    assert_eq!(program.rnews(articles.concat().as_bytes()).status, 0);
    program.write("news/explist", POLICY);
    program
}

fn later(days: u64) -> String {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    (now + days * 86_400).to_string()
}

fn expire(program: &Program, words: &[&str], days: u64) -> Told {
    let now = later(days);
    let mut all = vec!["expire", "--dir", "news", "--now", &now];
    all.extend(words);
    program.run(&all)
}

/// The table with the dates of today made `DATE`, and the sizes of the articles, which hold our name, `N bytes`.
fn masked(told: &str) -> String {
    let line = |line: &str| {
        let date = line
            .find(" GMT")
            .map(|end| line[end - 25..end + 4].to_owned());
        let line = date.map_or(line.to_owned(), |date| line.replace(&date, "DATE"));
        let words: Vec<&str> = line.split_whitespace().collect();
        let sizes = words.iter().enumerate().map(|(place, word)| {
            let number = word.trim_start_matches(['+', '-']);
            let is_number = number != "0" && number.bytes().all(|b| b.is_ascii_digit());
            let is_size = words.get(place + 1) == Some(&"bytes") && is_number;
            if is_size {
                word.replace(number, "N")
            } else {
                (*word).to_owned()
            }
        });
        sizes.collect::<Vec<_>>().join(" ") + "\n"
    };
    told.lines().map(line).collect()
}

#[test]
fn a_cross_post_is_counted_once_when_its_last_link_goes() {
    let program = news();
    let told = expire(&program, &["-n"], 2);
    assert_eq!(told.status, 0, "{told:?}");
    // <2> stays in comp.b; <3> leaves both its groups at once, comp.a being the first by Xref.
    assert_eq!(
        masked(&told.out),
        "hierarchy articles bytes oldest kept\n\
         comp 2 N bytes DATE\n\
         sci 0 0 bytes DATE\n\
         total 2 N bytes DATE\n\
         2 articles would be removed, 4 of 6 links\n"
    );
    let exact = "hierarchy                 articles        bytes  oldest kept\n\
                 comp                             2    ";
    assert!(told.out.starts_with(exact), "{told:?}");
    let told = expire(&program, &["-n", "--json"], 10).summary();
    assert_eq!(told["articles"], 4, "{told}");
    assert_eq!(told["links"], 6, "{told}");
    assert_eq!(told["of_links"], 6, "{told}");
    assert_eq!(told["hierarchies"]["comp"]["articles"], 3, "{told}");
    assert_eq!(told["hierarchies"]["sci"]["articles"], 1, "{told}");
    assert_eq!(
        told["hierarchies"]["sci"]["oldest_kept"],
        serde_json::Value::Null
    );
    assert_eq!(told["space"], serde_json::Value::Null);

    let told = expire(&program, &["--force"], 2);
    assert!(
        told.out.contains("2 articles removed, 4 of 6 links\n"),
        "{told:?}"
    );
    assert!(told.out.contains("oldest kept"), "{told:?}");
    let told = expire(&program, &[], 2);
    assert_eq!(told.out, "0 articles removed, 0 of 2 links\n", "{told:?}");
}

#[test]
fn another_policy_stands_beside_the_one_in_force() {
    let program = news();
    program.write("gentle", b"comp.a x 9 -\nsci.x x 1 -\nall x 1 -\n");
    let gentle = program.path("gentle");
    let words = ["--what-if", gentle.to_str().unwrap()];
    let told = expire(&program, &words, 2);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(
        masked(&told.out),
        "hierarchy policy articles bytes oldest kept\n\
         comp in force 2 N bytes DATE\n\
         what-if 0 0 bytes DATE\n\
         difference -2 -N bytes\n\
         sci in force 0 0 bytes DATE\n\
         what-if 1 N bytes -\n\
         difference +1 +N bytes\n\
         total in force 2 N bytes DATE\n\
         what-if 1 N bytes DATE\n\
         difference -1 -N bytes\n\
         4 of 6 links would be removed by the policy in force, 3 by the other\n"
    );
    let told = expire(&program, &[&words[..], &["--json"]].concat(), 2).summary();
    assert_eq!(told["in_force"]["articles"], 2, "{told}");
    assert_eq!(told["what_if"]["articles"], 1, "{told}");
    let settings = program.read("news/broadsheet.toml")
        + "\n[[expire]]\npatterns = \"comp.a\"\nkeep_days = 9\n[[expire]]\npatterns = \"all\"\nkeep_days = 1\n";
    program.write("gentle.toml", settings.as_bytes());
    let table = program.path("gentle.toml");
    let told = expire(
        &program,
        &["--what-if", table.to_str().unwrap(), "--json"],
        2,
    )
    .summary();
    assert_eq!(told["in_force"]["articles"], 2, "{told}");
    assert_eq!(told["what_if"]["articles"], 1, "{told}");
    let told = expire(&program, &["-n"], 2);
    assert!(told.out.contains("4 of 6 links"), "nothing went: {told:?}");
    // Without rules of its own: explist, with the limits of the table.
    let settings = program.read("news/broadsheet.toml") + "\n[expiry]\nkeep_free = \"90000 GiB\"\n";
    program.write("full.toml", settings.as_bytes());
    let full = program.path("full.toml");
    let with_limit = ["--what-if", full.to_str().unwrap(), "--json"];
    let told = expire(&program, &with_limit, 2).summary();
    assert_eq!(told["in_force"]["articles"], 2, "{told}");
    assert!(told["what_if"]["articles"].as_u64() > Some(2), "{told}");
    std::fs::remove_file(program.path("news/explist")).unwrap();
    let told = expire(&program, &words, 2);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.err.contains("the policy in force cannot be read"),
        "{told:?}"
    );
    assert!(
        told.out
            .contains("1 articles would be removed, 3 of 6 links"),
        "{told:?}"
    );
}

#[test]
fn a_trace_names_files_as_c_news_did() {
    let program = news();
    program.write(
        "news/explist",
        b"comp.b x 1 /arch\nsci.y x 1 =/flat/a\nsci.x x 9 -\nall x 1 -\n",
    );
    let told = expire(&program, &["-t"], 2);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(told.out, "");
    assert_eq!(
        told.err,
        "remove comp/a/1\n\
         remove comp/a/2\n\
         copy comp/b/1 /arch ; remove comp/b/1\n\
         remove comp/a/3\n\
         copy sci/y/1 =/flat/a ; remove sci/y/1\n"
    );
    assert_eq!(
        program.run(&["article", "--dir", "news", "<1@far>"]).status,
        0
    );
}

#[test]
fn old_cron_lines_go_on_working() {
    let program = news();
    let told = expire(&program, &["-v", "-r", "-l", "--force"], 2);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(
        told.err,
        "broadsheet: 2 links kept, 4 removed (2 articles); 4 ids in history; 1 segments, 0 removed\n"
    );
    let told = expire(&program, &["-g"], 2);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
}
