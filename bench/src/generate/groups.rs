//! The generated news system of a batch: group names, `active`,
//! `newsgroups` and a `sys` file with five subscribed sites.

use super::random::Random;
use super::words::Prose;

/// Ten top-level names, each with second components.
const HIERARCHIES: &[(&str, &[&str])] = &[
    (
        "comp",
        &[
            "lang",
            "os",
            "sys",
            "graphics",
            "protocols",
            "databases",
            "periphs",
            "text",
            "music",
            "dcom",
        ],
    ),
    (
        "news",
        &[
            "admin", "announce", "software", "lists", "misc", "groups", "stats", "newusers",
            "answers", "feeds",
        ],
    ),
    (
        "sci",
        &[
            "astro",
            "bio",
            "chem",
            "electronics",
            "geo",
            "lang",
            "math",
            "med",
            "physics",
            "space",
        ],
    ),
    (
        "rec",
        &[
            "arts", "autos", "bicycles", "boats", "food", "games", "gardens", "music", "photo",
            "travel",
        ],
    ),
    (
        "soc",
        &[
            "culture",
            "history",
            "libraries",
            "politics",
            "rights",
            "singles",
            "college",
            "genealogy",
            "roots",
            "misc",
        ],
    ),
    (
        "talk",
        &[
            "environment",
            "philosophy",
            "politics",
            "rumors",
            "bizarre",
            "religion",
            "origins",
            "answers",
            "euthanasia",
            "trade",
        ],
    ),
    (
        "misc",
        &[
            "books",
            "consumers",
            "education",
            "forsale",
            "handicap",
            "invest",
            "jobs",
            "kids",
            "legal",
            "writing",
        ],
    ),
    (
        "alt",
        &[
            "binaries", "cooking", "folklore", "hobbies", "internet", "puzzles", "radio",
            "sailing", "trains", "weather",
        ],
    ),
    (
        "humanities",
        &[
            "classics", "design", "language", "lit", "misc", "music", "theatre", "letters", "maps",
            "printing",
        ],
    ),
    (
        "local",
        &[
            "announce",
            "budget",
            "clubs",
            "computing",
            "events",
            "housing",
            "lunch",
            "seminars",
            "test",
            "wanted",
        ],
    ),
];

/// Third components; the empty one makes the two-component group.
const TOPICS: &[&str] = &[
    "",
    "misc",
    "advocacy",
    "announce",
    "answers",
    "d",
    "reviews",
    "tech",
    "hardware",
    "moderated",
    "marketplace",
    "history",
    "beginners",
    "theory",
    "programmer",
    "digest",
];

/// The fed sites, each with its seven hierarchies.
const SITES: &[(&str, &str)] = &[
    ("harbour", "comp,news,sci,rec,soc,talk,misc"),
    ("lantern", "comp,news,sci,rec,soc,misc,alt"),
    ("meadow", "comp,news,sci,humanities,rec,alt,local"),
    ("orchard", "news,rec,soc,talk,misc,alt,humanities"),
    ("quarry", "comp,sci,rec,misc,alt,humanities,local"),
];

/// The name of a fed site, for a Path.
pub fn site(random: &mut Random) -> &'static str {
    SITES
        .get(random.position(SITES.len()))
        .map_or("harbour", |site| site.0)
}

/// The names of the first `count` groups, by hierarchy in rotation.
pub fn names(count: usize) -> Vec<String> {
    (0..count).map(name).collect()
}

/// The unique name of the group with this index.
pub fn name(place: usize) -> String {
    let (hierarchy, seconds) = HIERARCHIES
        .get(place % HIERARCHIES.len())
        .copied()
        .unwrap_or(("misc", &[]));
    let rest = place / HIERARCHIES.len();
    let second = seconds
        .get(rest % seconds.len().max(1))
        .copied()
        .unwrap_or("misc");
    let rest = rest / seconds.len().max(1);
    let topic = TOPICS.get(rest % TOPICS.len()).copied().unwrap_or("");
    let round = rest / TOPICS.len();
    let mut name = format!("{hierarchy}.{second}");
    if !topic.is_empty() {
        name.push('.');
        name.push_str(topic);
    }
    if round > 0 {
        // Not digits only: such a component would look like an article's file.
        name.push_str(&format!(".x{round}"));
    }
    name
}

/// An `active` file: the groups, all with flag `y` so that no
/// article needs approval, and the required groups `control` and `junk`.
pub fn active<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut text = Vec::new();
    for name in names.chain(["control", "junk"]) {
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b" 0000000000 00001 y\n");
    }
    text
}

/// A `newsgroups` file: the group, tabs to column 24, a description.
pub fn newsgroups<'a>(
    names: impl Iterator<Item = &'a str>,
    random: &mut Random,
    prose: &Prose,
) -> Vec<u8> {
    let mut text = Vec::new();
    for name in names {
        let words = 2 + random.position(4);
        described(&mut text, name, &prose.phrase(random, words));
    }
    text
}

/// Writes one line of a `newsgroups` file.
pub fn described(text: &mut Vec<u8>, name: &str, purpose: &str) {
    text.extend_from_slice(name.as_bytes());
    let tabs = (24usize.saturating_sub(name.len())).div_ceil(8).max(1);
    text.extend(std::iter::repeat_n(b'\t', tabs));
    text.extend_from_slice(purpose.as_bytes());
    text.extend_from_slice(b".\n");
}

/// A `sys` file: `ME` accepts everything, five sites get seven hierarchies each
/// as a batch file (flag `f`).
pub fn sys() -> Vec<u8> {
    let mut text =
        String::from("# Made by the bench: what we take, and five sites we feed.\nME:all\n");
    for (site, subscription) in SITES {
        text.push_str(&format!("{site}:{subscription}/all,!local:f:\n"));
    }
    text.into_bytes()
}

/// As [`sys`], with this number of further sites, with lines of the same length, which want no article of the batches: articles
/// are filed for the same sites.
pub fn sys_with_idle(more: usize) -> Vec<u8> {
    let mut text = sys();
    for site in 0..more {
        let list: Vec<String> = (0..7)
            .map(|part| format!("region{site}.part{part}"))
            .collect();
        let line = format!("idle{site}/via{site}:{}/all,!local:f:\n", list.join(","));
        text.extend_from_slice(line.as_bytes());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_distinct() {
        let names = names(20_000);
        let distinct: HashSet<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(distinct.len(), names.len());
        assert!(names.iter().all(|name| {
            name.split('.')
                .all(|part| part.bytes().any(|byte| byte.is_ascii_alphabetic()))
        }));
    }

    #[test]
    fn five_sites_take_seven_hierarchies_each() {
        let text = String::from_utf8(sys()).unwrap();
        let fed: Vec<&str> = text.lines().filter(|line| line.ends_with(":f:")).collect();
        assert_eq!(fed.len(), 5);
        for line in fed {
            let subscription = line.split(':').nth(1).unwrap().split('/').next().unwrap();
            assert_eq!(subscription.split(',').count(), 7);
        }
    }
}
