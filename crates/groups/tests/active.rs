//! The `active` table: loading, look-ups, numbers in place, edits.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use std::collections::BTreeMap;

use groups::active::{ALIAS_HOPS_MAX, ActiveLineError, NUMBER_MAX};
use groups::{Active, Flag};
use proptest::prelude::*;

const SAMPLE: &str = "\
control 0000000000 00001 y
junk 0000000000 00001 y
comp.lang.c 0000000012 00003 y
comp.std.c 0000000099 00001 m
local.notices 00041 00001 n
old.group 0000000000 00001 x
alt.name 0000000000 00001 =comp.lang.c
alt.twice 0000000000 00001 =alt.name
";

fn active(text: &str) -> Active {
    Active::parse(text.as_bytes().to_vec()).expect("a small file")
}

fn id(active: &Active, name: &str) -> groups::GroupId {
    active.find(name.as_bytes()).expect(name)
}

#[test]
fn fields_are_parsed() {
    let active = active(SAMPLE);
    assert_eq!(active.len(), 8);
    assert_eq!(active.bad_lines(), []);
    let c = id(&active, "comp.lang.c");
    assert_eq!(active.name(c), b"comp.lang.c");
    assert_eq!((active.high(c), active.low(c)), (12, 3));
    assert_eq!(active.flag(c), Flag::Open);
    assert_eq!(active.flag(id(&active, "comp.std.c")), Flag::Moderated);
    assert_eq!(active.flag(id(&active, "old.group")), Flag::Excluded);
    assert_eq!(
        active.flag(id(&active, "alt.name")),
        Flag::Alias(b"comp.lang.c")
    );
    assert_eq!(active.find(b"comp.lang"), None);
    assert_eq!(active.find(b""), None);
    assert!(!active.layout_changed());
    assert_eq!(active.image(), SAMPLE.as_bytes());
}

#[test]
fn numbers_are_patched_in_place() {
    let mut active = active(SAMPLE);
    let c = id(&active, "comp.lang.c");
    let std_c = id(&active, "comp.std.c");
    assert_eq!(active.take_dirty(), None);
    assert_eq!(active.take_number(c), Some(13));
    assert_eq!(active.take_number(std_c), Some(100));
    assert!(active.set_low(c, 7));
    assert!(!active.layout_changed());
    let expected = SAMPLE
        .replace("0000000012 00003", "0000000013 00007")
        .replace("0000000099", "0000000100");
    assert_eq!(active.image(), expected.as_bytes());
    let dirty = active.take_dirty().expect("something changed");
    assert_eq!(
        &active.image()[dirty],
        b"0000000013 00007 y\ncomp.std.c 0000000100"
    );
    assert_eq!(active.take_dirty(), None);
}

#[test]
fn a_field_too_narrow_is_widened_and_the_file_rewritten() {
    let mut active = active("a 98 1 y\nb 00000 00001 m\ngarbage\nc 0 0 n\n");
    let a = id(&active, "a");
    assert_eq!(active.take_number(a), Some(99));
    assert!(!active.layout_changed());
    assert_eq!(active.take_number(a), Some(100));
    assert!(active.layout_changed());
    assert_eq!(
        active.image(),
        b"a 0000000100 1 y\nb 0000000000 00001 m\ngarbage\nc 0000000000 0 n\n"
    );
    assert_eq!(active.take_dirty(), Some(0..active.image().len()));
    active.layout_saved();
    assert!(!active.layout_changed());
    assert!(active.set_low(id(&active, "c"), 12_345_678_901));
    assert_eq!(active.low(id(&active, "c")), 12_345_678_901);
    assert_eq!(active.high(a), 100);
    assert!(active.layout_changed());
}

#[test]
fn numbers_have_a_maximum() {
    let mut active = active("a 9223372036854775806 1 y\n");
    let a = id(&active, "a");
    assert_eq!(active.take_number(a), Some(NUMBER_MAX));
    assert_eq!(active.take_number(a), None);
    assert_eq!(active.high(a), NUMBER_MAX);
    assert!(!active.set_high(a, NUMBER_MAX + 1));
}

#[test]
fn aliases_are_resolved_and_loops_rejected() {
    let active = active(SAMPLE);
    let c = id(&active, "comp.lang.c");
    assert_eq!(active.resolve(id(&active, "alt.twice")), Some(c));
    assert_eq!(active.resolve(c), Some(c));

    let looped = self::active("a 0 0 =b\nb 0 0 =a\nc 0 0 =c\nd 0 0 =nowhere\n");
    for name in ["a", "b", "c", "d"] {
        assert_eq!(looped.resolve(id(&looped, name)), None, "{name}");
    }

    let chain = |hops: usize| {
        let mut text = String::from("g0 0 0 y\n");
        for hop in 1..=hops {
            text += &format!("g{hop} 0 0 =g{}\n", hop - 1);
        }
        let active = self::active(&text);
        active.resolve(id(&active, &format!("g{hops}")))
    };
    assert!(chain(ALIAS_HOPS_MAX).is_some());
    assert!(chain(ALIAS_HOPS_MAX + 1).is_none());
}

#[test]
fn bad_lines_are_reported_and_stay_in_the_file() {
    let text = "a 0 0 y\n../../x 0 0 y\n\nb 0 0 q\nc 1x 0 y\na 5 0 m\nd 0000";
    let active = active(&format!("{text}\n"));
    let lines: Vec<usize> = active.bad_lines().iter().map(|bad| bad.line).collect();
    assert_eq!(lines, [2, 4, 5, 6, 7]);
    assert_eq!(active.bad_line_count(), 5);
    assert_eq!(active.len(), 1);
    assert_eq!(active.flag(id(&active, "a")), Flag::Open);
    assert_eq!(
        active.bad_lines()[3].error,
        ActiveLineError::Twice {
            name: "a".into(),
            first: 1
        }
    );
    assert_eq!(
        active.bad_lines()[1].to_string(),
        "active line 4 has the flag `q'; use y, n, m, x, j or =group"
    );
    assert_eq!(active.image(), format!("{text}\n").as_bytes());

    let mut active = self::active(text);
    active.drop_bad_lines();
    assert_eq!(active.image(), b"a 0 0 y\n");
    assert_eq!(active.bad_line_count(), 0);
}

#[test]
fn irregular_spacing_and_a_missing_newline_are_normalised() {
    let mut active = active("a\t0  1 y \r\nbad line\nb 7 1 m");
    assert_eq!(active.image(), b"a 0 1 y\nbad line\nb 7 1 m\n");
    assert!(active.layout_changed());
    assert_eq!(active.take_dirty(), Some(0..active.image().len()));
    assert_eq!(active.bad_lines()[0].line, 2);
    assert_eq!(active.high(id(&active, "b")), 7);
}

#[test]
fn groups_are_added_removed_and_flagged() {
    let mut active = active(SAMPLE);
    let generation = active.generation();
    let c = id(&active, "comp.lang.c");
    let rust = active
        .add(b"comp.lang.rust", Flag::Moderated)
        .expect("a new group");
    assert!(
        active
            .image()
            .ends_with(b"\ncomp.lang.rust 0000000000 00001 m\n")
    );
    assert!(active.layout_changed());
    assert!(active.add(b"comp.lang.c", Flag::Open).is_err());
    assert!(active.add(b"a/b", Flag::Open).is_err());
    assert!(active.add(b"a.b", Flag::Alias(b"../x")).is_err());
    assert!(active.set_flag(c, Flag::Alias(b"comp.lang.rust")).is_ok());
    assert_eq!(active.resolve(c), Some(rust));
    assert_eq!(active.name(rust), b"comp.lang.rust");
    assert!(active.set_flag(c, Flag::NoPosting).is_ok());
    assert!(active.remove(id(&active, "control")).is_ok());
    assert_eq!(active.find(b"control"), None);
    assert_eq!(active.high(c), 12);
    assert_eq!(active.take_number(rust), Some(1));
    let ensured = active.ensure(b"control").expect("added again");
    assert_eq!(active.ensure(b"control"), Ok(ensured));
    assert_ne!(ensured.0, 0);
    assert_eq!(active.generation(), generation);
    let again = Active::parse(active.image().to_vec()).expect("its own output");
    assert_eq!(again.bad_line_count(), 0);
    assert_eq!(again.len(), active.len());
    assert_ne!(again.generation(), generation);
    for group in active.ids() {
        let other = again.find(active.name(group)).expect("the same groups");
        assert_eq!(again.high(other), active.high(group));
        assert_eq!(again.flag(other), active.flag(group));
    }
}

#[derive(Debug, Clone)]
enum Change {
    Take(u8),
    High(u8, u64),
    Low(u8, u64),
    Flag(u8, u8),
    Add(u8),
    Remove(u8),
}

fn change() -> impl Strategy<Value = Change> {
    let group = 0u8..12;
    let number = prop_oneof![0..200u64, any::<u64>()];
    prop_oneof![
        4 => group.clone().prop_map(Change::Take),
        1 => (group.clone(), number.clone()).prop_map(|(g, n)| Change::High(g, n)),
        1 => (group.clone(), number).prop_map(|(g, n)| Change::Low(g, n)),
        1 => (group.clone(), 0u8..12).prop_map(|(g, f)| Change::Flag(g, f)),
        1 => group.clone().prop_map(Change::Add),
        1 => group.prop_map(Change::Remove),
    ]
}

fn name_of(group: u8) -> String {
    format!("g.n{group}")
}

/// Flags 0 to 3 are letters, the rest aliases.
fn flag_of(flag: u8, target: &[u8]) -> Flag<'_> {
    match flag {
        0 => Flag::Open,
        1 => Flag::NoPosting,
        2 => Flag::Moderated,
        3 => Flag::Excluded,
        _ => Flag::Alias(target),
    }
}

proptest! {
    #[test]
    fn behaves_like_a_map(changes in prop::collection::vec(change(), 0..60)) {
        // name -> (high, low, flag)
        let mut model: BTreeMap<String, (u64, u64, u8)> = BTreeMap::new();
        let start = "g.n0 8 1 y\nnot a line\ng.n1 0000000099 00001 y\n";
        let mut active = active(start);
        model.insert(name_of(0), (8, 1, 0));
        model.insert(name_of(1), (99, 1, 0));
        for change in changes {
            match change {
                Change::Take(g) => {
                    let found = active.find(name_of(g).as_bytes());
                    let taken = found.and_then(|id| active.take_number(id));
                    let expected = model.get_mut(&name_of(g)).and_then(|entry| {
                        (entry.0 < NUMBER_MAX).then(|| { entry.0 += 1; entry.0 })
                    });
                    prop_assert_eq!(taken, expected);
                }
                Change::High(g, n) => {
                    let done = active.find(name_of(g).as_bytes()).map(|id| active.set_high(id, n));
                    if done == Some(true) { model.get_mut(&name_of(g)).unwrap().0 = n; }
                    prop_assert_eq!(done, model.get(&name_of(g)).map(|_| n <= NUMBER_MAX));
                }
                Change::Low(g, n) => {
                    let done = active.find(name_of(g).as_bytes()).map(|id| active.set_low(id, n));
                    if done == Some(true) { model.get_mut(&name_of(g)).unwrap().1 = n; }
                }
                Change::Flag(g, f) => {
                    if let Some(id) = active.find(name_of(g).as_bytes()) {
                        let target = name_of(f);
                        prop_assert!(active.set_flag(id, flag_of(f, target.as_bytes())).is_ok());
                        model.get_mut(&name_of(g)).unwrap().2 = f;
                    }
                }
                Change::Add(g) => {
                    let added = active.add(name_of(g).as_bytes(), Flag::Open).is_ok();
                    prop_assert_eq!(added, !model.contains_key(&name_of(g)));
                    model.entry(name_of(g)).or_insert((0, 1, 0));
                }
                Change::Remove(g) => {
                    if let Some(id) = active.find(name_of(g).as_bytes()) {
                        prop_assert!(active.remove(id).is_ok());
                        prop_assert!(active.remove(id).is_err());
                        prop_assert_eq!(active.name(id), b"");
                        prop_assert_eq!(active.take_number(id), None);
                        model.remove(&name_of(g));
                    }
                }
            }
        }
        let reread = Active::parse(active.image().to_vec()).expect("its own output");
        prop_assert_eq!(reread.bad_line_count(), 1);
        prop_assert_eq!(reread.checksum(), active.checksum());
        for table in [&active, &reread] {
            prop_assert_eq!(table.len(), model.len());
            for (name, &(high, low, flag)) in &model {
                let id = table.find(name.as_bytes()).expect("a group of the model");
                prop_assert_eq!(table.name(id), name.as_bytes());
                prop_assert_eq!((table.high(id), table.low(id)), (high, low));
                let target = name_of(flag);
                prop_assert_eq!(table.flag(id), flag_of(flag, target.as_bytes()));
            }
        }
    }

    #[test]
    fn any_bytes_load(text in prop::collection::vec(
        prop_oneof![4 => prop::sample::select(b"ab.=y 019\n\t/".to_vec()), 1 => any::<u8>()], 0..300)
    ) {
        let mut active = Active::parse(text).expect("a small file");
        let ids: Vec<_> = active.ids().collect();
        for &id in &ids {
            prop_assert_eq!(active.find(active.name(id)), Some(id));
            prop_assert!(groups::name::is_safe(active.name(id)));
            active.take_number(id);
            active.resolve(id);
        }
        active.drop_bad_lines();
        let reread = Active::parse(active.image().to_vec()).expect("its own output");
        prop_assert_eq!(reread.bad_line_count(), 0);
        prop_assert_eq!(reread.len(), ids.len());
        prop_assert_eq!(reread.checksum(), active.checksum());
    }
}
