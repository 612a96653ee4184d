//! What a checkgroups message is about: its hierarchies, its serial number, and its list (RFC 5537, 5.2.3).

use std::collections::{BTreeMap, BTreeSet};

use article::Article;
use groups::name;

use super::request::Request;

/// The most groups of one list.
pub const LISTED_MAX: usize = 200_000;

/// A group of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed<'a> {
    /// What it is about; may be empty.
    pub description: &'a [u8],
}

impl Listed<'_> {
    /// Whether the description says so (RFC 5537, 4.2).
    pub fn is_moderated(&self) -> bool {
        self.description
            .trim_ascii_end()
            .to_ascii_lowercase()
            .ends_with(b"(moderated)")
    }
}

/// The list of a message: one line a group, the name, a tab, what it is about. Other lines do not count.
pub fn listed<'a>(article: &Article<'a>) -> BTreeMap<&'a [u8], Listed<'a>> {
    let body = article.bytes().get(article.body()..).unwrap_or_default();
    let mut list = BTreeMap::new();
    for line in body.split(|&byte| byte == b'\n') {
        let end = line.iter().position(u8::is_ascii_whitespace);
        let (group, rest) = line
            .split_at_checked(end.unwrap_or(line.len()))
            .unwrap_or((line, b""));
        // A line of prose has blanks, and its first word seldom a dot inside.
        let is_line = group.contains(&b'.') || rest.starts_with(b"\t");
        if !is_line || !name::is_safe(group) {
            continue;
        }
        if list.len() >= LISTED_MAX {
            break;
        }
        let description = rest.trim_ascii();
        list.entry(group).or_insert(Listed { description });
    }
    list
}

/// The hierarchies that a list is whole for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope<'a> {
    /// Hierarchy, and whether it is in the scope. Where several fit a group the longest counts.
    parts: BTreeMap<&'a [u8], bool>,
    /// The serial number, if the message has one.
    pub serial: Option<u64>,
}

impl<'a> Scope<'a> {
    /// Of a message and its list: what stands behind `checkgroups`, or else the first parts of the groups listed.
    pub fn of(request: &Request<'a>, list: &BTreeMap<&'a [u8], Listed<'a>>) -> Scope<'a> {
        let mut parts = BTreeMap::new();
        let mut serial = None;
        for word in &request.words {
            match word.split_first() {
                Some((b'#', digits)) => serial = article::decimal::parse(digits),
                Some((b'!', hierarchy)) => {
                    parts.insert(hierarchy, false);
                }
                _ => {
                    parts.insert(*word, true);
                }
            }
        }
        if parts.is_empty() {
            let first = |group: &&'a [u8]| group.split(|&byte| byte == b'.').next();
            parts = list
                .keys()
                .filter_map(first)
                .map(|hierarchy| (hierarchy, true))
                .collect();
        }
        Scope { parts, serial }
    }

    /// Whether a group belongs to it.
    pub fn has(&self, group: &[u8]) -> bool {
        let mut rest = group;
        loop {
            if let Some(is_in) = self.parts.get(rest) {
                return *is_in;
            }
            match memchr::memrchr(b'.', rest).and_then(|dot| rest.get(..dot)) {
                Some(shorter) => rest = shorter,
                None => return false,
            }
        }
    }

    /// The hierarchies that are in it.
    pub fn hierarchies(&self) -> BTreeSet<&'a [u8]> {
        let parts = self.parts.iter().filter(|(_, is_in)| **is_in);
        parts.map(|(hierarchy, _)| *hierarchy).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use article::Form;

    fn scope(control: &str, body: &str, group: &str) -> bool {
        let text = format!("Control: {control}\n\n{body}");
        let article = Article::parse(text.as_bytes(), Form::Native);
        let request = Request::of(&article, &article::date::FixedOffset(0)).unwrap();
        Scope::of(&request, &listed(&article)).has(group.as_bytes())
    }

    #[test]
    fn hierarchies_are_named_or_those_of_the_list() {
        for (control, group, wanted) in [
            ("checkgroups", "x.y", true),
            ("checkgroups", "x", true),
            ("checkgroups", "z.y", false),
            ("checkgroups", "xx.y", false),
            ("checkgroups de !de.alt #2009021301", "de.a", true),
            ("checkgroups de !de.alt #2009021301", "de.alt.b", false),
            ("checkgroups de !de.alt #2009021301", "de.altes", true),
            ("checkgroups de !de.alt #2009021301", "x.a", false),
            ("checkgroups #7", "x.a", true),
        ] {
            assert_eq!(
                scope(control, "x.a\tA.\n", group),
                wanted,
                "{control} {group}"
            );
        }
    }

    #[test]
    fn only_lines_of_groups_count() {
        let text = "X: y\n\nDear all, see below.\n\na.b\t\tOf b. (Moderated)\na.c\nno-dot\tA tab.\n\
             a.b\tTwice.\n../etc\tpasswd\n-rf.x\ty\n";
        let article = Article::parse(text.as_bytes(), Form::Native);
        let list = listed(&article);
        let names: Vec<_> = list.keys().copied().collect();
        assert_eq!(names, [&b"a.b"[..], b"a.c", b"no-dot"]);
        assert!(list[&b"a.b"[..]].is_moderated() && !list[&b"a.c"[..]].is_moderated());
    }
}
