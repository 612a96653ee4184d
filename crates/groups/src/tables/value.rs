//! Values of `[[site]]`. What is wrong is said as the rest of a sentence that begins with the key.

use article::date::{self, Utc};
use toml::de::DeValue;

use crate::nearest;
use crate::pattern::Pattern;
use crate::site::Start;
use crate::size as sizes;

/// What stands there, for messages.
pub fn wrong(wanted: &str, value: &DeValue<'_>) -> String {
    let given = match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(integer) => integer.as_str().to_owned(),
        other => format!("a TOML {}", other.type_str()),
    };
    format!("wants {wanted}, not {given}")
}

/// One line of text, not empty.
pub fn text(value: &DeValue<'_>) -> Result<String, String> {
    let text = value
        .as_str()
        .ok_or_else(|| wrong("text in quotes", value))?;
    if text.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("is one line of text, without control characters".to_owned());
    }
    Ok(text.to_owned())
}

/// Texts: a list of them, or one with commas between.
pub fn list(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let texts: Vec<String> = match value {
        DeValue::Array(items) => items
            .iter()
            .map(|item| text(item.get_ref()))
            .collect::<Result<_, _>>()?,
        DeValue::String(_) => vec![text(value)?],
        _ => return Err(wrong("a text or a list of texts", value)),
    };
    let items = texts.iter().flat_map(|text| text.split(','));
    let items: Vec<String> = items
        .map(str::to_owned)
        .filter(|item| !item.is_empty())
        .collect();
    if let Some(item) = items.iter().find(|item| item.contains(char::is_whitespace)) {
        return Err(format!(
            "has a blank in `{item}'; put only commas between the names, or write a list"
        ));
    }
    Ok(items)
}

/// C News patterns.
pub fn patterns(value: &DeValue<'_>) -> Result<Pattern, String> {
    let items = list(value)?;
    if items.is_empty() {
        return Err(
            "names nothing; write patterns such as \"comp,!comp.os\", or \"all\"".to_owned(),
        );
    }
    if let Some(item) = items.iter().find(|item| item.contains('*')) {
        let cnews = item.trim_end_matches('*').trim_end_matches('.');
        return Err(format!(
            "has `*' in `{item}'; patterns are those of C News, where `{}' takes in all below it",
            if cnews.is_empty() { "all" } else { cnews }
        ));
    }
    Ok(Pattern::parse(items.join(",").as_bytes()))
}

/// Names of sites.
pub fn names(value: &DeValue<'_>) -> Result<Vec<Vec<u8>>, String> {
    let names = list(value)?;
    for name in &names {
        is_name(name)?;
    }
    Ok(names.into_iter().map(String::into_bytes).collect())
}

/// The name of a site.
pub fn name(value: &DeValue<'_>) -> Result<Vec<u8>, String> {
    let name = text(value)?;
    is_name(&name)?;
    Ok(name.into_bytes())
}

/// The name is a directory's as well, and stands in Path.
fn is_name(name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if let Some(c) = name.chars().find(|c| !allowed(*c)) {
        return Err(format!(
            "`{name}' holds {c:?}; a site's name has only letters, digits, `.', `-' and `_'"
        ));
    }
    match matches!(name, "." | "..") {
        true => Err(format!("`{name}' is no site's name")),
        false => Ok(()),
    }
}

/// Bytes.
pub fn size(value: &DeValue<'_>) -> Result<u64, String> {
    let bytes = match value {
        DeValue::Integer(_) => integer(value),
        DeValue::String(text) => sizes::parse(text),
        _ => None,
    };
    bytes.ok_or_else(|| {
        let wanted = format!(
            "a number of bytes, or a size in quotes such as \"100 kB\" (units: {})",
            sizes::UNITS
        );
        wrong(&wanted, value)
    })
}

/// A small number.
pub fn count(value: &DeValue<'_>) -> Result<u32, String> {
    let number = integer(value).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| wrong("a whole number", value))
}

fn integer(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// One of a few words.
pub fn word<T: Copy>(value: &DeValue<'_>, words: &[(&str, T)]) -> Result<T, String> {
    let known = || words.iter().map(|(word, _)| *word);
    let given = value
        .as_str()
        .ok_or_else(|| wrong("a word in quotes", value))?;
    let found = words.iter().find(|(word, _)| *word == given);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let all: Vec<String> = known().map(|word| format!("\"{word}\"")).collect();
        let hint = nearest::hint(given, "", known());
        format!("is one of {}, not \"{given}\"{hint}", all.join(", "))
    })
}

/// `oldest`, `now`, or a day; a date of TOML's will do, too.
pub fn start(value: &DeValue<'_>) -> Result<Start, String> {
    let text = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Datetime(moment) => moment.to_string(),
        _ => String::new(),
    };
    match text.as_str() {
        "oldest" => Ok(Start::Oldest),
        "now" => Ok(Start::Now),
        day => midnight(day).map(Start::Date).ok_or_else(|| {
            let wanted = "\"oldest\", \"now\", or a day from 1970 on such as \"2026-01-31\"";
            wrong(wanted, value)
        }),
    }
}

/// The second since 1970 that `2026-01-31` begins with, UTC.
fn midnight(day: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let mut parts = day.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let digits =
        |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    if parts.next().is_some() || !digits(year, 4) || !digits(month, 2) || !digits(day, 2) {
        return None;
    }
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    date::parse(
        format!("{day} {month} {year} 00:00:00 GMT").as_bytes(),
        &Utc,
    )
}
