//! The directory offset cache turns the N² of looking up all names of a directory into N, and never changes what is found.

use namei::Offsets;
use proptest::prelude::*;

const FILES: u32 = 600;

/// Entries examined when each name of the directory is looked up in its order.
fn examined_by_scan(processes_max: usize) -> u64 {
    let mut offsets = Offsets::new(processes_max);
    for name in 0..FILES {
        let found = offsets.search(7, (1, 0), FILES, |index| index == name);
        assert_eq!(found, Some(name));
    }
    offsets.counts().examined
}

#[test]
fn a_scan_is_one_pass() {
    let files = u64::from(FILES);
    assert_eq!(examined_by_scan(0), files * (files + 1) / 2);
    // Each search but the first looks at the entry before, too.
    assert_eq!(examined_by_scan(1), 2 * files - 1);
}

#[test]
fn a_change_of_the_directory_forgets_and_another_process_has_its_own() {
    let mut offsets = Offsets::new(2);
    let mut cost = |process, directory, change, name| {
        let before = offsets.counts().examined;
        offsets.search(process, (directory, change), 100, |index| index == name);
        offsets.counts().examined - before
    };
    assert_eq!(cost(1, 5, 0, 49), 50);
    assert_eq!(cost(1, 5, 0, 50), 2);
    assert_eq!(cost(1, 5, 0, 50), 1);
    assert_eq!(cost(2, 5, 0, 51), 52);
    assert_eq!(cost(1, 5, 0, 51), 2);
    // Modified, and then another directory.
    assert_eq!(cost(1, 5, 1, 52), 53);
    assert_eq!(cost(1, 6, 1, 53), 54);
    // A third process takes the place of the second, which was used less recently.
    assert_eq!(cost(3, 5, 0, 0), 1);
    assert_eq!(cost(1, 6, 1, 54), 2);
    assert_eq!(cost(2, 5, 0, 52), 53);
}

proptest! {
    #[test]
    fn it_finds_what_a_search_from_the_start_finds(
        processes_max in 0..3usize,
        searches in prop::collection::vec((0..4u32, 0..3u64, 0..2u32, 0..40u32), 0..100),
    ) {
        let mut offsets = Offsets::new(processes_max);
        for (process, directory, change, name) in searches {
            let found = offsets.search(process, (directory, change), 30, |index| index == name);
            prop_assert_eq!(found, (name < 30).then_some(name));
        }
    }
}
