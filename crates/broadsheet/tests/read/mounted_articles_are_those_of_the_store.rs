//! A mount shows each article once under each of its numbers, with the bytes as filed, whatever arrived, expired and was cancelled; also
//! through the name caches, and where directories are searched as in 4.3BSD.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use mount::{Attributes, Caches, Kind, Tree};
use program::Program;
use program::articles::{batch, id, with};
use program::mounted::Mounted;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const GROUPS: [&str; 5] = ["alt", "alt.2", "comp.lang", "comp.lang.c", "comp.lang-x"];
const ACTIVE: &str =
    "alt 0 1 y\nalt.2 0 1 y\ncomp.lang 0 1 y\ncomp.lang.c 0 1 y\ncomp.lang-x 0 1 y\n";
const ROOT: u64 = 1;

#[derive(Debug, Clone)]
enum Step {
    /// Articles, each in these groups, with this body.
    Arrive(Vec<(Vec<usize>, String)>),
    /// Articles that arrived so long ago expire.
    Expire,
    /// A cancel of the article filed as this one of all.
    Cancel(prop::sample::Index),
    /// A further group, or its removal.
    Group(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let groups = prop::sample::subsequence((0..GROUPS.len()).collect::<Vec<_>>(), 1..=3);
    let body = prop_oneof![
        Just("a line\n".to_owned()),
        Just(".\n..\n.dot\n\nno end".to_owned()),
        Just("a long line ".repeat(20_000) + "\n"),
        "[ -~\n]{0,80}",
    ];
    prop_oneof![
        4 => prop::collection::vec((groups, body), 1..5).prop_map(Step::Arrive),
        1 => Just(Step::Expire),
        2 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        1 => any::<bool>().prop_map(Step::Group),
    ]
}

/// Each visible article: the length and the checksum of what `broadsheet article` prints, and its links.
type Articles = BTreeMap<(usize, u32), Vec<String>>;

fn sum(text: &[u8]) -> (usize, u32) {
    (text.len(), article::crc32c(text))
}

/// All articles as the command tells of them.
fn articles_of(program: &Program) -> Articles {
    let listed = program.run(&["group", "list", "--dir", "news", "--json"]);
    let mut articles = Articles::new();
    for line in listed.out.lines() {
        let group: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = group["group"].as_str().unwrap();
        for number in 1..=group["high"].as_u64().unwrap() {
            let told = program.run(&["article", "--dir", "news", &format!("{name}/{number}")]);
            let path = format!("{}/{number}", name.replace('.', "/"));
            // alt/2 is a directory.
            if told.status == 0 && path != "alt/2" {
                let text =
                    program.run_bytes(&["article", "--dir", "news", &format!("{name}/{number}")]);
                articles.entry(sum(&text)).or_default().push(path);
            }
        }
    }
    for links in articles.values_mut() {
        links.sort();
    }
    articles
}

/// All articles of a tree, by walking it; each name is looked up, too.
fn articles_in(tree: &mut Tree) -> Articles {
    let mut inodes: BTreeMap<u64, (Attributes, Vec<String>)> = BTreeMap::new();
    let mut directories = vec![(ROOT, String::new())];
    while let Some((directory, path)) = directories.pop() {
        let mut entries = Vec::new();
        let mut cookie = 0;
        // In pieces, as a short buffer of the kernel would.
        loop {
            let had = entries.len();
            tree.entries(directory, cookie, true, &mut |entry| {
                if entries.len() - had == 3 {
                    return false;
                }
                cookie = entry.cookie;
                entries.push((entry.name.to_vec(), entry.attributes.unwrap()));
                true
            })
            .unwrap();
            if entries.len() == had {
                break;
            }
        }
        for (name, attributes) in entries {
            let name = String::from_utf8(name).unwrap();
            if name == "." || name == ".." {
                continue;
            }
            let found = tree.lookup(directory, name.as_bytes(), 7).unwrap();
            assert_eq!(found, Some(attributes), "{path}{name}");
            let child = format!("{path}{name}");
            match attributes.kind {
                Kind::Directory if name == ".id" => {}
                Kind::Directory => directories.push((attributes.number, format!("{child}/"))),
                Kind::File if name.parse::<u64>().is_ok() => {
                    let known = inodes.entry(attributes.number);
                    let known = known.or_insert((attributes, Vec::new()));
                    assert_eq!(known.0, attributes);
                    known.1.push(child);
                }
                Kind::File => {}
            }
        }
    }
    let mut articles = Articles::new();
    for (number, (attributes, mut links)) in inodes {
        assert_eq!(attributes.links as usize, links.len(), "{links:?}");
        let mut text = Vec::new();
        // In two pieces.
        let half = attributes.size / 2;
        for range in [(0, half as usize), (half, 1 << 30)] {
            let reply = |piece: &[u8]| text.extend_from_slice(piece);
            tree.read_article(number, range, reply).unwrap();
        }
        assert_eq!(attributes.size, text.len() as u64, "{links:?}");
        links.sort();
        articles.insert(sum(&text), links);
    }
    articles
}

fn take(program: &Program, step: &Step, filed: &mut usize) {
    match step {
        Step::Arrive(articles) => {
            let made: Vec<_> = articles
                .iter()
                .map(|(groups, body)| {
                    *filed += 1;
                    let groups: Vec<_> = groups.iter().map(|group| GROUPS[*group]).collect();
                    with(&id("m", *filed), &groups.join(","), "", body.as_bytes())
                })
                .collect();
            let told = program.rnews(&batch(&made));
            assert_eq!(told.count("accepted"), made.len() as u64, "{told:?}");
        }
        Step::Expire => {
            // All groups but one lose everything.
            program.write("news/explist", b"comp.lang.c x never -\nall x 1 -\n");
            let words = ["expire", "--dir", "news", "--now", "4102444800", "--force"];
            let told = program.run(&words);
            assert_eq!(told.status, 0, "{told:?}");
        }
        Step::Cancel(which) if *filed > 0 => {
            let target = id("m", which.index(*filed) + 1);
            let header = format!("Control: cancel {target}\n");
            *filed += 1;
            let cancel = with(&id("m", *filed), "alt", &header, b"cancelled\n");
            let told = program.rnews(&batch(&[cancel]));
            assert_eq!(told.status, 0, "{told:?}");
        }
        Step::Cancel(_) => {}
        Step::Group(is_new) => {
            let verb = if *is_new { "add" } else { "remove" };
            program.run(&["group", verb, "--dir", "news", "new.group"]);
        }
    }
}

#[test]
fn the_tree_equals_the_articles() {
    let mut runner = TestRunner::new(Config {
        cases: 6,
        failure_persistence: None,
        ..Config::default()
    });
    let steps = prop::collection::vec(step(), 2..6);
    let tested = runner.run(&steps, |steps| {
        let program = Program::with_classic_cancels(ACTIVE);
        // The second has less room than there are names, the third searches as in the paper.
        let mut trees = [
            (1000, 16, false),
            (3, 1, false),
            (1000, 16, true),
            (0, 0, true),
        ]
        .map(|(names, processes, is_linear)| {
            let caches = Caches {
                names,
                processes,
                is_linear,
            };
            Tree::open(&program.path("news"), caches).unwrap()
        });
        let mut filed = 0;
        for step in &steps {
            take(&program, step, &mut filed);
            let expected = articles_of(&program);
            for tree in &mut trees {
                prop_assert_eq!(&articles_in(tree), &expected);
                // Once more, with what the caches have now.
                prop_assert_eq!(&articles_in(tree), &expected);
            }
        }
        Ok(())
    });
    tested.unwrap();
}

#[test]
fn a_mount_has_the_classic_files() {
    let program = Program::with_classic_cancels(ACTIVE);
    program.write("news/newsgroups", b"alt\tAlternative\n");
    let made = [
        with("<1@example.com>", "comp.lang.c,alt", "", b"one\n.\n"),
        with("<a/b@example.com>", "comp.lang.c", "", b"two\n"),
    ];
    assert_eq!(program.rnews(&batch(&made)).count("accepted"), 2);
    let Some(mounted) = Mounted::start(&program, &[]) else {
        return;
    };
    assert_eq!(
        mounted.names(""),
        [
            ".id",
            "active",
            "alt",
            "comp",
            "control",
            "junk",
            "newsgroups"
        ]
    );
    assert_eq!(mounted.names("comp/lang/c"), [".overview", "1", "2"]);
    assert_eq!(mounted.names("comp/lang"), ["c"]);
    assert_eq!(mounted.names(".id").len(), 0);
    for file in ["active", "newsgroups"] {
        assert_eq!(
            mounted.read(file),
            program.read(&format!("news/{file}")).into_bytes()
        );
    }
    let article = program.run_bytes(&["article", "--dir", "news", "<1@example.com>"]);
    for name in [
        "comp/lang/c/1",
        "alt/1",
        ".id/<1@example.com>",
        ".id/1@example.com",
    ] {
        assert_eq!(mounted.read(name), article, "{name}");
    }
    let slash = program.run_bytes(&["article", "--dir", "news", "<a/b@example.com>"]);
    assert_eq!(mounted.read(".id/<a%2Fb@example.com>"), slash);
    let stat = |name: &str| std::fs::metadata(mounted.path(name)).unwrap();
    let (one, two) = (stat("comp/lang/c/1"), stat("comp/lang/c/2"));
    assert_eq!(one.ino(), stat("alt/1").ino());
    assert_eq!((one.nlink(), two.nlink()), (2, 1));
    assert_eq!(one.size(), article.len() as u64);
    let line = program.run(&[
        "history",
        "find",
        "--dir",
        "news",
        "--json",
        "<1@example.com>",
    ]);
    assert_eq!(line.summary()["arrival"], one.mtime(), "{line:?}");
    // The rows as OVER has them, with the line ends of files.
    let mut rows = program.run_bytes(&["overview", "--dir", "news", "comp.lang.c"]);
    rows.retain(|&byte| byte != b'\r');
    assert_eq!(mounted.read("comp/lang/c/.overview"), rows);
    assert_eq!(stat("comp/lang/c/.overview").size(), rows.len() as u64);
    for missing in [
        "comp/lang/c/01",
        "comp/lang/c/3",
        "comp/lang/1",
        "comp.lang",
        ".id/<x@y>",
        "alt/2/.overview",
    ] {
        let error = std::fs::metadata(mounted.path(missing)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{missing}");
    }
    let error = std::fs::write(mounted.path("alt/1"), b"x").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
}

#[test]
fn each_message_id_has_one_name() {
    let program = Program::with_news("a.b 0 1 y\n");
    let names = [
        ("<a/b%2Fc@example.com>", "a%2Fb%252Fc@example.com"),
        ("<a/b/c@example.com>", "a%2Fb%2Fc@example.com"),
        ("<a%2Fb@example.com>", "a%252Fb@example.com"),
        ("<a/b@example.com>", "a%2Fb@example.com"),
        ("<a%252Fb@example.com>", "a%25252Fb@example.com"),
        // Also with a bare percent sign.
        ("<50%@example.com>", "50%@example.com"),
        ("<5%25@example.com>", "5%25@example.com"),
        ("<d%2Fe@example.com>", "d%2Fe@example.com"),
        ("<d/%25@example.com>", "d%2F%25@example.com"),
    ];
    let made: Vec<_> = names
        .iter()
        .map(|(id, _)| with(id, "a.b", "", b"one\n"))
        .collect();
    assert_eq!(
        program.rnews(&batch(&made)).count("accepted"),
        names.len() as u64
    );
    let mut tree = Tree::open(&program.path("news"), Caches::default()).unwrap();
    let root = tree.lookup(ROOT, b"a", 7).unwrap().unwrap().number;
    let group = tree.lookup(root, b"b", 7).unwrap().unwrap().number;
    let ids = tree.lookup(ROOT, b".id", 7).unwrap().unwrap().number;
    for (index, (id, name)) in names.iter().enumerate() {
        let number = (index + 1).to_string();
        let article = tree.lookup(group, number.as_bytes(), 7).unwrap();
        for name in [name.to_string(), format!("<{name}>")] {
            let found = tree.lookup(ids, name.as_bytes(), 7).unwrap();
            assert_eq!(found, article, "{id} as {name}");
        }
    }
}

#[test]
fn only_visible_links_are_counted() {
    let active =
        "a.b 0 1 y\nactive 0 1 y\nactive.c 0 1 y\nalt 0 1 y\nalt.1 0 1 y\nnewsgroups.d 0 1 y\n";
    let program = Program::with_news(active);
    let made = [
        // alt/1 is a directory, and active a file.
        with("<alone@example.com>", "alt", "", b"one\n"),
        with("<active@example.com>", "active.c,active", "", b"two\n"),
        with(
            "<all@example.com>",
            "a.b,active,active.c,newsgroups.d,alt",
            "",
            b"three\n",
        ),
    ];
    assert_eq!(program.rnews(&batch(&made)).count("accepted"), 3);
    let mut tree = Tree::open(&program.path("news"), Caches::default()).unwrap();
    let ids = tree.lookup(ROOT, b".id", 7).unwrap().unwrap();
    let mut found = |name: &[u8]| tree.lookup(ids.number, name, 7).unwrap().unwrap();
    // An article without a name in a group has the one in .id.
    let articles = [
        (found(b"alone@example.com"), 1),
        (found(b"active@example.com"), 1),
        (found(b"all@example.com"), 2),
    ];
    for (article, links) in articles {
        assert_eq!(article.links, links);
        assert!(tree.open_file(article.number).is_ok());
    }
    let mut names = Vec::new();
    tree.entries(ROOT, 0, false, &mut |entry| {
        names.push(String::from_utf8(entry.name.to_vec()).unwrap());
        true
    })
    .unwrap();
    for file in ["active", "newsgroups"] {
        let entries = names.iter().filter(|name| *name == file);
        assert_eq!(entries.count(), 1, "{names:?}");
    }
    let told = program.run(&["article", "remove", "--dir", "news", "<alone@example.com>"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(
        tree.lookup(ids.number, b"alone@example.com", 7).unwrap(),
        None
    );
}

#[test]
fn a_mount_goes_on_while_the_index_is_made_again() {
    let program = Program::with_news("a 0 1 y\n");
    let file = |id: &str| program.rnews(&batch(&[with(id, "a", "", b"one\n")]));
    let (index, made) = (program.path("news/index"), program.path("news/index.made"));
    let (early, whole) = (program.path("early"), program.path("whole"));
    assert_eq!(file("<1@x>").count("accepted"), 1);
    std::fs::copy(&index, &early).unwrap();
    assert_eq!(file("<2@x>").count("accepted"), 1);
    let mut tree = Tree::open(&program.path("news"), Caches::default()).unwrap();
    let group = tree.lookup(ROOT, b"a", 7).unwrap().unwrap().number;
    assert!(tree.take_failure().is_none());
    std::fs::rename(&index, &whole).unwrap();
    // As `history rebuild` leaves it: first nothing can be read, then the last segment is replayed.
    std::fs::write(&made, vec![0; 8192]).unwrap();
    for (unfinished, is_told) in [(&made, true), (&early, false)] {
        std::fs::rename(unfinished, &index).unwrap();
        for _ in 0..2 {
            assert!(tree.lookup(group, b"2", 7).unwrap().is_some());
            assert_eq!(tree.attributes(group).unwrap().kind, Kind::Directory);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert_eq!(tree.take_failure().is_some(), is_told);
    }
    std::fs::rename(&whole, &index).unwrap();
    assert_eq!(file("<3@x>").count("accepted"), 1);
    program::daemon::until("the new article is there", || {
        tree.lookup(group, b"3", 7).unwrap().is_some()
    });
}
