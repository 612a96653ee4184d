//! What cancels, removals and expire change has the same hash on all nodes of a cluster, wherever their articles lie.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use article::Form;
use newsdir::{NOW, Newsdir, article};
use relay::Filer;
use store::{ExpiryDecision, RemovalNote, RemovedBy};

/// A node with articles <0@a> to <5@a> in comp.std, behind `before` others.
fn node(before: usize) -> (Newsdir, Filer) {
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    let others = (0..before).map(|number| format!("<other{number}@a>"));
    let others: Vec<String> = others
        .map(|id| article(&id, "comp.lang.c", &[]))
        .chain((0..6).map(|number| article(&format!("<{number}@a>"), "comp.std", &[])))
        .collect();
    for text in &others {
        filer.file(text.as_bytes(), Form::Native, NOW).unwrap();
    }
    filer.commit().unwrap();
    assert_eq!(filer.take_changes(), 0);
    (newsdir, filer)
}

fn cancel(filer: &mut Filer, by: &str, id: &str) {
    let text = article(by, "comp.std", &[&format!("Control: cancel {id}")]);
    filer.file(text.as_bytes(), Form::Native, NOW).unwrap();
}

fn remove(filer: &mut Filer, id: &str, by: RemovedBy) {
    let note = RemovalNote {
        seconds: NOW.seconds,
        until: NOW.seconds + 100,
        by,
        text: b"x",
    };
    filer.remove_article(id.as_bytes(), note).unwrap();
}

fn expire(filer: &mut Filer, cut: u64, kept: u64) {
    let group = || b"comp.std".to_vec();
    let decision = ExpiryDecision {
        survivors: vec![(group(), kept)],
        cuts: vec![(group(), cut)],
        ..ExpiryDecision::default()
    };
    filer.expire_entry(&decision).unwrap();
}

#[test]
fn by_each_way() {
    let (_one, mut one) = node(0);
    let (_other, mut other) = node(7);
    let mut both = |change: &dyn Fn(&mut Filer)| {
        change(&mut one);
        change(&mut other);
        let changes = one.take_changes();
        assert_eq!(changes, other.take_changes());
        changes
    };
    let mut hashes = vec![
        both(&|filer| cancel(filer, "<c0@a>", "<0@a>")),
        both(&|filer| remove(filer, "<1@a>", RemovedBy::Hand)),
        both(&|filer| filer.restore_article(b"<1@a>", NOW.seconds).unwrap()),
        both(&|filer| remove(filer, "<2@a>", RemovedBy::Erasure)),
        both(&|filer| expire(filer, 6, 4)),
        both(&|filer| cancel(filer, "<c5@a>", "<5@a>")),
    ];
    assert!(!hashes.contains(&0));
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 6);
    // What is gone already, was never here, or cannot be restored any more, changes nothing that readers see.
    for change in [
        &|filer: &mut Filer| cancel(filer, "<c6@a>", "<0@a>"),
        &|filer: &mut Filer| remove(filer, "<1@a>", RemovedBy::Hand),
        &|filer: &mut Filer| remove(filer, "<2@a>", RemovedBy::Erasure),
        &|filer: &mut Filer| remove(filer, "<never@a>", RemovedBy::Hand),
        &|filer: &mut Filer| {
            let late = NOW.seconds + 1000;
            filer.restore_article(b"<1@a>", late).unwrap();
        },
    ] as [&dyn Fn(&mut Filer); 5]
    {
        assert_eq!(both(change), 0);
    }
    one.commit().unwrap();
    other.commit().unwrap();
}

#[test]
fn a_node_in_another_state_has_another_hash() {
    let (_one, mut one) = node(0);
    let (_other, mut other) = node(0);
    expire(&mut other, 3, 2);
    other.take_changes();
    // The article with number 1 has expired there.
    for filer in [&mut one, &mut other] {
        cancel(filer, "<c0@a>", "<0@a>");
    }
    assert_ne!(one.take_changes(), other.take_changes());
    // The article with number 2 has survived there.
    for filer in [&mut one, &mut other] {
        expire(filer, 5, 4);
    }
    assert_ne!(one.take_changes(), other.take_changes());
}
