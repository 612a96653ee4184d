//! Cases: the text that a session is written in.
//!
//! A file holds cases that begin with `== name`; what stands before the first belongs to all of them. `README.md` tells
//! the words.

use std::path::Path;

/// A session.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file's name without `.case`, a slash, and the case's own.
    pub name: String,
    /// The sections that it rests on: the comments of the case.
    pub about: Vec<String>,
    /// What it cannot be played without.
    pub needs: Vec<Need>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// What a case cannot be played without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The case begins before the greeting.
    Raw,
    /// A connection for reading: after MODE READER, where the server says that it is needed.
    Reader,
    /// A connection as a peer has it.
    Transit,
    /// The groups and articles of [`crate::fixture`].
    Fixture,
    /// A name and a password that the server accepts.
    User,
    /// That SASL knows them too.
    SaslUser,
    /// A reader's connection, after STARTTLS.
    Tls,
    /// A port where TLS begins at once.
    TlsPort,
    /// A command that has no capability label: one that is not answered with 500.
    Command(String),
    /// A capability, and an argument of it.
    Capability(String, Option<String>),
    /// That such a capability is not there.
    Without(String, Option<String>),
}

/// A step and the line of the file that it begins in.
#[derive(Debug, Clone)]
pub struct Step {
    /// Counted from 1.
    pub line: usize,
    /// What it does.
    pub act: Act,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Act {
    /// `C:` sends a line.
    Send(String),
    /// `C?:` sends a line again and again until the next `S:` matches: for what takes a server a moment.
    SendUntil(String),
    /// `C!:` sends octets as they are written.
    SendRaw(String),
    /// `C>` and `C.` send a block; dots are doubled.
    SendBlock(Vec<String>),
    /// `S:` a line of answer; `S{100}:` as many.
    Expect(usize, String),
    /// `S>`, `S~`, `S^`, `S=`, `S#` and `S.`: a block of the answer.
    ExpectBlock(Vec<BlockLine>),
    /// `unless PATTERN: reason`: where the next answer is so, the server does not do this; the case is skipped.
    Unless(String, String),
    /// `check A <= B + 1`.
    Check(String),
    /// `expect close`: the server closes, without another octet.
    Close,
    /// `expect hangup`: the server closes, whatever it says before.
    Hangup,
    /// `connect reader`, `connect transit`, `connect raw`: another connection instead of this one.
    Connect(Need),
    /// `connect beside transit`: another connection, while this one stays open.
    ConnectBeside(Need),
    /// `starttls`: TLS begins here. `starttls or close`: or the server will not have it, and the case ends well.
    StartTls {
        /// May the server close instead?
        or_close: bool,
    },
    /// `deflate`: compression begins here.
    Deflate,
}

/// What is said of the lines of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockLine {
    /// `S>`: the next line is so. `S> **`: any lines.
    Next(String),
    /// `S~`: some line is so.
    Some(String),
    /// `S^`: no line is so.
    None(String),
    /// `S=`: all lines are so.
    All(String),
    /// `S#`: how many lines there are.
    Count(usize),
    /// `S@`: no two lines have the same first word.
    Distinct,
}

/// All cases of the suite, by file and then as they are written.
pub fn all() -> Result<Vec<Case>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let lost = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(lost)? {
        paths.push(entry.map_err(lost)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|end| end == "case"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        cases.extend(read(&stem, &std::fs::read_to_string(&path).map_err(lost)?)?);
    }
    Ok(cases)
}

/// The cases of a file. `Err` says which line is not understood.
pub fn read(stem: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut common: Vec<Need> = Vec::new();
    let mut block = Block::default();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let wrong = |why: &str| format!("{stem}.case:{number}: {why}: {line}");
        if let Some(name) = line.strip_prefix("== ") {
            cases.push(Case {
                name: format!("{stem}/{}", name.trim()),
                about: Vec::new(),
                needs: common.clone(),
                steps: Vec::new(),
            });
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        let Some(case) = cases.last_mut() else {
            if let Some(words) = line.strip_prefix("needs ") {
                common.extend(needs_of(words));
            } else if !line.starts_with('#') {
                return Err(wrong("it stands before the first case"));
            }
            continue;
        };
        if let Some(comment) = line.strip_prefix('#') {
            case.about.push(comment.trim().to_owned());
        } else if let Some(words) = line.strip_prefix("needs ") {
            case.needs.extend(needs_of(words));
        } else if let Some(act) = block.take(line).or_else(|| act_of(line)) {
            if let Some(act) = act.done() {
                case.steps.push(Step { line: number, act });
            }
        } else {
            return Err(wrong("it is not understood"));
        }
    }
    Ok(cases)
}

/// A line may only be a part of a step.
enum Part {
    Whole(Box<Act>),
    More,
}

impl Part {
    fn done(self) -> Option<Act> {
        match self {
            Part::Whole(act) => Some(*act),
            Part::More => None,
        }
    }
}

/// Blocks that have begun and not ended.
#[derive(Default)]
struct Block {
    sent: Vec<String>,
    said: Vec<BlockLine>,
}

impl Block {
    fn take(&mut self, line: &str) -> Option<Part> {
        match line {
            "C." => return whole(Act::SendBlock(std::mem::take(&mut self.sent))),
            "S." => return whole(Act::ExpectBlock(std::mem::take(&mut self.said))),
            _ => {}
        }
        let (mark, text) = line.split_at_checked(2)?;
        let text = text.strip_prefix(' ').unwrap_or(text).to_owned();
        match mark {
            "C>" => self.sent.push(text),
            "S>" => self.said.push(BlockLine::Next(text)),
            "S~" => self.said.push(BlockLine::Some(text)),
            "S^" => self.said.push(BlockLine::None(text)),
            "S=" => self.said.push(BlockLine::All(text)),
            "S@" => self.said.push(BlockLine::Distinct),
            "S#" => self.said.push(BlockLine::Count(text.trim().parse().ok()?)),
            _ => return None,
        }
        Some(Part::More)
    }
}

fn whole(act: Act) -> Option<Part> {
    Some(Part::Whole(Box::new(act)))
}

fn act_of(line: &str) -> Option<Part> {
    let text = |mark: &str| {
        let text = line.strip_prefix(mark)?;
        Some(text.strip_prefix(' ').unwrap_or(text).to_owned())
    };
    let act = if let Some(text) = text("C:") {
        Act::Send(text)
    } else if let Some(text) = text("C?:") {
        Act::SendUntil(text)
    } else if let Some(text) = text("C!:") {
        Act::SendRaw(text)
    } else if let Some(text) = text("S:") {
        Act::Expect(1, text)
    } else if let Some((count, text)) = line
        .strip_prefix("S{")
        .and_then(|rest| rest.split_once("}: "))
    {
        Act::Expect(count.parse().ok()?, text.to_owned())
    } else if let Some(text) = text("unless ") {
        let (pattern, reason) = text.split_once(": ")?;
        Act::Unless(pattern.to_owned(), reason.to_owned())
    } else if let Some(text) = text("check ") {
        Act::Check(text)
    } else if let Some(text) = text("connect beside ") {
        Act::ConnectBeside(needs_of(&text).pop()?)
    } else if let Some(text) = text("connect ") {
        Act::Connect(needs_of(&text).pop()?)
    } else {
        match line {
            "expect close" => Act::Close,
            "expect hangup" => Act::Hangup,
            "starttls" => Act::StartTls { or_close: false },
            "starttls or close" => Act::StartTls { or_close: true },
            "deflate" => Act::Deflate,
            _ => return None,
        }
    };
    whole(act)
}

/// Words in small letters are preparations; `command:XPAT` a command; other words capability labels, `LIST=COUNTS` one
/// with an argument, `-OVER=MSGID` one that must not be there.
fn needs_of(words: &str) -> Vec<Need> {
    let need = |word: &str| match word {
        "raw" => Need::Raw,
        "reader" => Need::Reader,
        "transit" => Need::Transit,
        "fixture" => Need::Fixture,
        "user" => Need::User,
        "sasl-user" => Need::SaslUser,
        "tls" => Need::Tls,
        "tls-port" => Need::TlsPort,
        _ => match (word.strip_prefix("command:"), word.strip_prefix('-')) {
            (Some(command), _) => Need::Command(command.replace('_', " ")),
            (None, Some(word)) => {
                let (label, argument) = label_of(word);
                Need::Without(label, argument)
            }
            (None, None) => {
                let (label, argument) = label_of(word);
                Need::Capability(label, argument)
            }
        },
    };
    words.split_whitespace().map(need).collect()
}

fn label_of(word: &str) -> (String, Option<String>) {
    match word.split_once('=') {
        Some((label, argument)) => (label.to_owned(), Some(argument.to_owned())),
        None => (word.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Act, Need, read};

    #[test]
    fn a_file_holds_cases() {
        let text = "# about all\nneeds reader\n\n== one\n# RFC 3977, 7.1\nC: DATE\nS: 111 *\n\n== two\nneeds LIST=COUNTS\n\
                    C: LIST COUNTS\nS: 215 *\nS~ a *\nS.\n";
        let cases = read("dates", text).expect("understood");
        let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["dates/one", "dates/two"]);
        let needs = cases.last().map(|case| case.needs.clone());
        let counts = Need::Capability("LIST".to_owned(), Some("COUNTS".to_owned()));
        assert_eq!(needs, Some(vec![Need::Reader, counts]));
        let steps = cases.last().map(|case| &case.steps);
        assert!(matches!(
            steps.and_then(|steps| steps.last()).map(|step| &step.act),
            Some(Act::ExpectBlock(lines)) if lines.len() == 1
        ));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let told = read("x", "== a\nwhat: is this\n");
        assert_eq!(
            told.err().as_deref(),
            Some("x.case:2: it is not understood: what: is this")
        );
    }
}
