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
mod reply;
mod transit;

use std::sync::Arc;

use crate::article_end::{ArticleEnd, Ending};
use crate::backend::{Backend, Credentials, Intake, Kind, Outcome, ReceivedArticle};
use crate::capabilities::{Capabilities, Permissions};
use crate::command::{Command, Fault, parse};
use crate::line::{Line, first_line};
use crate::out::Out;
use crate::{COMMAND_BYTES_MAX, OUT_BYTES_MAX, SASL_BYTES_MAX};

pub use identity::LoggedIn;

/// What the session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More input.
    More,
    /// What waits to be sent has to get less first.
    Drain,
    /// What was promised has to be kept first.
    Promise,
    /// A long answer is not written to its end, or the turn was long enough: send what is ready, let other sessions have their turn, and
    /// come again at once.
    Yield,
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
    capabilities: Arc<Capabilities>,
    permissions: Permissions,
    state: State,
    is_secure: bool,
    is_compressed: bool,
    /// It is being looked at who this is: who it is then may do other things.
    is_logging_in: bool,
    /// How often a name, a password or a proof was wrong.
    logins_failed: u32,
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
    /// An article that is thrown away, the answer when it is over, and whether the session is over then.
    Unwanted(ArticleEnd, Box<[u8]>, bool),
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
    pub fn new(
        capabilities: Arc<Capabilities>,
        permissions: Permissions,
        is_secure: bool,
    ) -> Session {
        Session {
            capabilities,
            permissions,
            state: State::Command,
            is_secure,
            is_compressed: false,
            is_logging_in: false,
            logins_failed: 0,
            is_skipping: false,
            user: None,
            reader: reader::Reader::default(),
        }
    }

    /// Greets (RFC 3977, 5.1). A peer is greeted although no articles are taken: CHECK tells. Who can do nothing here, and cannot log
    /// in, is sent away.
    pub fn greet(&mut self, out: &mut Out) {
        let Permissions {
            reads,
            posts,
            sends,
            ..
        } = self.permissions;
        if !(reads || posts || sends || self.could_log_in()) {
            self.state = State::Over;
            return out.push(b"502 You may not do anything here\r\n");
        }
        let host = &self.capabilities.host;
        let software = &self.capabilities.software;
        let (code, what) = match posts {
            true => (200, "posting allowed"),
            false => (201, "no posting"),
        };
        out.push(format!("{code} {host} {software} ready, {what}\r\n").as_bytes());
    }

    /// More may come of logging in, which is not switched off.
    fn could_log_in(&self) -> bool {
        self.permissions.could_log_in && self.capabilities.has("AUTHINFO")
    }

    /// What the client may do now.
    pub fn permissions(&self) -> Permissions {
        self.permissions
    }

    /// The rules, or who it is, have changed: what the client may do from now on.
    pub fn set_standing(&mut self, permissions: Permissions) {
        self.permissions = permissions;
        self.reader.doubt();
    }

    /// What is offered to the client from now on.
    pub fn set_terms(&mut self, capabilities: Arc<Capabilities>) {
        self.capabilities = capabilities;
    }

    /// TLS is on: what was said before is forgotten (RFC 4642, 2.2.2).
    pub fn begin_tls(&mut self, permissions: Permissions) {
        self.is_secure = true;
        self.permissions = permissions;
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

    /// True in the middle of an article that is to be filed.
    pub fn is_receiving_whole(&self) -> bool {
        matches!(self.state, State::Article(_))
    }

    /// Throws away what came of an article, and what is still to come of it: there is no room for it now. At its end the client is told
    /// to come again later; of TAKETHIS with 400, which is the end of the session (RFC 4644, 2.5.2).
    pub fn put_off<W: Backend>(&mut self, backend: &mut W) {
        let State::Article(coming) = &self.state else {
            return;
        };
        backend.put_off(&coming.id);
        let why = Outcome::TryLater(b"Too much is being sent at once".to_vec());
        let mut answer = Vec::new();
        let is_last = Session::push_outcome(coming.kind, &coming.id, &why, &mut answer);
        self.state = State::Unwanted(coming.end, answer.into(), is_last);
    }

    /// Goes on with the input: `input` begins with what was not used up before.
    pub fn take<W: Backend>(&mut self, input: &[u8], backend: &mut W, out: &mut Out) -> Taken {
        let mut used = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            let (count, next) = self.step(rest, used, backend, out);
            used += count;
            if let Some(next) = next {
                return Taken { used, next };
            }
        }
    }

    /// One command, or one article. `at`: where in the whole input `rest` begins.
    fn step<W: Backend>(
        &mut self,
        rest: &[u8],
        at: usize,
        backend: &mut W,
        out: &mut Out,
    ) -> (usize, Option<Next>) {
        if out.len() >= OUT_BYTES_MAX {
            return (0, Some(Next::Drain));
        }
        if self.reader.is_at_work() {
            if backend.is_turn_over() {
                return (0, Some(Next::Yield));
            }
            self.go_on(backend, out);
            return (0, self.reader.is_at_work().then_some(Next::Yield));
        }
        match &mut self.state {
            State::Over => (rest.len(), Some(Next::Close)),
            State::Article(_) => self.article(rest, at, backend, out),
            State::Unwanted(end, answer, is_last) => match end.look(rest) {
                Ending::At(count) => {
                    out.push(answer);
                    self.state = if *is_last {
                        State::Over
                    } else {
                        State::Command
                    };
                    (count, None)
                }
                Ending::NotYet(useless) => {
                    end.dropped(useless);
                    (useless, Some(Next::More))
                }
            },
            State::Sasl | State::Command => self.line(rest, backend, out),
        }
    }

    fn line<W: Backend>(
        &mut self,
        rest: &[u8],
        backend: &mut W,
        out: &mut Out,
    ) -> (usize, Option<Next>) {
        let is_sasl = matches!(self.state, State::Sasl);
        let most = match is_sasl || is_long_command(rest) {
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
                self.too_long(rest, backend, out);
                return (count, None);
            }
            Line::TooLongSoFar if self.is_skipping => return (rest.len(), Some(Next::More)),
            Line::TooLongSoFar => {
                self.too_long(rest, backend, out);
                // An article that nobody wants is over where its end is, whatever its first line.
                self.is_skipping = matches!(self.state, State::Command);
                return (rest.len(), Some(Next::More));
            }
        };
        if is_sasl {
            if out.is_promised() {
                return (0, Some(Next::Promise));
            }
            self.state = State::Command;
            self.response(line, backend, out);
            return (count, None);
        }
        let command = parse(line);
        // These look only at ids, which the world knows of while they are on their way.
        let may_pass =
            matches!(command, Ok(Command::Check(_) | Command::TakeThis(_))) && !self.is_logging_in;
        if out.is_promised() && !may_pass {
            return (0, Some(Next::Promise));
        }
        let next = match command {
            Ok(command) => self.obey(command, backend, out),
            Err(fault) => {
                self.fault(line, fault, out);
                None
            }
        };
        (count, next)
    }

    fn too_long<W: Backend>(&mut self, line: &[u8], backend: &mut W, out: &mut Out) {
        if matches!(self.state, State::Sasl) {
            backend.log_in(Credentials::Cancelled);
        }
        self.state = State::Command;
        self.refuse_line(line, b"501 The line is too long\r\n", out);
    }

    fn fault(&mut self, line: &[u8], fault: Fault, out: &mut Out) {
        match fault {
            Fault::Unknown => self.refuse_line(line, b"500 No such command\r\n", out),
            Fault::Syntax(right) => {
                let answer = [b"501 Syntax: ", right.as_bytes(), b"\r\n"].concat();
                self.refuse_line(line, &answer, out);
            }
        }
    }

    /// Answers a line that is no command. Behind TAKETHIS the article comes all the same, and the answer belongs behind it
    /// (RFC 4644, 2.5.2).
    fn refuse_line(&mut self, line: &[u8], answer: &[u8], out: &mut Out) {
        match is_take_this(line) {
            true => self.state = State::Unwanted(ArticleEnd::default(), answer.into(), false),
            false => out.push(answer),
        }
    }

    fn obey<W: Backend>(
        &mut self,
        command: Command<'_>,
        backend: &mut W,
        out: &mut Out,
    ) -> Option<Next> {
        if !self.capabilities.switched_off.is_empty() && !self.is_offered(&command, out) {
            return None;
        }
        match command {
            Command::Check(id) => self.check(id, backend, out),
            Command::TakeThis(id) => return self.take_this(id, backend, out),
            Command::Ihave(id) => self.ihave(id, backend, out),
            Command::Post => self.post(backend, out),
            Command::ModeStream => self.mode_stream(out),
            Command::AuthUser(_)
            | Command::AuthPass(_)
            | Command::AuthSasl(..)
            | Command::StartTls
            | Command::Compress(_) => return self.identify(command, backend, out),
            Command::Quit => {
                out.push(b"205 Goodbye\r\n");
                self.state = State::Over;
            }
            Command::Capabilities => {
                self.capabilities(backend, out);
                return backend.is_turn_over().then_some(Next::Yield);
            }
            command => {
                self.read(command, backend, out);
                return backend.is_turn_over().then_some(Next::Yield);
            }
        }
        None
    }

    /// True unless the command belongs to a capability that is switched off; then it is as if there were no such command.
    fn is_offered(&mut self, command: &Command<'_>, out: &mut Out) -> bool {
        if command
            .capability()
            .is_none_or(|name| self.capabilities.has(name))
        {
            return true;
        }
        const OFF: &[u8] = b"500 Switched off here\r\n";
        match command {
            Command::TakeThis(_) => {
                self.state = State::Unwanted(ArticleEnd::default(), OFF.into(), false);
            }
            // RFC 3977, 7.6.1.2.
            Command::List(..) => out.push(b"503 No such list is kept here\r\n"),
            _ => out.push(OFF),
        }
        false
    }

    /// What a client hears who may not do this.
    fn deny(&self, out: &mut Out) {
        out.push(self.denial());
    }

    fn denial(&self) -> &'static [u8] {
        match self.could_log_in() {
            true => b"480 Log in first (AUTHINFO)\r\n",
            false => b"502 You may not do that here\r\n",
        }
    }

    /// An article that comes.
    fn article<W: Backend>(
        &mut self,
        rest: &[u8],
        at: usize,
        backend: &mut W,
        out: &mut Out,
    ) -> (usize, Option<Next>) {
        let State::Article(coming) = &mut self.state else {
            return (0, None);
        };
        let most = self.capabilities.article_bytes_max;
        match coming.end.look(rest) {
            Ending::At(count) if count <= most.saturating_add(5) => {
                // Without the dot at its end.
                let length = count.saturating_sub(3);
                let told = backend.receive(ReceivedArticle {
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
                backend.will_not_come(&coming.id);
                let answer = transit::too_large(coming.kind, &coming.id, most);
                let end = coming.end;
                self.state = State::Unwanted(end, answer.into(), false);
                (0, None)
            }
        }
    }

    /// True while the intake is closed, and the reason is said.
    fn is_closed<W: Backend>(backend: &W, code: &[u8], out: &mut Out) -> bool {
        match backend.intake() {
            Intake::Open => false,
            Intake::Closed(why) => {
                let mut text = out.text();
                text.extend_from_slice(code);
                reply::push_line(&mut text, why.as_bytes());
                true
            }
        }
    }

    /// CAPABILITIES (RFC 3977, 5.2). Of LIST those keywords are told for which there is something.
    fn capabilities<W: Backend>(&self, backend: &mut W, out: &mut Out) {
        let capabilities = &self.capabilities;
        let permissions = self.permissions;
        let could = self.could_log_in();
        let mut lines = vec![
            "VERSION 2".to_owned(),
            format!("IMPLEMENTATION {}", capabilities.software),
        ];
        let mut offer = |line: &str| lines.push(line.to_owned());
        if (permissions.reads || could) && capabilities.has("READER") {
            offer("READER");
            offer(&self.lists(backend));
            for capability in ["HDR", "NEWNEWS", "OVER MSGID", "XPAT"] {
                offer(capability);
            }
        }
        if permissions.posts || could && permissions.reads {
            offer("POST");
        }
        if permissions.sends {
            offer("IHAVE");
            offer("STREAMING");
        }
        self.push_identity_capabilities(backend, &mut lines);
        let name = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
        lines.retain(|line| {
            matches!(&*name(line), "VERSION" | "LIST") || capabilities.has(&name(line))
        });
        let mut text = out.text();
        text.extend_from_slice(b"101 What can be done here follows\r\n");
        for line in lines {
            text.extend_from_slice(line.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b".\r\n");
    }
}

/// TAKETHIS and anything behind it.
fn is_take_this(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let (keyword, rest) = line.split_at_checked(b"TAKETHIS".len()).unwrap_or_default();
    let is_word = rest.first().is_none_or(u8::is_ascii_whitespace);
    is_word && keyword.eq_ignore_ascii_case(b"TAKETHIS")
}

/// The one command that may be longer than others (RFC 4643, 2.4.2).
fn is_long_command(line: &[u8]) -> bool {
    line.len() > COMMAND_BYTES_MAX
        && line
            .get(..b"AUTHINFO SASL ".len())
            .is_some_and(|start| start.eq_ignore_ascii_case(b"AUTHINFO SASL "))
}
