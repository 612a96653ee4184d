//! A removed node, and a node whose place was reused, takes its names with it, and the names in it; also when the capabilities begin again.

#![allow(clippy::unwrap_used)]

use namei::NameCache;
use namei::nodes::Nodes;

#[test]
fn all_names_of_a_removed_node_die() {
    let mut cache = NameCache::new(10, 10);
    let (root, other) = (cache.add("root"), cache.add("other"));
    let file = cache.add("file");
    cache.enter(root, b"1", file);
    cache.enter(other, b"7", file);
    assert_eq!(cache.find(root, b"1"), Some(file));
    assert_eq!(cache.remove(file), Some("file"));
    assert_eq!(cache.find(root, b"1"), None);
    assert_eq!(cache.find(other, b"7"), None);
    assert_eq!(cache.content(file), None);
    let counts = cache.counts();
    assert_eq!((counts.hits, counts.misses, counts.stale), (1, 2, 2));
}

#[test]
fn a_directory_made_again_has_none_of_its_old_names() {
    let mut cache = NameCache::new(10, 10);
    let root = cache.add("root");
    let before = cache.add("directory");
    let file = cache.add("file");
    cache.enter(root, b"c", before);
    cache.enter(before, b"1", file);
    cache.remove(before);
    let again = cache.add("directory again");
    cache.enter(root, b"c", again);
    // The new one has the place of the old one.
    assert_eq!(cache.find(root, b"c"), Some(again));
    assert_eq!(cache.find(again, b"1"), None);
    assert_eq!(cache.find(before, b"1"), None);
    cache.enter(before, b"2", file);
    assert_eq!(cache.find(again, b"2"), None);
}

#[test]
fn a_full_table_reuses_the_place_that_was_not_used_for_the_longest_time() {
    let mut cache = NameCache::new(10, 3);
    let root = cache.add("root");
    let (one, two) = (cache.add("one"), cache.add("two"));
    cache.enter(root, b"1", one);
    cache.enter(root, b"2", two);
    assert_eq!(cache.find(root, b"1"), Some(one));
    let three = cache.add("three");
    assert_eq!(cache.content(two), None);
    assert_eq!(cache.find(root, b"2"), None);
    assert_eq!(cache.find(root, b"1"), Some(one));
    assert_eq!(cache.content(three).copied(), Some("three"));
}

#[test]
fn names_begin_anew_when_the_capabilities_are_used_up() {
    let mut cache = NameCache::with_nodes(10, Nodes::with_capability(4, u32::MAX - 3));
    let root = cache.add(0);
    let file = cache.add(1);
    cache.enter(root, b"x", file);
    assert_eq!(cache.find(root, b"x"), Some(file));
    cache.remove(file);
    // The last capability is gone: everything is forgotten, and nothing old comes to life again.
    let mut later = Vec::new();
    for number in 2..9 {
        later.push(cache.add(number));
    }
    assert_eq!(cache.counts().purges, 1);
    assert_eq!(cache.content(root), None);
    assert_eq!(cache.content(file), None);
    assert_eq!(cache.find(root, b"x"), None);
    let last = *later.last().unwrap();
    cache.enter(root, b"y", last);
    assert_eq!(cache.find(root, b"y"), None);
    assert_eq!(cache.content(last), Some(&mut 8));
}

#[test]
fn a_long_name_is_not_kept_and_a_cache_of_no_names_finds_none() {
    let mut cache = NameCache::new(10, 10);
    let root = cache.add("root");
    let file = cache.add("file");
    let name = [b'a'; namei::names::NAME_BYTES_MAX + 1];
    cache.enter(root, &name, file);
    assert_eq!(cache.find(root, &name), None);
    assert_eq!(cache.counts().too_long, 1);
    cache.enter(root, &name[1..], file);
    assert_eq!(cache.find(root, &name[1..]), Some(file));

    let mut none = NameCache::new(0, 10);
    let root = none.add("root");
    none.enter(root, b"a", root);
    assert_eq!(none.find(root, b"a"), None);
}
