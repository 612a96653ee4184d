//! A session: from the greeting to QUIT.
//!
//! *Invariant:* replies go out in the order of the commands. A command whose answer depends on what was promised before waits for it;
//! CHECK and TAKETHIS do not, so that a peer can stream.

mod articles;
mod headers;
mod identity;
mod listing;
mod news;
mod reader;
mod transit;

use std::sync::Arc;

use crate::article_end::{ArticleEnd, Ending};
use crate::command::{Command, Fault, parse};
use crate::line::{Line, first_line};
use crate::out::Out;
use crate::terms::{Standing, Terms};
use crate::world::{HandedIn, Intake, Kind, World};
use crate::{COMMAND_BYTES_MAX, OUT_BYTES_MAX, SASL_BYTES_MAX};

pub use identity::LoggedIn;
pub use transit::Outcome;

/// What the session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More input.
    More,
    /// What waits to be sent has to get less first.
    Drain,
    /// What was promised has to be kept first.
    Promise,
    /// A long answer is not written to its end: send what is ready, let other sessions have their turn, and come again at once.
    Turn,
    /// When everything is sent: TLS. Input that came already is thrown away (RFC 4642, 2.2.2).
    StartTls,
    /// When everything is sent: both ways compressed (RFC 8054). What input there is after the command is compressed already.
    Compress,
    /// When everything is sent: the end.
    Close,
}

/// What became of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// So many bytes of it are used up.
    pub used: usize,
    /// Why not more.
    pub next: Next,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    terms: Arc<Terms>,
    standing: Standing,
    state: State,
    is_secure: bool,
    is_compressed: bool,
    /// The rest of a line that was too long is skipped.
    is_skipping: bool,
    /// The name AUTHINFO USER gave.
    user: Option<Box<[u8]>>,
    reader: reader::Reader,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Command,
    /// An article that is to be filed.
    Article(Box<Coming>),
    /// An article that is thrown away, and the answer when it is over.
    Unwanted(ArticleEnd, Box<[u8]>),
    /// The answer to a challenge.
    Sasl,
    Over,
}

#[derive(Debug)]
struct Coming {
    kind: Kind,
    id: Vec<u8>,
    end: ArticleEnd,
}

impl Session {
    /// A session before its greeting.
    pub fn new(terms: Arc<Terms>, standing: Standing, is_secure: bool) -> Session {
        Session {
            terms,
            standing,
            state: State::Command,
            is_secure,
            is_compressed: false,
            is_skipping: false,
            user: None,
            reader: reader::Reader::default(),
        }
    }

    /// Greets (RFC 3977, 5.1). A peer is greeted although no articles are taken: CHECK tells.
    pub fn greet(&mut self, out: &mut Out) {
        let host = &self.terms.host;
        let software = &self.terms.software;
        let (code, what) = match self.standing.posts {
            true => (200, "posting allowed"),
            false => (201, "no posting"),
        };
        out.push(format!("{code} {host} {software} ready, {what}\r\n").as_bytes());
    }

    /// What the visitor may do now.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// The rules, or who it is, have changed: what the visitor may do from now on.
    pub fn set_standing(&mut self, standing: Standing) {
        self.standing = standing;
        self.reader.doubt();
    }

    /// TLS is on: what was said before is forgotten (RFC 4642, 2.2.2).
    pub fn begin_tls(&mut self, standing: Standing) {
        self.is_secure = true;
        self.standing = standing;
        self.user = None;
        self.reader = reader::Reader::default();
        self.state = State::Command;
    }

    /// Compression is on.
    pub fn begin_compression(&mut self) {
        self.is_compressed = true;
    }

    /// True in the middle of an article: who vanishes now leaves half of one behind.
    pub fn is_receiving(&self) -> bool {
        matches!(self.state, State::Article(_) | State::Unwanted(..))
    }

    /// How many bytes of input are looked at in one piece: who brings less brings more.
    pub fn bytes_wanted_max(&self) -> usize {
        match self.state {
            State::Article(_) => self.terms.article_bytes_max.saturating_add(8),
            State::Sasl => SASL_BYTES_MAX,
            _ => COMMAND_BYTES_MAX,
        }
    }

    /// Goes on with the input: `input` begins with what was not used up before.
    pub fn take<W: World>(&mut self, input: &[u8], world: &mut W, out: &mut Out) -> Taken {
        let mut used = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            let (count, next) = self.step(rest, used, world, out);
            used += count;
            if let Some(next) = next {
                return Taken { used, next };
            }
        }
    }

    /// One command, or one article. `at`: where in the whole input `rest` begins.
    fn step<W: World>(
        &mut self,
        rest: &[u8],
        at: usize,
        world: &mut W,
        out: &mut Out,
    ) -> (usize, Option<Next>) {
        if out.len() >= OUT_BYTES_MAX {
            return (0, Some(Next::Drain));
        }
        if self.reader.is_at_work() {
            self.go_on(world, out);
            return (0, self.reader.is_at_work().then_some(Next::Turn));
        }
        match &mut self.state {
            State::Over => (rest.len(), Some(Next::Close)),
            State::Article(_) => self.article(rest, at, world, out),
            State::Unwanted(end, answer) => match end.look(rest) {
                Ending::At(count) => {
                    out.push(answer);
                    self.state = State::Command;
                    (count, None)
                }
                Ending::NotYet(useless) => {
                    end.dropped(useless);
                    (useless, Some(Next::More))
                }
            },
            State::Sasl | State::Command => self.line(rest, world, out),
        }
    }

    fn line<W: World>(
        &mut self,
        rest: &[u8],
        world: &mut W,
        out: &mut Out,
    ) -> (usize, Option<Next>) {
        let is_sasl = matches!(self.state, State::Sasl);
        let most = match is_sasl {
            true => SASL_BYTES_MAX,
            false => COMMAND_BYTES_MAX,
        };
        let (line, count) = match first_line(rest, most) {
            Line::Whole(_, count) | Line::TooLong(count) if self.is_skipping => {
                self.is_skipping = false;
                return (count, None);
            }
            Line::Whole(line, count) => (line, count),
            Line::Partial => return (0, Some(Next::More)),
            Line::TooLong(count) => {
                self.too_long(out);
                return (count, None);
            }
            Line::TooLongSoFar => {
                if !std::mem::replace(&mut self.is_skipping, true) {
                    self.too_long(out);
                }
                return (rest.len(), Some(Next::More));
            }
        };
        if is_sasl {
            if out.is_promised() {
                return (0, Some(Next::Promise));
            }
            self.state = State::Command;
            self.response(line, world, out);
            return (count, None);
        }
        let command = parse(line);
        // These look only at ids, which the world knows of while they are on their way.
        let may_pass = matches!(command, Ok(Command::Check(_) | Command::TakeThis(_)));
        if out.is_promised() && !may_pass {
            return (0, Some(Next::Promise));
        }
        let next = match command {
            Ok(command) => self.obey(command, world, out),
            Err(fault) => {
                self.fault(line, fault, out);
                None
            }
        };
        (count, next)
    }

    fn too_long(&mut self, out: &mut Out) {
        self.state = State::Command;
        out.push(b"501 The line is too long\r\n");
    }

    fn fault(&mut self, line: &[u8], fault: Fault, out: &mut Out) {
        let answer = match fault {
            Fault::Unknown => "500 No such command\r\n".to_owned(),
            Fault::Syntax(right) => format!("501 Syntax: {right}\r\n"),
        };
        let keyword = line.trim_ascii_start().get(..8).unwrap_or_default();
        if keyword.eq_ignore_ascii_case(b"TAKETHIS") {
            // The article comes all the same, and is answered behind it (RFC 4644, 2.5.1).
            self.state = State::Unwanted(ArticleEnd::default(), answer.into_bytes().into());
            return;
        }
        out.push(answer.as_bytes());
    }

    fn obey<W: World>(
        &mut self,
        command: Command<'_>,
        world: &mut W,
        out: &mut Out,
    ) -> Option<Next> {
        match command {
            Command::Check(id) => self.check(id, world, out),
            Command::TakeThis(id) => return self.take_this(id, world, out),
            Command::Ihave(id) => self.ihave(id, world, out),
            Command::Post => self.post(world, out),
            Command::ModeStream => self.mode_stream(out),
            Command::AuthUser(_)
            | Command::AuthPass(_)
            | Command::AuthSasl(..)
            | Command::StartTls
            | Command::Compress(_) => return self.identify(command, world, out),
            Command::Quit => {
                out.push(b"205 Goodbye\r\n");
                self.state = State::Over;
            }
            Command::Capabilities => self.capabilities(out),
            command => self.read(command, world, out),
        }
        None
    }

    /// What a visitor hears who may not do this.
    fn deny(&self, out: &mut Out) {
        out.push(self.denial());
    }

    fn denial(&self) -> &'static [u8] {
        match self.standing.could_log_in {
            true => b"480 Log in first (AUTHINFO)\r\n",
            false => b"502 You may not do that here\r\n",
        }
    }

    /// An article that comes.
    fn article<W: World>(
        &mut self,
        rest: &[u8],
        at: usize,
        world: &mut W,
        out: &mut Out,
    ) -> (usize, Option<Next>) {
        let State::Article(coming) = &mut self.state else {
            return (0, None);
        };
        let most = self.terms.article_bytes_max;
        match coming.end.look(rest) {
            Ending::At(count) if count <= most.saturating_add(5) => {
                // Without the dot at its end.
                let length = count.saturating_sub(3);
                let told = world.hand_in(HandedIn {
                    kind: coming.kind,
                    id: &coming.id,
                    article: at..at + length,
                });
                let is_over = match told {
                    None => {
                        out.promise();
                        false
                    }
                    Some(outcome) => {
                        let mut text = out.text();
                        Session::push_outcome(coming.kind, &coming.id, &outcome, &mut text)
                    }
                };
                self.state = match is_over {
                    true => State::Over,
                    false => State::Command,
                };
                (count, None)
            }
            Ending::NotYet(_) if rest.len() <= most => (0, Some(Next::More)),
            Ending::At(_) | Ending::NotYet(_) => {
                world.will_not_come(&coming.id);
                let answer = transit::too_large(coming.kind, &coming.id, most);
                let end = coming.end;
                self.state = State::Unwanted(end, answer.into());
                (0, None)
            }
        }
    }

    /// True while the intake is closed, and the reason is said.
    fn is_closed<W: World>(world: &W, code: u16, out: &mut Out) -> bool {
        match world.intake() {
            Intake::Open => false,
            Intake::Closed(why) => {
                out.push(format!("{code} {why}\r\n").as_bytes());
                true
            }
        }
    }

    fn capabilities(&self, out: &mut Out) {
        let terms = &self.terms;
        let standing = self.standing;
        let mut lines = vec![
            "101 What can be done here:".to_owned(),
            "VERSION 2".to_owned(),
        ];
        lines.push(format!("IMPLEMENTATION {}", terms.software));
        let could = standing.could_log_in;
        if standing.reads || could {
            lines.push("READER".to_owned());
            lines.push(
                "LIST ACTIVE NEWSGROUPS OVERVIEW.FMT ACTIVE.TIMES HEADERS COUNTS DISTRIB.PATS DISTRIBUTIONS MODERATORS MOTD SUBSCRIPTIONS"
                    .to_owned(),
            );
            for capability in ["HDR", "NEWNEWS"] {
                lines.push(capability.to_owned());
            }
            lines.push("OVER MSGID".to_owned());
            lines.push("XPAT".to_owned());
        }
        if standing.posts || could && standing.reads {
            lines.push("POST".to_owned());
        }
        if standing.sends {
            lines.push("IHAVE".to_owned());
            lines.push("STREAMING".to_owned());
        }
        self.push_identity_capabilities(&mut lines);
        let first = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
        lines.retain(|line| terms.has(&first(line)));
        let mut text = out.text();
        for line in lines {
            text.extend_from_slice(line.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b".\r\n");
    }
}
