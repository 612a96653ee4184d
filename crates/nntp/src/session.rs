//! An NNTP session, from the greeting to QUIT.
//!
//! *Invariant:* replies go out in the order of the commands. A command that depends on a pending reply waits for it; CHECK and
//! TAKETHIS do not, so that a peer can stream.

mod activity;
mod articles;
mod headers;
mod identity;
mod listing;
mod news;
mod reader;
mod reply;
mod transit;

use std::sync::Arc;

use article::article_end::{ArticleEnd, Ending};

use crate::backend::{
    Backend, Credentials, Intake, ReceivedArticle, TransferKind, TransferOutcome,
};
use crate::capabilities::{Capabilities, Permissions};
use crate::command::{Command, CommandError, ListKeyword, ParsedCommand, parse};
use crate::command_table::{Needs, NntpCommand};
use crate::line::{Line, first_line};
use crate::out::OutBuffer;
use crate::{COMMAND_BYTES_MAX, OUT_BYTES_MAX, SASL_BYTES_MAX};

/// Number of lines between two looks at the clock: a pipeline of short commands must not keep the other sessions waiting.
const LINES_PER_LOOK: u32 = 16;
/// The reply where a login could help, but needs TLS (RFC 3977, 3.2.1).
const TLS_FIRST: &[u8] = b"483 TLS required (STARTTLS)\r\n";

pub use activity::{Activity, Doing};
pub use identity::LoginResult;

/// The event that the session waits for after [`Session::process`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More input.
    More,
    /// Output has to be sent first: [`OUT_BYTES_MAX`](crate::OUT_BYTES_MAX) bytes are pending.
    Drain,
    /// A pending reply has to be completed first.
    PendingReply,
    /// The backend has to fetch an article first ([`Backend::is_fetching`]); then call again without new input.
    Fetch,
    /// A long reply is unfinished, the time slice is used up, or a client has logged in, for whom other capabilities may hold: send the
    /// output, serve other sessions, then call again without new input.
    Yield,
    /// Start TLS after all output is sent. Discard the input received before (RFC 4642, 2.2.2).
    StartTls,
    /// Start compression in both directions after all output is sent (RFC 8054). The input after the command is compressed already.
    Compress,
    /// Close the connection after all output is sent.
    Close,
}

/// Result of [`Session::process`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processed {
    /// Consumed bytes of the input.
    pub used: usize,
    /// Why no more was consumed.
    pub next: Next,
}

/// The state of a session.
#[derive(Debug)]
pub struct Session {
    capabilities: Arc<Capabilities>,
    permissions: Permissions,
    state: State,
    is_secure: bool,
    is_compressed: bool,
    /// A login is being checked; its result may change the permissions.
    is_logging_in: bool,
    /// Number of failed logins.
    logins_failed: u32,
    /// The rest of a too long line is skipped.
    is_skipping: bool,
    /// The name given with AUTHINFO USER.
    user: Option<Box<[u8]>>,
    /// The client sends articles without their bodies (MODE HEADFEED).
    is_headfeed: bool,
    /// The last valid command.
    last: Option<&'static NntpCommand>,
    /// Number of valid commands.
    commands: u64,
    reader: reader::Reader,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Command,
    /// Receives an article for the writer.
    Receiving(Box<IncomingArticle>),
    /// Discards an article: its end, the reply after it, and whether the session ends then.
    Discarding(ArticleEnd, Box<[u8]>, bool),
    /// Waits for the response to a SASL challenge.
    Sasl,
    Closed,
}

#[derive(Debug)]
struct IncomingArticle {
    kind: TransferKind,
    id: Vec<u8>,
    end: ArticleEnd,
}

impl Session {
    /// A session that has not sent its greeting.
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
            is_headfeed: false,
            last: None,
            commands: 0,
            reader: reader::Reader::default(),
        }
    }

    /// Writes the greeting (RFC 3977, 5.1). The intake's state has no influence: CHECK reports it. The session ends for a client that
    /// has no permissions and cannot log in.
    pub fn greet(&mut self, out: &mut OutBuffer) {
        let Permissions { reads, sends, .. } = self.permissions;
        let posts = self.may_post();
        if !(reads || posts || sends || self.could_log_in_later()) {
            self.state = State::Closed;
            return out.push(b"502 Permission denied\r\n");
        }
        let host = &self.capabilities.host;
        let software = &self.capabilities.software;
        // 200 also where posting needs a login first: some newsreaders never offer to post after 201.
        let (code, what) = match (posts, self.could_post()) {
            (true, _) => (200, "posting allowed"),
            (false, true) => (200, "posting allowed after a login"),
            (false, false) => (201, "no posting"),
        };
        out.push(format!("{code} {host} {software} ready, {what}\r\n").as_bytes());
    }

    /// Logging in may grant more, and AUTHINFO is neither disabled nor over (RFC 8054, 2.2.2).
    fn could_log_in(&self) -> bool {
        self.permissions.could_log_in && self.capabilities.has("AUTHINFO") && !self.is_compressed
    }

    /// It may after STARTTLS.
    fn needs_tls_to_log_in(&self) -> bool {
        let capabilities = &self.capabilities;
        let is_allowed = capabilities.has_tls && capabilities.has("AUTHINFO");
        self.permissions.needs_tls_to_log_in && is_allowed && !self.is_secure && !self.is_compressed
    }

    /// It may now or after STARTTLS.
    fn could_log_in_later(&self) -> bool {
        self.could_log_in() || self.needs_tls_to_log_in()
    }

    /// The client may post. Posts are whole articles.
    fn may_post(&self) -> bool {
        self.permissions.posts && !self.capabilities.headers_only
    }

    /// Whether the client may post after a login.
    fn could_post(&self) -> bool {
        let could = self.permissions.could_post && self.could_log_in_later();
        could && !self.capabilities.headers_only
    }

    /// The client's permissions.
    pub fn permissions(&self) -> Permissions {
        self.permissions
    }

    /// Replaces the permissions, after a login or a reload of the access rules.
    pub fn set_permissions(&mut self, permissions: Permissions) {
        self.permissions = permissions;
        self.reader.recheck_selected();
    }

    /// Replaces the capabilities.
    pub fn set_capabilities(&mut self, capabilities: Arc<Capabilities>) {
        self.capabilities = capabilities;
    }

    /// Restarts the session on TLS: all earlier state is discarded (RFC 4642, 2.2.2).
    pub fn begin_tls(&mut self, permissions: Permissions) {
        self.is_secure = true;
        self.permissions = permissions;
        self.user = None;
        self.is_headfeed = false;
        self.reader = reader::Reader::default();
        self.state = State::Command;
    }

    /// Notes that compression is active.
    pub fn begin_compression(&mut self) {
        self.is_compressed = true;
    }

    /// True while an article is incomplete, accepted or discarded.
    pub fn is_receiving(&self) -> bool {
        matches!(self.state, State::Receiving(_) | State::Discarding(..))
    }

    /// True if the last valid command offered or transferred an article as a peer.
    pub fn is_transferring(&self) -> bool {
        self.last
            .is_some_and(|row| matches!(row.name, "CHECK" | "IHAVE" | "TAKETHIS"))
    }

    /// True while an article for the writer is incomplete.
    pub fn is_receiving_wanted(&self) -> bool {
        matches!(self.state, State::Receiving(_))
    }

    /// Discards the article being received, its rest included, because memory is short. At its end the reply asks the client to retry;
    /// to TAKETHIS it is 400, which ends the session (RFC 4644, 2.5.2).
    pub fn defer_article<W: Backend>(&mut self, backend: &mut W) {
        let State::Receiving(incoming) = &self.state else {
            return;
        };
        backend.article_deferred(&incoming.id);
        let why = TransferOutcome::Deferred(b"Too many articles in transfer".to_vec());
        let mut answer = Vec::new();
        let is_last = Session::push_outcome(incoming.kind, &incoming.id, &why, &mut answer);
        self.state = State::Discarding(incoming.end, answer.into(), is_last);
    }

    /// Processes input. `input` begins with the bytes that the last call did not consume.
    pub fn process<W: Backend>(
        &mut self,
        input: &[u8],
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Processed {
        let mut used = 0;
        let mut lines = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            let was_receiving = self.is_receiving();
            let (count, next) = self.step(rest, used, backend, out);
            used += count;
            if let Some(next) = next {
                return Processed { used, next };
            }
            lines += 1;
            let is_article_end = was_receiving && !self.is_receiving();
            if (is_article_end || lines >= LINES_PER_LOOK) && used < input.len() {
                lines = 0;
                if backend.is_time_slice_over() {
                    let next = Next::Yield;
                    return Processed { used, next };
                }
            }
        }
    }

    /// Processes one command or one article. `at` is the offset of `rest` in the input.
    fn step<W: Backend>(
        &mut self,
        rest: &[u8],
        at: usize,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> (usize, Option<Next>) {
        if out.len() >= OUT_BYTES_MAX {
            return (0, Some(Next::Drain));
        }
        if self.reader.has_long_reply() {
            if backend.is_time_slice_over() {
                return (0, Some(Next::Yield));
            }
            self.continue_reply(backend, out);
            if backend.is_fetching() {
                return (0, Some(Next::Fetch));
            }
            return (0, self.reader.has_long_reply().then_some(Next::Yield));
        }
        match &mut self.state {
            State::Closed => (rest.len(), Some(Next::Close)),
            State::Receiving(_) => self.article(rest, at, backend, out),
            // An article begins behind its command line, however that ends.
            State::Discarding(..) if self.is_skipping => self.line(rest, backend, out),
            State::Discarding(end, answer, is_last) => match end.search(rest) {
                Ending::At(count) => {
                    out.push(answer);
                    self.state = if *is_last {
                        State::Closed
                    } else {
                        State::Command
                    };
                    (count, None)
                }
                Ending::NotYet(useless) => {
                    end.discard_front(useless);
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
        out: &mut OutBuffer,
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
                self.is_skipping = true;
                return (rest.len(), Some(Next::More));
            }
        };
        if is_sasl {
            if out.has_pending_reply() {
                return (0, Some(Next::PendingReply));
            }
            self.state = State::Command;
            let next = self.response(line, backend, out);
            return (count, next);
        }
        let parsed = parse(line);
        // These depend on message-ids alone, and the backend knows those in transfer.
        let may_pass = matches!(
            parsed,
            Ok(ParsedCommand {
                command: Command::Check(_) | Command::TakeThis(_),
                ..
            })
        ) && !self.is_logging_in;
        if out.has_pending_reply() && !may_pass {
            return (0, Some(Next::PendingReply));
        }
        let next = match parsed {
            Ok(parsed) => {
                let before = out.len();
                let next = self.execute(parsed, backend, out);
                // One that was answered, because its article has gone meanwhile, is over.
                if backend.is_fetching() && out.len() == before {
                    // It is executed again.
                    self.commands = self.commands.saturating_sub(1);
                    return (0, Some(Next::Fetch));
                }
                next
            }
            Err(fault) => {
                self.reply_error(line, fault, out);
                None
            }
        };
        (count, next)
    }

    fn too_long<W: Backend>(&mut self, line: &[u8], backend: &mut W, out: &mut OutBuffer) {
        if matches!(self.state, State::Sasl) {
            backend.log_in(Credentials::Cancelled);
        }
        self.state = State::Command;
        self.refuse_line(line, b"501 Line too long\r\n", out);
    }

    fn reply_error(&mut self, line: &[u8], fault: CommandError, out: &mut OutBuffer) {
        let code = match fault {
            CommandError::UnusableId => {
                return self.refuse_line(line, &self.unusable_id(line), out);
            }
            CommandError::Unknown => 500,
            CommandError::Keyword(_) | CommandError::Arguments(_) | CommandError::Syntax(_) => 501,
        };
        let answer = format!("{code} {fault}\r\n");
        self.refuse_line(line, answer.as_bytes(), out);
    }

    /// Replies to an invalid line. After TAKETHIS the article follows all the same, and the reply belongs after it (RFC 4644, 2.5.2).
    fn refuse_line(&mut self, line: &[u8], answer: &[u8], out: &mut OutBuffer) {
        if is_take_this(line) {
            self.state = State::Discarding(ArticleEnd::default(), answer.into(), false)
        } else {
            out.push(answer)
        }
    }

    fn execute<W: Backend>(
        &mut self,
        ParsedCommand { row, command }: ParsedCommand<'_>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Next> {
        self.last = Some(row);
        self.commands += 1;
        if !self.is_offered(row, &command, out) {
            return None;
        }
        if !self.has_permission(row.needs) {
            self.deny(out);
            return None;
        }
        match command {
            Command::Check(id) => self.check(id, backend, out),
            Command::TakeThis(id) => return self.take_this(id, backend, out),
            Command::Ihave(id) => self.ihave(id, backend, out),
            Command::Post => self.post(backend, out),
            Command::ModeStream => self.mode_stream(out),
            Command::ModeHeadfeed => self.mode_headfeed(out),
            Command::AuthUser(_)
            | Command::AuthPass(_)
            | Command::AuthSasl(..)
            | Command::StartTls
            | Command::Compress(_) => return self.identify(command, backend, out),
            Command::Quit => {
                out.push(b"205 Goodbye\r\n");
                self.state = State::Closed;
            }
            Command::Capabilities => {
                self.capabilities(backend, out);
                return backend.is_time_slice_over().then_some(Next::Yield);
            }
            Command::List(ListKeyword::Extensions, _) => self.extensions(backend, out),
            command => {
                self.read(command, backend, out);
                return backend.is_time_slice_over().then_some(Next::Yield);
            }
        }
        None
    }

    /// Returns true unless the command's capability is disabled; then replies as to an unknown command.
    fn is_offered(
        &mut self,
        row: &NntpCommand,
        command: &Command<'_>,
        out: &mut OutBuffer,
    ) -> bool {
        if self.capabilities.disabled.is_empty()
            || row
                .capability
                .is_none_or(|name| self.capabilities.has(name))
        {
            return true;
        }
        const OFF: &[u8] = b"500 Command disabled\r\n";
        match command {
            Command::TakeThis(_) => {
                self.state = State::Discarding(ArticleEnd::default(), OFF.into(), false);
            }
            // RFC 3977, 7.6.1.2.
            Command::List(..) => out.push(b"503 List not available\r\n"),
            _ => out.push(OFF),
        }
        false
    }

    fn has_permission(&self, needs: Needs) -> bool {
        match needs {
            Needs::Nothing => true,
            Needs::Reading => self.permissions.reads,
            Needs::ReadingOrSending => self.permissions.reads || self.permissions.is_peer_only(),
        }
    }

    /// Replies that the client has no permission.
    fn deny(&self, out: &mut OutBuffer) {
        out.push(self.denial());
    }

    fn denial(&self) -> &'static [u8] {
        match self.could_log_in() {
            true => b"480 Authentication required (AUTHINFO)\r\n",
            false if self.needs_tls_to_log_in() => TLS_FIRST,
            false => b"502 Permission denied\r\n",
        }
    }

    /// Receives an article.
    fn article<W: Backend>(
        &mut self,
        rest: &[u8],
        at: usize,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> (usize, Option<Next>) {
        let State::Receiving(incoming) = &mut self.state else {
            return (0, None);
        };
        let most = self.capabilities.article_bytes_max;
        let wire_most = self.capabilities.wire_bytes_max;
        let ending = incoming.end.search(rest);
        let length = match ending {
            // Without the final dot and its CRLF.
            Ending::At(count) => count.saturating_sub(3),
            // Of the last bytes the lines are not counted yet.
            Ending::NotYet(counted) => counted,
        };
        let native = incoming.end.facts().counts.native_length(length);
        if incoming.kind == TransferKind::Post
            && let Some(count) = transit::end_of_bare_lines(rest)
        {
            out.push(BARE_LINES);
            self.state = State::Command;
            return (count, None);
        }
        match ending {
            Ending::At(count) if native <= most && length <= wire_most => {
                let result = backend.receive(ReceivedArticle {
                    kind: incoming.kind,
                    id: &incoming.id,
                    article: at..at + length,
                    facts: incoming.end.facts(),
                });
                let is_over = match result {
                    None => {
                        out.defer_reply();
                        false
                    }
                    Some(outcome) => {
                        let mut text = out.text();
                        Session::push_outcome(incoming.kind, &incoming.id, &outcome, &mut text)
                    }
                };
                self.state = if is_over {
                    State::Closed
                } else {
                    State::Command
                };
                (count, None)
            }
            Ending::NotYet(_) if native <= most && length <= wire_most => (0, Some(Next::More)),
            Ending::At(_) | Ending::NotYet(_) => {
                backend.article_rejected(&incoming.id);
                let answer = transit::too_large(incoming.kind, &incoming.id, most);
                let end = incoming.end;
                self.state = State::Discarding(end, answer.into(), false);
                (0, None)
            }
        }
    }

    /// Returns whether the intake is closed, and replies with the reason then.
    fn is_closed(intake: Intake, code: &[u8], out: &mut OutBuffer) -> bool {
        match intake {
            Intake::Open => false,
            Intake::Closed(why) => {
                let mut text = out.text();
                text.extend_from_slice(code);
                reply::push_line(&mut text, why.as_bytes());
                true
            }
        }
    }

    /// CAPABILITIES (RFC 3977, 5.2). LIST has the keywords of lists that exist.
    fn capabilities<W: Backend>(&self, backend: &mut W, out: &mut OutBuffer) {
        let capabilities = &self.capabilities;
        let permissions = self.permissions;
        let could = self.could_log_in_later();
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
        if self.may_post() || self.could_post() {
            offer("POST");
        }
        if permissions.is_peer_only() && !(could && capabilities.has("READER")) {
            offer(&self.lists(backend));
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
        text.extend_from_slice(b"101 Capability list follows\r\n");
        for line in lines {
            text.extend_from_slice(line.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(b".\r\n");
    }
}

/// Reply to a post whose lines end in LF alone.
const BARE_LINES: &[u8] = b"441 The lines end with LF without CR; send CRLF\r\n";

/// Whether the line's keyword is TAKETHIS.
fn is_take_this(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let (keyword, rest) = line.split_at_checked(b"TAKETHIS".len()).unwrap_or_default();
    let is_word = rest.first().is_none_or(u8::is_ascii_whitespace);
    is_word && keyword.eq_ignore_ascii_case(b"TAKETHIS")
}

/// Whether this is AUTHINFO SASL, which may exceed [`COMMAND_BYTES_MAX`] (RFC 4643, 2.4.2).
fn is_long_command(line: &[u8]) -> bool {
    line.len() >= COMMAND_BYTES_MAX
        && line
            .get(..b"AUTHINFO SASL ".len())
            .is_some_and(|start| start.eq_ignore_ascii_case(b"AUTHINFO SASL "))
}
