//! The groups that are exchanged, as C News patterns (`[[site]]`) and as a wildmat (`[[access]]`, INN).

use std::fmt::Write as _;

use groups::pattern::AsWildmat;
use groups::{Active, Pattern};
use import::inn::translate::classic::Classic;

/// A list of groups in one of the languages.
pub struct List {
    /// The list.
    pub text: String,
    /// The differences from the list of which it was made, and that list; `None` if both have the same meaning.
    pub change: Option<String>,
}

impl List {
    /// The list as it was given.
    fn given(text: &str) -> List {
        List {
            text: text.to_owned(),
            change: None,
        }
    }

    /// The change as a comment of a settings file; empty if there is none.
    pub fn comment(&self) -> String {
        let mut comment = String::new();
        if let Some(change) = &self.change {
            let _ = writeln!(comment, "# {change}");
        }
        comment
    }
}

/// Groups in both languages.
pub struct ExchangedGroups {
    /// C News patterns, or the reason why they cannot express the groups.
    pub patterns: Result<List, String>,
    /// The wildmat.
    pub wildmat: List,
}

impl ExchangedGroups {
    /// The groups of C News patterns.
    pub fn of_patterns(patterns: &str) -> ExchangedGroups {
        let AsWildmat { list, widened } = Pattern::parse_poison(patterns.as_bytes()).as_wildmat();
        let change = (!widened.is_empty()).then(|| {
            format!(
                "the wildmat is made of `{patterns}': in `{}', `all' stands for one word, but `*' of a wildmat for one or more, so it also \
                 stands for groups with more words there",
                widened.join(",")
            )
        });
        ExchangedGroups {
            patterns: Ok(List::given(patterns)),
            wildmat: List { text: list, change },
        }
    }

    /// The groups of `send`. The patterns have its results for the groups of active.
    pub fn of_send(send: &str, active: &Active) -> ExchangedGroups {
        let patterns = match Classic::of(send, active) {
            _ if send.is_empty() => Err("it takes nothing, without `send'".to_owned()),
            Err(why) => Err(format!("`send' is `{send}': {why}")),
            Ok(classic) if classic.differing.is_some() => Err(format!(
                "`send' is `{send}': {}",
                classic.changes().join("; ")
            )),
            Ok(classic) => {
                let changes = classic.changes();
                let change = (!changes.is_empty())
                    .then(|| format!("the groups are made of `{send}': {}", changes.join("; ")));
                Ok(List {
                    text: classic.patterns.join(","),
                    change,
                })
            }
        };
        ExchangedGroups {
            patterns,
            wildmat: List::given(send),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_send(send: &str) -> ExchangedGroups {
        let names = [
            "comp.os.linux",
            "comp.osx",
            "comp.test",
            "local",
            "local.test",
        ];
        let lines = names.iter().map(|name| format!("{name} 0 1 y\n"));
        let active = Active::parse(lines.collect::<String>().into_bytes());
        ExchangedGroups::of_send(send, &active.expect("an active"))
    }

    #[test]
    fn patterns_come_back_from_their_wildmat() {
        for patterns in [
            "all",
            "comp,news",
            "all,!comp.sys",
            "all,!local",
            "comp,!comp.os,comp.os.linux",
            "comp.all.all",
            "all,@local",
        ] {
            let wildmat = ExchangedGroups::of_patterns(patterns).wildmat;
            assert!(wildmat.change.is_none());
            let back = of_send(&wildmat.text).patterns.expect("patterns");
            assert_eq!((back.text.as_str(), back.change), (patterns, None));
        }
    }

    #[test]
    fn the_groups_of_send_keep_their_meaning() {
        for (send, patterns, is_changed) in [
            ("comp.os.linux.*,comp.*,!comp.os.*", "comp,!comp.os", false),
            ("comp.os*", "comp.os,comp.osx", true),
            ("*,@local.test", "all,@local.test", false),
            ("comp.os?", "comp.osx", true),
        ] {
            let told = of_send(send).patterns.expect("patterns");
            assert_eq!(
                (told.text.as_str(), told.change.is_some()),
                (patterns, is_changed)
            );
        }
        for (send, reason) in [
            ("", "without `send'"),
            ("rec.b?", "includes no group of active"),
        ] {
            let reason_told = of_send(send).patterns.err().expect("a reason");
            assert!(reason_told.contains(reason), "{reason_told}");
        }
    }

    #[test]
    fn words_after_all_are_reported() {
        let wildmat = ExchangedGroups::of_patterns("comp,!comp.all.test").wildmat;
        assert_eq!(wildmat.text, "comp,comp.*,!comp.*.test,!comp.*.test.*");
        assert!(
            wildmat
                .comment()
                .contains("in `!comp.all.test', `all' stands for one word")
        );
    }
}
