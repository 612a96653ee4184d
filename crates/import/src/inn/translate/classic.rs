//! Wildmats of newsfeeds as patterns of C News, which `[[site]]` has.
//!
//! In a wildmat `*` stands for any text, and the last pattern that matches decides; in a pattern of C News `all` stands for one word, and the most
//! exact pattern decides. So the list is converted word by word without the patterns that a later one covers, what a `*` within a word matches
//! is taken from active, and a group for which both lists still differ is added with its name, which is the most exact pattern. `!` and `@` mean
//! the same in both.

use std::collections::BTreeSet;

use groups::wildmat;
use groups::{Active, Pattern, Wildmat};

use crate::report::Fate;

/// Most patterns that may be added to a list, names of groups and the beginnings that a `*` stands for together.
const ADDED_MAX: usize = 500;
/// Longest list that the report shows, bytes.
const SHOWN_MAX: usize = 300;

/// Patterns of C News for a wildmat list.
#[derive(Debug, PartialEq, Eq)]
pub struct Classic {
    /// The patterns.
    pub patterns: Vec<String>,
    /// The wildmats that were replaced by what they match in active.
    pub replaced: Vec<String>,
    /// How many groups were added with their names.
    pub added: usize,
    /// How many groups of active have another result, and the first of them.
    pub differing: Option<(usize, String)>,
}

impl Classic {
    /// Converts a list.
    ///
    /// # Errors
    /// The reason why no list of C News patterns has the same result for the groups of active.
    pub fn of(list: &str, active: &Active) -> Result<Classic, String> {
        let mut classic = Classic {
            patterns: Vec::new(),
            replaced: Vec::new(),
            added: 0,
            differing: None,
        };
        // Whether a wildmat has no patterns of its own, and is only expressed by the names of groups.
        let mut needs_names = false;
        for item in wildmat::patterns(list.as_bytes()) {
            let item = String::from_utf8_lossy(item);
            let item = item.trim();
            let (sign, item) = item.split_at(item.len() - unsigned(item).len());
            if item.is_empty() {
                continue;
            }
            if let Some(words) = words(item) {
                if item.ends_with('*') {
                    for earlier in [&mut classic.patterns, &mut classic.replaced] {
                        earlier.retain(|earlier| !covers(&words, earlier));
                    }
                }
                classic
                    .patterns
                    .push(classic.with_groups_below(sign, words, active));
                continue;
            }
            classic.replaced.push(format!("{sign}{item}"));
            match stem(item) {
                Some(stem) => {
                    let found = beginnings(stem, active);
                    let found = found.into_iter().map(|words| format!("{sign}{words}"));
                    classic.patterns.extend(found);
                }
                None => needs_names = true,
            }
        }
        classic.add_names(list, active);
        classic.keep_last();
        let replaced = classic.replaced.join(",");
        if classic.patterns.len() > ADDED_MAX && !replaced.is_empty() {
            return Err(format!(
                "patterns of C News have no `*' within a word, and `{replaced}' stands for more than {ADDED_MAX} groups"
            ));
        }
        match (&classic.differing, needs_names) {
            (Some((count, first)), true) => Err(format!(
                "patterns of C News cannot express `{replaced}': {count} groups of active would have another result, such as {first}"
            )),
            _ if classic.patterns.is_empty() => {
                Err(format!("`{list}' includes no group of active"))
            }
            _ => Ok(classic),
        }
    }

    /// The pattern of words, shorter where that means the same: `comp.all` is `comp`, which matches the groups below as well. A group `comp`
    /// itself is in no `comp.*`, so it has to have the same sign before.
    fn with_groups_below(&self, sign: &str, words: String, active: &Active) -> String {
        let above = words.strip_suffix(".all");
        let above = above.filter(|above| !above.split('.').any(|word| word == "all"));
        let is_shorter = above.is_some_and(|above| {
            let mut earlier = self.patterns.iter().rev();
            let earlier = earlier.find(|earlier| unsigned(earlier) == above);
            match earlier {
                Some(earlier) => earlier.strip_suffix(above) == Some(sign),
                None => active.find(above.as_bytes()).is_none(),
            }
        });
        match above {
            Some(above) if is_shorter => format!("{sign}{above}"),
            _ => format!("{sign}{words}"),
        }
    }

    /// Adds the groups for which the result is another one than in INN, unless they are too many.
    fn add_names(&mut self, list: &str, active: &Active) {
        let inn = Wildmat::parse_poison(list.as_bytes());
        let mut added: Vec<String> = Vec::new();
        loop {
            let all: Vec<&str> = self
                .patterns
                .iter()
                .chain(&added)
                .map(String::as_str)
                .collect();
            let here = Pattern::parse_poison(all.join(",").as_bytes());
            let names = active.ids().map(|id| active.name(id));
            let other: Vec<&[u8]> = names
                .filter(|name| inn.result(name) != here.result(name))
                .collect();
            let Some(first) = other.first() else {
                break;
            };
            let wanted = other.iter().map(|name| {
                let sign = inn.result(name).sign();
                format!("{sign}{}", String::from_utf8_lossy(name))
            });
            let wanted: Vec<String> = wanted.collect();
            // A name with a word `all` is a pattern for other groups, too.
            let is_repeated = wanted.iter().any(|name| added.contains(name));
            if is_repeated || added.len() + wanted.len() > ADDED_MAX {
                let first = String::from_utf8_lossy(first).into_owned();
                self.differing = Some((other.len(), first));
                return;
            }
            added.extend(wanted);
        }
        self.added = added.len();
        self.patterns.append(&mut added);
    }

    /// Removes repeated patterns but the last, whose sign counts.
    fn keep_last(&mut self) {
        let mut met = BTreeSet::new();
        let mut last: Vec<String> = self.patterns.drain(..).rev().collect();
        last.retain(|pattern| met.insert(unsigned(pattern).to_owned()));
        last.reverse();
        self.patterns = last;
    }

    /// Whether any group can match.
    pub fn includes_some(&self) -> bool {
        self.patterns
            .iter()
            .any(|pattern| !pattern.starts_with(['!', '@']))
    }

    /// What the patterns change; empty if nothing.
    pub fn changes(&self) -> Vec<String> {
        let mut changes = Vec::new();
        if !self.replaced.is_empty() {
            changes.push(format!(
                "patterns of C News have no `*' within a word, so `{}' stands for what it matches in active now, and you have to add new groups",
                self.replaced.join(",")
            ));
        }
        if self.added > 0 && self.replaced.is_empty() {
            changes.push(format!(
                "the pattern names {} groups of active, because patterns of C News mean something else for them, and you have to add new groups like these",
                self.added
            ));
        }
        if let Some((count, first)) = &self.differing {
            changes.push(format!(
                "patterns of C News differ in {count} of the groups in active, such as {first}"
            ));
        }
        changes
    }

    /// The remark for the report.
    pub fn remark(&self) -> (Fate, String) {
        let list = self.patterns.join(",");
        let groups = match list.len() {
            0..=SHOWN_MAX => format!("groups `{list}'"),
            _ => format!("{} patterns in groups", self.patterns.len()),
        };
        let changes = self.changes();
        let fate = if changes.is_empty() {
            Fate::Kept
        } else {
            Fate::Changed
        };
        (fate, [vec![groups], changes].concat().join(": "))
    }
}

/// A pattern without its `!` or `@`.
fn unsigned(pattern: &str) -> &str {
    pattern.strip_prefix(['!', '@']).unwrap_or(pattern)
}

/// A wildmat word by word, if its only `*` are whole words.
fn words(item: &str) -> Option<String> {
    let words = item.split('.').map(|word| match word {
        "*" => Some("all"),
        word if is_plain(word) => Some(word),
        _ => None,
    });
    let words: Option<Vec<&str>> = words.collect();
    Some(words?.join("."))
}

/// Whether the words of a wildmat that ends with `*` match all that an earlier pattern matches.
fn covers(words: &str, earlier: &str) -> bool {
    let mut earlier = unsigned(earlier).split('.');
    words.split('.').all(|word| {
        let other = earlier.next();
        other.is_some_and(|other| word == "all" || word == other)
    })
}

/// The text before the `*` of a wildmat such as `comp.lang.c*`.
fn stem(item: &str) -> Option<&str> {
    let stem = item.strip_suffix('*')?;
    (is_plain(stem) && !stem.ends_with('.')).then_some(stem)
}

fn is_plain(text: &str) -> bool {
    !text.contains(['*', '?', '[', '\\'])
}

/// The beginnings of the groups that begin with a stem: as many words as it has. The stem, if there is none: so it is kept for a group to
/// come.
fn beginnings(stem: &str, active: &Active) -> BTreeSet<String> {
    let words = stem.split('.').count();
    let names = active.ids().map(|id| active.name(id));
    let names = names.filter(|name| name.starts_with(stem.as_bytes()));
    let mut found: BTreeSet<String> = names
        .map(|name| {
            let name = String::from_utf8_lossy(name).into_owned();
            name.split('.').take(words).collect::<Vec<_>>().join(".")
        })
        .collect();
    if found.is_empty() {
        found.insert(stem.to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn active(names: &[&str]) -> Active {
        let lines = names.iter().map(|name| format!("{name} 0 1 y\n"));
        Active::parse(lines.collect::<String>().into_bytes()).unwrap()
    }

    const NAMES: [&str; 12] = [
        "control",
        "control.cancel",
        "local.test",
        "localhost",
        "comp.lang.c",
        "comp.lang.c.moderated",
        "comp.lang.c++",
        "comp.test",
        "alt.binaries",
        "alt.binaries.pictures",
        "alt.binaries.pictures.cats",
        "alt.test",
    ];

    #[test]
    fn a_star_within_a_word_is_what_active_has() {
        let active = active(&NAMES);
        for (list, patterns, fate) in [
            ("*,!comp.*", "all,!comp", Fate::Kept),
            ("*,!control*", "all,!control", Fate::Changed),
            ("*,!local*", "all,!local,!localhost", Fate::Changed),
            ("*,!nothing*", "all,!nothing", Fate::Changed),
            (
                "comp.*,alt.binaries.pic*",
                "comp,alt.binaries.pictures",
                Fate::Changed,
            ),
            // Names, since the words do not express it: `?`, and a group that has others below it.
            ("*,!*hos?", "all,!localhost", Fate::Changed),
            (
                "comp.lang.c",
                "comp.lang.c,!comp.lang.c.moderated",
                Fate::Changed,
            ),
            ("*.test", "all.test", Fate::Kept),
            // A group that has others below it, and stays or goes with them.
            (
                "*,!alt.binaries,!alt.binaries.*",
                "all,!alt.binaries",
                Fate::Kept,
            ),
            (
                "*,!alt.binaries,alt.binaries.*",
                "all,!alt.binaries,alt.binaries.all",
                Fate::Kept,
            ),
            ("*,!rec.football.*", "all,!rec.football", Fate::Kept),
            ("*,!alt.binaries.*", "all,!alt.binaries.all", Fate::Kept),
            (
                "*,@alt.binaries.pictures.*,!control",
                "all,@alt.binaries.pictures.all,!control,control.cancel",
                Fate::Changed,
            ),
            ("*,@alt.binaries.*", "all,@alt.binaries.all", Fate::Kept),
            ("*,@rec.*,!comp.*", "all,@rec,!comp", Fate::Kept),
            // A later pattern takes the poison away: here the more exact one.
            ("*,@comp.*,comp.*", "all,@comp,comp.all", Fate::Kept),
            ("!*", "!all", Fate::Kept),
            ("*,!control,!*,comp.*", "!all,comp", Fate::Kept),
            // A pattern that a later one covers decides nothing.
            (
                "soc.culture.*,!soc.feminism,soc.*,!soc.history.*",
                "soc,!soc.history",
                Fate::Kept,
            ),
            ("*,!soc.*.*", "all,!soc.all.all", Fate::Kept),
        ] {
            let told = Classic::of(list, &active).unwrap();
            assert_eq!(told.patterns.join(","), patterns, "{list}");
            assert_eq!(told.remark().0, fate, "{list}: {}", told.remark().1);
        }
        let told = Classic::of("*,!control*", &active).unwrap().remark().1;
        assert!(
            told.contains("`!control*' stands for what it matches"),
            "{told}"
        );
    }

    #[test]
    fn a_list_that_stands_for_too_many_groups_is_refused() {
        let names: Vec<String> = (0..ADDED_MAX + 1).map(|n| format!("a.b{n}.c")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let active = active(&names);
        for list in ["a.b*", "*c", "*b1*"] {
            let told = Classic::of(list, &active);
            assert_eq!(told.is_ok(), list == "*b1*", "{list}: {told:?}");
        }
        assert!(Classic::of("", &active).is_err());
        assert!(Classic::of("*x", &active).is_err());
    }

    proptest! {
        /// A list that is accepted has the result of INN for all groups of active.
        #[test]
        fn groups_have_the_result_of_inn(
            items in prop::collection::vec("[!@]?(\\*|comp|alt|control|local)(\\.(\\*|lang|binaries|test|cancel))?(\\.(c|pic\\*|\\*))?\\*?", 1..6),
        ) {
            let (active, list) = (active(&NAMES), items.join(","));
            let inn = Wildmat::parse_poison(list.as_bytes());
            if let Ok(told) = Classic::of(&list, &active) {
                let here = Pattern::parse_poison(told.patterns.join(",").as_bytes());
                prop_assert_eq!(&told.differing, &None);
                for name in NAMES.map(str::as_bytes) {
                    prop_assert_eq!(inn.result(name), here.result(name), "{} {:?}", list, told);
                }
                prop_assert!(told.patterns.iter().all(|pattern| !pattern.contains('*')));
            } else {
                prop_assert!(NAMES.iter().all(|name| !inn.matches(name.as_bytes())), "{}", list);
            }
        }
    }
}
