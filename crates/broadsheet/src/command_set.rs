//! Finds a command in the table of all commands.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use groups::nearest;

use crate::flags::{Command, Section, UsageError};

/// The table of all commands.
#[derive(Clone, Copy)]
pub struct CommandSet(pub &'static [Section]);

impl CommandSet {
    /// Every command, in the order of the help.
    pub fn all(self) -> impl Iterator<Item = &'static Command> {
        self.0
            .iter()
            .flat_map(|section| section.commands.iter().copied())
    }

    /// The command that the first words, or the program's own name, stand for; the word that chose it; and the words after it.
    ///
    /// # Errors
    /// No command, or an unknown one, with the nearest known.
    pub fn chosen(
        self,
        mut arguments: Vec<OsString>,
    ) -> Result<(&'static Command, String, Vec<OsString>), UsageError> {
        let program = arguments.first().map(Path::new).and_then(Path::file_name);
        if let Some(name) = program.and_then(OsStr::to_str)
            && let Some(command) = self.classic(name)
        {
            let called = name.to_owned();
            arguments.drain(..1);
            return Ok((command, called, arguments));
        }
        let word = |at: usize| arguments.get(at).and_then(|word| word.to_str());
        let (command, called, words) = match (word(1), word(2)) {
            (None, _) => {
                return Err(UsageError::before(match arguments.get(1) {
                    None => "a command is missing".to_owned(),
                    Some(word) => {
                        format!(
                            "unknown command `{}'",
                            word.as_encoded_bytes().escape_ascii()
                        )
                    }
                }));
            }
            (Some(first), second) => {
                let first = match first {
                    "--help" | "-h" => "help",
                    "--version" | "-V" => "version",
                    word => word,
                };
                match self.named(&[first, second.unwrap_or_default()]) {
                    Some((command, words)) => (command, first.to_owned(), 1 + words),
                    // `feed --help' is `help feed'.
                    None if matches!(second, Some("--help" | "-h"))
                        && !self.of_noun(first).is_empty()
                        && let Some((help, _)) = self.named(&["help"]) =>
                    {
                        arguments.truncate(2);
                        (help, "help".to_owned(), 1)
                    }
                    None => return Err(self.unknown(first, second)),
                }
            }
        };
        let rest = arguments.split_off(words.min(arguments.len()));
        Ok((command, called, rest))
    }

    /// The command these words begin with, by its own words or a classic name, and how many they are.
    pub fn named(self, words: &[&str]) -> Option<(&'static Command, usize)> {
        // `article remove' before `article'.
        let own = self
            .all()
            .filter(|command| words.starts_with(command.words));
        let own = own.max_by_key(|command| command.words.len());
        own.map(|command| (command, command.words.len()))
            .or_else(|| Some((self.classic(words.first()?)?, 1)))
    }

    /// The command that a program's name stands for: a classic name, or the word of a command that has only one.
    fn classic(self, name: &str) -> Option<&'static Command> {
        self.all()
            .find(|command| command.also.contains(&name) || command.words == [name])
    }

    /// The commands whose first word of several this is: those of `user`, `group` and so on.
    pub fn of_noun(self, noun: &str) -> Vec<&'static Command> {
        let mut found: Vec<&Command> = Vec::new();
        for command in self.all() {
            let is_of = command.words.len() > 1 && command.words.first() == Some(&noun);
            // Some stand in two sections.
            if is_of && found.iter().all(|known| known.words != command.words) {
                found.push(command);
            }
        }
        found
    }

    fn unknown(self, first: &str, second: Option<&str>) -> UsageError {
        let verbs: Vec<&'static str> = self
            .of_noun(first)
            .into_iter()
            .filter_map(|command| command.words.get(1).copied())
            .collect();
        if !verbs.is_empty() {
            let hint = nearest::hint(
                second.unwrap_or_default(),
                &format!("{first} "),
                verbs.iter().copied(),
            );
            return UsageError::before(format!(
                "`{first}' needs one of: {}{hint}",
                verbs.join(", ")
            ));
        }
        if first.starts_with('-') {
            return UsageError::before(format!(
                "the command must come before its flags, not `{first}'"
            ));
        }
        let known = self
            .all()
            .flat_map(|command| command.words.iter().take(1).chain(command.also));
        let hint = nearest::hint(first, "", known.copied());
        UsageError::before(format!("unknown command `{first}'{hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::SECTIONS;

    fn of(words: &[&str]) -> Result<(String, Vec<OsString>), String> {
        match CommandSet(SECTIONS).chosen(words.iter().map(OsString::from).collect()) {
            Ok((command, _, rest)) => Ok((command.name(), rest)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn first_words_choose() {
        assert_eq!(
            of(&["broadsheet", "rnews", "-x"]).unwrap(),
            ("rnews".into(), vec!["-x".into()])
        );
        assert_eq!(
            of(&["broadsheet", "group", "match", "a"]).unwrap(),
            ("group match".into(), vec!["a".into()])
        );
        assert_eq!(of(&["broadsheet", "relaynews"]).unwrap().0, "rnews");
        assert_eq!(
            of(&["broadsheet", "--version"]).unwrap(),
            ("version".into(), vec![])
        );
    }

    #[test]
    fn the_programs_own_name_chooses() {
        assert_eq!(
            of(&["/usr/bin/rnews", "group"]).unwrap(),
            ("rnews".into(), vec!["group".into()])
        );
        assert_eq!(of(&["relaynews"]).unwrap(), ("rnews".into(), vec![]));
    }

    #[test]
    fn a_slip_names_the_nearest() {
        assert!(
            of(&["broadsheet", "rnew"])
                .unwrap_err()
                .contains("did you mean rnews?")
        );
        assert!(
            of(&["broadsheet", "group", "mach"])
                .unwrap_err()
                .contains("did you mean group match?")
        );
        assert!(
            of(&["broadsheet", "group"])
                .unwrap_err()
                .contains("`group' needs one of")
        );
        assert!(
            of(&["broadsheet"])
                .unwrap_err()
                .contains("a command is missing")
        );
        assert!(
            of(&["broadsheet", "--dir", "x"])
                .unwrap_err()
                .contains("the command must come before")
        );
        assert!(of(&[]).is_err());
        let bytes = std::os::unix::ffi::OsStringExt::from_vec(b"\xff\xfe".to_vec());
        let Err(error) = CommandSet(SECTIONS).chosen(vec!["broadsheet".into(), bytes]) else {
            panic!("no command has this name");
        };
        assert!(
            error.to_string().contains("unknown command `\\xff\\xfe'"),
            "{error}"
        );
    }
}
