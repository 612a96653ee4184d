//! The table of commands, and finding the one that is meant.

mod access_explain;
mod article;
mod batcher;
mod batchih;
mod batchra;
mod batchsm;
mod check;
mod completion;
mod control_log;
mod control_run;
mod control_verify;
mod expire;
mod expire_if_low;
mod explain;
mod expov;
mod feed_flush;
mod feed_list;
mod feed_pause;
mod feed_reset;
mod feed_resume;
mod fsck;
mod group_add;
mod group_list;
mod group_match;
mod group_remove;
mod group_set;
mod help;
mod histinfo;
mod history_dump;
mod history_find;
mod history_import;
mod history_rebuild;
mod import_expire_ctl;
mod inews;
mod init;
mod injnews;
mod intake_pause;
mod intake_resume;
mod intake_show;
mod key_import;
mod key_list;
mod key_remove;
mod limits;
mod mail_list;
mod mail_send;
mod man;
pub mod newsrun;
mod newsrunning;
mod newsspool;
mod overview;
mod queuelen;
mod reload;
mod rnews;
mod sendbatches;
mod serve;
mod session;
mod status;
mod stop;
mod upact;
mod user_add;
mod user_list;
mod user_passwd;
mod user_remove;
mod version;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::flags::{Command, UsageError};
use crate::nearest;

/// Commands of one kind, as help lists them.
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// In the order of use.
    pub commands: &'static [&'static Command],
}

/// Every command.
pub static SECTIONS: &[Section] = &[
    Section {
        title: "Setting up",
        commands: &[&init::COMMAND, &check::COMMAND, &limits::COMMAND],
    },
    Section {
        title: "Articles",
        commands: &[
            &rnews::COMMAND,
            &newsspool::COMMAND,
            &newsrun::COMMAND,
            &newsrunning::COMMAND,
            &explain::COMMAND,
            &article::COMMAND,
            &overview::COMMAND,
        ],
    },
    Section {
        title: "Posting",
        commands: &[
            &inews::COMMAND,
            &injnews::COMMAND,
            &mail_list::COMMAND,
            &mail_send::COMMAND,
        ],
    },
    Section {
        title: "Batches",
        commands: &[&sendbatches::COMMAND, &batcher::COMMAND, &queuelen::COMMAND],
    },
    Section {
        title: "The daemon",
        commands: &[
            &serve::COMMAND,
            &session::COMMAND,
            &reload::COMMAND,
            &stop::COMMAND,
            &intake_pause::COMMAND,
            &intake_resume::COMMAND,
            &intake_show::COMMAND,
        ],
    },
    Section {
        title: "Users and peers",
        commands: &[
            &user_add::COMMAND,
            &user_passwd::COMMAND,
            &user_remove::COMMAND,
            &user_list::COMMAND,
            &access_explain::COMMAND,
        ],
    },
    Section {
        title: "Groups",
        commands: &[
            &group_list::COMMAND,
            &group_add::COMMAND,
            &group_remove::COMMAND,
            &group_set::COMMAND,
            &group_match::COMMAND,
        ],
    },
    Section {
        title: "Feeds",
        commands: &[
            &sendbatches::COMMAND,
            &feed_list::COMMAND,
            &feed_flush::COMMAND,
            &feed_pause::COMMAND,
            &feed_resume::COMMAND,
            &feed_reset::COMMAND,
            &batcher::COMMAND,
            &queuelen::COMMAND,
        ],
    },
    Section {
        title: "Control messages",
        commands: &[
            &control_verify::COMMAND,
            &control_log::COMMAND,
            &control_run::COMMAND,
            &key_import::COMMAND,
            &key_list::COMMAND,
            &key_remove::COMMAND,
        ],
    },
    Section {
        title: "Maintenance",
        commands: &[
            &status::COMMAND,
            &fsck::COMMAND,
            &expire::COMMAND,
            &expire_if_low::COMMAND,
            &import_expire_ctl::COMMAND,
            &history_find::COMMAND,
            &history_dump::COMMAND,
            &history_import::COMMAND,
            &history_rebuild::COMMAND,
        ],
    },
    Section {
        title: "Classic tools",
        commands: &[
            &histinfo::COMMAND,
            &upact::COMMAND,
            &expov::COMMAND,
            &batchih::COMMAND,
            &batchsm::COMMAND,
            &batchra::COMMAND,
        ],
    },
    Section {
        title: "About",
        commands: &[
            &help::COMMAND,
            &man::COMMAND,
            &completion::COMMAND,
            &version::COMMAND,
        ],
    },
];

/// Every command, in the order of the help.
pub fn all() -> impl Iterator<Item = &'static Command> {
    SECTIONS
        .iter()
        .flat_map(|section| section.commands.iter().copied())
}

/// The command that the first words, or the program's own name, stand for; and the words after it.
///
/// # Errors
/// No command, or an unknown one, with the nearest known.
pub fn chosen(
    mut arguments: Vec<OsString>,
) -> Result<(&'static Command, Vec<OsString>), UsageError> {
    let program = arguments.first().map(Path::new).and_then(Path::file_name);
    if let Some(command) = program.and_then(OsStr::to_str).and_then(classic) {
        arguments.drain(..1);
        return Ok((command, arguments));
    }
    let word = |at: usize| arguments.get(at).and_then(|word| word.to_str());
    let (command, words) = match (word(1), word(2)) {
        (None, _) => return Err(UsageError::before("a command is missing")),
        (Some("--help" | "-h"), _) => (&help::COMMAND, 2),
        (Some("--version" | "-V"), _) => (&version::COMMAND, 2),
        (Some(first), second) => match named(&[first, second.unwrap_or_default()]) {
            Some((command, words)) => (command, 1 + words),
            None => return Err(unknown(first, second)),
        },
    };
    Ok((command, arguments.split_off(words.min(arguments.len()))))
}

/// The command these words begin with, by its own words or a classic name, and how many they are.
pub fn named(words: &[&str]) -> Option<(&'static Command, usize)> {
    let own = all().find(|command| words.starts_with(command.words));
    own.map(|command| (command, command.words.len()))
        .or_else(|| Some((classic(words.first()?)?, 1)))
}

/// The command that a program's name stands for: a classic name, or the word of a command that has only one.
fn classic(name: &str) -> Option<&'static Command> {
    all().find(|command| command.also.contains(&name) || command.words == [name])
}

/// The commands whose first word of several this is: those of `user`, `group` and so on.
pub fn of_noun(noun: &str) -> Vec<&'static Command> {
    let mut found: Vec<&Command> = Vec::new();
    for command in all() {
        let is_of = command.words.len() > 1 && command.words.first() == Some(&noun);
        // Some stand in two sections.
        if is_of && found.iter().all(|known| known.words != command.words) {
            found.push(command);
        }
    }
    found
}

fn unknown(first: &str, second: Option<&str>) -> UsageError {
    let verbs: Vec<&'static str> = of_noun(first)
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
    let known = all().flat_map(|command| command.words.iter().take(1).chain(command.also));
    let hint = nearest::hint(first, "", known.copied());
    UsageError::before(format!("unknown command `{first}'{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Kind;

    fn of(words: &[&str]) -> Result<(String, Vec<OsString>), String> {
        match chosen(words.iter().map(OsString::from).collect()) {
            Ok((command, rest)) => Ok((command.name(), rest)),
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
    }

    #[test]
    fn no_table_names_a_flag_twice_and_every_command_says_what_it_does() {
        for command in all() {
            let flags: Vec<_> = command.every_flag().collect();
            for (number, flag) in flags.iter().enumerate() {
                for other in flags.iter().skip(number + 1) {
                    assert_ne!(flag.name, other.name, "{}", command.name());
                    assert!(
                        flag.short.is_none() || flag.short != other.short,
                        "{}",
                        command.name()
                    );
                }
                let whole = flag.kind == Kind::Refused || flag.help.ends_with(['.', ')']);
                assert!(whole, "{} --{}", command.name(), flag.name);
            }
            assert!(!command.summary.is_empty() && !command.summary.ends_with('.'));
        }
    }
}
