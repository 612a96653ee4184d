//! One flag table per command. The same table feeds parsing, `--help`, the man page and the
//! completions, so they cannot disagree. Splitting of words into flags is `lexopt`'s.

use std::ffi::{OsStr, OsString};
use std::io::Write;

use lexopt::Arg;

use crate::exit::{Meaning, Status};
use crate::nearest;

/// One command: its names, its words for people, its table of flags, and its body.
pub struct Command {
    /// First words on the command line: `["rnews"]` or `["group", "match"]`.
    pub words: &'static [&'static str],
    /// Other names, also by `argv[0]`: the classic programs this command stands for.
    pub also: &'static [&'static str],
    /// Its effect in a few words, without a full stop.
    pub summary: &'static str,
    /// The text that a news administrator reads before using it. Lines that begin with two blanks
    /// are examples and kept as they are; an empty line parts paragraphs.
    pub about: &'static str,
    /// The operands, which follow the flags.
    pub operands: Operands,
    /// The table.
    pub flags: &'static [Flag],
    /// Exit statuses of its own, before the common ones.
    pub exits: &'static [Meaning],
    /// The work. Standard output is `out`.
    pub run: fn(&Given, &mut dyn Write) -> anyhow::Result<Status>,
}

impl Command {
    /// `group match`.
    pub fn name(&self) -> String {
        self.words.join(" ")
    }

    /// Every flag, the common `--help` last.
    pub fn every_flag(&self) -> impl Iterator<Item = &'static Flag> + Clone {
        self.flags.iter().chain(std::iter::once(&HELP))
    }

    pub fn takes(&self, name: &str) -> bool {
        self.every_flag().any(|flag| flag.name == name)
    }
}

/// The operands of a command.
#[derive(Clone, Copy)]
pub struct Operands {
    /// As shown in the usage line, `PATTERN GROUP...`; empty for none.
    pub shown: &'static str,
    /// Fewest that make sense.
    pub least: usize,
    /// Most that make sense.
    pub most: usize,
}

impl Operands {
    /// The command takes none.
    pub const NONE: Operands = Operands {
        shown: "",
        least: 0,
        most: 0,
    };
}

/// Where a flag comes from, and so where it stands in the help.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Broadsheet's own.
    New,
    /// A flag of the classic program, with its classic meaning.
    Classic,
    /// A flag of the classic program that makes no sense here; `help` says what to do instead.
    Refused,
}

/// One row of a flag table.
#[derive(Clone, Copy)]
pub struct Flag {
    /// The long name, without dashes; also the name the command's body asks for.
    pub name: &'static str,
    /// The one-letter form.
    pub short: Option<char>,
    /// The value's name in capitals (`FILE`, `DIR`), or the words it may be: `each|commit|none`.
    pub value: Option<&'static str>,
    /// One or two sentences.
    pub help: &'static str,
    /// New, classic or refused.
    pub kind: Kind,
}

impl Flag {
    /// A flag of our own, on or off.
    pub const fn new(name: &'static str, help: &'static str) -> Flag {
        Flag {
            name,
            short: None,
            value: None,
            help,
            kind: Kind::New,
        }
    }

    /// A classic flag, on or off.
    pub const fn classic(short: char, name: &'static str, help: &'static str) -> Flag {
        Flag {
            name,
            short: Some(short),
            value: None,
            help,
            kind: Kind::Classic,
        }
    }

    /// A classic flag that is refused with a hint.
    pub const fn refused(short: char, name: &'static str, hint: &'static str) -> Flag {
        Flag {
            name,
            short: Some(short),
            value: None,
            help: hint,
            kind: Kind::Refused,
        }
    }

    /// The same flag with a value.
    pub const fn value(self, value: &'static str) -> Flag {
        Flag {
            value: Some(value),
            ..self
        }
    }

    /// The words the value may be, when it is one of a few.
    pub fn choices(&self) -> Option<impl Iterator<Item = &'static str> + Clone> {
        self.value
            .filter(|value| value.contains('|'))
            .map(|value| value.split('|'))
    }

    /// `-o, --older DAYS`.
    pub fn shown(&self) -> String {
        let short = self.short.map(|c| format!("-{c}, ")).unwrap_or_default();
        let value = self.value.map(|v| format!(" {v}")).unwrap_or_default();
        format!("{short}--{}{value}", self.name)
    }
}

/// `--dir`, for every command that works on a news directory.
pub const DIR: Flag = Flag::new(
    "dir",
    "The news directory; default: the environment variable BROADSHEET_DIR, else /var/spool/news if that is one.",
)
.value("DIR");
/// `--json`, where a machine may read.
pub const JSON: Flag = Flag::new("json", "Print JSON.");
/// `--help`, for every command.
pub const HELP: Flag = Flag::new("help", "Print this help.");

/// Commands of one kind, as help lists them.
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// In the order of use.
    pub commands: &'static [&'static Command],
}

/// The command line, checked against the command's table.
pub struct Given {
    /// All commands, for those that describe them.
    pub sections: &'static [Section],
    /// The command that was chosen.
    pub command: &'static Command,
    /// The word that chose it: its own first word, or a classic name.
    pub called: String,
    flags: Vec<(&'static str, Option<OsString>)>,
    /// The operands, in order.
    pub operands: Vec<OsString>,
}

impl Given {
    /// Was the flag given?
    pub fn has(&self, name: &str) -> bool {
        debug_assert!(self.command.takes(name), "--{name} is not in the table");
        self.flags.iter().any(|(given, _)| *given == name)
    }

    /// The flag's value; the last one counts.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        debug_assert!(self.command.takes(name), "--{name} is not in the table");
        self.flags
            .iter()
            .rev()
            .find(|(given, _)| *given == name)
            .and_then(|(_, value)| value.as_deref())
    }

    /// The flag's values, where it may be given more than once.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &OsStr> {
        debug_assert!(self.command.takes(name), "--{name} is not in the table");
        let given = self.flags.iter().filter(move |(given, _)| *given == name);
        given.filter_map(|(_, value)| value.as_deref())
    }

    /// The flag's value as a whole number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, UsageError> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let number = value.to_str().and_then(|text| text.parse().ok());
        number.map(Some).ok_or_else(|| {
            self.usage(format!(
                "--{name} needs a whole number, not `{}'",
                value.display()
            ))
        })
    }

    /// A usage error that names this command.
    pub fn usage(&self, what: impl Into<String>) -> UsageError {
        UsageError::of(self.command, what)
    }
}

/// The command line makes no sense. Exit status 64.
#[derive(Debug, thiserror::Error)]
#[error("{what} (try `broadsheet {ask}')")]
pub struct UsageError {
    what: String,
    ask: String,
}

impl UsageError {
    /// About one command.
    pub fn of(command: &Command, what: impl Into<String>) -> UsageError {
        let name = command.name();
        UsageError {
            what: format!("{name}: {}", what.into()),
            ask: format!("help {name}"),
        }
    }

    /// Before a command was found.
    pub fn before(what: impl Into<String>) -> UsageError {
        UsageError {
            what: what.into(),
            ask: "help".to_owned(),
        }
    }
}

/// Reads the words after the command's name by its table.
///
/// # Errors
/// An unknown flag (with the nearest known one), a refused one (with its hint), a missing or
/// unwanted value, too few or too many operands.
pub fn parse(
    sections: &'static [Section],
    (command, called): (&'static Command, String),
    rest: Vec<OsString>,
) -> Result<Given, UsageError> {
    let mut given = Given {
        sections,
        command,
        called,
        flags: Vec::new(),
        operands: Vec::new(),
    };
    let mut words = lexopt::Parser::from_args(rest);
    let fault = |error: lexopt::Error| UsageError::of(command, error.to_string());
    while let Some(word) = words.next().map_err(fault)? {
        let flag = match word {
            Arg::Value(operand) => {
                given.operands.push(operand);
                continue;
            }
            Arg::Long(name) => long(command, name)?,
            Arg::Short(letter) => short(command, letter)?,
        };
        if flag.kind == Kind::Refused {
            let letter = flag.short.unwrap_or_default();
            return Err(UsageError::of(
                command,
                format!("-{letter} is not supported: {}", flag.help),
            ));
        }
        let value = match flag.value {
            Some(_) => Some(words.value().map_err(fault)?),
            None => None,
        };
        check_choice(command, flag, value.as_deref())?;
        given.flags.push((flag.name, value));
    }
    if !given.has("help") {
        check_operands(&given)?;
    }
    Ok(given)
}

fn long(command: &Command, name: &str) -> Result<&'static Flag, UsageError> {
    let allowed = || {
        command
            .every_flag()
            .filter(|flag| flag.kind != Kind::Refused)
    };
    command
        .every_flag()
        .find(|flag| flag.name == name)
        .ok_or_else(|| {
            let hint = nearest::hint(name, "--", allowed().map(|flag| flag.name));
            UsageError::of(command, format!("unknown flag --{name}{hint}"))
        })
}

fn short(command: &Command, letter: char) -> Result<&'static Flag, UsageError> {
    if let Some(flag) = command.flags.iter().find(|flag| flag.short == Some(letter)) {
        return Ok(flag);
    }
    if letter == 'h' {
        return Ok(&HELP);
    }
    let known: Vec<String> = command
        .flags
        .iter()
        .filter_map(|flag| flag.short)
        .map(|c| format!("-{c}"))
        .collect();
    let hint = match known.is_empty() {
        true => "; the command has no one-letter flags".to_owned(),
        false => format!("; the one-letter flags are {}", known.join(" ")),
    };
    Err(UsageError::of(
        command,
        format!("unknown flag -{letter}{hint}"),
    ))
}

fn check_choice(command: &Command, flag: &Flag, value: Option<&OsStr>) -> Result<(), UsageError> {
    let (Some(mut choices), Some(value)) = (flag.choices(), value) else {
        return Ok(());
    };
    let all = choices.clone();
    if choices.any(|choice| value == choice) {
        return Ok(());
    }
    let value = value.to_string_lossy();
    let hint = nearest::hint(&value, "", all);
    let shown = flag.value.unwrap_or_default();
    Err(UsageError::of(
        command,
        format!(
            "--{} must be one of {shown}, not `{value}'{hint}",
            flag.name
        ),
    ))
}

fn check_operands(given: &Given) -> Result<(), UsageError> {
    let Operands { shown, least, most } = given.command.operands;
    if given.operands.len() < least {
        return Err(given.usage(format!("needs {shown}")));
    }
    match given.operands.get(most) {
        None => Ok(()),
        Some(extra) if most == 0 => Err(given.usage(format!(
            "accepts no operands, but was given `{}'",
            extra.display()
        ))),
        Some(extra) => Err(given.usage(format!(
            "accepts only {shown}, but was also given `{}'",
            extra.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PLAIN: Command = Command {
        words: &["plain"],
        also: &[],
        summary: "a command for this test",
        about: "",
        operands: Operands {
            shown: "FILE...",
            least: 0,
            most: 2,
        },
        flags: &[
            DIR,
            JSON,
            Flag::new("sync", "When.").value("each|commit|none"),
            Flag::classic('o', "older", "Days.").value("DAYS"),
            Flag::classic('s', "strict", "Strict."),
            Flag::refused('d', "debug", "use --json"),
        ],
        exits: &[],
        run: |_, _| Ok(Status::OK),
    };

    fn given(words: &[&str]) -> Result<Given, String> {
        let command = (&PLAIN, "plain".to_owned());
        parse(&[], command, words.iter().map(OsString::from).collect()).map_err(|e| e.to_string())
    }

    fn refused(words: &[&str]) -> String {
        given(words).err().expect("a usage error")
    }

    #[test]
    fn long_short_joined_and_clustered_forms_are_one() {
        for words in [
            &["--older", "7", "-s"][..],
            &["--older=7", "--strict"],
            &["-so7"],
            &["-s", "-o", "7"],
        ] {
            let given = given(words).unwrap();
            assert_eq!(given.number("older").unwrap(), Some(7), "{words:?}");
            assert!(given.has("strict"));
            assert!(!given.has("json"));
        }
    }

    #[test]
    fn the_last_value_counts_and_operands_may_stand_between() {
        let given = given(&["a", "--dir", "x", "-", "--dir=y"]).unwrap();
        assert_eq!(given.value("dir"), Some(OsStr::new("y")));
        assert_eq!(given.operands, ["a", "-"]);
    }

    #[test]
    fn an_unknown_flag_names_the_nearest() {
        assert!(refused(&["--jsno"]).contains("unknown flag --jsno; did you mean --json?"));
        assert!(refused(&["-q"]).contains("unknown flag -q; the one-letter flags are -o -s -d"));
    }

    #[test]
    fn a_refused_flag_says_what_to_do() {
        assert!(refused(&["-d"]).contains("-d is not supported: use --json"));
    }

    #[test]
    fn a_choice_outside_the_list_is_refused() {
        assert!(refused(&["--sync", "comit"]).contains("not `comit'; did you mean commit?"));
        assert!(given(&["--sync", "none"]).is_ok());
    }

    #[test]
    fn missing_and_unwanted_values_and_operands_are_refused() {
        assert!(refused(&["--dir"]).contains("dir"));
        assert!(refused(&["--json=yes"]).contains("json"));
        assert!(refused(&["a", "b", "c"]).contains("`c'"));
        assert!(given(&["--older", "x"]).unwrap().number("older").is_err());
    }

    #[test]
    fn help_is_heard_even_when_the_rest_is_wrong() {
        assert!(given(&["--help", "a", "b", "c"]).unwrap().has("help"));
        assert!(given(&["-h"]).unwrap().has("help"));
    }
}
