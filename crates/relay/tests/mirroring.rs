//! A mirror takes groups and numbers from the Xref of the site it mirrors.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use article::Form;
use newsdir::{NOW, Newsdir, article};
use relay::{FilerOptions, Rules, Verdict};

fn file(newsdir: &Newsdir, texts: &[&str]) -> Vec<Verdict> {
    let options = FilerOptions {
        mirror: Some(b"near.example".to_vec()),
        ..FilerOptions::default()
    };
    let mut filer = newsdir.filer_with(Rules::new(newsdir::HOST.as_bytes()), options);
    let verdicts = texts
        .iter()
        .map(|text| filer.file(text.as_bytes(), Form::Native, NOW).unwrap())
        .collect();
    filer.commit().unwrap();
    verdicts
}

#[test]
fn numbers_are_taken_over_and_path_is_left_alone() {
    let newsdir = Newsdir::new();
    let xref = "Xref: near.example comp.std:7 comp.lang.c:99 alt.none:3 comp.x:2";
    let text = article("<1@a>", "comp.std,comp.lang.c", &[xref]);
    assert_eq!(file(&newsdir, &[&text]), [Verdict::Filed]);
    assert_eq!(newsdir.links("<1@a>").unwrap(), "comp.lang.c/99 comp.std/7");
    assert!(
        newsdir
            .article("<1@a>")
            .starts_with("Xref: us.example comp.lang.c:99 comp.std:7\nPath: near.example!user\n")
    );
    // What is filed the ordinary way afterwards comes after it.
    newsdir.file(&[&article("<2@a>", "comp.std", &[])]);
    assert_eq!(newsdir.links("<2@a>").unwrap(), "comp.std/8");
}

#[test]
fn what_cannot_be_mirrored_is_not_filed() {
    let newsdir = Newsdir::new();
    // The high mark alone uses no number.
    let first = article(
        "<0@a>",
        "comp.lang.c",
        &["Xref: near.example comp.lang.c:41"],
    );
    assert_eq!(file(&newsdir, &[&first]), [Verdict::Filed]);
    let verdicts = file(
        &newsdir,
        &[
            &article("<1@a>", "comp.std", &[]),
            &article("<2@a>", "comp.std", &["Xref: far.example comp.std:7"]),
            &article(
                "<3@a>",
                "comp.lang.c",
                &["Xref: near.example comp.lang.c:41"],
            ),
            &article("<4@a>", "comp.std", &["Xref: near.example alt.none:1"]),
            &article(
                "<5@a>",
                "comp.std",
                &["Xref: near.example comp.std:2147483647"],
            ),
            &article(
                "<6@a>",
                "comp.std,comp.lang.c",
                &["Xref: near.example alt.none:x comp.std:17 comp.lang.c:18x"],
            ),
        ],
    );
    assert_eq!(verdicts.len(), 6);
    let is_kept = verdicts.iter().map(|verdict| match verdict {
        Verdict::Unfiled(_) => true,
        Verdict::Refused(_) => false,
        _ => panic!("{verdicts:?}"),
    });
    // A mirror may have fewer groups.
    assert_eq!(
        is_kept.collect::<Vec<_>>(),
        [true, true, true, false, true, true]
    );
    assert_eq!(
        newsdir.log()[1..],
        [
            "near.example b <1@a> no Xref: in believe-Xref mode",
            "near.example b <2@a> article received from wrong site `far.example' in believe-Xref mode",
            "near.example b <3@a> article #41 in group `comp.lang.c' supplied but occupied!",
            "near.example b <4@a> no known groups in Xref: in believe-Xref mode",
            "near.example b <5@a> article #2147483647 in group `comp.std' is too high: the next one must be at most 2147483647",
            "near.example b <6@a> `comp.lang.c:18x' in Xref: is no group with a number, in believe-Xref mode",
        ]
    );
}

#[test]
fn articles_come_in_any_order_and_none_is_lost() {
    let newsdir = Newsdir::new();
    let one = |number: u64| {
        let xref = format!("Xref: near.example comp.std:{number}");
        article(&format!("<{number}@a>"), "comp.std", &[&xref])
    };
    let again = article("<again@a>", "comp.std", &["Xref: near.example comp.std:30"]);
    let texts = [one(30), one(10), again.clone(), one(20), one(31)];
    let batch = newsdir.path().join("batch");
    let text: Vec<String> = texts
        .iter()
        .map(|text| format!("#! rnews {}\n{text}", text.len()))
        .collect();
    std::fs::write(&batch, text.concat()).unwrap();
    let options = FilerOptions {
        mirror: Some(b"near.example".to_vec()),
        ..FilerOptions::default()
    };
    let mut filer = newsdir.filer_with(Rules::new(newsdir::HOST.as_bytes()), options);
    let inputs = [relay::rnews::Input::File(batch.clone())];
    let unlinking = relay::rnews::Options {
        unlink: true,
        ..relay::rnews::Options::default()
    };
    let mut watch = newsdir::Told::default();
    let outcome = relay::rnews::run(&inputs, &mut filer, &unlinking, &mut watch);
    drop(filer);
    assert_eq!(outcome.status, relay::rnews::Status::Attention);
    assert_eq!((outcome.summary.accepted, outcome.summary.refused), (4, 1));
    for number in [30, 10, 20, 31] {
        let links = newsdir.links(&format!("<{number}@a>")).unwrap();
        assert_eq!(links, format!("comp.std/{number}"));
    }
    // The article whose number was taken is kept in a batch of its own.
    assert!(!batch.exists());
    let [name] = newsdir.bad().try_into().unwrap();
    assert!(name.ends_with(".unfiled"), "{name}");
    let kept = newsdir.path().join("bad").join(name);
    let expected = format!("#! rnews {}\n{again}", again.len());
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), expected);
    let told = watch.0.join("\n");
    assert!(
        told.contains("<again@a>: article #30 in group `comp.std' supplied but occupied!"),
        "{told}"
    );
    assert!(
        told.contains(&format!("kept in {}", kept.display())),
        "{told}"
    );
    newsdir.file(&[&article("<next@a>", "comp.std", &[])]);
    assert_eq!(newsdir.links("<next@a>").unwrap(), "comp.std/32");
    assert!(store::fsck(newsdir.path(), false).unwrap().is_clean());
}
