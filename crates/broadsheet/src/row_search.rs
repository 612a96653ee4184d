//! A search through the overview by header, group and time of arrival: `overview' shows the articles, `article remove' takes them down.

use std::os::unix::ffi::OsStrExt;

use anyhow::Context;
use groups::{Matcher, When, Wildmat, shown};
use settings::SystemZone;
use store::{Position, Row, Snapshot};

use crate::encoded_word;
use crate::flags::{Flag, Given, UsageError};
use crate::matcher::matcher;

/// The fields of a row, in its order (RFC 3977, 8.3), after the number.
const FIELDS: [&str; 8] = [
    "Subject",
    "From",
    "Date",
    "Message-ID",
    "References",
    "Bytes",
    "Lines",
    "Xref",
];

/// `--since`.
pub const SINCE: Flag = Flag::new(
    "since",
    "Only articles that arrived here then or later: a date (`20 Nov 2026 14:00'), or how long ago (`3 days', `2h').",
)
.value("TIME");

/// `--groups`.
pub const GROUPS: Flag = Flag::new(
    "groups",
    "Only articles in these groups: a subscription list, `comp,!comp.sys', or a wildmat, `comp.*,!comp.sys.*'.",
)
.value("PATTERN");

/// `--wildmat`.
pub const WILDMAT: Flag = Flag::new(
    "wildmat",
    "The pattern of groups is a wildmat, also without `*', `?' or `['.",
);

/// The criteria of a search. An article must meet all of them.
pub struct RowSearch {
    fields: Vec<FieldPattern>,
    groups: Option<Matcher>,
    since: Option<i64>,
    /// A group, and its numbers.
    range: Option<(Vec<u8>, (u64, u64))>,
}

/// A pattern for a field of the row.
struct FieldPattern {
    field: usize,
    test: ContentPattern,
}

/// A pattern for a content: a part of it, or with `*` a wildmat of the whole. Capital and small letters are the same.
pub enum ContentPattern {
    /// A part; in lower case.
    Part(Vec<u8>),
    /// The whole; in lower case.
    Whole(Wildmat),
}

/// An article of the result.
pub struct RowFound {
    /// Its arrival, seconds since 1970.
    pub arrival: Option<i64>,
    /// The groups in which it is visible, with its numbers.
    pub links: Vec<(Vec<u8>, u64)>,
    /// The fields of its row, after the number.
    row: Vec<u8>,
}

impl RowSearch {
    /// Reads `--since`, `--wildmat` and the flag for a pattern of groups.
    ///
    /// # Errors
    /// An invalid time or pattern.
    pub fn of(given: &Given, groups: &str) -> Result<RowSearch, UsageError> {
        let pattern = given.value(groups);
        let groups = pattern.map(|pattern| matcher(given, pattern.as_bytes()));
        let since = given.value("since").map(|time| {
            let now = relay::Now::read().seconds;
            since(time.as_bytes(), now).ok_or_else(|| {
                given.usage(format!(
                    "--since needs a date (`20 Nov 2026 14:00') or how long ago (`3 days', `2h'), not `{}'",
                    time.display()
                ))
            })
        });
        Ok(RowSearch {
            fields: Vec::new(),
            groups: groups.transpose()?,
            since: since.transpose()?,
            range: None,
        })
    }

    /// Whether there is no criterion.
    pub fn is_empty(&self) -> bool {
        let RowSearch {
            fields,
            groups,
            since,
            range,
        } = self;
        fields.is_empty() && groups.is_none() && since.is_none() && range.is_none()
    }

    /// Demands a group and a range of its numbers.
    pub fn within(&mut self, group: &[u8], range: (u64, u64)) {
        self.range = Some((group.to_vec(), range));
    }

    /// Demands a pattern for a field, for which a flag stands.
    ///
    /// # Errors
    /// The pattern is empty.
    pub fn demand_flag(
        &mut self,
        given: &Given,
        (flag, field): (&str, &str),
    ) -> Result<(), UsageError> {
        match given.value(flag) {
            Some(pattern) => self.demand(
                given,
                &[field.as_bytes(), b":", pattern.as_bytes()].concat(),
            ),
            None => Ok(()),
        }
    }

    /// Demands `FIELD:PATTERN`.
    ///
    /// # Errors
    /// The field is not in the overview.
    pub fn demand(&mut self, given: &Given, text: &[u8]) -> Result<(), UsageError> {
        let colon = memchr::memchr(b':', text).ok_or_else(|| {
            let text = shown(text);
            given.usage(format!(
                "--match needs a field and a pattern, such as From:{text}, not `{text}'"
            ))
        })?;
        let (name, pattern) = text.split_at_checked(colon).unwrap_or_default();
        let pattern = pattern.get(1..).unwrap_or_default().trim_ascii();
        let field = FIELDS
            .iter()
            .position(|field| name.trim_ascii().eq_ignore_ascii_case(field.as_bytes()));
        let Some(field) = field else {
            return Err(given.usage(format!(
                "the overview has no field {}: it has {} (groups: --groups)",
                shown(name),
                FIELDS.join(", ")
            )));
        };
        if pattern.is_empty() {
            return Err(given.usage(format!("the pattern after {}: is empty", shown(name))));
        }
        let test = ContentPattern::parse(pattern);
        self.fields.push(FieldPattern { field, test });
        Ok(())
    }

    /// The visible articles that meet all criteria, in the order of their arrival, each once. Damaged overview is an error after them.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn run(
        &self,
        snapshot: &Snapshot,
    ) -> anyhow::Result<(Vec<RowFound>, Result<(), store::Error>)> {
        let from = match self.since {
            None => Some(Position(0)),
            Some(seconds) => snapshot.first_position_since(seconds)?,
        };
        let Some(from) = from else {
            return Ok((Vec::new(), Ok(())));
        };
        let is_wanted = |name: &[u8]| {
            let is_group = |(group, _): &(Vec<u8>, _)| group == name;
            self.range.as_ref().is_none_or(is_group)
                && self.groups.as_ref().is_none_or(|list| list.matches(name))
        };
        let test =
            |_: &[u8], row: Row<'_>| self.matches(&row).then(|| fields_of(row.text).to_vec());
        let (hits, searched) = snapshot.search_rows(from, is_wanted, test);
        let mut found = Vec::with_capacity(hits.len());
        for (position, row) in hits {
            let id = field(&row, 3);
            let here = snapshot.find(id).context("cannot read the history")?;
            let Some(here) = here.filter(|here| here.position == position) else {
                continue;
            };
            let arrival = here.line.arrival;
            // Where the clock was put back, older articles lie behind newer ones.
            if self
                .since
                .is_some_and(|since| arrival.is_some_and(|at| at < since))
            {
                continue;
            }
            let links = here.links();
            found.push(RowFound {
                arrival,
                links: links
                    .map(|(group, number)| (group.to_vec(), number))
                    .collect(),
                row,
            });
        }
        Ok((found, searched))
    }

    fn matches(&self, row: &Row<'_>) -> bool {
        if let Some((_, (low, high))) = &self.range
            && !(*low..=*high).contains(&row.number)
        {
            return false;
        }
        let fields = fields_of(row.text);
        self.fields.iter().all(|pattern| {
            let value = field(fields, pattern.field);
            pattern.test.matches(value)
                || (memchr::memmem::find(value, b"=?").is_some()
                    && pattern.test.matches(&encoded_word::decode(value)))
        })
    }
}

impl ContentPattern {
    /// Parses a pattern.
    pub fn parse(pattern: &[u8]) -> ContentPattern {
        let pattern = lower(pattern);
        match pattern.contains(&b'*') {
            true => ContentPattern::Whole(Wildmat::parse_simple(&pattern)),
            false => ContentPattern::Part(pattern),
        }
    }

    /// Whether it matches.
    pub fn matches(&self, value: &[u8]) -> bool {
        let value = lower(value);
        match self {
            ContentPattern::Part(part) => memchr::memmem::find(&value, part).is_some(),
            ContentPattern::Whole(pattern) => pattern.matches(&value),
        }
    }
}

impl RowFound {
    /// The value of a field of the overview by its name.
    pub fn value(&self, name: &str) -> &[u8] {
        let place = FIELDS.iter().position(|field| *field == name);
        field(&self.row, place.unwrap_or(FIELDS.len()))
    }

    /// The groups and numbers, `GROUP/NUMBER`.
    pub fn places(&self) -> Vec<Vec<u8>> {
        let links = self.links.iter();
        links
            .map(|(group, number)| [group.as_slice(), b"/", number.to_string().as_bytes()].concat())
            .collect()
    }

    /// The fields up to the lines, separated by tabs.
    pub fn text(&self) -> &[u8] {
        let mut tabs = memchr::memchr_iter(b'\t', &self.row);
        let end = tabs.nth(6).unwrap_or(self.row.len());
        self.row.get(..end).unwrap_or_default()
    }
}

/// The fields of a row, without its number and line end.
fn fields_of(row: &[u8]) -> &[u8] {
    let tab = memchr::memchr(b'\t', row).map_or(row.len(), |tab| tab + 1);
    row.get(tab..).unwrap_or_default().trim_ascii_end()
}

fn field(fields: &[u8], place: usize) -> &[u8] {
    let value = fields.split(|&byte| byte == b'\t').nth(place);
    let value = value.unwrap_or_default();
    value.strip_prefix(b"Xref: ").unwrap_or(value)
}

/// In lower case: UTF-8 by Unicode, other bytes by ASCII.
fn lower(value: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(value) {
        Ok(text) if !text.is_ascii() => text.to_lowercase().into_bytes(),
        _ => value.to_ascii_lowercase(),
    }
}

/// A date, or the time so long ago.
pub fn since(text: &[u8], now: i64) -> Option<i64> {
    let date = || article::date::parse(text, &SystemZone);
    interval(text).map_or_else(date, |seconds| Some(now.saturating_sub_unsigned(seconds)))
}

/// A date, or the time so much later.
pub fn until(text: &[u8], now: i64) -> Option<i64> {
    let date = || article::date::parse(text, &SystemZone);
    interval(text).map_or_else(date, |seconds| Some(now.saturating_add_unsigned(seconds)))
}

/// The seconds of `2h` or `7 days`.
fn interval(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    match When::parse(&format!("every {number} {}", unit.trim_start())) {
        Ok(When::Every(seconds)) => Some(seconds),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{since, until};

    #[test]
    fn an_interval_needs_no_blank() {
        for (text, seconds) in [
            ("2h", 7200),
            ("2 h", 7200),
            ("90 min", 5400),
            ("3 days", 259_200),
            ("1d", 86_400),
        ] {
            assert_eq!(
                since(text.as_bytes(), 1_000_000),
                Some(1_000_000 - seconds),
                "{text}"
            );
            let later = until(text.as_bytes(), 1_000_000);
            assert_eq!(later, Some(1_000_000 + seconds), "{text}");
        }
        assert_eq!(since(b"soon", 0), None);
        assert_eq!(until(b"1 Jan 1970 00:00:09 GMT", 5), Some(9));
    }
}
