//! Command lines (RFC 3977, 3.1 and 9.1): a keyword, then arguments with blanks between them.

use crate::range::{Range, number};

/// One article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'a> {
    /// The current one of the group.
    Current,
    /// By number in the group.
    Number(u64),
    /// By message-id.
    Id(&'a [u8]),
}

/// One article, or many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Articles<'a> {
    /// The current one of the group.
    Current,
    /// By numbers in the group.
    Range(Range),
    /// By message-id.
    Id(&'a [u8]),
}

/// What is asked of an article.
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

/// What LIST is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
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
    /// LIST XACTIVE: as LIST ACTIVE with the real name of aliased groups.
    XActive,
}

/// A command, as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// ARTICLE, HEAD, BODY, STAT
    Get(Part, Which<'a>),
    /// AUTHINFO USER name
    AuthUser(&'a [u8]),
    /// AUTHINFO PASS password: the rest of the line
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
    Hdr(&'a [u8], Articles<'a>, bool),
    /// HELP
    Help,
    /// IHAVE id
    Ihave(&'a [u8]),
    /// LAST
    Last,
    /// LIST what [argument]
    List(List, Option<&'a [u8]>),
    /// LISTGROUP [name [range]]
    ListGroup(Option<&'a [u8]>, Option<Range>),
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
    Over(Articles<'a>, bool),
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
    /// XPAT field range-or-id pattern … (RFC 2980, 2.9): the rest of the line has the patterns
    XPat(&'a [u8], Articles<'a>, &'a [u8]),
}

impl Command<'_> {
    /// The capability that indicates it (RFC 3977, 5.2; appendix B); `None` for those that are always there.
    pub fn capability(&self) -> Option<&'static str> {
        Some(match self {
            Command::Check(_) | Command::TakeThis(_) | Command::ModeStream => "STREAMING",
            Command::Ihave(_) => "IHAVE",
            Command::Post => "POST",
            Command::Over(..) | Command::List(List::OverviewFmt, _) => "OVER",
            Command::Hdr(..) | Command::List(List::Headers, _) => "HDR",
            Command::XPat(..) => "XPAT",
            Command::NewNews(..) => "NEWNEWS",
            Command::AuthUser(_) | Command::AuthPass(_) | Command::AuthSasl(..) => "AUTHINFO",
            Command::StartTls => "STARTTLS",
            Command::Compress(_) => "COMPRESS",
            Command::Get(Part::Head | Part::Stat, _)
            | Command::Capabilities
            | Command::Help
            | Command::ModeReader
            | Command::Quit => return None,
            _ => "READER",
        })
    }
}

/// Why a line is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 500: no such command.
    Unknown,
    /// 501: the arguments are wrong. How it would be right.
    Syntax(&'static str),
}

const IDS: &str = "a message-id has 3 to 250 bytes: <something@somewhere>";

/// Reads a command line, given without its end.
///
/// # Errors
/// Why it is none.
pub fn parse(line: &[u8]) -> Result<Command<'_>, Fault> {
    let (word, rest) = word(line);
    let mut upper = [0; LONGEST];
    let keyword = upper
        .get_mut(..word.len())
        .ok_or(Fault::Unknown)
        .map(|upper| {
            upper.copy_from_slice(word);
            upper.make_ascii_uppercase();
            &*upper
        })?;
    let mut words = Words(rest);
    let command = match keyword {
        // Those a peer sends most come first.
        b"CHECK" => Command::Check(words.id("CHECK <message-id>")?),
        b"TAKETHIS" => Command::TakeThis(words.id("TAKETHIS <message-id>")?),
        b"IHAVE" => Command::Ihave(words.id("IHAVE <message-id>")?),
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
            if patterns.is_empty() || some == Articles::Current {
                return Err(Fault::Syntax(XPAT));
            }
            Command::XPat(field, some, patterns)
        }
        b"GROUP" => Command::Group(words.need("GROUP newsgroup")?),
        b"LISTGROUP" => {
            let group = words.next();
            let range = words.next().map(|text| {
                Range::parse(text).ok_or(Fault::Syntax("LISTGROUP [newsgroup [range]]"))
            });
            Command::ListGroup(group, range.transpose()?)
        }
        b"NEXT" => Command::Next,
        b"LAST" => Command::Last,
        b"LIST" => list(&mut words)?,
        b"XGTITLE" => Command::XGTitle(words.next()),
        b"NEWGROUPS" => {
            const RIGHT: &str = "NEWGROUPS [yy]yymmdd hhmmss [GMT]";
            let (date, time) = (words.need(RIGHT)?, words.need(RIGHT)?);
            Command::NewGroups(date, time, words.gmt(RIGHT)?)
        }
        b"NEWNEWS" => {
            const RIGHT: &str = "NEWNEWS wildmat [yy]yymmdd hhmmss [GMT]";
            let wildmat = words.need(RIGHT)?;
            let (date, time) = (words.need(RIGHT)?, words.need(RIGHT)?);
            Command::NewNews(wildmat, date, time, words.gmt(RIGHT)?)
        }
        b"DATE" => Command::Date,
        b"HELP" => Command::Help,
        b"CAPABILITIES" => {
            if words.next().is_some_and(|word| !is_keyword(word)) {
                return Err(Fault::Syntax("CAPABILITIES [keyword]"));
            }
            Command::Capabilities
        }
        b"MODE" => match upper_word(words.need("MODE READER|STREAM")?).as_slice() {
            b"READER" => Command::ModeReader,
            b"STREAM" => Command::ModeStream,
            _ => return Err(Fault::Syntax("MODE READER|STREAM")),
        },
        b"POST" => Command::Post,
        b"QUIT" => Command::Quit,
        b"STARTTLS" => Command::StartTls,
        b"COMPRESS" => Command::Compress(words.need("COMPRESS DEFLATE")?),
        b"AUTHINFO" => return auth(&mut words),
        _ => return Err(Fault::Unknown),
    };
    match words.next() {
        None => Ok(command),
        Some(_) => Err(Fault::Syntax("too many arguments")),
    }
}

const LONGEST: usize = "CAPABILITIES".len();
const XPAT: &str = "XPAT field range|<message-id> pattern [pattern ...]";

fn list<'a>(words: &mut Words<'a>) -> Result<Command<'a>, Fault> {
    let Some(what) = words.next() else {
        return Ok(Command::List(List::Active, None));
    };
    let what = match upper_word(what).as_slice() {
        b"ACTIVE" => List::Active,
        b"ACTIVE.TIMES" => List::ActiveTimes,
        b"COUNTS" => List::Counts,
        b"DISTRIB.PATS" => List::DistribPats,
        b"DISTRIBUTIONS" => List::Distributions,
        b"HEADERS" => List::Headers,
        b"MODERATORS" => List::Moderators,
        b"MOTD" => List::Motd,
        b"NEWSGROUPS" => List::Newsgroups,
        b"OVERVIEW.FMT" => List::OverviewFmt,
        b"SUBSCRIPTIONS" => List::Subscriptions,
        b"XACTIVE" => List::XActive,
        // RFC 3977, 7.6.1.2.
        _ => return Err(Fault::Syntax("LIST [keyword [wildmat|argument]]")),
    };
    let argument = words.next();
    let fits = match (what, argument) {
        (_, None) => true,
        (
            List::DistribPats
            | List::Distributions
            | List::Moderators
            | List::Motd
            | List::OverviewFmt,
            _,
        ) => false,
        (List::Headers, Some(word)) => matches!(upper_word(word).as_slice(), b"MSGID" | b"RANGE"),
        _ => true,
    };
    match fits {
        true => Ok(Command::List(what, argument)),
        false => Err(Fault::Syntax("this LIST takes no such argument")),
    }
}

fn auth<'a>(words: &mut Words<'a>) -> Result<Command<'a>, Fault> {
    const RIGHT: &str =
        "AUTHINFO USER name, AUTHINFO PASS password or AUTHINFO SASL mechanism [response]";
    match upper_word(words.need(RIGHT)?).as_slice() {
        kind @ (b"USER" | b"PASS") => {
            // Blanks within belong to it, as in other servers.
            let rest = words.0.trim_ascii_start();
            match (rest.is_empty(), kind) {
                (true, _) => Err(Fault::Syntax(RIGHT)),
                (false, b"USER") => Ok(Command::AuthUser(rest.trim_ascii_end())),
                (false, _) => Ok(Command::AuthPass(rest)),
            }
        }
        b"SASL" => {
            let command = Command::AuthSasl(words.need(RIGHT)?, words.next());
            match words.next() {
                None => Ok(command),
                Some(_) => Err(Fault::Syntax(RIGHT)),
            }
        }
        _ => Err(Fault::Syntax(RIGHT)),
    }
}

/// What RFC 3977, 9.8 calls a keyword.
fn is_keyword(word: &[u8]) -> bool {
    let rest = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    word.len() >= 3 && word.first().is_some_and(u8::is_ascii_alphabetic) && word.iter().all(rest)
}

fn upper_word(word: &[u8]) -> Vec<u8> {
    word.to_ascii_uppercase()
}

fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = line;
    while let Some((b' ' | b'\t', behind)) = rest.split_first() {
        rest = behind;
    }
    let end = memchr::memchr2(b' ', b'\t', rest).unwrap_or(rest.len());
    rest.split_at_checked(end).unwrap_or((rest, b""))
}

/// What is left of the line.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let (found, rest) = word(self.0);
        self.0 = rest;
        (!found.is_empty()).then_some(found)
    }

    fn need(&mut self, right: &'static str) -> Result<&'a [u8], Fault> {
        self.next().ok_or(Fault::Syntax(right))
    }

    fn id(&mut self, right: &'static str) -> Result<&'a [u8], Fault> {
        let id = self.need(right)?;
        match is_id(id) {
            true => Ok(id),
            false => Err(Fault::Syntax(IDS)),
        }
    }

    fn gmt(&mut self, right: &'static str) -> Result<bool, Fault> {
        match self.next() {
            None => Ok(false),
            Some(word) if word.eq_ignore_ascii_case(b"GMT") => Ok(true),
            Some(_) => Err(Fault::Syntax(right)),
        }
    }

    fn which(&mut self) -> Result<Which<'a>, Fault> {
        match self.next() {
            None => Ok(Which::Current),
            Some(id) if id.first() == Some(&b'<') => match is_id(id) {
                true => Ok(Which::Id(id)),
                false => Err(Fault::Syntax(IDS)),
            },
            Some(text) => number(text).map(Which::Number).ok_or(Fault::Syntax(
                "an article is named by its number or its <message-id>",
            )),
        }
    }

    fn some(&mut self) -> Result<Articles<'a>, Fault> {
        match self.next() {
            None => Ok(Articles::Current),
            Some(id) if id.first() == Some(&b'<') => match is_id(id) {
                true => Ok(Articles::Id(id)),
                false => Err(Fault::Syntax(IDS)),
            },
            Some(text) => Range::parse(text).map(Articles::Range).ok_or(Fault::Syntax(
                "articles are named by number, range (1-9, 5-) or <message-id>",
            )),
        }
    }
}

/// What RFC 3977, 3.6 asks of a message-id.
pub fn is_id(id: &[u8]) -> bool {
    // Without a way out in the middle many bytes are looked at in one go.
    let is_printable = |all: bool, &byte: &u8| all & (byte > b' ') & (byte != 0x7f);
    (3..=250).contains(&id.len())
        && id.first() == Some(&b'<')
        && memchr::memchr(b'>', id) == Some(id.len() - 1)
        && id.iter().fold(true, is_printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_taken_in_any_case_and_with_any_blanks() {
        assert_eq!(
            parse(b"  gRoUp \t misc.test "),
            Ok(Command::Group(b"misc.test"))
        );
        assert_eq!(parse(b"list"), Ok(Command::List(List::Active, None)));
        assert_eq!(parse(b"Mode reader"), Ok(Command::ModeReader));
        assert_eq!(parse(b""), Err(Fault::Unknown));
        assert_eq!(parse(b"CAPABILITIESX"), Err(Fault::Unknown));
    }

    #[test]
    fn articles_are_named_in_three_ways() {
        let get = |which| Ok(Command::Get(Part::Stat, which));
        assert_eq!(parse(b"STAT"), get(Which::Current));
        assert_eq!(parse(b"STAT 7"), get(Which::Number(7)));
        assert_eq!(parse(b"STAT <1@a>"), get(Which::Id(b"<1@a>")));
        for bad in [&b"STAT 7-9"[..], b"STAT <1@a", b"STAT 7 8", b"STAT -1"] {
            assert!(matches!(parse(bad), Err(Fault::Syntax(_))), "{bad:?}");
        }
    }

    #[test]
    fn arguments_are_counted() {
        for bad in [
            &b"GROUP"[..],
            b"GROUP a b",
            b"CHECK",
            b"CHECK 1@a",
            b"DATE x",
            b"LIST NONSENSE",
            b"LIST MOTD x",
            b"XPAT subject 1-",
            b"AUTHINFO",
            b"AUTHINFO USER",
        ] {
            assert!(matches!(parse(bad), Err(Fault::Syntax(_))), "{bad:?}");
        }
        assert_eq!(parse(b"AUTHINFO PASS  a b"), Ok(Command::AuthPass(b"a b")));
        let pattern = Command::XPat(
            b"subject",
            Articles::Range(Range {
                low: 1,
                high: u64::MAX,
            }),
            b"*a* *b*",
        );
        assert_eq!(parse(b"XPAT subject 1- *a* *b*"), Ok(pattern));
    }
}
