//! The part of the text of broadsheet.toml by which the nodes of a cluster decide: cut out of one text, and put into another one, whose
//! other lines stay as they are.
//!
//! *Invariant:* what is returned was parsed, and has the deciding part of the one text and the rest of the other.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::DeTable;
use toml::{Table, Value};

use crate::cluster::is_deciding;

/// The arrays of tables by which nodes decide.
const SITE: &str = "site";
/// Sections in the order in which they are written; the first is the top of the file.
const SECTIONS: [&str; 5] = ["", "limits", "control", "store", "post"];

/// A setting in a text.
struct Written {
    section: String,
    key: String,
    /// From the key to the end of the value.
    whole: Range<usize>,
    value: Range<usize>,
}

/// The deciding part of a text.
///
/// # Errors
/// The text is no TOML, or has the part in a form that is not understood.
pub fn deciding(text: &str) -> Result<String, String> {
    let settings = settings(text)?;
    let mut out = String::new();
    for section in SECTIONS {
        let of_section = settings.iter().filter(|setting| setting.section == section);
        let lines: Vec<&str> = of_section
            .filter_map(|setting| text.get(setting.whole.clone()))
            .collect();
        if !lines.is_empty() && !section.is_empty() {
            out += &format!("\n[{section}]\n");
        }
        lines
            .iter()
            .for_each(|line| out.extend([line.trim_end(), "\n"]));
    }
    for block in site_blocks(text) {
        out.extend(["\n", text.get(block).unwrap_or_default()]);
    }
    if parts(&table(&out)?).0 == parts(&table(text)?).0 {
        Ok(out)
    } else {
        Err(not_understood())
    }
}

/// `own` with the deciding part in the place of its own.
///
/// # Errors
/// A text is no TOML, or has the part in a form that is not understood.
pub fn merged(own: &str, deciding: &str) -> Result<String, String> {
    let (wanted, _) = parts(&table(deciding)?);
    let (here, rest) = parts(&table(own)?);
    if wanted == here {
        return Ok(own.to_owned());
    }
    let mut edits = edits_of_settings(own, deciding)?;
    let mut end = String::new();
    if wanted.get(SITE) != here.get(SITE) {
        let new: Vec<&str> = site_blocks(deciding)
            .into_iter()
            .filter_map(|block| deciding.get(block))
            .collect();
        let mut new = new.join("\n");
        for block in site_blocks(own) {
            edits.push((block, std::mem::take(&mut new)));
        }
        if !new.is_empty() {
            end = format!("\n{new}");
        }
    }
    let mut text = applied(own, edits);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text += &new_sections(own, deciding)?;
    text += &end;
    let (got, others) = parts(&table(&text)?);
    if got == wanted && others == rest {
        Ok(text)
    } else {
        Err(not_understood())
    }
}

/// `accept` and each `[[site]]` of a text, by a title, as values of one line. Nothing of a text that is no TOML.
pub fn sites(text: &str) -> BTreeMap<String, String> {
    let table = table(text).unwrap_or_default();
    let mut found = BTreeMap::new();
    if let Some(accept) = table.get("accept") {
        found.insert("accept".to_owned(), accept.to_string());
    }
    let sites = table.get(SITE).and_then(Value::as_array);
    for site in sites.into_iter().flatten() {
        let name = site.get("name").and_then(Value::as_str);
        let title = format!("[[site]] {}", name.unwrap_or_default());
        found.insert(title, site.to_string().replace('\n', " "));
    }
    found
}

fn not_understood() -> String {
    "the sections limits, control, store and post, and the [[site]]s, are not written as `broadsheet init' writes them: a header in a line of its own, then the keys".to_owned()
}

/// Changes, removals and additions of single settings, in sections that `own` has.
fn edits_of_settings(own: &str, deciding: &str) -> Result<Vec<(Range<usize>, String)>, String> {
    let (here, new) = (settings(own)?, settings(deciding)?);
    let (values, new_values) = (table(own)?, table(deciding)?);
    let mut edits = Vec::new();
    for setting in &here {
        let Written { section, key, .. } = setting;
        let wanted = new
            .iter()
            .find(|new| new.section == *section && new.key == *key);
        match wanted {
            None => edits.push((line_of(own, &setting.whole), String::new())),
            Some(_) if value_of(&values, section, key) == value_of(&new_values, section, key) => {}
            Some(wanted) => {
                let value = deciding.get(wanted.value.clone()).unwrap_or_default();
                edits.push((setting.value.clone(), value.to_owned()));
            }
        }
    }
    for wanted in &new {
        let is_here =
            |setting: &Written| setting.section == wanted.section && setting.key == wanted.key;
        if here.iter().any(is_here) {
            continue;
        }
        let at = match wanted.section.as_str() {
            // Behind the name, which every such file has.
            "" => here.iter().find(|setting| setting.section.is_empty()),
            _ => None,
        };
        let at = match at {
            Some(setting) => Some(line_of(own, &setting.whole).end),
            None if wanted.section.is_empty() => Some(0),
            None => header_end(own, &wanted.section),
        };
        if let (Some(at), Some(line)) = (at, deciding.get(wanted.whole.clone())) {
            let newline = match own
                .get(..at)
                .is_some_and(|own| !own.is_empty() && !own.ends_with('\n'))
            {
                true => "\n",
                false => "",
            };
            edits.push((at..at, format!("{newline}{line}\n")));
        }
    }
    Ok(edits)
}

/// The sections that `own` has not, as text for its end.
fn new_sections(own: &str, deciding: &str) -> Result<String, String> {
    let new = settings(deciding)?;
    let mut text = String::new();
    for section in SECTIONS.iter().skip(1) {
        if header_end(own, section).is_some() {
            continue;
        }
        let lines: Vec<&str> = new
            .iter()
            .filter(|setting| setting.section == *section)
            .filter_map(|setting| deciding.get(setting.whole.clone()))
            .collect();
        if !lines.is_empty() {
            text += &format!("\n[{section}]\n{}\n", lines.join("\n"));
        }
    }
    Ok(text)
}

/// The text with these ranges replaced, which do not overlap.
fn applied(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in edits {
        out += text.get(at..range.start).unwrap_or_default();
        out += &new;
        at = range.end.max(at);
    }
    out + text.get(at..).unwrap_or_default()
}

fn table(text: &str) -> Result<Table, String> {
    text.parse()
        .map_err(|error: toml::de::Error| error.to_string())
}

fn value_of<'t>(table: &'t Table, section: &str, key: &str) -> Option<&'t Value> {
    match section {
        "" => table.get(key),
        section => table.get(section)?.get(key),
    }
}

/// The deciding part of a table, and the rest; without empty sections.
fn parts(table: &Table) -> (Table, Table) {
    let (mut deciding, mut rest) = (Table::new(), Table::new());
    for (name, value) in table {
        match value {
            Value::Table(section) if name != SITE => {
                let mut parts = [Table::new(), Table::new()];
                for (key, value) in section {
                    let [is, is_not] = &mut parts;
                    let part = if is_deciding(name, key) { is } else { is_not };
                    part.insert(key.clone(), value.clone());
                }
                for (part, whole) in parts.into_iter().zip([&mut deciding, &mut rest]) {
                    if !part.is_empty() {
                        whole.insert(name.clone(), Value::Table(part));
                    }
                }
            }
            value if name == SITE || is_deciding("", name) => {
                deciding.insert(name.clone(), value.clone());
            }
            value => {
                rest.insert(name.clone(), value.clone());
            }
        }
    }
    (deciding, rest)
}

/// The deciding settings of a text, besides the sites, in its order.
fn settings(text: &str) -> Result<Vec<Written>, String> {
    let top = DeTable::parse(text).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    let mut add = |section: &str, table: &DeTable<'_>| {
        for (key, value) in table.iter() {
            let name: &str = key.get_ref();
            if is_deciding(section, name) {
                found.push(Written {
                    section: section.to_owned(),
                    key: name.to_owned(),
                    whole: key.span().start..value.span().end,
                    value: value.span(),
                });
            }
        }
    };
    add("", top.get_ref());
    for (name, value) in top.get_ref().iter() {
        if let Some(table) = value.get_ref().as_table() {
            add(name.get_ref(), table);
        }
    }
    found.sort_by_key(|setting| setting.whole.start);
    Ok(found)
}

/// The lines that a range touches, with the newline.
fn line_of(text: &str, range: &Range<usize>) -> Range<usize> {
    let before = text.get(..range.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let after = text.get(range.end..).unwrap_or_default();
    let end = after.find('\n').map_or(text.len(), |at| range.end + at + 1);
    start..end
}

/// The lines of a text with the offsets of their starts.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

/// The first word of the header that a line is.
fn header(line: &str) -> Option<&str> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let inner = inner.trim_start_matches('[').trim_start();
    inner.split(['.', ']', ' ']).next()
}

/// Behind the line of the header of a section.
fn header_end(text: &str, section: &str) -> Option<usize> {
    lines(text)
        .find(|(_, line)| header(line) == Some(section))
        .map(|(start, line)| start + line.len())
}

/// The runs of `[[site]]` tables, each with the comment directly above it, to the end of its last line that is no comment.
fn site_blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut block: Option<Range<usize>> = None;
    // Where the comment above the line begins.
    let mut comment: Option<usize> = None;
    for (start, line) in lines(text) {
        let end = start + line.len();
        match line.trim() {
            "" => comment = None,
            words if words.starts_with('#') => {
                comment.get_or_insert(start);
            }
            _ => {
                match (header(line), &mut block) {
                    (Some(SITE) | None, Some(block)) => block.end = end,
                    (Some(SITE), None) => block = Some(comment.unwrap_or(start)..end),
                    (Some(_), _) => blocks.extend(block.take()),
                    (None, None) => {}
                }
                comment = None;
            }
        }
    }
    blocks.extend(block);
    blocks
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const ONE: &str = "# the news of one\nname = \"a.example\" # ours\n# junk = false\nlog_format = \"json\"\n\n[limits]\n# a limit\narticle_bytes_max = 5000 # small\n\n# the site of b\n[[site]]\nname = \"b\"\ngroups = [\n  \"comp\", # most\n]\nvia = \"none\"\n\n# readers\n[[access]]\nname = \"r\"\n";
    const TWO: &str = "name = \"a.example\"\njunk = true\naccept = \"comp\"\n[nntp]\nlisten = \"x\"\n[limits]\nheader_bytes_max = 7\n[store]\nsync = \"none\"\nrestorable_days = 3\n";

    #[test]
    fn only_the_deciding_part_changes() {
        let part = deciding(TWO).unwrap();
        assert_eq!(
            part,
            "name = \"a.example\"\njunk = true\naccept = \"comp\"\n\n[limits]\nheader_bytes_max = 7\n\n[store]\nrestorable_days = 3\n"
        );
        assert_eq!(
            merged(ONE, &part).unwrap(),
            "# the news of one\nname = \"a.example\" # ours\njunk = true\naccept = \"comp\"\n# junk = false\nlog_format = \"json\"\n\n[limits]\nheader_bytes_max = 7\n# a limit\n\n\n# readers\n[[access]]\nname = \"r\"\n\n[store]\nrestorable_days = 3\n"
        );
        let part = deciding(ONE).unwrap();
        assert_eq!(
            merged(TWO, &part).unwrap(),
            "name = \"a.example\"\n[nntp]\nlisten = \"x\"\n[limits]\narticle_bytes_max = 5000\n[store]\nsync = \"none\"\n\n# the site of b\n[[site]]\nname = \"b\"\ngroups = [\n  \"comp\", # most\n]\nvia = \"none\"\n"
        );
        // What is equal stays to the byte.
        let other = ONE.replace("5000", "5_000");
        assert_eq!(merged(&other, &part).unwrap(), other);
    }

    #[test]
    fn a_site_of_several_tables_is_moved_whole() {
        let with = "name = \"a\"\n[[site]]\nname = \"b\"\n[site.via]\nnntp = \"b\"\n[[access]]\nname = \"x\"\n[[site]]\nname = \"c\"";
        let part = deciding(with).unwrap();
        let text = merged("name = \"a\"\n[[access]]\nname = \"y\"", &part).unwrap();
        assert!(
            text.starts_with("name = \"a\"\n[[access]]\nname = \"y\"\n\n[[site]]\n"),
            "{text}"
        );
        assert_eq!(
            merged(with, "name = \"a\"\n").unwrap(),
            "name = \"a\"\n[[access]]\nname = \"x\"\n"
        );
    }

    #[test]
    fn another_form_is_refused_and_not_damaged() {
        assert!(deciding("name = \"a\"\nsite = [{ name = \"b\" }]\n").is_err());
        assert!(merged("name = ", "").is_err());
        assert!(deciding("name = \"a\"\n[limits").is_err());
    }

    fn file() -> impl Strategy<Value = String> {
        let line = "(# c|a_b = 1 # d|b = \"x\"|c = \\[\n 1,\n 2\\]|)\n";
        let lines = move || {
            proptest::collection::hash_set(line, 0..3)
                .prop_map(|set| set.into_iter().collect::<String>())
        };
        let section = prop_oneof![Just("limits"), Just("control"), Just("nntp"), Just("store")];
        let sections = proptest::collection::hash_set(section, 0..4);
        let sites = proptest::collection::vec(("[a-z]{1,3}", lines()), 0..3);
        (any::<bool>(), "[a-z]{1,3}", sections, lines(), sites).prop_map(
            |(junk, name, sections, lines, sites)| {
                let mut text = format!("# top\nname = \"{name}\"\n");
                if junk {
                    text += "junk = true\n";
                }
                for section in sections {
                    text += &format!("\n# of it\n[{section}]\n{lines}");
                }
                for (name, lines) in sites {
                    text += &format!("\n# a site\n[[site]]\nname = \"{name}\"\n{lines}");
                }
                text
            },
        )
    }

    proptest! {
        #[test]
        fn parts_move_between_texts(one in file(), two in file()) {
            let part = deciding(&one).unwrap();
            let text = merged(&two, &part).unwrap();
            prop_assert_eq!(parts(&table(&text).unwrap()).0, parts(&table(&one).unwrap()).0);
            prop_assert_eq!(parts(&table(&text).unwrap()).1, parts(&table(&two).unwrap()).1);
            prop_assert_eq!(merged(&text, &part).unwrap(), text);
        }

        #[test]
        fn any_text_is_answered(one: String, two: String) {
            let _ = (deciding(&one), merged(&one, &two));
        }
    }
}
