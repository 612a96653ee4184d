//! The file `blocks`: senders whose articles and posts are refused, some of them until a date.
//!
//! A line is `KIND PATTERN UNTIL REASON`, separated by tabs; UNTIL is a date, or `-` for none. Empty lines and those that begin with `#` are comments.
//! A pattern is the whole address, host, login or injector; with `*` it is a wildmat. Capital and small letters are the same.
//!
//! The file belongs to the settings: nodes of a cluster get it with them, and an article is refused by its arrival, so all nodes decide alike.

use std::fmt;

use article::date::{self, Utc};
use article::{Article, Header};
use groups::Wildmat;

use crate::control::request::long_address;

/// The file.
pub const FILE: &str = "blocks";
/// Most blocks.
pub const BLOCKS_MAX: usize = 1000;

/// The part of an article that a block is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// The address in From; a wildmat may also match the whole content.
    From,
    /// The posting host: Injection-Info or NNTP-Posting-Host, or the address of a client that posts here.
    Host,
    /// The login: posting-account in Injection-Info, or that of a client that posts here.
    Login,
    /// The injecting site: Injection-Info, or Path.
    Injector,
}

impl BlockKind {
    /// All.
    pub const ALL: [BlockKind; 4] = [
        BlockKind::From,
        BlockKind::Host,
        BlockKind::Login,
        BlockKind::Injector,
    ];

    /// The word in the file and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            BlockKind::From => "from",
            BlockKind::Host => "host",
            BlockKind::Login => "login",
            BlockKind::Injector => "injector",
        }
    }

    /// The kind with this word.
    pub fn of_word(word: &[u8]) -> Option<BlockKind> {
        let mut all = BlockKind::ALL.into_iter();
        all.find(|kind| kind.word().as_bytes() == word)
    }
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The part of an article.
    pub kind: BlockKind,
    /// The pattern, as written.
    pub pattern: Vec<u8>,
    /// The end, seconds since 1970.
    pub until: Option<i64>,
    /// The reason, for the administrator.
    pub reason: String,
}

/// An error in the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct BlocksError {
    /// The line, from 1.
    pub line: usize,
    /// The error.
    pub what: String,
}

/// All blocks.
#[derive(Clone, Default)]
pub struct Blocks {
    blocks: Vec<Block>,
    /// In small letters; those of wildmats are compiled.
    patterns: Vec<CompiledPattern>,
}

#[derive(Clone)]
enum CompiledPattern {
    Whole(Vec<u8>),
    Wildmat(Wildmat),
}

impl PartialEq for Blocks {
    fn eq(&self, other: &Blocks) -> bool {
        self.blocks == other.blocks
    }
}

impl Eq for Blocks {}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.blocks.fmt(f)
    }
}

/// The sender of an article, as far as it tells; empty values are unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct SenderNames<'a> {
    /// The content of From.
    pub from: &'a [u8],
    /// The posting host.
    pub host: &'a [u8],
    /// The login.
    pub login: &'a [u8],
    /// The injecting site.
    pub injector: &'a [u8],
}

impl Blocks {
    /// Parses the file.
    ///
    /// # Errors
    /// The first invalid line, or too many blocks.
    pub fn parse(text: &[u8]) -> Result<Blocks, BlocksError> {
        let mut blocks = Vec::new();
        for (line, text) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            if text.trim_ascii().is_empty() || text.starts_with(b"#") {
                continue;
            }
            let block = Block::parse(text).map_err(|what| BlocksError { line, what })?;
            if blocks.len() >= BLOCKS_MAX {
                let what = format!("more than {BLOCKS_MAX} blocks");
                return Err(BlocksError { line, what });
            }
            blocks.push(block);
        }
        Ok(Blocks::of(blocks))
    }

    /// These blocks.
    pub fn of(blocks: Vec<Block>) -> Blocks {
        let patterns = blocks.iter().map(|block| {
            let pattern = block.pattern.to_ascii_lowercase();
            if pattern.contains(&b'*') {
                CompiledPattern::Wildmat(Wildmat::parse_simple(&pattern))
            } else {
                CompiledPattern::Whole(pattern)
            }
        });
        Blocks {
            patterns: patterns.collect(),
            blocks,
        }
    }

    /// The blocks, in the order of the file.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The text of the file.
    pub fn text(&self) -> Vec<u8> {
        let mut text = b"# KIND, PATTERN, UNTIL and REASON, separated by tabs: see `broadsheet help block add'.\n".to_vec();
        for block in &self.blocks {
            text.extend_from_slice(block.kind.word().as_bytes());
            text.push(b'\t');
            text.extend_from_slice(&block.pattern);
            text.push(b'\t');
            match block.until {
                Some(until) => date::write_utc(&mut text, until),
                None => text.push(b'-'),
            }
            text.push(b'\t');
            text.extend_from_slice(block.reason.as_bytes());
            text.push(b'\n');
        }
        text
    }

    /// The first block in force at a time (seconds since 1970) that matches a sender, with the matching value.
    pub fn find<'a>(&self, sender: &SenderNames<'a>, seconds: i64) -> Option<(&Block, &'a [u8])> {
        // Once for all blocks.
        let small = BlockKind::ALL.map(|kind| sender.value(kind).to_ascii_lowercase());
        let address = long_address(sender.from);
        let mut all = self.blocks.iter().zip(&self.patterns);
        all.find_map(|(block, pattern)| {
            let [from, host, login, injector] = &small;
            let (value, whole) = match block.kind {
                BlockKind::From => (address.as_slice(), pattern.is_wildmat().then_some(from)),
                BlockKind::Host => (host.as_slice(), None),
                BlockKind::Login => (login.as_slice(), None),
                BlockKind::Injector => (injector.as_slice(), None),
            };
            let matches = |value: &[u8]| !value.is_empty() && pattern.matches(value);
            let is_in_force = block.until.is_none_or(|until| seconds < until);
            let is_blocked =
                is_in_force && (matches(value) || whole.is_some_and(|whole| matches(whole)));
            is_blocked.then(|| (block, sender.value(block.kind)))
        })
    }

    /// As [`Blocks::find`], for an article as it is filed.
    pub fn find_for<'a>(
        &self,
        article: &Article<'a>,
        seconds: i64,
    ) -> Option<(BlockKind, &'a [u8])> {
        if self.blocks.is_empty() {
            return None;
        }
        let found = self.find(&SenderNames::of(article), seconds);
        found.map(|(block, value)| (block.kind, value))
    }
}

impl CompiledPattern {
    /// Whether it matches a value in small letters.
    fn matches(&self, value: &[u8]) -> bool {
        match self {
            CompiledPattern::Whole(whole) => whole == value,
            CompiledPattern::Wildmat(wildmat) => wildmat.matches(value),
        }
    }

    fn is_wildmat(&self) -> bool {
        matches!(self, CompiledPattern::Wildmat(_))
    }
}

impl Block {
    fn parse(line: &[u8]) -> Result<Block, String> {
        let mut fields = line.splitn(4, |&byte| byte == b'\t');
        let mut next = || fields.next().unwrap_or_default().trim_ascii();
        let (kind, pattern, until, reason) = (next(), next(), next(), next());
        let kind = BlockKind::of_word(kind).ok_or_else(|| {
            format!(
                "the kind must be from, host, login or injector, not `{}'",
                groups::shown(kind)
            )
        })?;
        if pattern.is_empty() {
            return Err("the pattern is missing; fields are separated by tabs".to_owned());
        }
        let until = match until {
            b"" | b"-" => None,
            until => Some(date::parse(until, &Utc).ok_or_else(|| {
                format!(
                    "the end must be a date or `-', not `{}'",
                    groups::shown(until)
                )
            })?),
        };
        Ok(Block {
            kind,
            pattern: pattern.to_vec(),
            until,
            reason: String::from_utf8_lossy(reason).into_owned(),
        })
    }
}

impl<'a> SenderNames<'a> {
    /// Those that the header of an article tells.
    pub fn of(article: &Article<'a>) -> SenderNames<'a> {
        let value = |header| article.value(header).unwrap_or_default();
        let mut names = SenderNames {
            from: value(Header::From),
            ..SenderNames::default()
        };
        for (_, name, value) in article.fields() {
            if name.eq_ignore_ascii_case(b"Injection-Info") {
                let mut parts = value.split(|&byte| byte == b';');
                names.injector = parts.next().unwrap_or_default().trim_ascii();
                for part in parts {
                    let part = part.trim_ascii();
                    if let Some(host) = parameter(part, b"posting-host") {
                        names.host = host;
                    } else if let Some(login) = parameter(part, b"posting-account") {
                        names.login = login;
                    }
                }
            } else if name.eq_ignore_ascii_case(b"NNTP-Posting-Host") && names.host.is_empty() {
                names.host = value.trim_ascii();
            }
        }
        if names.injector.is_empty() {
            names.injector = injector(value(Header::Path));
        }
        names
    }

    fn value(&self, kind: BlockKind) -> &'a [u8] {
        match kind {
            BlockKind::From => self.from,
            BlockKind::Host => self.host,
            BlockKind::Login => self.login,
            BlockKind::Injector => self.injector,
        }
    }
}

/// The value of `NAME=VALUE` or `NAME="VALUE"`.
fn parameter<'a>(part: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = part.split_at_checked(memchr::memchr(b'=', part)?)?;
    let value = value.get(1..)?.trim_ascii();
    let quoted = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    found
        .trim_ascii()
        .eq_ignore_ascii_case(name)
        .then(|| quoted.unwrap_or(value))
}

/// The site before `.POSTED` in Path (RFC 5536, 3.1.5), otherwise the last one before the tail.
fn injector(path: &[u8]) -> &[u8] {
    let (mut last, mut before) = (&b""[..], &b""[..]);
    for part in path.split(|&byte| byte == b'!') {
        if part.starts_with(b".POSTED") {
            return last;
        }
        (before, last) = (last, part);
    }
    before
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use article::Form;

    const ARTICLE: &[u8] = b"Path: us!peer!bad.example!.POSTED.192.0.2.7!not-for-mail\n\
        From: Spam King <Spam@Example.COM>\nInjection-Info: inject.example; posting-host=\"192.0.2.7\";\n\
        \tposting-account=\"anna\"\n\nx\n";

    fn found(lines: &str, article: &[u8], seconds: i64) -> Option<(BlockKind, String)> {
        let blocks = Blocks::parse(lines.as_bytes()).unwrap();
        let article = Article::parse(article, Form::Native);
        let found = blocks.find_for(&article, seconds);
        found.map(|(kind, value)| (kind, String::from_utf8_lossy(value).into_owned()))
    }

    #[test]
    fn each_kind_finds_its_sender() {
        for (line, is_blocked) in [
            ("from\tspam@example.com\t-\tspam", true),
            ("from\t*@EXAMPLE.com\t-\t", true),
            ("from\tspam king*\t-\t", true),
            ("from\tpam@example.com\t-\t", false),
            ("from\tking\t-\t", false),
            ("host\t192.0.2.*\t-\t", true),
            ("host\t192.0.2.70\t-\t", false),
            ("login\tanna\t-\t", true),
            ("login\tann\t-\t", false),
            ("injector\tinject.example\t-\t", true),
            ("# from\tspam@example.com\t-\t", false),
        ] {
            assert_eq!(found(line, ARTICLE, 0).is_some(), is_blocked, "{line}");
        }
        let comment = b"Path: us\nFrom: A@b (from nowhere)\n\n";
        assert!(found("from\ta@b", comment, 0).is_some());
        let path = b"Path: us!bad.example!.POSTED!x\nFrom: a@b\n\n";
        assert!(found("injector\tbad.example", path, 0).is_some());
        let path = b"Path: us!bad.example!user\nFrom: a@b\n\n";
        assert!(found("injector\tbad.example", path, 0).is_some());
    }

    #[test]
    fn a_block_ends_at_its_date() {
        let line = "from\tspam@example.com\tThu, 01 Jan 2026 00:00:00 GMT\tspam\n";
        let end = 1_767_225_600;
        assert!(found(line, ARTICLE, end - 1).is_some());
        assert!(found(line, ARTICLE, end).is_none());
        let blocks = Blocks::parse(line.as_bytes()).unwrap();
        assert_eq!(Blocks::parse(&blocks.text()).unwrap(), blocks);
    }

    #[test]
    fn errors_have_their_line() {
        for (text, what) in [
            ("\nform\ta@b\t-\t", "line 2: the kind must be"),
            ("from a@b - x", "line 1: the kind must be"),
            ("from\t\t-\t", "line 1: the pattern"),
            ("from\ta@b\tsoon\t", "line 1: the end"),
        ] {
            let error = Blocks::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(what), "{error}");
        }
    }
}
