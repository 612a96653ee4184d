//! The contents of a checkgroups message: its hierarchies, its serial number, and its list (RFC 5537, 5.2.3).

use std::collections::{BTreeMap, BTreeSet};

use article::Article;
use groups::{Active, name};

use super::request::Request;

/// Maximum number of groups in a list; a longer list is refused.
pub const LISTED_MAX: usize = 200_000;

/// A group in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed<'a> {
    /// Its description; may be empty.
    pub description: &'a [u8],
}

impl Listed<'_> {
    /// Whether the description ends in `(Moderated)` (RFC 5537, 4.2).
    pub fn is_moderated(&self) -> bool {
        without_moderated(self.description).is_some()
    }
}

/// The description before `(Moderated)` at its end; `None` of any other.
pub fn without_moderated(description: &[u8]) -> Option<&[u8]> {
    const MODERATED: &[u8] = b"(moderated)";
    let text = description.trim_ascii_end();
    let (text, end) = text.split_at_checked(text.len().checked_sub(MODERATED.len())?)?;
    end.eq_ignore_ascii_case(MODERATED)
        .then_some(text.trim_ascii_end())
}

/// Parses the list of a message. A line has the name of a group, or the name, a tab and the description; other lines are ignored.
/// Verification and decision use the same list.
pub fn listed<'a>(article: &Article<'a>) -> BTreeMap<&'a [u8], Listed<'a>> {
    let body = article.bytes().get(article.body()..).unwrap_or_default();
    let mut list = BTreeMap::new();
    for line in body.split(|&byte| byte == b'\n') {
        // A signature does not cover blanks at the end of a line.
        let line = line.trim_ascii_end();
        let end = memchr::memchr(b'\t', line).unwrap_or(line.len());
        let (group, rest) = line.split_at_checked(end).unwrap_or((line, b""));
        // A line of prose has blanks, which are not allowed in names.
        if !name::is_safe(group) {
            continue;
        }
        if list.len() > LISTED_MAX {
            break;
        }
        let description = rest.trim_ascii();
        list.entry(group).or_insert(Listed { description });
    }
    list
}

/// The existing groups that begin a line which is not part of the list, such as one with blanks in place of the tab. The list is no
/// reason to remove them.
pub fn mentioned<'a>(article: &Article<'a>, active: &Active) -> BTreeSet<&'a [u8]> {
    let body = article.bytes().get(article.body()..).unwrap_or_default();
    let lines = body.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = |line: &'a [u8]| line.split(u8::is_ascii_whitespace).next();
    lines
        .filter_map(first)
        .filter(|word| active.find(word).is_some())
        .collect()
}

/// The text after `#` is not a serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSerial;

/// The hierarchies that a list covers completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope<'a> {
    /// Hierarchies, and whether each is in the scope. The longest one that matches a group decides.
    parts: BTreeMap<&'a [u8], bool>,
    /// The serial number, if the message has one; `Err` if there are several or it is invalid.
    pub serial: Result<Option<u64>, NoSerial>,
}

impl<'a> Scope<'a> {
    /// The scope of a message and its list: the hierarchies after `checkgroups`. Without any, or with exclusions only, it is the
    /// first parts of the listed groups.
    pub fn of(request: &Request<'a>, list: &BTreeMap<&'a [u8], Listed<'a>>) -> Scope<'a> {
        let mut parts = BTreeMap::new();
        let mut serial = Ok(None);
        for word in &request.words {
            match word.split_first() {
                Some((b'#', digits)) => {
                    serial = match (serial, article::decimal::parse(digits)) {
                        (Ok(None), Some(number)) => Ok(Some(number)),
                        _ => Err(NoSerial),
                    }
                }
                Some((b'!', hierarchy)) => {
                    parts.insert(hierarchy, false);
                }
                _ => {
                    parts.insert(*word, true);
                }
            }
        }
        if !parts.values().any(|is_in| *is_in) {
            let first = |group: &&'a [u8]| group.split(|&byte| byte == b'.').next();
            for hierarchy in list.keys().filter_map(first) {
                parts.entry(hierarchy).or_insert(true);
            }
        }
        Scope { parts, serial }
    }

    /// The hierarchy of the scope that contains a group.
    pub fn hierarchy(&self, group: &[u8]) -> Option<&'a [u8]> {
        let mut rest = group;
        loop {
            if let Some((hierarchy, is_in)) = self.parts.get_key_value(rest) {
                return is_in.then_some(*hierarchy);
            }
            rest = memchr::memrchr(b'.', rest).and_then(|dot| rest.get(..dot))?;
        }
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
        let scope = Scope::of(&request, &listed(&article));
        scope.hierarchy(group.as_bytes()).is_some()
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
            ("checkgroups !x.alt", "x.a", true),
            ("checkgroups !x.alt", "x.alt.b", false),
        ] {
            assert_eq!(
                scope(control, "x.a\tA.\n", group),
                wanted,
                "{control} {group}"
            );
        }
    }

    #[test]
    fn a_serial_number_is_valid_or_an_error() {
        for (control, wanted) in [
            ("checkgroups de", Ok(None)),
            ("checkgroups de #7", Ok(Some(7))),
            ("checkgroups de #7 #8", Err(NoSerial)),
            ("checkgroups de #", Err(NoSerial)),
            ("checkgroups de #99999999999999999999", Err(NoSerial)),
        ] {
            let text = format!("Control: {control}\n\n");
            let article = Article::parse(text.as_bytes(), Form::Native);
            let request = Request::of(&article, &article::date::FixedOffset(0)).unwrap();
            assert_eq!(Scope::of(&request, &BTreeMap::new()).serial, wanted);
        }
    }

    #[test]
    fn lines_with_blanks_mention_groups() {
        let text =
            "X: y\n\na.b\tListed.\na.c   Blanks.\n a.d\tToo.\na.d is prose\nof a.e\na.f Unknown.\n";
        let article = Article::parse(text.as_bytes(), Form::Native);
        let active = "a.b 0 1 y\na.c 0 1 y\na.d 0 1 y\na.e 0 1 y\n";
        let active = Active::parse(active.as_bytes().to_vec()).unwrap();
        let names: Vec<_> = mentioned(&article, &active).into_iter().collect();
        assert_eq!(names, [&b"a.b"[..], b"a.c", b"a.d"]);
    }

    #[test]
    fn the_word_moderated_is_taken_off() {
        for (text, wanted) in [
            ("Of b. (Moderated) ", Some("Of b.")),
            ("(moderated)", Some("")),
            ("Of b.", None),
            ("(Moderated) b", None),
            ("", None),
        ] {
            let wanted = wanted.map(str::as_bytes);
            assert_eq!(without_moderated(text.as_bytes()), wanted, "{text}");
        }
    }

    #[test]
    fn only_lines_of_groups_count() {
        let text = "X: y\n\nDear all, see below.\n\na.b\t\tOf b. (Moderated)\na.c \nno-dot\tA tab.\n\
             a.b\tTwice.\n../etc\tpasswd\n-rf.x\ty\na.d is prose.\n a.e\tToo.\n";
        let article = Article::parse(text.as_bytes(), Form::Native);
        let list = listed(&article);
        let names: Vec<_> = list.keys().copied().collect();
        assert_eq!(names, [&b"a.b"[..], b"a.c", b"no-dot"]);
        assert!(list[&b"a.b"[..]].is_moderated() && !list[&b"a.c"[..]].is_moderated());
    }
}
