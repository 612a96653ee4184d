//! Permissions to create and remove groups by control message: INN's `control.ctl` and C News's `controlperm`, in one model.
//!
//! Without these files only trusted keys may act, each on the groups that the administrator trusts it with. If `control.ctl`
//! exists, it applies to everything and `controlperm` is ignored.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use groups::nearest::nearest;
use groups::{Pattern, Wildmat};

use crate::Keyring;
use crate::control::KINDS;

/// INN's file, in the news directory.
pub const CONTROL_CTL: &str = "control.ctl";
/// INN's second file, which continues [`CONTROL_CTL`].
pub const CONTROL_CTL_LOCAL: &str = "control.ctl.local";
/// C News's file, in the news directory.
pub const CONTROLPERM: &str = "controlperm";
/// The files that are the policy, as far as they exist.
pub const POLICY_FILES: [&str; 3] = [CONTROL_CTL, CONTROL_CTL_LOCAL, CONTROLPERM];
/// Largest of these files, bytes.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// Maximum number of rules in all files.
pub const RULES_MAX: usize = 50_000;
/// Changes allowed to one checkgroups message without a `/maxdocheckgroups/` line, as in INN.
pub const INN_CHANGES_MAX: u64 = 10;

/// What to do with a control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Apply it.
    Act,
    /// Apply it if a trusted key signed it: one with this name, or any.
    Verify(Option<String>),
    /// Ignore it without a line in the control log.
    Drop,
    /// Ignore it with a line in the control log.
    Log,
    /// Leave it to the administrator, with a line in the control log.
    Report,
}

/// The rule that applies to a message.
#[derive(Debug, Clone)]
pub struct Ruling {
    /// Its action.
    pub action: Action,
    /// Its place: `control.ctl line 3`.
    pub origin: String,
}

/// An error in the policy. Until it is corrected, no control message is applied.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// An existing file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// A file exceeds [`FILE_BYTES_MAX`].
    #[error("{file} is larger than {FILE_BYTES_MAX} bytes: is it the right file?")]
    TooLarge {
        /// The file.
        file: &'static str,
    },
    /// A file exceeds [`RULES_MAX`].
    #[error("{file} line {line}: more than {RULES_MAX} rules")]
    TooMany {
        /// The file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
    },
    /// A line is invalid.
    #[error("{file} line {line}: {what}")]
    Line {
        /// The file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
        /// The error, and the correct form.
        what: String,
    },
}

/// A line of control.ctl.
#[derive(Debug, Clone)]
struct CtlRule {
    /// The commands; `None` for all.
    kinds: Option<Vec<Vec<u8>>>,
    from: Globs,
    groups: Globs,
    ruling: Ruling,
}

/// A `/maxdocheckgroups/` line of control.ctl.
#[derive(Debug, Clone)]
struct CtlLimit {
    from: Globs,
    groups: Globs,
    changes_max: u64,
}

/// A line of controlperm.
#[derive(Debug, Clone)]
struct Perm {
    groups: Pattern,
    /// The address in lower case; `None` for any.
    who: Option<Vec<u8>>,
    newgroup: bool,
    rmgroup: bool,
    ruling: Ruling,
}

#[derive(Debug, Clone, Default)]
enum PolicyRules {
    /// Neither file.
    #[default]
    Default,
    Ctl {
        rules: Vec<CtlRule>,
        limits: Vec<CtlLimit>,
    },
    Perm(Vec<Perm>),
}

/// The policy of a news directory.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    rules: PolicyRules,
    /// controlperm exists too, and is ignored.
    ignores_controlperm: bool,
}

impl Policy {
    /// Reads the policy of a news directory.
    ///
    /// # Errors
    /// A file that cannot be read, or its first invalid line: no rule is ignored silently.
    pub fn read(news: &Path) -> Result<Policy, PolicyError> {
        let ctl = read_file(news, CONTROL_CTL)?;
        let local = read_file(news, CONTROL_CTL_LOCAL)?;
        let perm = read_file(news, CONTROLPERM)?;
        Policy::parse(ctl.as_deref(), local.as_deref(), perm.as_deref())
    }

    /// Parses the texts of `control.ctl`, `control.ctl.local` and `controlperm`, as far as these files exist.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn parse(
        ctl: Option<&[u8]>,
        local: Option<&[u8]>,
        perm: Option<&[u8]>,
    ) -> Result<Policy, PolicyError> {
        let ignores_controlperm = perm.is_some() && (ctl.is_some() || local.is_some());
        let rules = match (ctl, local, perm) {
            (None, None, None) => PolicyRules::Default,
            (None, None, Some(text)) => controlperm(text)?,
            (ctl, local, _) => {
                let (mut rules, mut limits) = (Vec::new(), Vec::new());
                for (file, text) in [(CONTROL_CTL, ctl), (CONTROL_CTL_LOCAL, local)] {
                    control_ctl(file, text.unwrap_or_default(), &mut rules, &mut limits)?;
                }
                PolicyRules::Ctl { rules, limits }
            }
        };
        Ok(Policy {
            rules,
            ignores_controlperm,
        })
    }

    /// Finds the rule for a message. `kind` is the first word of Control, `sender` an address in lower case, `group` the group to
    /// create or remove.
    pub fn rule(&self, kind: &[u8], sender: &[u8], group: &[u8]) -> Ruling {
        let about_group = matches!(kind, b"newgroup" | b"rmgroup");
        match &self.rules {
            PolicyRules::Default => by_default(kind),
            PolicyRules::Ctl { rules, .. } => rules
                .iter()
                .rev()
                .find(|rule| {
                    rule.is_for(kind, sender) && (!about_group || rule.groups.matches(group))
                })
                .map_or_else(|| no_line(CONTROL_CTL), |rule| rule.ruling.clone()),
            PolicyRules::Perm(_) if !about_group => by_default(kind),
            PolicyRules::Perm(perms) => perms
                .iter()
                .find(|perm| {
                    let applies = match kind {
                        b"newgroup" => perm.newgroup,
                        _ => perm.rmgroup,
                    };
                    applies
                        && perm.who.as_deref().is_none_or(|who| who == sender)
                        && perm.groups.matches(group)
                })
                .map_or_else(|| controlperm_default(kind), |perm| perm.ruling.clone()),
        }
    }

    /// Selects the rules for a sender's checkgroups message, which are then applied to each group.
    pub fn for_checkgroups(&self, sender: &[u8]) -> ForCheckgroups<'_> {
        match &self.rules {
            PolicyRules::Ctl { rules, limits } => ForCheckgroups {
                rules: rules
                    .iter()
                    .rev()
                    .filter(|rule| rule.is_for(b"checkgroups", sender))
                    .map(|rule| (Some(&rule.groups), rule.ruling.clone()))
                    .collect(),
                limits: Some(
                    limits
                        .iter()
                        .rev()
                        .filter(|limit| limit.from.matches(sender))
                        .map(|limit| (&limit.groups, limit.changes_max))
                        .collect(),
                ),
            },
            _ => ForCheckgroups {
                rules: vec![(None, by_default(b"checkgroups"))],
                limits: None,
            },
        }
    }

    /// Describes the policy for `broadsheet check`. `Err` is a description with a warning.
    pub fn summary(&self) -> Result<String, String> {
        let summary = match &self.rules {
            PolicyRules::Default => {
                "no control.ctl and no controlperm: only messages signed by a trusted key create or remove groups".to_owned()
            }
            PolicyRules::Ctl { rules, .. } => format!("control.ctl applies, with {} lines", rules.len()),
            PolicyRules::Perm(perms) => format!(
                "controlperm applies, with {} lines; if none matches, anybody may create groups, as in C News",
                perms.len()
            ),
        };
        if self.ignores_controlperm {
            Err(format!(
                "{summary}; controlperm exists too and is ignored: remove one of them"
            ))
        } else {
            Ok(summary)
        }
    }
}

impl Policy {
    /// Lines of `control.ctl` that probably do not do what their author meant, as sentences: of messages that nobody sends, and of keys that are
    /// not trusted.
    pub fn doubts(&self, keyring: &Keyring) -> Vec<String> {
        let PolicyRules::Ctl { rules, .. } = &self.rules else {
            return Vec::new();
        };
        let mut doubts = Vec::new();
        let words = || KINDS.iter().filter_map(|known| str::from_utf8(known).ok());
        for rule in rules {
            let kinds = rule.kinds.iter().flatten().map(Vec::as_slice);
            // INN had lines for cancels once.
            let unknown = kinds.filter(|kind| *kind != b"cancel" && !KINDS.contains(kind));
            doubts.extend(unknown.map(|kind| {
                let kind = groups::shown(kind);
                let meant = nearest(&kind, words());
                let advice = meant.map_or(String::new(), |known| format!("; `{known}'?"));
                format!(
                    "{}: there is no control message `{kind}'{advice}",
                    rule.ruling.origin
                )
            }));
        }
        let mut unmet = rules.iter().filter(|rule| {
            matches!(&rule.ruling.action, Action::Verify(Some(name)) if !keyring.keys.iter().any(|key| key.matches(name)))
        });
        if let Some(first) = unmet.next() {
            let lines = match unmet.count() {
                0 => first.ruling.origin.clone(),
                more => format!("{} and {more} more", first.ruling.origin),
            };
            doubts.push(format!(
                "{lines}: verify by keys that are not in keys/, so these messages have no effect: see `broadsheet key import'"
            ));
        }
        doubts
    }
}

/// The rules for one checkgroups message.
#[derive(Debug)]
pub struct ForCheckgroups<'p> {
    /// The rules, the last line of the file first.
    rules: Vec<(Option<&'p Globs>, Ruling)>,
    /// The maximum numbers of changes; `None` without a limit.
    limits: Option<Vec<(&'p Globs, u64)>>,
}

impl ForCheckgroups<'_> {
    /// The rule for one group: the last matching line. A dropped group stays unchanged (INN treats it as missing from the list).
    pub fn rule(&self, group: &[u8]) -> Option<&Ruling> {
        self.rules
            .iter()
            .find(|(groups, _)| groups.is_none_or(|groups| groups.matches(group)))
            .map(|(_, ruling)| ruling)
    }

    /// All rules that may apply.
    pub fn rulings(&self) -> impl Iterator<Item = &Ruling> {
        self.rules.iter().map(|(_, ruling)| ruling)
    }

    /// The number of the limit that applies to a group, and the changes that it allows; `None` without a limit.
    pub fn limit(&self, group: &[u8]) -> Option<(usize, u64)> {
        let limits = self.limits.as_ref()?;
        let found = limits
            .iter()
            .position(|(groups, _)| groups.matches(group))
            .and_then(|at| Some((at, limits.get(at)?.1)));
        Some(found.unwrap_or((limits.len(), INN_CHANGES_MAX)))
    }
}

/// Shell-style patterns separated by `|`.
#[derive(Debug, Clone)]
struct Globs(Vec<Wildmat>);

impl Globs {
    /// Parses the patterns. A pattern that can never match is an error.
    fn parse(text: &[u8]) -> Result<Globs, String> {
        let error = |what: &str| format!("`{}' {what}", text.escape_ascii());
        if text.iter().any(|byte| b", \t!".contains(byte)) {
            return Err(error("is not a pattern; separate patterns by `|'"));
        }
        let parts: Vec<&[u8]> = text.split(|&byte| byte == b'|').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(error("has an empty pattern; write `*' for all"));
        }
        Ok(Globs(
            parts.into_iter().map(Wildmat::parse_simple).collect(),
        ))
    }

    fn matches(&self, text: &[u8]) -> bool {
        self.0.iter().any(|glob| glob.matches(text))
    }
}

impl CtlRule {
    fn is_for(&self, kind: &[u8], sender: &[u8]) -> bool {
        let is_kind = |own: &Vec<Vec<u8>>| own.iter().any(|own| own == kind);
        self.kinds.as_ref().is_none_or(is_kind) && self.from.matches(sender)
    }
}

fn by_default(kind: &[u8]) -> Ruling {
    Ruling {
        action: match kind {
            b"newgroup" | b"rmgroup" | b"checkgroups" => Action::Verify(None),
            _ => Action::Log,
        },
        origin: "neither control.ctl nor controlperm decides it".to_owned(),
    }
}

/// The rule without a matching line: INN drops the message.
fn no_line(file: &str) -> Ruling {
    Ruling {
        action: Action::Drop,
        origin: format!("{file} has no line for it"),
    }
}

/// The defaults of C News: newgroup `yv`, rmgroup `nv`.
fn controlperm_default(kind: &[u8]) -> Ruling {
    Ruling {
        action: match kind {
            b"newgroup" => Action::Act,
            _ => Action::Report,
        },
        origin: format!("{CONTROLPERM} has no line for it"),
    }
}

fn read_file(news: &Path, file: &'static str) -> Result<Option<Vec<u8>>, PolicyError> {
    let path = news.join(file);
    let mut text = Vec::new();
    let read = store::regular::open(&path)
        .and_then(|open| open.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut text));
    match read {
        Ok(_) if text.len() > FILE_BYTES_MAX => Err(PolicyError::TooLarge { file }),
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PolicyError::Io { path, source }),
    }
}

/// The lines with their numbers, without empty lines and comments.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    (1..)
        .zip(text.split(|&byte| byte == b'\n'))
        .map(|(number, line)| (number, line.trim_ascii()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#"))
}

fn control_ctl(
    file: &'static str,
    text: &[u8],
    rules: &mut Vec<CtlRule>,
    limits: &mut Vec<CtlLimit>,
) -> Result<(), PolicyError> {
    for (line, fields) in lines(text) {
        let invalid = |what: String| PolicyError::Line { file, line, what };
        let parts: Vec<&[u8]> = fields.splitn(4, |&byte| byte == b':').collect();
        let (kind, from, groups, last) = match parts.as_slice() {
            // The encodings of descriptions: ignored, since their bytes stay unchanged.
            [b"/encoding/" | b"/localencoding/", ..] => continue,
            [kind, from, groups, last] => {
                (*kind, *from, Globs::parse(groups).map_err(invalid)?, *last)
            }
            _ => {
                return Err(invalid(
                    "the line is not `message:from:newsgroups:action'".to_owned(),
                ));
            }
        };
        if rules.len().saturating_add(limits.len()) >= RULES_MAX {
            return Err(PolicyError::TooMany { file, line });
        }
        // Addresses are compared in lower case.
        let from = Globs::parse(&from.to_ascii_lowercase()).map_err(invalid)?;
        if kind == b"/maxdocheckgroups/" {
            let changes_max = article::decimal::parse(last)
                .ok_or_else(|| invalid(format!("`{}' is not a number", last.escape_ascii())))?;
            limits.push(CtlLimit {
                from,
                groups,
                changes_max,
            });
            continue;
        }
        let kinds = kind.split(|&byte| byte == b'|');
        let is_word = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic);
        if !kinds.clone().all(is_word) {
            return Err(invalid(format!(
                "`{}' is not a control message; write its name, or `all'",
                kind.escape_ascii()
            )));
        }
        let kinds: Vec<_> = kinds.map(<[u8]>::to_ascii_lowercase).collect();
        rules.push(CtlRule {
            kinds: (!kinds.contains(&b"all".to_vec())).then_some(kinds),
            from,
            groups,
            ruling: Ruling {
                action: ctl_action(last).map_err(invalid)?,
                origin: format!("{file} line {line}"),
            },
        });
    }
    Ok(())
}

/// Parses `doit`, `verify-NAME` and so on. The name of a log of INN after `=` is ignored: there is only one log here.
fn ctl_action(text: &[u8]) -> Result<Action, String> {
    let word = text.split(|&byte| byte == b'=').next().unwrap_or_default();
    if let Some(name) = word
        .strip_prefix(b"verify-")
        .filter(|name| !name.is_empty())
    {
        let name = String::from_utf8_lossy(name).into_owned();
        return Ok(Action::Verify(Some(name)));
    }
    match word {
        b"doit" => Ok(Action::Act),
        b"drop" => Ok(Action::Drop),
        b"log" => Ok(Action::Log),
        // INN before 2.0 answered a sendsys that names a site; here no message is answered.
        b"mail" | b"doifarg" => Ok(Action::Report),
        _ => Err(format!(
            "`{}' is not an action; use doit, drop, log, mail or verify-NAME",
            text.escape_ascii()
        )),
    }
}

fn controlperm(text: &[u8]) -> Result<PolicyRules, PolicyError> {
    let file = CONTROLPERM;
    let mut perms = Vec::new();
    for (line, fields) in lines(text) {
        let invalid = |what: &str| PolicyError::Line {
            file,
            line,
            what: what.to_owned(),
        };
        let parts: Vec<&[u8]> = fields
            .split(u8::is_ascii_whitespace)
            .filter(|part| !part.is_empty())
            .collect();
        let [pattern, who, opcodes, flags] = parts.as_slice() else {
            return Err(invalid(
                "the line is not `pattern {any|address} opcodes flags'",
            ));
        };
        if !opcodes.iter().all(|byte| b"nr".contains(byte)) {
            return Err(invalid(
                "the third field has other letters than n (newgroup) and r (rmgroup)",
            ));
        }
        if !flags.iter().all(|byte| b"ynqv".contains(byte)) {
            return Err(invalid(
                "the fourth field has other letters than y (apply), n (do not apply), q (quiet) and v (verbose)",
            ));
        }
        if flags.contains(&b'y') == flags.contains(&b'n') {
            return Err(invalid("the fourth field needs either y or n"));
        }
        if perms.len() >= RULES_MAX {
            return Err(PolicyError::TooMany { file, line });
        }
        perms.push(Perm {
            groups: Pattern::parse(pattern),
            who: (*who != b"any").then(|| who.to_ascii_lowercase()),
            newgroup: opcodes.contains(&b'n'),
            rmgroup: opcodes.contains(&b'r'),
            ruling: Ruling {
                action: match (flags.contains(&b'y'), flags.contains(&b'q')) {
                    (true, _) => Action::Act,
                    (false, true) => Action::Drop,
                    (false, false) => Action::Report,
                },
                origin: format!("{file} line {line}"),
            },
        });
    }
    Ok(PolicyRules::Perm(perms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ctl(text: &str) -> Result<Policy, String> {
        Policy::parse(Some(text.as_bytes()), None, None).map_err(|error| error.to_string())
    }

    fn perm(text: &str) -> Result<Policy, String> {
        Policy::parse(None, None, Some(text.as_bytes())).map_err(|error| error.to_string())
    }

    fn action(policy: &Policy, kind: &str, sender: &str, group: &str) -> Action {
        policy
            .rule(kind.as_bytes(), sender.as_bytes(), group.as_bytes())
            .action
    }

    #[test]
    fn the_last_line_of_control_ctl_that_fits_wins() {
        let policy = ctl("# a comment\n\nnewgroup:*:*:drop\n\
             newgroup:tale@*.uu.net:comp.*|misc.*|news.*:doit\n\
             newgroup|rmgroup:kre@munnari.oz.au:aus.*:mail\n\
             newgroup:Group-Admin@ISC.org:comp.*:verify-news.announce.newgroups=log\n\
             all:*:to.*:log\n")
        .unwrap();
        for (kind, sender, group, wanted) in [
            ("newgroup", "a@b.c", "comp.a", Action::Drop),
            ("newgroup", "tale@x.uu.net", "comp.a", Action::Act),
            ("newgroup", "tale@x.uu.net", "misc.a", Action::Act),
            ("newgroup", "tale@x.uu.net", "alt.a", Action::Drop),
            ("newgroup", "kre@munnari.oz.au", "aus.a", Action::Report),
            ("rmgroup", "kre@munnari.oz.au", "aus.a", Action::Report),
            (
                "newgroup",
                "group-admin@isc.org",
                "comp.a",
                Action::Verify(Some("news.announce.newgroups".to_owned())),
            ),
            ("newgroup", "tale@x.uu.net", "to.a", Action::Log),
            // No line for it, but the one for all, whose groups do not count here.
            ("sendsys", "a@b.c", "", Action::Log),
        ] {
            assert_eq!(
                action(&policy, kind, sender, group),
                wanted,
                "{kind} {sender} {group}"
            );
        }
        assert_eq!(
            action(&ctl("").unwrap(), "newgroup", "a@b", "a.b"),
            Action::Drop
        );
    }

    #[test]
    fn the_first_line_of_controlperm_that_fits_wins() {
        let policy = perm(
            "comp,!comp.x Admin@A.org n yq\ncomp any nr n\nall root@b nr y\nlocal any nr nq\n",
        )
        .unwrap();
        for (kind, sender, group, wanted) in [
            ("newgroup", "admin@a.org", "comp.a", Action::Act),
            ("newgroup", "admin@a.org", "comp.x", Action::Report),
            ("rmgroup", "admin@a.org", "comp.a", Action::Report),
            ("newgroup", "root@b", "comp.a", Action::Report),
            ("rmgroup", "root@b", "alt.a", Action::Act),
            ("newgroup", "c@d", "local.a", Action::Drop),
            ("newgroup", "c@d", "alt.a", Action::Act),
            ("rmgroup", "c@d", "alt.a", Action::Report),
            ("checkgroups", "c@d", "", Action::Verify(None)),
            ("sendsys", "c@d", "", Action::Log),
        ] {
            assert_eq!(
                action(&policy, kind, sender, group),
                wanted,
                "{kind} {sender} {group}"
            );
        }
    }

    #[test]
    fn without_a_file_only_keys_count() {
        let policy = Policy::default();
        for kind in ["newgroup", "rmgroup", "checkgroups"] {
            assert_eq!(action(&policy, kind, "a@b", "a.b"), Action::Verify(None));
        }
        for kind in ["sendsys", "version", "senduuname", "frobnicate"] {
            assert_eq!(action(&policy, kind, "a@b", ""), Action::Log);
        }
    }

    #[test]
    fn faults_name_file_and_line() {
        for (text, told) in [
            (
                "newgroup:*:*\n",
                "control.ctl line 1: the line is not `message",
            ),
            (
                "\nnewgroup:*:*:doti\n",
                "control.ctl line 2: `doti' is not an action",
            ),
            (
                "new group:*:*:doit\n",
                "control.ctl line 1: `new group' is not a control",
            ),
            (
                "/maxdocheckgroups/:*:*:x\n",
                "control.ctl line 1: `x' is not a number",
            ),
            (
                "newgroup:*:comp.*,misc.*:doit\n",
                "control.ctl line 1: `comp.*,misc.*' is not a pattern",
            ),
            (
                "newgroup::comp.*:doit\n",
                "control.ctl line 1: `' has an empty pattern",
            ),
            (
                "newgroup|:*:*:doit\n",
                "control.ctl line 1: `newgroup|' is not",
            ),
            (
                "newgroup:*:*:verify-\n",
                "control.ctl line 1: `verify-' is not an action",
            ),
        ] {
            let error = ctl(text).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
        for (text, told) in [
            (
                "comp any n\n",
                "controlperm line 1: the line is not `pattern",
            ),
            ("comp any nx y\n", "controlperm line 1: the third"),
            ("#\ncomp any n ym\n", "controlperm line 2: the fourth"),
            (
                "comp any n v\n",
                "controlperm line 1: the fourth field needs",
            ),
        ] {
            let error = perm(text).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }

    #[test]
    fn checkgroups_are_ruled_group_by_group_and_limited() {
        let policy = ctl("checkgroups:*:*:mail\ncheckgroups:a@b:comp.*|news.*:doit\n\
             checkgroups:*:*.binaries.*:drop\n/maxdocheckgroups/:*:news.*:20\n/encoding/:*:cn.*:gb18030\n")
        .unwrap();
        let rules = policy.for_checkgroups(b"a@b");
        for (group, wanted) in [
            ("comp.a", Action::Act),
            ("comp.binaries.a", Action::Drop),
            ("alt.a", Action::Report),
        ] {
            assert_eq!(rules.rule(group.as_bytes()).unwrap().action, wanted);
        }
        assert_eq!(rules.limit(b"news.a"), Some((0, 20)));
        assert_eq!(rules.limit(b"comp.a"), Some((1, INN_CHANGES_MAX)));
        assert_eq!(
            Policy::default().for_checkgroups(b"a@b").limit(b"comp.a"),
            None
        );
    }
}
