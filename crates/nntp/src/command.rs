//! Parses command lines (RFC 3977, 3.1 and 9.1): a keyword, then arguments separated by blanks.

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

impl Command<'_> {
    /// The capability that indicates the command (RFC 3977, 5.2; appendix B); `None` for commands every server has.
    pub fn capability(&self) -> Option<&'static str> {
        Some(match self {
            Command::Check(_) | Command::TakeThis(_) | Command::ModeStream => "STREAMING",
            Command::Ihave(_) => "IHAVE",
            Command::Post => "POST",
            Command::Over(..) | Command::List(ListKeyword::OverviewFmt, _) => "OVER",
            Command::Hdr(..) | Command::List(ListKeyword::Headers, _) => "HDR",
            Command::XPat(..) => "XPAT",
            Command::NewNews(..) => "NEWNEWS",
            Command::AuthUser(_) | Command::AuthPass(_) | Command::AuthSasl(..) => "AUTHINFO",
            Command::StartTls => "STARTTLS",
            Command::Compress(_) => "COMPRESS",
            Command::Get(Part::Head | Part::Stat, _)
            | Command::Capabilities
            | Command::Help
            | Command::List(ListKeyword::Extensions, _)
            | Command::ModeHeadfeed
            | Command::ModeReader
            | Command::Quit => return None,
            _ => "READER",
        })
    }
}

impl Command<'_> {
    /// Its keywords, without arguments.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Get(Part::Article, _) => "ARTICLE",
            Command::Get(Part::Head, _) => "HEAD",
            Command::Get(Part::Body, _) => "BODY",
            Command::Get(Part::Stat, _) => "STAT",
            Command::AuthUser(_) => "AUTHINFO USER",
            Command::AuthPass(_) => "AUTHINFO PASS",
            Command::AuthSasl(..) => "AUTHINFO SASL",
            Command::Capabilities => "CAPABILITIES",
            Command::Check(_) => "CHECK",
            Command::Compress(_) => "COMPRESS",
            Command::Date => "DATE",
            Command::Group(_) => "GROUP",
            Command::Hdr(_, _, false) => "HDR",
            Command::Hdr(_, _, true) => "XHDR",
            Command::Help => "HELP",
            Command::Ihave(_) => "IHAVE",
            Command::Last => "LAST",
            Command::List(..) => "LIST",
            Command::ListGroup(..) => "LISTGROUP",
            Command::ModeHeadfeed => "MODE HEADFEED",
            Command::ModeReader => "MODE READER",
            Command::ModeStream => "MODE STREAM",
            Command::NewGroups(..) => "NEWGROUPS",
            Command::NewNews(..) => "NEWNEWS",
            Command::Next => "NEXT",
            Command::Over(_, false) => "OVER",
            Command::Over(_, true) => "XOVER",
            Command::Post => "POST",
            Command::Quit => "QUIT",
            Command::StartTls => "STARTTLS",
            Command::TakeThis(_) => "TAKETHIS",
            Command::XGTitle(_) => "XGTITLE",
            Command::XPat(..) => "XPAT",
        }
    }
}

/// Why a line is not a valid command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandError {
    /// 500: the keyword is unknown.
    Unknown,
    /// 501: the arguments are wrong; the right syntax.
    Syntax(&'static str),
    /// CHECK, IHAVE or TAKETHIS names one message-id, which no article can have.
    UnusableId,
}

/// The form of a message-id, for replies.
pub(crate) const IDS: &str = "a message-id has 3 to 250 bytes: <something@somewhere>";

/// Parses a command line, given without its end.
///
/// # Errors
/// The line is not a valid command.
pub fn parse(line: &[u8]) -> Result<Command<'_>, CommandError> {
    let (word, rest) = word(line);
    let mut upper = [0; LONGEST];
    let keyword = upper
        .get_mut(..word.len())
        .ok_or(CommandError::Unknown)
        .map(|upper| {
            upper.copy_from_slice(word);
            upper.make_ascii_uppercase();
            &*upper
        })?;
    let mut words = Words(rest);
    let command = match keyword {
        // The most frequent commands of peers come first.
        b"CHECK" => Command::Check(words.offered_id("CHECK <message-id>")?),
        b"TAKETHIS" => Command::TakeThis(words.offered_id("TAKETHIS <message-id>")?),
        b"IHAVE" => Command::Ihave(words.offered_id("IHAVE <message-id>")?),
        b"ARTICLE" => Command::Get(Part::Article, words.which()?),
        b"HEAD" => Command::Get(Part::Head, words.which()?),
        b"BODY" => Command::Get(Part::Body, words.which()?),
        b"STAT" => Command::Get(Part::Stat, words.which()?),
        b"OVER" => Command::Over(words.some()?, false),
        b"XOVER" => Command::Over(words.some()?, true),
        b"HDR" => Command::Hdr(
            words.need("HDR field [range|<message-id>]")?,
            words.some()?,
            false,
        ),
        b"XHDR" => Command::Hdr(
            words.need("XHDR field [range|<message-id>]")?,
            words.some()?,
            true,
        ),
        b"XPAT" => {
            let field = words.need(XPAT)?;
            let some = words.some()?;
            let patterns = std::mem::take(&mut words.0).trim_ascii();
            if patterns.is_empty() || some == RangeArgument::Current {
                return Err(CommandError::Syntax(XPAT));
            }
            Command::XPat(field, some, patterns)
        }
        b"GROUP" => Command::Group(words.need("GROUP newsgroup")?),
        b"LISTGROUP" => {
            let group = words.next();
            let range = words.next().map(|text| {
                Range::parse(text).ok_or(CommandError::Syntax("LISTGROUP [newsgroup [range]]"))
            });
            Command::ListGroup(group, range.transpose()?)
        }
        b"NEXT" => Command::Next,
        b"LAST" => Command::Last,
        b"LIST" => list(&mut words)?,
        b"XGTITLE" => Command::XGTitle(words.next()),
        b"NEWGROUPS" => {
            const SYNTAX: &str = "NEWGROUPS [yy]yymmdd hhmmss [GMT]";
            let (date, time) = (words.need(SYNTAX)?, words.need(SYNTAX)?);
            Command::NewGroups(date, time, words.gmt(SYNTAX)?)
        }
        b"NEWNEWS" => {
            const SYNTAX: &str = "NEWNEWS wildmat [yy]yymmdd hhmmss [GMT]";
            let wildmat = words.need(SYNTAX)?;
            let (date, time) = (words.need(SYNTAX)?, words.need(SYNTAX)?);
            Command::NewNews(wildmat, date, time, words.gmt(SYNTAX)?)
        }
        b"DATE" => Command::Date,
        b"HELP" => Command::Help,
        b"CAPABILITIES" => {
            if words.next().is_some_and(|word| !is_keyword(word)) {
                return Err(CommandError::Syntax("CAPABILITIES [keyword]"));
            }
            Command::Capabilities
        }
        b"MODE" => match upper_word(words.need("MODE HEADFEED|READER|STREAM")?).as_slice() {
            b"HEADFEED" => Command::ModeHeadfeed,
            b"READER" => Command::ModeReader,
            b"STREAM" => Command::ModeStream,
            _ => return Err(CommandError::Syntax("MODE HEADFEED|READER|STREAM")),
        },
        b"POST" => Command::Post,
        b"QUIT" => Command::Quit,
        b"STARTTLS" => Command::StartTls,
        b"COMPRESS" => Command::Compress(words.need("COMPRESS DEFLATE")?),
        b"AUTHINFO" => return auth(&mut words),
        _ => return Err(CommandError::Unknown),
    };
    match words.next() {
        None => Ok(command),
        Some(_) => Err(CommandError::Syntax("too many arguments")),
    }
}

/// Length of the longest keyword, bytes.
const LONGEST: usize = "CAPABILITIES".len();
const XPAT: &str = "XPAT field range|<message-id> pattern [pattern ...]";

fn list<'a>(words: &mut Words<'a>) -> Result<Command<'a>, CommandError> {
    let Some(what) = words.next() else {
        return Ok(Command::List(ListKeyword::Active, None));
    };
    let what = match upper_word(what).as_slice() {
        b"ACTIVE" => ListKeyword::Active,
        b"ACTIVE.TIMES" => ListKeyword::ActiveTimes,
        b"COUNTS" => ListKeyword::Counts,
        b"DISTRIB.PATS" => ListKeyword::DistribPats,
        b"DISTRIBUTIONS" => ListKeyword::Distributions,
        b"EXTENSIONS" => ListKeyword::Extensions,
        b"HEADERS" => ListKeyword::Headers,
        b"MODERATORS" => ListKeyword::Moderators,
        b"MOTD" => ListKeyword::Motd,
        b"NEWSGROUPS" => ListKeyword::Newsgroups,
        b"OVERVIEW.FMT" => ListKeyword::OverviewFmt,
        b"SUBSCRIPTIONS" => ListKeyword::Subscriptions,
        b"XACTIVE" => ListKeyword::XActive,
        // RFC 3977, 7.6.1.2.
        _ => return Err(CommandError::Syntax("LIST [keyword [wildmat|argument]]")),
    };
    let argument = words.next();
    let fits = match (what, argument) {
        (_, None) => true,
        (
            ListKeyword::DistribPats
            | ListKeyword::Distributions
            | ListKeyword::Extensions
            | ListKeyword::Moderators
            | ListKeyword::Motd
            | ListKeyword::OverviewFmt,
            _,
        ) => false,
        (ListKeyword::Headers, Some(word)) => {
            matches!(upper_word(word).as_slice(), b"MSGID" | b"RANGE")
        }
        _ => true,
    };
    match fits {
        true => Ok(Command::List(what, argument)),
        false => Err(CommandError::Syntax(
            "LIST keyword does not take this argument",
        )),
    }
}

fn auth<'a>(words: &mut Words<'a>) -> Result<Command<'a>, CommandError> {
    const SYNTAX: &str =
        "AUTHINFO USER name, AUTHINFO PASS password or AUTHINFO SASL mechanism [response]";
    match upper_word(words.need(SYNTAX)?).as_slice() {
        kind @ (b"USER" | b"PASS") => {
            // Blanks are part of a name or password, as in other servers.
            let rest = words.0.trim_ascii_start();
            match (rest.is_empty(), kind) {
                (true, _) => Err(CommandError::Syntax(SYNTAX)),
                (false, b"USER") => Ok(Command::AuthUser(rest.trim_ascii_end())),
                (false, _) => Ok(Command::AuthPass(rest)),
            }
        }
        b"SASL" => {
            let command = Command::AuthSasl(words.need(SYNTAX)?, words.next());
            match words.next() {
                None => Ok(command),
                Some(_) => Err(CommandError::Syntax(SYNTAX)),
            }
        }
        _ => Err(CommandError::Syntax(SYNTAX)),
    }
}

/// Whether a word is a `keyword` of RFC 3977, 9.8.
fn is_keyword(word: &[u8]) -> bool {
    let rest = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    word.len() >= 3 && word.first().is_some_and(u8::is_ascii_alphabetic) && word.iter().all(rest)
}

fn upper_word(word: &[u8]) -> Vec<u8> {
    word.to_ascii_uppercase()
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

/// The words of the rest of a line.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let (found, rest) = word(self.0);
        self.0 = rest;
        (!found.is_empty()).then_some(found)
    }

    fn need(&mut self, syntax: &'static str) -> Result<&'a [u8], CommandError> {
        self.next().ok_or(CommandError::Syntax(syntax))
    }

    fn offered_id(&mut self, syntax: &'static str) -> Result<&'a [u8], CommandError> {
        let id = self.need(syntax)?;
        match is_id(id) {
            true => Ok(id),
            false if word(self.0).0.is_empty() => Err(CommandError::UnusableId),
            false => Err(CommandError::Syntax(syntax)),
        }
    }

    fn gmt(&mut self, syntax: &'static str) -> Result<bool, CommandError> {
        match self.next() {
            None => Ok(false),
            Some(word) if word.eq_ignore_ascii_case(b"GMT") => Ok(true),
            // INN takes it as well, and some clients send it.
            Some(word) if word.eq_ignore_ascii_case(b"UTC") => Ok(true),
            Some(_) => Err(CommandError::Syntax(syntax)),
        }
    }

    fn which(&mut self) -> Result<ArticleArgument<'a>, CommandError> {
        match self.next() {
            None => Ok(ArticleArgument::Current),
            Some(id) if id.first() == Some(&b'<') => match is_id(id) {
                true => Ok(ArticleArgument::Id(id)),
                false => Err(CommandError::Syntax(IDS)),
            },
            Some(text) => number(text)
                .map(ArticleArgument::Number)
                .ok_or(CommandError::Syntax(
                    "use an article number or a <message-id>",
                )),
        }
    }

    fn some(&mut self) -> Result<RangeArgument<'a>, CommandError> {
        match self.next() {
            None => Ok(RangeArgument::Current),
            Some(id) if id.first() == Some(&b'<') => match is_id(id) {
                true => Ok(RangeArgument::Id(id)),
                false => Err(CommandError::Syntax(IDS)),
            },
            Some(text) => Range::parse(text)
                .map(RangeArgument::Range)
                .ok_or(CommandError::Syntax(
                    "use an article number, a range (1-9, 5-) or a <message-id>",
                )),
        }
    }
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

    #[test]
    fn keywords_are_parsed_in_any_case_and_with_any_blanks() {
        assert_eq!(
            parse(b"  gRoUp \t misc.test "),
            Ok(Command::Group(b"misc.test"))
        );
        assert_eq!(parse(b"list"), Ok(Command::List(ListKeyword::Active, None)));
        assert_eq!(parse(b"Mode reader"), Ok(Command::ModeReader));
        assert_eq!(parse(b""), Err(CommandError::Unknown));
        let in_utc = |line| matches!(parse(line), Ok(Command::NewGroups(_, _, true)));
        assert!(in_utc(b"NEWGROUPS 20010101 000000 GMT"));
        assert!(in_utc(b"NEWGROUPS 20010101 000000 utc"));
        assert_eq!(parse(b"CAPABILITIESX"), Err(CommandError::Unknown));
    }

    #[test]
    fn articles_have_three_kinds_of_argument() {
        let get = |which| Ok(Command::Get(Part::Stat, which));
        assert_eq!(parse(b"STAT"), get(ArticleArgument::Current));
        assert_eq!(parse(b"STAT 7"), get(ArticleArgument::Number(7)));
        assert_eq!(parse(b"STAT <1@a>"), get(ArticleArgument::Id(b"<1@a>")));
        for bad in [&b"STAT 7-9"[..], b"STAT <1@a", b"STAT 7 8", b"STAT -1"] {
            assert!(
                matches!(parse(bad), Err(CommandError::Syntax(_))),
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
                matches!(parse(bad), Err(CommandError::Syntax(_))),
                "{bad:?}"
            );
        }
        assert_eq!(parse(b"CHECK 1@a "), Err(CommandError::UnusableId));
        assert_eq!(parse(b"AUTHINFO PASS  a b"), Ok(Command::AuthPass(b"a b")));
        let pattern = Command::XPat(
            b"subject",
            RangeArgument::Range(Range {
                low: 1,
                high: u64::MAX,
            }),
            b"*a* *b*",
        );
        assert_eq!(parse(b"XPAT subject 1- *a* *b*"), Ok(pattern));
    }
}
