//! The table of the commands: the parser, HELP, CAPABILITIES (by what the settings turn off), and the manual read it.

use crate::command::{Command, ListKeyword, Part, RangeArgument, Words, Wrong, is_keyword};
use crate::range::Range;

/// The permission without which a session answers a command with 480, 483 or 502.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// None, or one that depends on more than the command: the session checks it when it carries out the command.
    Nothing,
    /// To read.
    Reading,
    /// To read, or to send articles as a peer: peers ask which groups there are.
    ReadingOrSending,
}

/// A command of the protocol.
#[derive(Debug)]
pub struct NntpCommand {
    /// One keyword or two, in capitals, with a blank between them.
    pub name: &'static str,
    /// The arguments behind it, as HELP shows them; empty if there are none.
    pub arguments: &'static str,
    /// The capability that indicates the command (RFC 3977, 5.2; appendix B), with which the settings turn it off; `None` for commands that
    /// every server has.
    pub capability: Option<&'static str>,
    /// The permission that a client needs.
    pub needs: Needs,
    /// Reads the arguments.
    pub(crate) parse: for<'a> fn(&mut Words<'a>) -> Result<Command<'a>, Wrong>,
}

impl NntpCommand {
    /// The name and the arguments, as HELP and replies with 501 show them.
    pub fn syntax(&self) -> String {
        match self.arguments {
            "" => self.name.to_owned(),
            arguments => format!("{} {arguments}", self.name),
        }
    }

    /// The second keyword of a name that begins with this first one, which may have capitals or not: empty if the name has no second one, `None` if it
    /// begins otherwise.
    pub(crate) fn second_keyword(&self, first: &[u8]) -> Option<&'static str> {
        let (start, rest) = self.name.split_at_checked(first.len())?;
        if !start.as_bytes().eq_ignore_ascii_case(first) {
            return None;
        }
        match rest.strip_prefix(' ') {
            None if rest.is_empty() => Some(""),
            second => second,
        }
    }
}

const READER: Option<&str> = Some("READER");
const AUTHINFO: Option<&str> = Some("AUTHINFO");
const STREAMING: Option<&str> = Some("STREAMING");
const RANGE_OR_ID: &str = "[range|<message-id>]";
const NUMBER_OR_ID: &str = "[number|<message-id>]";
const FIELD_AND_RANGE: &str = "field [range|<message-id>]";

/// A row; the permission is that of readers unless the row says another one.
const fn row(
    name: &'static str,
    arguments: &'static str,
    capability: Option<&'static str>,
    parse: for<'a> fn(&mut Words<'a>) -> Result<Command<'a>, Wrong>,
) -> NntpCommand {
    NntpCommand {
        name,
        arguments,
        capability,
        needs: Needs::Reading,
        parse,
    }
}

/// The row of a command whose permission is not that of readers.
const fn needing(needs: Needs, row: NntpCommand) -> NntpCommand {
    NntpCommand {
        name: row.name,
        arguments: row.arguments,
        capability: row.capability,
        needs,
        parse: row.parse,
    }
}

const fn open(row: NntpCommand) -> NntpCommand {
    needing(Needs::Nothing, row)
}

const fn list(
    name: &'static str,
    arguments: &'static str,
    capability: Option<&'static str>,
    parse: for<'a> fn(&mut Words<'a>) -> Result<Command<'a>, Wrong>,
) -> NntpCommand {
    needing(
        Needs::ReadingOrSending,
        row(name, arguments, capability, parse),
    )
}

/// All commands. The most frequent ones of peers, then of readers, come first, because the parser searches from the start.
pub static COMMANDS: [NntpCommand; 45] = [
    open(row("CHECK", "<message-id>", STREAMING, |words| {
        Ok(Command::Check(words.offered_id()?))
    })),
    open(row("TAKETHIS", "<message-id>", STREAMING, |words| {
        Ok(Command::TakeThis(words.offered_id()?))
    })),
    open(row("IHAVE", "<message-id>", Some("IHAVE"), |words| {
        Ok(Command::Ihave(words.offered_id()?))
    })),
    row("ARTICLE", NUMBER_OR_ID, READER, |words| {
        Ok(Command::Get(Part::Article, words.article()?))
    }),
    row("HEAD", NUMBER_OR_ID, None, |words| {
        Ok(Command::Get(Part::Head, words.article()?))
    }),
    row("BODY", NUMBER_OR_ID, READER, |words| {
        Ok(Command::Get(Part::Body, words.article()?))
    }),
    row("STAT", NUMBER_OR_ID, None, |words| {
        Ok(Command::Get(Part::Stat, words.article()?))
    }),
    row("OVER", RANGE_OR_ID, Some("OVER"), |words| {
        Ok(Command::Over(words.articles()?, false))
    }),
    row("XOVER", "[range]", Some("OVER"), |words| {
        Ok(Command::Over(words.articles()?, true))
    }),
    row("GROUP", "newsgroup", READER, |words| {
        Ok(Command::Group(words.need()?))
    }),
    row("HDR", FIELD_AND_RANGE, Some("HDR"), |words| {
        Ok(Command::Hdr(words.need()?, words.articles()?, false))
    }),
    row("XHDR", FIELD_AND_RANGE, Some("HDR"), |words| {
        Ok(Command::Hdr(words.need()?, words.articles()?, true))
    }),
    row(
        "XPAT",
        "field range|<message-id> pattern [pattern ...]",
        Some("XPAT"),
        |words| {
            let field = words.need()?;
            let articles = words.articles()?;
            let patterns = words.rest().trim_ascii();
            if patterns.is_empty() || articles == RangeArgument::Current {
                return Err(Wrong::Arguments);
            }
            Ok(Command::XPat(field, articles, patterns))
        },
    ),
    row("LISTGROUP", "[newsgroup [range]]", READER, |words| {
        let group = words.next();
        let range = words
            .next()
            .map(|text| Range::parse(text).ok_or(Wrong::Arguments));
        Ok(Command::ListGroup(group, range.transpose()?))
    }),
    row("NEXT", "", READER, |_| Ok(Command::Next)),
    row("LAST", "", READER, |_| Ok(Command::Last)),
    list("LIST ACTIVE", "[wildmat]", READER, |words| {
        Ok(Command::List(ListKeyword::Active, words.next()))
    }),
    list("LIST ACTIVE.TIMES", "[wildmat]", READER, |words| {
        Ok(Command::List(ListKeyword::ActiveTimes, words.next()))
    }),
    list("LIST COUNTS", "[wildmat]", READER, |words| {
        Ok(Command::List(ListKeyword::Counts, words.next()))
    }),
    list("LIST DISTRIB.PATS", "", READER, |_| {
        Ok(Command::List(ListKeyword::DistribPats, None))
    }),
    list("LIST DISTRIBUTIONS", "", READER, |_| {
        Ok(Command::List(ListKeyword::Distributions, None))
    }),
    // Before a login, too: clients ask how to log in.
    open(row("LIST EXTENSIONS", "", None, |_| {
        Ok(Command::List(ListKeyword::Extensions, None))
    })),
    list("LIST HEADERS", "[MSGID|RANGE]", Some("HDR"), |words| {
        let argument = words.next();
        let is_known = |word: &[u8]| {
            word.eq_ignore_ascii_case(b"MSGID") || word.eq_ignore_ascii_case(b"RANGE")
        };
        if !argument.is_none_or(is_known) {
            return Err(Wrong::Arguments);
        }
        Ok(Command::List(ListKeyword::Headers, argument))
    }),
    list("LIST MODERATORS", "", READER, |_| {
        Ok(Command::List(ListKeyword::Moderators, None))
    }),
    list("LIST MOTD", "", READER, |_| {
        Ok(Command::List(ListKeyword::Motd, None))
    }),
    list("LIST NEWSGROUPS", "[wildmat]", READER, |words| {
        Ok(Command::List(ListKeyword::Newsgroups, words.next()))
    }),
    list("LIST OVERVIEW.FMT", "", Some("OVER"), |_| {
        Ok(Command::List(ListKeyword::OverviewFmt, None))
    }),
    list("LIST SUBSCRIPTIONS", "[wildmat]", READER, |words| {
        Ok(Command::List(ListKeyword::Subscriptions, words.next()))
    }),
    list("LIST XACTIVE", "[wildmat]", READER, |words| {
        Ok(Command::List(ListKeyword::XActive, words.next()))
    }),
    row("XGTITLE", "[wildmat]", READER, |words| {
        Ok(Command::XGTitle(words.next()))
    }),
    row("NEWGROUPS", "[yy]yymmdd hhmmss [GMT]", READER, |words| {
        let (date, time) = (words.need()?, words.need()?);
        Ok(Command::NewGroups(date, time, words.gmt()?))
    }),
    row(
        "NEWNEWS",
        "wildmat [yy]yymmdd hhmmss [GMT]",
        Some("NEWNEWS"),
        |words| {
            let wildmat = words.need()?;
            let (date, time) = (words.need()?, words.need()?);
            Ok(Command::NewNews(wildmat, date, time, words.gmt()?))
        },
    ),
    open(row("DATE", "", READER, |_| Ok(Command::Date))),
    open(row("HELP", "", None, |_| Ok(Command::Help))),
    open(row("CAPABILITIES", "[keyword]", None, |words| {
        if words.next().is_some_and(|word| !is_keyword(word)) {
            return Err(Wrong::Arguments);
        }
        Ok(Command::Capabilities)
    })),
    open(row("MODE HEADFEED", "", None, |_| {
        Ok(Command::ModeHeadfeed)
    })),
    open(row("MODE READER", "", None, |_| Ok(Command::ModeReader))),
    open(row("MODE STREAM", "", STREAMING, |_| {
        Ok(Command::ModeStream)
    })),
    open(row("POST", "", Some("POST"), |_| Ok(Command::Post))),
    open(row("QUIT", "", None, |_| Ok(Command::Quit))),
    open(row("STARTTLS", "", Some("STARTTLS"), |_| {
        Ok(Command::StartTls)
    })),
    open(row("COMPRESS", "DEFLATE", Some("COMPRESS"), |words| {
        Ok(Command::Compress(words.need()?))
    })),
    open(row("AUTHINFO USER", "name", AUTHINFO, |words| {
        // Blanks are part of a name or password, as in other servers.
        Ok(Command::AuthUser(words.needed_rest()?.trim_ascii_end()))
    })),
    open(row("AUTHINFO PASS", "password", AUTHINFO, |words| {
        Ok(Command::AuthPass(words.needed_rest()?))
    })),
    open(row(
        "AUTHINFO SASL",
        "mechanism [response]",
        AUTHINFO,
        |words| Ok(Command::AuthSasl(words.need()?, words.next())),
    )),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_listed_once_in_capitals() {
        let mut names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|name| name.to_ascii_uppercase() == **name));
    }

    /// A second keyword is asked for by the first one: no command may have the first one as its whole name.
    #[test]
    fn names_of_two_keywords_share_their_first_with_no_other() {
        for command in &COMMANDS {
            let first = command.name.split(' ').next().unwrap_or_default();
            let is_alone = command.name == first;
            for other in &COMMANDS {
                let second = other.second_keyword(first.as_bytes());
                assert!(second.is_none_or(|second| second.is_empty() == is_alone));
            }
        }
    }
}
