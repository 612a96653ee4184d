//! The file as `broadsheet init` writes it: every setting with its default and a comment.

use std::fmt::Write as _;

use super::{SECTIONS, Settings, TABLE, Unit};
use crate::text;

const HEAD: &str = "\
# Settings of this news system. Every setting is here with its default;
# `broadsheet check' tells what is in force and where it came from.
# Sizes may be written as \"8 MiB\", \"512 KiB\", \"20 GiB\".
";

/// Columns of a comment, without the `# `.
const COMMENT_WIDTH: usize = 76;

/// The text of a `broadsheet.toml` that says exactly `settings`.
pub fn template(settings: &Settings) -> String {
    let mut out = HEAD.to_owned();
    let mut section = "";
    for setting in TABLE {
        if setting.section != section {
            section = setting.section;
            let about = SECTIONS
                .iter()
                .find(|(name, _)| *name == section)
                .map_or("", |(_, about)| about);
            let _ = write!(out, "\n[{section}]\n{}", comment(about));
        }
        let unit = match setting.unit {
            Unit::Count(unit) => format!("  # {unit}"),
            Unit::Bytes | Unit::Text => String::new(),
        };
        let value = setting.written(settings);
        let _ = write!(
            out,
            "\n{}{} = {value}{unit}\n",
            comment(setting.help),
            setting.key
        );
    }
    out
}

fn comment(words: &str) -> String {
    text::wrap(words, COMMENT_WIDTH)
        .iter()
        .map(|line| format!("# {line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Origin, Read};
    use super::*;

    #[test]
    fn the_template_reads_back_as_the_same_settings_and_leaves_none_out() {
        let mut settings = Settings {
            name: "news.example.org".to_owned(),
            ..Settings::default()
        };
        settings.organization = "The \"Old\" \\ House".to_owned();
        settings.store.commit_bytes = (1 << 20) + 1;
        let text = template(&settings);
        let read = Read::parse(Path::new("t"), text.into()).unwrap();
        assert_eq!(read.settings, settings);
        assert!(read.origins().all(|origin| origin != Origin::Default));
    }

    #[test]
    fn reading_the_template_is_cheap() {
        let settings = Settings {
            name: "a".to_owned(),
            ..Settings::default()
        };
        let text = template(&settings);
        assert!(
            text.len() < 8 << 10,
            "{} bytes: every command reads this file",
            text.len()
        );
    }
}
