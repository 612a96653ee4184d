//! Parses cases, the scripts of sessions.
//!
//! A file contains cases, each beginning with `== name`; text before the first case belongs to all of them. `README.md`
//! describes the syntax.

use std::path::Path;

/// A scripted session.
#[derive(Debug, Clone)]
pub struct Case {
    /// The name of the file without `.case`, a slash, and the name of the case.
    pub name: String,
    /// The RFC sections on which it is based: the comments of the case.
    pub about: Vec<String>,
    /// The requirements without which it is skipped.
    pub needs: Vec<Need>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// A requirement of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// A connection before its greeting.
    Raw,
    /// A reader's connection: after MODE READER, if the server advertises that it is needed.
    Reader,
    /// A peer's connection.
    Transit,
    /// The groups and articles of [`crate::fixture`].
    Fixture,
    /// The user of the fixture.
    User,
    /// The user of the fixture, for SASL as well.
    SaslUser,
    /// A reader's connection after STARTTLS.
    Tls,
    /// A port with implicit TLS.
    TlsPort,
    /// A command without a capability label; present if it is not answered with 500.
    Command(String),
    /// A capability, with an argument if any.
    Capability(String, Option<String>),
    /// The absence of a capability.
    Without(String, Option<String>),
}

/// A step, and the line of the file in which it begins.
#[derive(Debug, Clone)]
pub struct Step {
    /// The line, from 1.
    pub line: usize,
    /// The action.
    pub act: Act,
}

/// The action of a step.
#[derive(Debug, Clone)]
pub enum Act {
    /// `C:` sends a line.
    Send(String),
    /// `C?:` repeats a line until the next `S:` matches, for effects that take a server some time.
    SendUntil(String),
    /// `C!:` sends octets unchanged.
    SendRaw(String),
    /// `C>` and `C.` send a block, with dots doubled.
    SendBlock(Vec<String>),
    /// `S:` expects a reply line; `S{100}:` that many.
    Expect(usize, String),
    /// `S>`, `S~`, `S^`, `S=`, `S#` and `S.`: expect a block.
    ExpectBlock(Vec<BlockLine>),
    /// `unless PATTERN: reason`: skips the case if the next reply matches, because the server does not support this.
    Unless(String, String),
    /// `check A <= B + 1`.
    Check(String),
    /// `expect close`: the server closes the connection without sending another octet.
    Close,
    /// `expect hangup`: the server closes the connection, whatever it sends before.
    Hangup,
    /// `connect reader`, `connect transit`, `connect raw`: replaces the connection by a new one.
    Connect(Need),
    /// `connect beside transit`: opens a second connection while the first one stays open.
    ConnectBeside(Need),
    /// `starttls`: starts TLS. `starttls or close`: the server may also close the connection, and the case then passes.
    StartTls {
        /// Whether the server may close the connection instead.
        or_close: bool,
    },
    /// `deflate`: starts compression.
    Deflate,
}

/// An expectation about the lines of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockLine {
    /// `S>`: the next line matches. `S> **`: any lines.
    Next(String),
    /// `S~`: at least one line matches.
    Some(String),
    /// `S^`: no line matches.
    None(String),
    /// `S=`: all lines match.
    All(String),
    /// `S#`: the number of lines.
    Count(usize),
    /// `S@`: no two lines have the same first word.
    Distinct,
}

/// All cases of the suite, by file and in their order in the file.
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

/// Parses the cases of a file. The error contains the invalid line.
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
                return Err(wrong("it precedes the first case"));
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
            return Err(wrong("it is invalid"));
        }
    }
    Ok(cases)
}

/// A line: a whole action, or a part of one.
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

/// An unfinished block.
#[derive(Default)]
struct Block {
    sent: Vec<String>,
    expected: Vec<BlockLine>,
}

impl Block {
    fn take(&mut self, line: &str) -> Option<Part> {
        match line {
            "C." => return whole(Act::SendBlock(std::mem::take(&mut self.sent))),
            "S." => return whole(Act::ExpectBlock(std::mem::take(&mut self.expected))),
            _ => {}
        }
        let (mark, text) = line.split_at_checked(2)?;
        let text = text.strip_prefix(' ').unwrap_or(text).to_owned();
        match mark {
            "C>" => self.sent.push(text),
            "S>" => self.expected.push(BlockLine::Next(text)),
            "S~" => self.expected.push(BlockLine::Some(text)),
            "S^" => self.expected.push(BlockLine::None(text)),
            "S=" => self.expected.push(BlockLine::All(text)),
            "S@" => self.expected.push(BlockLine::Distinct),
            "S#" => self
                .expected
                .push(BlockLine::Count(text.trim().parse().ok()?)),
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

/// Parses needs: words in lower case are preparations; `command:XPAT` is a command; other words are capability labels, `LIST=COUNTS` one
/// with an argument, `-OVER=MSGID` one that must be absent.
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
    fn a_file_contains_cases() {
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
    fn invalid_lines_are_reported() {
        let read = read("x", "== a\nwhat: is this\n");
        assert_eq!(
            read.err().as_deref(),
            Some("x.case:2: it is invalid: what: is this")
        );
    }
}
