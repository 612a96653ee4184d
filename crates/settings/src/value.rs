//! Readers of single values. An error is the rest of a sentence that begins with the key.

use article::date::{self, Utc};
use groups::pattern::star_in;
use groups::sites::Start;
use groups::{Pattern, nearest, size as sizes};
use toml::de::DeValue;

/// The error for a key that is allowed at the top of the file only.
pub fn at_top(key: &str) -> String {
    format!("`{key}' stands at the top of the file, before the first section")
}

/// The error for a value of the wrong kind.
pub fn wrong(wanted: &str, value: &DeValue<'_>) -> String {
    let given = match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(integer) => integer.as_str().to_owned(),
        other => format!("a TOML {}", other.type_str()),
    };
    format!("needs {wanted}, not {given}")
}

/// One line of text, which may be empty.
pub fn line(value: &DeValue<'_>) -> Result<String, String> {
    let text = value
        .as_str()
        .ok_or_else(|| wrong("text in quotes", value))?;
    if text.chars().any(char::is_control) {
        Err("is one line of text, without control characters".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// One line of text, not empty.
pub fn text(value: &DeValue<'_>) -> Result<String, String> {
    match line(value)? {
        empty if empty.trim().is_empty() => Err("is empty".to_owned()),
        text => Ok(text),
    }
}

/// A host without a port.
pub fn host(value: &DeValue<'_>) -> Result<String, String> {
    let host = text(value)?;
    let has_port = host.contains(':') && host.parse::<std::net::Ipv6Addr>().is_err();
    match has_port || host.contains(char::is_whitespace) {
        true => Err(format!(
            "is `{host}': write a host or an address without a port"
        )),
        false => Ok(host),
    }
}

/// A list of texts, or one text.
pub fn texts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    match value {
        DeValue::Array(items) => items.iter().map(|item| text(item.get_ref())).collect(),
        one => Ok(vec![text(one)?]),
    }
}

/// `true` or `false`.
pub fn truth(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| wrong("true or false", value))
}

/// Texts with commas between them, or lists of such texts.
fn list(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let texts = match value {
        DeValue::Array(_) | DeValue::String(_) => texts(value)?,
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

/// C News patterns, with `@` for poison.
pub fn patterns(value: &DeValue<'_>) -> Result<Pattern, String> {
    pattern_list(value).map(|list| Pattern::parse_poison(list.as_bytes()))
}

/// A list of distributions, as [`patterns`].
pub fn distributions(value: &DeValue<'_>) -> Result<Pattern, String> {
    pattern_list(value).map(|list| Pattern::of_distributions(list.as_bytes()))
}

fn pattern_list(value: &DeValue<'_>) -> Result<String, String> {
    let items = list(value)?;
    if items.is_empty() {
        return Err(
            "names nothing; write patterns such as \"comp,!comp.os\", or \"all\"".to_owned(),
        );
    }
    let list = items.join(",");
    if let Some(what) = star_in(list.as_bytes()) {
        return Err(format!("has {what}"));
    }
    Ok(list)
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
            "`{name}' has {c:?}; use only letters, digits, `.', `-' and `_' in the name of a site"
        ));
    }
    match matches!(name, "." | "..") {
        true => Err(format!("`{name}' is not the name of a site")),
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

/// A whole number that is not negative.
pub fn integer(value: &DeValue<'_>) -> Option<u64> {
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
