//! `import expire.ctl`: INN's policy comes over whole or not at all, and means the same here.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{article, batch};
use program::{Program, Told};

const ACTIVE: &str = "control 0 1 n\njunk 0 1 n\ncomp.lang.c 0 1 y\ncomp.mod 0 1 m\nalt.binaries.x 0 1 y\nlocal.talk 0 1 y\n";
const POLICY: &str = "\
# INN's
/remember/:11
*:A:1:10:never
comp.*:M:1:30:365
alt.binaries.*:U:0:2:5
local,local.*:A:never:never:never
";

fn news() -> Program {
    let program = Program::with_news(ACTIVE);
    program.write("expire.ctl", POLICY.as_bytes());
    program
}

fn import(program: &Program, flags: &[&str]) -> Told {
    program.run(
        &[
            &["import", "expire.ctl", "--dir", "news", "expire.ctl"],
            flags,
        ]
        .concat(),
    )
}

#[test]
fn it_is_printed_and_nothing_else_happens() {
    let program = news();
    let kept = program.read("news/explist");
    let told = import(&program, &[]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out
            .contains("/expired/\tx\t11\t-\nlocal,!local.all\tx\tnever-never-never\t-\n"),
        "{told:?}"
    );
    assert!(told.out.ends_with("all\tx\t1-10-never\t-\n"), "{told:?}");
    assert!(
        told.err.contains(":3: `local,!local.all' rules no group"),
        "{told:?}"
    );
    assert_eq!(program.read("news/explist"), kept);
    let without = program.run(&["import", "expire.ctl", "expire.ctl"]);
    assert_eq!(
        (without.status, &without.out),
        (0, &told.out),
        "no news directory is needed: {without:?}"
    );
    let json = import(&program, &["--json"]).summary();
    assert_eq!(
        (&json["explist"], &json["installed"]),
        (&told.out.into(), &false.into())
    );
}

/// What goes after so many days, by group, is what INN's manual says of the file.
#[test]
fn once_installed_expire_decides_as_inn_would() {
    let program = news();
    let expires = "Expires: Thu, 1 Jan 2099 00:00:00 GMT\n";
    let articles = [
        article("<c@x>", "comp.lang.c"),
        program::articles::with("<m@x>", "comp.mod", "Approved: mod@x\n", b"hello\n"),
        article("<b@x>", "alt.binaries.x"),
        program::articles::with("<be@x>", "alt.binaries.x", expires, b"hello\n"),
        program::articles::with("<ce@x>", "comp.lang.c", expires, b"hello\n"),
        article("<l@x>", "local.talk"),
    ];
    assert_eq!(program.rnews(&batch(&articles)).count("accepted"), 6);
    let old = program.read("news/explist");
    let told = import(&program, &["--install"]);
    assert_eq!((told.status, told.out.as_str()), (0, ""), "{told:?}");
    assert_eq!(program.read("news/explist.old"), old);
    assert_eq!(program.read("news/explist"), import(&program, &[]).out);
    assert!(!program.path("news/explist.new").exists());
    assert_eq!(program.run(&["check", "--dir", "news"]).status, 0);

    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let going = |days: u64| {
        let later = (now + days * 86_400 + 100).to_string();
        let told = program.run(&["expire", "--dir", "news", "-n", "--json", "--now", &later]);
        assert_eq!(told.status, 0, "{told:?}");
        let summary = told.summary();
        let of = |word: &str| {
            summary["hierarchies"][word]["articles"]
                .as_u64()
                .unwrap_or(0)
        };
        (of("comp"), of("alt"), of("local"))
    };
    assert_eq!(going(1), (0, 0, 0));
    assert_eq!(going(2), (0, 1, 0), "the default of binaries");
    assert_eq!(going(5), (0, 2, 0), "an Expires counts for five days");
    assert_eq!(going(9), (0, 2, 0));
    assert_eq!(
        going(10),
        (1, 2, 0),
        "the default of the rest; Expires counts without end"
    );
    assert_eq!(going(30), (2, 2, 0), "moderated groups");
    assert_eq!(
        going(9999),
        (2, 2, 0),
        "local stays, and what expires in 2099"
    );
}

#[test]
fn every_fault_is_named_with_its_line_and_nothing_is_installed() {
    let program = news();
    let kept = program.read("news/explist");
    program.write(
        "expire.ctl",
        b"*:A:1:10:never\nuunet*:A:1:2:3\ncomp.*:AX:1:2:3\nalt.*:A:1:2\n",
    );
    for flags in [&[][..], &["--install"]] {
        let told = import(&program, flags);
        assert_eq!((told.status, told.out.as_str()), (1, ""), "{told:?}");
        for line in [2, 3, 4] {
            assert!(
                told.err.contains(&format!("expire.ctl:{line}: ")),
                "{told:?}"
            );
        }
        assert_eq!(told.err.lines().count(), 3);
    }
    assert_eq!(program.read("news/explist"), kept);
    assert!(!program.path("news/explist.old").exists());
    let json = import(&program, &["--json"]).summary();
    let lines: Vec<_> = json["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["line"].as_u64())
        .collect();
    assert_eq!(lines, [Some(2), Some(3), Some(4)]);
    assert!(json["explist"].is_null());
    let told = import(&program, &["--partial"]);
    assert_eq!(
        (told.status, told.out.matches("# NOT BROUGHT OVER").count()),
        (1, 3),
        "{told:?}"
    );
    assert_eq!(import(&program, &["--partial", "--install"]).status, 64);
}

#[test]
fn tables_in_the_settings_would_win_so_it_is_not_installed() {
    let program = news();
    let settings = program.read("news/broadsheet.toml");
    let tables = format!("{settings}\n[[expire]]\npatterns = \"all\"\ndefault = 9\n");
    program.write("news/broadsheet.toml", tables.as_bytes());
    let kept = program.read("news/explist");
    let told = import(&program, &["--install"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err.contains("broadsheet.toml has [[expire]] rules"),
        "{told:?}"
    );
    assert_eq!(program.read("news/explist"), kept);
    assert_eq!(import(&program, &[]).status, 0, "printing does no harm");
}

#[test]
fn a_first_explist_has_no_old_one_and_a_missing_or_strange_file_is_told() {
    let program = news();
    std::fs::remove_file(program.path("news/explist")).unwrap();
    assert_eq!(import(&program, &["--install"]).status, 0);
    assert!(!program.path("news/explist.old").exists());
    assert_eq!(import(&program, &["--install"]).status, 0);
    assert_eq!(
        program.read("news/explist.old"),
        program.read("news/explist")
    );

    std::fs::remove_file(program.path("expire.ctl")).unwrap();
    let told = import(&program, &["--install"]);
    assert_eq!(told.status, 2);
    assert!(told.err.contains("cannot read expire.ctl"), "{told:?}");
    program.write("expire.ctl", b"\xff\x00\xfe\n\x01:\x02:\x03\n");
    let told = import(&program, &["--install"]);
    assert_eq!((told.status, told.err.lines().count()), (1, 2), "{told:?}");
    program.write("expire.ctl", b"# nothing\n");
    let told = import(&program, &[]);
    assert!(
        told.err.contains("broadsheet: expire.ctl: has no rules"),
        "{told:?}"
    );
    assert_eq!(program.run(&["import"]).status, 64);
}
