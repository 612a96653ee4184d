//! Reads `broadsheet.toml`. Errors are reported with file, line and column, all together; an unknown key with the nearest known one.

use std::path::Path;

use groups::text_position::line_and_column;
use groups::{When, size};
use memchr::memchr_iter;
use toml::de::{DeTable, DeValue, Error};

use crate::fault::{Fault, Faults};
use crate::table_reader::{Source, TableReader};
use crate::{
    FILE, SECTIONS, Setting, Settings, Slot, Sync, TABLE, Unit, access_entries, check_name,
    check_together, expiry, pulls, sites, value,
};

/// The settings, and where each is written.
pub struct Read {
    /// The values in force.
    pub settings: Settings,
    /// The policy of expire. Its errors stop expire only, and nothing else.
    pub expiry: Result<expire::Tables, Faults>,
    text: String,
    /// The offset in `text` of the key of each row of `TABLE`. Lines are counted when they are asked for: every command reads the
    /// settings, and few print their lines.
    offsets: Vec<Option<usize>>,
}

/// Where a setting is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Not in the file.
    Default,
    /// On this line of the file, from 1.
    Line(usize),
}

impl Read {
    /// The origin of each row of `TABLE`, in its order.
    pub fn origins(&self) -> impl Iterator<Item = Origin> {
        self.offsets.iter().map(|offset| match offset {
            None => Origin::Default,
            Some(offset) => Origin::Line(line_and_column(&self.text, *offset).0),
        })
    }

    /// The defaults.
    pub fn defaults() -> Read {
        Read {
            settings: Settings::default(),
            expiry: Ok(expire::Tables::default()),
            text: String::new(),
            offsets: vec![None; TABLE.len()],
        }
    }

    /// Reads the bytes of the file; `path` is its name in messages.
    ///
    /// # Errors
    /// All errors of the file together, or only the first when it is not TOML. Errors of `[expiry]` and `[[expire]]` are in
    /// [`Read::expiry`].
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Read, Faults> {
        let faulty = |faults| Faults {
            path: path.to_owned(),
            faults,
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes());
                let fault = Fault::at(&text, good, "not UTF-8".to_owned());
                return Err(faulty(vec![fault]));
            }
        };
        let text = without_comment_lines(&text);
        let mut read = Read::defaults();
        let mut expiry_faults = Vec::new();
        let faults = each_key(&text, |top| {
            expiry_faults = read_top(&mut read, top);
        });
        if !expiry_faults.is_empty() {
            read.expiry = Err(faulty(expiry_faults));
        }
        if faults.is_empty() {
            Ok(Read { text, ..read })
        } else {
            Err(faulty(faults))
        }
    }
}

/// Reads with `read`, and ignores the keys that it does not ask for.
pub fn part<T: Default>(
    text: &str,
    read: impl FnOnce(&mut TableReader<'_, '_>) -> T,
) -> Result<T, Faults> {
    let mut part = T::default();
    let faults = each_key(text, |mut top| part = read(&mut top));
    if faults.is_empty() {
        Ok(part)
    } else {
        Err(Faults {
            path: FILE.into(),
            faults,
        })
    }
}

/// Replaces every line that is only a comment by an empty one. Such lines are most of the file that `init` writes, and the parser spends
/// 30 instructions on each of their bytes. Other lines keep their numbers and columns.
fn without_comment_lines(text: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut start = 0;
    for end in memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        let line = text.get(start..end).unwrap_or_default();
        start = end + 1;
        if !line.trim_ascii_start().starts_with('#') {
            if line.contains("\"\"\"") || line.contains("'''") {
                // A further line of such a string may begin like a comment.
                return text.to_owned();
            }
            rest.push_str(line);
        }
        rest.push('\n');
    }
    rest
}

/// Passes the top of the file to `read`, and returns the errors.
fn each_key(text: &str, read: impl FnOnce(TableReader<'_, '_>)) -> Vec<Fault> {
    let mut source = Source {
        text,
        faults: Vec::new(),
    };
    match DeTable::parse(text) {
        Ok(table) => read(TableReader::top(&mut source, table.get_ref())),
        Err(error) => {
            let offset = error.span().unwrap_or_default().start;
            source.fault(offset, toml_fault(text, &error));
        }
    }
    source.faults
}

/// The error in a text that is not TOML, with the name of a duplicate key, and the remedy for a value without quotes.
fn toml_fault(text: &str, error: &Error) -> String {
    let message = error.message();
    let span = error.span();
    let named = span.clone().and_then(|span| text.get(span));
    if let Some(name) = named.map(str::trim).filter(|name| !name.is_empty())
        && message == "duplicate key"
    {
        return format!("{message} `{name}'");
    }
    match span.and_then(|span| unquoted(text, span.start)) {
        Some(value) => format!("{message}: if it is a text, write it in quotes: \"{value}\""),
        None => message.to_owned(),
    }
}

/// The value of the line at an offset, if it looks like a text that lacks its quotes: `listen = 127.0.0.1:119`.
fn unquoted(text: &str, offset: usize) -> Option<&str> {
    let start = text.get(..offset)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..)?.lines().next()?;
    let (key, value) = line.split_once('=')?;
    let value = value.split('#').next()?.trim();
    let is_key = key
        .trim()
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_text = !value.is_empty() && !value.contains(['"', '\'', '[', ']', '{', '}', '\\', '=']);
    (is_key && is_text).then_some(value)
}

/// Reads the whole file, and returns the errors of expire.
fn read_top(read: &mut Read, mut top: TableReader<'_, '_>) -> Vec<Fault> {
    rows(read, "", &mut top);
    for (name, _) in SECTIONS {
        top.section(name, |table| rows(read, name, table));
    }
    read.settings.sites = sites::read(&mut top);
    read.settings.access = access_entries::read(&mut top);
    read.settings.pulls = pulls::read(&mut top);
    let count = top.fault_count();
    read.expiry = Ok(expiry::read(&mut top));
    let expiry_faults = top.faults_since(count);
    top.end();
    if top.fault_count() == 0 {
        together(read, &mut top);
    }
    expiry_faults
}

/// Reads the rows of `TABLE` that are of one section.
fn rows(read: &mut Read, section: &str, table: &mut TableReader<'_, '_>) {
    for (setting, origin) in TABLE.iter().zip(&mut read.offsets) {
        if setting.section != section {
            continue;
        }
        let taken = table.take(setting.key, |value| {
            assign(setting, &mut read.settings, value)
        });
        *origin = taken.map(|()| table.key_offset(setting.key));
    }
}

/// The errors that show only when all is read: at the key, or at the start of the file when the key is missing.
fn together(read: &Read, top: &mut TableReader<'_, '_>) {
    let name = check_name(&read.settings.name).err();
    let faults = check_together(&read.settings).into_iter();
    let faults = faults.map(|(path, what)| (path, format!("{path} {what}")));
    for (path, what) in name.map(|what| ("name", what)).into_iter().chain(faults) {
        let row = TABLE.iter().position(|setting| setting.path() == path);
        let offset = row.and_then(|row| read.offsets.get(row).copied().flatten());
        top.fault(offset.unwrap_or_default(), what);
    }
}

fn assign(setting: &Setting, settings: &mut Settings, value: &DeValue<'_>) -> Result<(), String> {
    match (setting.slot)(settings) {
        Slot::Text(slot) => *slot = value::line(value)?,
        Slot::Sync(slot) => *slot = value::word(value, Sync::ALL)?,
        Slot::Cancel(slot) => *slot = value::word(value, relay::CancelPolicy::ALL)?,
        Slot::When(slot) => *slot = When::parse(&value::line(value)?)?,
        Slot::Number(slot) => *slot = number(setting, value)?,
        Slot::Truth(slot) => *slot = value::truth(value)?,
    }
    Ok(())
}

fn number(setting: &Setting, value: &DeValue<'_>) -> Result<u64, String> {
    let (least, most) = setting.range;
    let shown = |number| match setting.unit {
        Unit::Bytes => size::bytes(number),
        _ => number.to_string(),
    };
    let number = match (value, setting.unit) {
        (DeValue::Integer(integer), _) if integer.as_str().starts_with('-') => None,
        (value, Unit::Bytes) => Some(value::size(value)?),
        (value, _) => {
            let number = value::integer(value);
            Some(number.ok_or_else(|| value::wrong("a whole number", value))?)
        }
    };
    match number {
        Some(number) if number > most => Err(format!("may not be above {}", shown(most))),
        Some(number) if number >= least => Ok(number),
        _ => Err(format!("may not be below {}", shown(least))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Read, String> {
        Read::parse(Path::new("broadsheet.toml"), text.into()).map_err(|faults| faults.to_string())
    }

    fn fault(text: &str) -> String {
        read(text).err().expect("a fault")
    }

    #[test]
    fn what_is_said_is_in_force_and_remembers_its_line() {
        let read = read("name = \"a.b\"\n\n[limits]\narticle_bytes_max = \"1 MiB\"\n").unwrap();
        assert_eq!(read.settings.limits.article_bytes_max, 1 << 20);
        assert_eq!(read.settings.store, Settings::default().store);
        let row = TABLE
            .iter()
            .position(|s| s.key == "article_bytes_max")
            .unwrap();
        let origins: Vec<_> = read.origins().collect();
        assert_eq!(origins[row], Origin::Line(4));
        assert_eq!(origins[row + 1], Origin::Default);
    }

    #[test]
    fn an_unknown_key_names_place_and_nearest() {
        let text = "name = \"a\"\n[limits]\n  article_byte_max = 9000\n";
        let told = "broadsheet.toml:3:3: unknown key `article_byte_max' in [limits]; did you mean article_bytes_max?";
        assert_eq!(fault(text), told);
        assert_eq!(
            fault("[limit]\n"),
            "broadsheet.toml:1:2: unknown section [limit]; did you mean limits?"
        );
        assert_eq!(
            fault("sync = \"each\"\n"),
            "broadsheet.toml:1:1: `sync' belongs in [store]"
        );
        assert_eq!(
            fault("[store]\nname = \"a\"\n"),
            "broadsheet.toml:2:1: `name' stands at the top of the file, before the first section"
        );
    }

    #[test]
    fn wrong_values_say_what_is_wanted() {
        let cases = [
            ("article_bytes_max = \"lots\"", "needs a number of bytes"),
            ("article_bytes_max = -1", "may not be below"),
            ("article_bytes_max = 1", "may not be below 4 KiB"),
            ("article_bytes_max = \"2 GiB\"", "may not be above 1 GiB"),
            (
                "clock_skew_seconds = true",
                "needs a whole number, not a TOML boolean",
            ),
            (
                "clock_skew_seconds = 99999999999999999999",
                "needs a whole number",
            ),
        ];
        for (line, told) in cases {
            let fault = fault(&format!("name = \"a\"\n[limits]\n{line}\n"));
            assert!(fault.contains(told), "{line}: {fault}");
        }
        assert!(
            fault("name = \"a\"\n[store]\nsync = \"comit\"\n").contains("did you mean commit?")
        );
        assert!(fault("name = \"a!b\"\n").contains(":1:1: a site's name may not hold '!'"));
        assert!(fault("limits = 3\n").contains("write [limits]"));
    }

    #[test]
    fn an_article_must_fit_in_a_segment() {
        let told = fault("name = \"a\"\n[store]\nsegment_bytes = \"1 MiB\"\n");
        assert!(
            told.starts_with("broadsheet.toml:3:1: store.segment_bytes is less than twice"),
            "{told}"
        );
        let small = "name = \"a\"\n[limits]\narticle_bytes_max = \"512 KiB\"\n[store]\nsegment_bytes = \"1 MiB\"\n";
        assert!(read(small).is_ok());
    }

    #[test]
    fn faults_of_an_object_store_name_their_setting() {
        for (line, told) in [
            (
                "url = \"s3://x\"",
                "3:1: offload.url needs the name of a bucket",
            ),
            ("url = \"https://x\"", "3:1: offload.url is not the URL of"),
            (
                "url = \"s3://articles\"\nendpoint = \"http://10.0.0.5\"",
                "4:1: offload.endpoint http://10.0.0.5 would send the articles",
            ),
            (
                "url = \"az://Articles\"",
                "3:1: offload.url needs the name of a container",
            ),
            (
                "url = \"gs://articles\"\nendpoint = \"http://10.0.0.5\"",
                "4:1: offload.endpoint http://10.0.0.5 would send the articles",
            ),
            (
                "url = \"s3://articles\"\nregion = \"\"",
                "4:1: offload.region is the name of a region",
            ),
            (
                "url = \"s3://articles\"\ntls_fingerprint = \"x\"",
                "4:1: offload.tls_fingerprint",
            ),
        ] {
            let fault = fault(&format!("name = \"a\"\n[offload]\n{line}\n"));
            assert!(fault.contains(told), "{line}: {fault}");
        }
        let elsewhere = "name = \"a\"\n[offload]\nurl = \"s3://articles\"\nendpoint = \"open http://10.0.0.5:3900\"\n";
        assert!(read(elsewhere).is_ok());
        // Only S3 has regions that matter.
        for url in ["gs://articles", "az://articles"] {
            let text = format!("name = \"a\"\n[offload]\nurl = \"{url}\"\nregion = \"\"\n");
            assert!(read(&text).is_ok(), "{url}");
        }
    }

    #[test]
    fn comments_do_not_move_what_follows() {
        let told = fault("# one\n\t # two\r\nname = \"a\" # three\n# four\n[store]\n  sink = 1\n");
        assert!(
            told.starts_with("broadsheet.toml:6:3: unknown key `sink'"),
            "{told}"
        );
        let text = "# \"\"\"\nname = \"\"\"\n# not a comment\"\"\"\n";
        assert_eq!(without_comment_lines(text), text);
        assert_eq!(
            without_comment_lines("# \"\"\"\na = 1\n#\n"),
            "\na = 1\n\n\n"
        );
    }

    #[test]
    fn all_faults_come_together() {
        let told = fault("nmae = \"a\"\n[store]\nsink = 1\n");
        assert_eq!(told.lines().count(), 2, "{told}");
    }

    #[test]
    fn what_is_not_toml_or_not_text_names_its_place() {
        assert_eq!(
            fault("name = \"a\"\nname = \"b\"\n"),
            "broadsheet.toml:2:1: duplicate key `name'"
        );
        assert_eq!(
            fault("name = \"a\"\n[nntp]\nlisten = \"\"\nlisten = \"\"\n"),
            "broadsheet.toml:4:1: duplicate key `listen'"
        );
        assert!(fault("name = \"a\"\n[limits\n").starts_with("broadsheet.toml:2:"));
        for (line, value) in [
            ("listen = 127.0.0.1:119", "127.0.0.1:119"),
            ("listen = *:119  # all", "*:119"),
            ("  metrics = localhost", "localhost"),
        ] {
            let told = fault(&format!("name = \"a\"\n[nntp]\n{line}\n"));
            let advice = format!("if it is a text, write it in quotes: \"{value}\"");
            assert!(told.starts_with("broadsheet.toml:3:"), "{told}");
            assert!(told.ends_with(&advice), "{told}");
        }
        let faults = Read::parse(Path::new("x"), b"name = \"\xe9\"\n".to_vec())
            .err()
            .unwrap();
        assert_eq!(faults.to_string(), "x:1:9: not UTF-8");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Read::parse(Path::new("x"), bytes);
        }

        #[test]
        fn no_values_make_it_panic(key in "name|sync|limits|[a-z_]{1,8}", value in "\\PC{0,12}") {
            let _ = read(&format!("{key} = {value}\n[limits]\narticle_bytes_max = {value}\n"));
        }
    }
}
