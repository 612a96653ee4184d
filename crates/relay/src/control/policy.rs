//! Who may make and remove groups by control message: INN's `control.ctl` and C News's `controlperm`, read into one model.
//!
//! With neither file only a trusted key counts, for the groups that the administrator trusts it with. With `control.ctl`
//! that file rules everything and `controlperm` is not looked at.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use groups::{Pattern, Wildmat};

/// INN's file, in the news directory.
pub const CONTROL_CTL: &str = "control.ctl";
/// What INN reads as if it stood at the end of [`CONTROL_CTL`].
pub const CONTROL_CTL_LOCAL: &str = "control.ctl.local";
/// C News's file, in the news directory.
pub const CONTROLPERM: &str = "controlperm";
/// Largest of these files, in bytes.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// The most rules of all.
pub const RULES_MAX: usize = 50_000;
/// Changes that INN lets one checkgroups make where `/maxdocheckgroups/` says nothing.
pub const INN_CHANGES_MAX: u64 = 10;

/// What is done with a control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// What it asks for.
    Act,
    /// What it asks for, if a trusted key signed it: one with this name, or any.
    Verify(Option<String>),
    /// Nothing, and the control log says nothing.
    Drop,
    /// Nothing but a line in the control log.
    Log,
    /// Nothing by itself: a line in the control log says that it waits for the administrator.
    Report,
}

/// A rule that counts for a message.
#[derive(Debug, Clone)]
pub struct Ruling {
    /// What it says.
    pub action: Action,
    /// Where it stands: `control.ctl line 3`.
    pub place: String,
}

/// Why the policy cannot be used; nothing is acted upon until it can.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A file that is there cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// Over [`FILE_BYTES_MAX`].
    #[error("{file} is larger than {FILE_BYTES_MAX} bytes: is it the right file?")]
    TooLarge {
        /// The file.
        file: &'static str,
    },
    /// Over [`RULES_MAX`].
    #[error("{file} line {line}: more than {RULES_MAX} rules")]
    TooMany {
        /// The file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
    },
    /// A line makes no sense.
    #[error("{file} line {line}: {what}")]
    Line {
        /// The file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what to write instead.
        what: String,
    },
}

/// A line of control.ctl.
#[derive(Debug, Clone)]
struct CtlRule {
    /// `None`: all.
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
    /// Lower case; `None`: any.
    who: Option<Vec<u8>>,
    newgroup: bool,
    rmgroup: bool,
    ruling: Ruling,
}

#[derive(Debug, Clone, Default)]
enum Book {
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
    book: Book,
    /// controlperm is there too, and not looked at.
    is_double: bool,
}

impl Policy {
    /// Reads what there is in a news directory.
    ///
    /// # Errors
    /// A file that cannot be read, or its first line that makes no sense: a rule that was meant is not passed over.
    pub fn read(news: &Path) -> Result<Policy, Fault> {
        let ctl = read_file(news, CONTROL_CTL)?;
        let local = read_file(news, CONTROL_CTL_LOCAL)?;
        let perm = read_file(news, CONTROLPERM)?;
        Policy::parse(ctl.as_deref(), local.as_deref(), perm.as_deref())
    }

    /// The policy in the texts of `control.ctl`, `control.ctl.local` and `controlperm`, as far as they are there.
    ///
    /// # Errors
    /// The first line that makes no sense.
    pub fn parse(
        ctl: Option<&[u8]>,
        local: Option<&[u8]>,
        perm: Option<&[u8]>,
    ) -> Result<Policy, Fault> {
        let is_double = perm.is_some() && (ctl.is_some() || local.is_some());
        let book = match (ctl, local, perm) {
            (None, None, None) => Book::Default,
            (None, None, Some(text)) => controlperm(text)?,
            (ctl, local, _) => {
                let (mut rules, mut limits) = (Vec::new(), Vec::new());
                for (file, text) in [(CONTROL_CTL, ctl), (CONTROL_CTL_LOCAL, local)] {
                    control_ctl(file, text.unwrap_or_default(), &mut rules, &mut limits)?;
                }
                Book::Ctl { rules, limits }
            }
        };
        Ok(Policy { book, is_double })
    }

    /// What is done with a message. `kind` is the first word of Control, `sender` an address in lower case, `group` the
    /// group that is to be made or removed.
    pub fn rule(&self, kind: &[u8], sender: &[u8], group: &[u8]) -> Ruling {
        let about_group = matches!(kind, b"newgroup" | b"rmgroup");
        match &self.book {
            Book::Default => by_default(kind),
            Book::Ctl { rules, .. } => rules
                .iter()
                .rev()
                .find(|rule| {
                    rule.is_for(kind, sender) && (!about_group || rule.groups.matches(group))
                })
                .map_or_else(|| nowhere(CONTROL_CTL), |rule| rule.ruling.clone()),
            Book::Perm(_) if !about_group => by_default(kind),
            Book::Perm(perms) => perms
                .iter()
                .find(|perm| {
                    let is_asked = match kind {
                        b"newgroup" => perm.newgroup,
                        _ => perm.rmgroup,
                    };
                    is_asked
                        && perm.who.as_deref().is_none_or(|who| who == sender)
                        && perm.groups.matches(group)
                })
                .map_or_else(|| perm_default(kind), |perm| perm.ruling.clone()),
        }
    }

    /// The rules that may count for a checkgroups of a sender, to be asked group by group.
    pub fn for_checkgroups(&self, sender: &[u8]) -> ForCheckgroups<'_> {
        match &self.book {
            Book::Ctl { rules, limits } => ForCheckgroups {
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

    /// What there is, in words for `broadsheet check`. `Err`: it counts, but the administrator should mend it.
    pub fn told(&self) -> Result<String, String> {
        let told = match &self.book {
            Book::Default => {
                "no control.ctl and no controlperm: only what a trusted key signs makes or removes groups".to_owned()
            }
            Book::Ctl { rules, .. } => format!("control.ctl rules, with {} lines", rules.len()),
            Book::Perm(perms) => format!(
                "controlperm rules, with {} lines; where none fits anybody makes groups, as in C News",
                perms.len()
            ),
        };
        match self.is_double {
            true => Err(format!(
                "{told}; there is a controlperm too, which is not looked at: remove one of them"
            )),
            false => Ok(told),
        }
    }
}

/// What counts for one checkgroups message.
#[derive(Debug)]
pub struct ForCheckgroups<'p> {
    /// The last line of the file first.
    rules: Vec<(Option<&'p Globs>, Ruling)>,
    /// `None`: not limited by the policy.
    limits: Option<Vec<(&'p Globs, u64)>>,
}

impl ForCheckgroups<'_> {
    /// The rule for one group: the last line that fits. A group that is dropped is left alone (INN takes it for one that
    /// the list has not).
    pub fn rule(&self, group: &[u8]) -> Option<&Ruling> {
        self.rules
            .iter()
            .find(|(groups, _)| groups.is_none_or(|groups| groups.matches(group)))
            .map(|(_, ruling)| ruling)
    }

    /// Every rule that may count.
    pub fn rulings(&self) -> impl Iterator<Item = &Ruling> {
        self.rules.iter().map(|(_, ruling)| ruling)
    }

    /// Which limit counts for a group, by its number, and how many changes it allows. `None`: no limit.
    pub fn limit(&self, group: &[u8]) -> Option<(usize, u64)> {
        let limits = self.limits.as_ref()?;
        let found = limits
            .iter()
            .position(|(groups, _)| groups.matches(group))
            .and_then(|at| Some((at, limits.get(at)?.1)));
        Some(found.unwrap_or((limits.len(), INN_CHANGES_MAX)))
    }
}

/// Shell-style patterns with `|` between them.
#[derive(Debug, Clone)]
struct Globs(Vec<Wildmat>);

impl Globs {
    /// A pattern that can match nothing is refused, not passed over.
    fn parse(text: &[u8]) -> Result<Globs, String> {
        let fault = |what: &str| format!("`{}' {what}", text.escape_ascii());
        if text.iter().any(|byte| b", \t!".contains(byte)) {
            return Err(fault("is no pattern: put `|' between several"));
        }
        let parts: Vec<&[u8]> = text.split(|&byte| byte == b'|').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(fault("has an empty pattern; `*' is all"));
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
        place: "no file rules it".to_owned(),
    }
}

/// INN drops what no line fits.
fn nowhere(file: &str) -> Ruling {
    Ruling {
        action: Action::Drop,
        place: format!("{file} has no line for it"),
    }
}

/// C News: newgroup `yv`, rmgroup `nv`.
fn perm_default(kind: &[u8]) -> Ruling {
    Ruling {
        action: match kind {
            b"newgroup" => Action::Act,
            _ => Action::Report,
        },
        place: format!("{CONTROLPERM} has no line for it"),
    }
}

fn read_file(news: &Path, file: &'static str) -> Result<Option<Vec<u8>>, Fault> {
    let path = news.join(file);
    let mut text = Vec::new();
    let read = File::open(&path)
        .and_then(|open| open.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut text));
    match read {
        Ok(_) if text.len() > FILE_BYTES_MAX => Err(Fault::TooLarge { file }),
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Fault::Io { path, source }),
    }
}

/// The lines that say something, with their numbers.
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
) -> Result<(), Fault> {
    for (line, fields) in lines(text) {
        let wrong = |what: String| Fault::Line { file, line, what };
        let parts: Vec<&[u8]> = fields.splitn(4, |&byte| byte == b':').collect();
        let (kind, from, groups, last) = match parts.as_slice() {
            // The encodings of descriptions: their bytes are left as they are.
            [b"/encoding/" | b"/localencoding/", ..] => continue,
            [kind, from, groups, last] => {
                (*kind, *from, Globs::parse(groups).map_err(wrong)?, *last)
            }
            _ => {
                return Err(wrong("is not `message:from:newsgroups:action'".to_owned()));
            }
        };
        if rules.len().saturating_add(limits.len()) >= RULES_MAX {
            return Err(Fault::TooMany { file, line });
        }
        // Addresses are compared in lower case.
        let from = Globs::parse(&from.to_ascii_lowercase()).map_err(wrong)?;
        if kind == b"/maxdocheckgroups/" {
            let changes_max = article::decimal::parse(last)
                .ok_or_else(|| wrong(format!("`{}' is no number", last.escape_ascii())))?;
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
            return Err(wrong(format!(
                "`{}' is no control message; give its name, or `all'",
                kind.escape_ascii()
            )));
        }
        let kinds: Vec<_> = kinds.map(<[u8]>::to_ascii_lowercase).collect();
        rules.push(CtlRule {
            kinds: (!kinds.contains(&b"all".to_vec())).then_some(kinds),
            from,
            groups,
            ruling: Ruling {
                action: ctl_action(last).map_err(wrong)?,
                place: format!("{file} line {line}"),
            },
        });
    }
    Ok(())
}

/// `doit`, `verify-NAME` and so on; what follows `=` names a log of INN, and there is only one here.
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
        // INN before 2.0 answered a sendsys that names a site; nothing is answered here.
        b"mail" | b"doifarg" => Ok(Action::Report),
        _ => Err(format!(
            "`{}' is no action; use doit, drop, log, mail or verify-NAME",
            text.escape_ascii()
        )),
    }
}

fn controlperm(text: &[u8]) -> Result<Book, Fault> {
    let file = CONTROLPERM;
    let mut perms = Vec::new();
    for (line, fields) in lines(text) {
        let wrong = |what: &str| Fault::Line {
            file,
            line,
            what: what.to_owned(),
        };
        let parts: Vec<&[u8]> = fields
            .split(u8::is_ascii_whitespace)
            .filter(|part| !part.is_empty())
            .collect();
        let [pattern, who, opcodes, flags] = parts.as_slice() else {
            return Err(wrong("is not `pattern {any|address} opcodes flags'"));
        };
        if !opcodes.iter().all(|byte| b"nr".contains(byte)) {
            return Err(wrong("the third field is of n (newgroup) and r (rmgroup)"));
        }
        if !flags.iter().all(|byte| b"ynqv".contains(byte)) {
            return Err(wrong(
                "the fourth field is of y (do it), n (do not), q (quietly) and v (tell all)",
            ));
        }
        if flags.contains(&b'y') == flags.contains(&b'n') {
            return Err(wrong("the fourth field says either y or n"));
        }
        if perms.len() >= RULES_MAX {
            return Err(Fault::TooMany { file, line });
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
                place: format!("{file} line {line}"),
            },
        });
    }
    Ok(Book::Perm(perms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ctl(text: &str) -> Result<Policy, String> {
        Policy::parse(Some(text.as_bytes()), None, None).map_err(|fault| fault.to_string())
    }

    fn perm(text: &str) -> Result<Policy, String> {
        Policy::parse(None, None, Some(text.as_bytes())).map_err(|fault| fault.to_string())
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
            ("newgroup:*:*\n", "control.ctl line 1: is not `message"),
            (
                "\nnewgroup:*:*:doti\n",
                "control.ctl line 2: `doti' is no action",
            ),
            (
                "new group:*:*:doit\n",
                "control.ctl line 1: `new group' is no control",
            ),
            (
                "/maxdocheckgroups/:*:*:x\n",
                "control.ctl line 1: `x' is no number",
            ),
            (
                "newgroup:*:comp.*,misc.*:doit\n",
                "control.ctl line 1: `comp.*,misc.*' is no pattern",
            ),
            (
                "newgroup::comp.*:doit\n",
                "control.ctl line 1: `' has an empty pattern",
            ),
            (
                "newgroup|:*:*:doit\n",
                "control.ctl line 1: `newgroup|' is no",
            ),
            (
                "newgroup:*:*:verify-\n",
                "control.ctl line 1: `verify-' is no action",
            ),
        ] {
            let fault = ctl(text).unwrap_err();
            assert!(fault.starts_with(told), "{fault}");
        }
        for (text, told) in [
            ("comp any n\n", "controlperm line 1: is not `pattern"),
            ("comp any nx y\n", "controlperm line 1: the third"),
            ("#\ncomp any n ym\n", "controlperm line 2: the fourth"),
            (
                "comp any n v\n",
                "controlperm line 1: the fourth field says",
            ),
        ] {
            let fault = perm(text).unwrap_err();
            assert!(fault.starts_with(told), "{fault}");
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
