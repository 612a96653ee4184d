//! Parses command lines (RFC 3977, 3.1 and 9.1): a keyword, then arguments separated by blanks.

use crate::command_table::{COMMANDS, NntpCommand};
use crate::range::{Range, number};

/// The argument that names one article (RFC 3977, 6.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArticleArgument<'a> {
    /// The current article of the group.
    Current,
    /// By number in the group.
    Number(u64),
    /// By message-id.
    Id(&'a [u8]),
}

/// The argument that names one article or a range of them (RFC 3977, 8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeArgument<'a> {
    /// The current article of the group.
    Current,
    /// By numbers in the group.
    Range(Range),
    /// By message-id.
    Id(&'a [u8]),
}

/// The part of an article that a command sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// ARTICLE
    Article,
    /// HEAD
    Head,
    /// BODY
    Body,
    /// STAT
    Stat,
}

/// The keyword of LIST (RFC 3977, 7.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKeyword {
    /// LIST, LIST ACTIVE
    Active,
    /// LIST ACTIVE.TIMES
    ActiveTimes,
    /// LIST COUNTS (RFC 6048, 2.2)
    Counts,
    /// LIST DISTRIB.PATS
    DistribPats,
    /// LIST DISTRIBUTIONS (RFC 6048, 2.3)
    Distributions,
    /// LIST EXTENSIONS: CAPABILITIES in the drafts before RFC 3977; alpine knows no other
    Extensions,
    /// LIST HEADERS
    Headers,
    /// LIST MODERATORS (RFC 6048, 2.4)
    Moderators,
    /// LIST MOTD (RFC 6048, 2.5)
    Motd,
    /// LIST NEWSGROUPS
    Newsgroups,
    /// LIST OVERVIEW.FMT
    OverviewFmt,
    /// LIST SUBSCRIPTIONS (RFC 6048, 2.6)
    Subscriptions,
    /// LIST XACTIVE: as LIST ACTIVE, with the target of aliased groups.
    XActive,
}

/// A parsed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// ARTICLE, HEAD, BODY, STAT
    Get(Part, ArticleArgument<'a>),
    /// AUTHINFO USER name
    AuthUser(&'a [u8]),
    /// AUTHINFO PASS password: the rest of the line, blanks included
    AuthPass(&'a [u8]),
    /// AUTHINFO SASL mechanism [initial response]
    AuthSasl(&'a [u8], Option<&'a [u8]>),
    /// CAPABILITIES
    Capabilities,
    /// CHECK id (RFC 4644)
    Check(&'a [u8]),
    /// COMPRESS algorithm (RFC 8054)
    Compress(&'a [u8]),
    /// DATE
    Date,
    /// GROUP name
    Group(&'a [u8]),
    /// HDR field [range or id]; true: as XHDR (RFC 2980, 2.6)
    Hdr(&'a [u8], RangeArgument<'a>, bool),
    /// HELP
    Help,
    /// IHAVE id
    Ihave(&'a [u8]),
    /// LAST
    Last,
    /// LIST [keyword [argument]]
    List(ListKeyword, Option<&'a [u8]>),
    /// LISTGROUP [name [range]]
    ListGroup(Option<&'a [u8]>, Option<Range>),
    /// MODE HEADFEED (of Diablo): articles follow without their bodies.
    ModeHeadfeed,
    /// MODE READER
    ModeReader,
    /// MODE STREAM (RFC 4644)
    ModeStream,
    /// NEWGROUPS date time [GMT]
    NewGroups(&'a [u8], &'a [u8], bool),
    /// NEWNEWS wildmat date time [GMT]
    NewNews(&'a [u8], &'a [u8], &'a [u8], bool),
    /// NEXT
    Next,
    /// OVER [range or id]; true: as XOVER (RFC 2980, 2.8)
    Over(RangeArgument<'a>, bool),
    /// POST
    Post,
    /// QUIT
    Quit,
    /// STARTTLS (RFC 4642)
    StartTls,
    /// TAKETHIS id (RFC 4644); the article follows at once
    TakeThis(&'a [u8]),
    /// XGTITLE [wildmat] (RFC 2980, 2.5)
    XGTitle(Option<&'a [u8]>),
    /// XPAT field range-or-id pattern... (RFC 2980, 2.9): the rest of the line holds the patterns
    XPat(&'a [u8], RangeArgument<'a>, &'a [u8]),
}

/// Why a line is not a valid command.
#[derive(Debug, Clone, Copy)]
pub enum CommandError {
    /// 500: the keyword is unknown.
    Unknown,
    /// 501: a further keyword is missing or unknown; a command that begins with the same keyword.
    Keyword(&'static NntpCommand),
    /// 501: the arguments are not those of the command.
    Arguments(&'static NntpCommand),
    /// 501: the arguments are wrong; in which way.
    Syntax(&'static str),
    /// CHECK, IHAVE or TAKETHIS names one message-id, which no article can have.
    UnusableId,
}

/// The form of a message-id, for replies.
pub(crate) const IDS: &str = "a message-id has 3 to 250 bytes: <something@somewhere>";

impl std::fmt::Display for CommandError {
    /// The text behind the code of the reply.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CommandError::Unknown => f.write_str("Unknown command"),
            CommandError::Keyword(command) => {
                let first = command.name.split(' ').next().unwrap_or_default();
                let seconds = COMMANDS.iter();
                let seconds = seconds.filter_map(|row| row.second_keyword(first.as_bytes()));
                let seconds: Vec<&str> = seconds.collect();
                write!(f, "Syntax: {first} {}", seconds.join("|"))
            }
            CommandError::Arguments(command) => write!(f, "Syntax: {}", command.syntax()),
            CommandError::Syntax(wrong) => write!(f, "Syntax: {wrong}"),
            CommandError::UnusableId => f.write_str(IDS),
        }
    }
}

/// A parsed command with its row in the table.
#[derive(Debug, Clone, Copy)]
pub struct ParsedCommand<'a> {
    /// Its row.
    pub row: &'static NntpCommand,
    /// The command.
    pub command: Command<'a>,
}

/// Parses a command line, given without its end.
///
/// # Errors
/// The line is not a valid command.
pub fn parse(line: &[u8]) -> Result<ParsedCommand<'_>, CommandError> {
    let (first, rest) = word(line);
    let mut words = Words(rest);
    let row = find(first, &mut words)?;
    let command = (row.parse)(&mut words).map_err(|wrong| match wrong {
        Wrong::Arguments => CommandError::Arguments(row),
        Wrong::As(wrong) => CommandError::Syntax(wrong),
        Wrong::UnusableId => CommandError::UnusableId,
    })?;
    match words.next() {
        None => Ok(ParsedCommand { row, command }),
        Some(_) => Err(CommandError::Arguments(row)),
    }
}

/// The row of the command that begins with the keyword `first`, and with a second one from `words` if its name has two.
fn find(first: &[u8], words: &mut Words<'_>) -> Result<&'static NntpCommand, CommandError> {
    let mut rows = COMMANDS
        .iter()
        .filter_map(|row| Some((row, row.second_keyword(first)?)));
    let named = rows.next().ok_or(CommandError::Unknown)?;
    if named.1.is_empty() {
        return Ok(named.0);
    }
    let Some(second) = words.next() else {
        // LIST alone is LIST ACTIVE (RFC 3977, 7.6.1.1), the first of its rows.
        return match named.0.name {
            "LIST ACTIVE" => Ok(named.0),
            _ => Err(CommandError::Keyword(named.0)),
        };
    };
    let is_second = |name: &str| name.as_bytes().eq_ignore_ascii_case(second);
    std::iter::once(named)
        .chain(rows)
        .find(|(_, name)| is_second(name))
        .map(|(row, _)| row)
        .ok_or(CommandError::Keyword(named.0))
}

/// Whether a word is a `keyword` of RFC 3977, 9.8.
pub(crate) fn is_keyword(word: &[u8]) -> bool {
    let rest = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    word.len() >= 3 && word.first().is_some_and(u8::is_ascii_alphabetic) && word.iter().all(rest)
}

/// The first word of a line, and what is behind it.
pub(crate) fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = line;
    while let Some((b' ' | b'\t', behind)) = rest.split_first() {
        rest = behind;
    }
    let end = memchr::memchr2(b' ', b'\t', rest).unwrap_or(rest.len());
    rest.split_at_checked(end).unwrap_or((rest, b""))
}

/// Why arguments are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// One is missing, or is none of this command.
    Arguments,
    /// In this way.
    As(&'static str),
    /// The one argument is a message-id that no article can have.
    UnusableId,
}

/// The words of the rest of a line.
pub(crate) struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// The next word; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let (found, rest) = word(self.0);
        self.0 = rest;
        (!found.is_empty()).then_some(found)
    }

    /// The next word, which must be there.
    pub(crate) fn need(&mut self) -> Result<&'a [u8], Wrong> {
        self.next().ok_or(Wrong::Arguments)
    }

    /// All that is left, with its blanks.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// All that is left, without the blanks before it; it must not be empty.
    pub(crate) fn needed_rest(&mut self) -> Result<&'a [u8], Wrong> {
        let rest = self.rest().trim_ascii_start();
        if rest.is_empty() {
            return Err(Wrong::Arguments);
        }
        Ok(rest)
    }

    /// The message-id of an article that a peer offers.
    pub(crate) fn offered_id(&mut self) -> Result<&'a [u8], Wrong> {
        let id = self.need()?;
        match is_id(id) {
            true => Ok(id),
            false if word(self.0).0.is_empty() => Err(Wrong::UnusableId),
            false => Err(Wrong::Arguments),
        }
    }

    /// Whether the word GMT comes next.
    pub(crate) fn gmt(&mut self) -> Result<bool, Wrong> {
        match self.next() {
            None => Ok(false),
            Some(word) if word.eq_ignore_ascii_case(b"GMT") => Ok(true),
            // INN takes it as well, and some clients send it.
            Some(word) if word.eq_ignore_ascii_case(b"UTC") => Ok(true),
            Some(_) => Err(Wrong::Arguments),
        }
    }

    /// The argument that names one article.
    pub(crate) fn article(&mut self) -> Result<ArticleArgument<'a>, Wrong> {
        match self.next() {
            None => Ok(ArticleArgument::Current),
            Some(id) if id.first() == Some(&b'<') => Ok(ArticleArgument::Id(whole_id(id)?)),
            Some(text) => number(text)
                .map(ArticleArgument::Number)
                .ok_or(Wrong::As("use an article number or a <message-id>")),
        }
    }

    /// The argument that names one article or a range.
    pub(crate) fn articles(&mut self) -> Result<RangeArgument<'a>, Wrong> {
        match self.next() {
            None => Ok(RangeArgument::Current),
            Some(id) if id.first() == Some(&b'<') => Ok(RangeArgument::Id(whole_id(id)?)),
            Some(text) => Range::parse(text)
                .map(RangeArgument::Range)
                .ok_or(Wrong::As(
                    "use an article number, a range (1-9, 5-) or a <message-id>",
                )),
        }
    }
}

fn whole_id(id: &[u8]) -> Result<&[u8], Wrong> {
    is_id(id).then_some(id).ok_or(Wrong::As(IDS))
}

/// Whether this is a valid message-id (RFC 3977, 3.6).
pub fn is_id(id: &[u8]) -> bool {
    // A fold without an early exit: the compiler vectorizes it.
    let is_printable = |all: bool, &byte: &u8| all & (byte > b' ') & (byte != 0x7f);
    (3..=article::message_id::NETWORK_BYTES_MAX).contains(&id.len())
        && id.first() == Some(&b'<')
        && memchr::memchr(b'>', id) == Some(id.len() - 1)
        && id.iter().fold(true, is_printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &[u8]) -> Option<Command<'_>> {
        parse(line).ok().map(|parsed| parsed.command)
    }

    #[test]
    fn keywords_are_parsed_in_any_case_and_with_any_blanks() {
        assert_eq!(
            command(b"  gRoUp \t misc.test "),
            Some(Command::Group(b"misc.test"))
        );
        let list = Command::List(ListKeyword::Active, None);
        assert_eq!(command(b"list"), Some(list));
        assert_eq!(command(b"List active"), Some(list));
        assert_eq!(command(b"Mode reader"), Some(Command::ModeReader));
        assert!(matches!(parse(b""), Err(CommandError::Unknown)));
        let in_utc = |line| matches!(command(line), Some(Command::NewGroups(_, _, true)));
        assert!(in_utc(b"NEWGROUPS 20010101 000000 GMT"));
        assert!(in_utc(b"NEWGROUPS 20010101 000000 utc"));
        for unknown in [&b"CAPABILITIESX"[..], b"LISTS", b"MOD"] {
            assert!(matches!(parse(unknown), Err(CommandError::Unknown)));
        }
    }

    #[test]
    fn articles_have_three_kinds_of_argument() {
        let get = |which| Some(Command::Get(Part::Stat, which));
        assert_eq!(command(b"STAT"), get(ArticleArgument::Current));
        assert_eq!(command(b"STAT 7"), get(ArticleArgument::Number(7)));
        assert_eq!(command(b"STAT <1@a>"), get(ArticleArgument::Id(b"<1@a>")));
        for bad in [&b"STAT 7-9"[..], b"STAT <1@a", b"STAT 7 8", b"STAT -1"] {
            assert!(
                parse(bad).is_err_and(|wrong| wrong.to_string().starts_with("Syntax: ")),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn arguments_are_counted() {
        for bad in [
            &b"GROUP"[..],
            b"GROUP a b",
            b"CHECK",
            b"CHECK 1@a <2@a>",
            b"DATE x",
            b"LIST NONSENSE",
            b"LIST MOTD x",
            b"XPAT subject 1-",
            b"AUTHINFO",
            b"AUTHINFO USER",
        ] {
            assert!(
                parse(bad).is_err_and(|wrong| wrong.to_string().starts_with("Syntax: ")),
                "{bad:?}"
            );
        }
        let unusable = parse(b"CHECK 1@a ");
        assert!(matches!(unusable, Err(CommandError::UnusableId)));
        let pass = Command::AuthPass(b"a b");
        assert_eq!(command(b"AUTHINFO PASS  a b"), Some(pass));
        let pattern = Command::XPat(
            b"subject",
            RangeArgument::Range(Range {
                low: 1,
                high: u64::MAX,
            }),
            b"*a* *b*",
        );
        assert_eq!(command(b"XPAT subject 1- *a* *b*"), Some(pattern));
    }

    #[test]
    fn wrong_lines_are_answered_with_the_right_form() {
        let told = |line| parse(line).err().map(|wrong| wrong.to_string());
        for (line, text) in [
            (&b"GROUP"[..], "Syntax: GROUP newsgroup"),
            (b"MODE", "Syntax: MODE HEADFEED|READER|STREAM"),
            (b"mode x", "Syntax: MODE HEADFEED|READER|STREAM"),
            (b"AUTHINFO USER", "Syntax: AUTHINFO USER name"),
            (b"DATE now", "Syntax: DATE"),
        ] {
            assert_eq!(told(line).as_deref(), Some(text));
        }
    }
}
