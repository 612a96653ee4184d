//! AUTHINFO (RFC 4643), STARTTLS (RFC 4642) and COMPRESS (RFC 8054).

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::backend::{Backend, Credentials, SaslStep};
use crate::capabilities::Permissions;
use crate::command::Command;
use crate::out::OutBuffer;

use crate::LOGINS_FAILED_MAX;

use super::{Next, Session, State, TLS_FIRST};

/// The result of credentials whose check took time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginResult {
    /// The credentials are right; the client's new permissions.
    Accepted(Permissions),
    /// The credentials are wrong.
    Refused,
    /// The credentials could not be checked; the reason is part of the reply, so it names nothing internal.
    Failed(&'static str),
}

impl Session {
    /// Completes the pending reply of [`SaslStep::Pending`].
    pub fn logged_in(&mut self, result: &LoginResult, out: &mut OutBuffer) {
        self.is_logging_in = false;
        let reply = self.login_reply(result);
        out.complete_reply(|text| text.extend_from_slice(reply.as_bytes()));
    }

    fn login_reply(&mut self, result: &LoginResult) -> String {
        match result {
            LoginResult::Accepted(permissions) => {
                self.set_permissions(*permissions);
                "281 Authentication accepted\r\n".to_owned()
            }
            LoginResult::Refused => {
                self.count_failed_login();
                WRONG.to_owned()
            }
            LoginResult::Failed(why) => failed(why),
        }
    }

    /// Counts a failed login, and ends the session after [`LOGINS_FAILED_MAX`].
    fn count_failed_login(&mut self) {
        self.logins_failed += 1;
        if self.logins_failed >= LOGINS_FAILED_MAX {
            self.state = State::Closed;
        }
    }

    /// The available SASL mechanisms.
    fn mechanisms<W: Backend>(&self, backend: &W) -> Vec<&'static str> {
        if self.capabilities.has("SASL") {
            backend.mechanisms()
        } else {
            Vec::new()
        }
    }

    fn may_log_in(&self) -> bool {
        self.could_log_in() && !self.permissions.is_logged_in
    }

    pub(super) fn push_identity_capabilities<W: Backend>(
        &self,
        backend: &W,
        lines: &mut Vec<String>,
    ) {
        let is_anonymous = !self.permissions.is_logged_in;
        if self.capabilities.has_tls && !self.is_secure && !self.is_compressed && is_anonymous {
            lines.push("STARTTLS".to_owned());
        }
        let mechanisms = self.mechanisms(backend);
        if self.may_log_in() {
            let password = if self.takes_passwords() { " USER" } else { "" };
            let sasl = if mechanisms.is_empty() { "" } else { " SASL" };
            if !password.is_empty() || !sasl.is_empty() {
                lines.push(format!("AUTHINFO{password}{sasl}"));
            }
        }
        // Shown after logging in, too: a client detects an attack on the list that way (RFC 4643, 2.2).
        let shows_mechanisms = self.may_log_in() || self.permissions.is_logged_in;
        if shows_mechanisms && !mechanisms.is_empty() && self.capabilities.has("AUTHINFO") {
            lines.push(format!("SASL {}", mechanisms.join(" ")));
        }
        if self.capabilities.has_compression && !self.is_compressed {
            lines.push("COMPRESS DEFLATE".to_owned());
        }
    }

    pub(super) fn identify<W: Backend>(
        &mut self,
        command: Command<'_>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Next> {
        match command {
            Command::StartTls => return self.start_tls(out),
            Command::Compress(algorithm) => {
                return self.compress(algorithm, backend.may_compress(), out);
            }
            _ => {}
        }
        if self.permissions.is_logged_in || self.is_compressed {
            // Only once (RFC 4643, 2.2), and not after COMPRESS (RFC 8054, 2.2.2).
            out.push(b"502 Command not available now\r\n");
            return None;
        }
        if self.needs_tls_to_log_in() {
            out.push(TLS_FIRST);
            return None;
        }
        if !self.could_log_in() {
            out.push(b"502 Authentication not available\r\n");
            return None;
        }
        match command {
            Command::AuthUser(_) | Command::AuthPass(_) if !self.takes_passwords() => {
                out.push(b"483 Passwords require TLS\r\n");
            }
            Command::AuthUser(name) => {
                self.user = Some(name.into());
                out.push(b"381 Password required\r\n");
            }
            Command::AuthPass(password) => match self.user.take() {
                None => out.push(b"482 Send AUTHINFO USER first\r\n"),
                Some(user) => {
                    let credentials = Credentials::Password(&user, password);
                    let step = backend.log_in(credentials);
                    return self.follow(step, out);
                }
            },
            Command::AuthSasl(mechanism, initial) => {
                return self.sasl(mechanism, initial, backend, out);
            }
            _ => {}
        }
        None
    }

    fn takes_passwords(&self) -> bool {
        self.is_secure || self.capabilities.has_plaintext_passwords
    }

    fn sasl<W: Backend>(
        &mut self,
        mechanism: &[u8],
        initial: Option<&[u8]>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Next> {
        let name = mechanism.to_ascii_uppercase();
        let is_known = |known: &&str| known.as_bytes() == name;
        if !self.mechanisms(backend).iter().any(is_known) {
            out.push(if name == b"PLAIN" && !self.takes_passwords() {
                b"483 Passwords require TLS\r\n"
            } else {
                b"503 Mechanism not supported\r\n"
            });
            return None;
        }
        let initial = match initial {
            None => None,
            Some(b"=") => Some(Vec::new()),
            Some(text) => match BASE64.decode(text) {
                Ok(decoded) => Some(decoded),
                Err(_) => {
                    out.push(b"504 Response is not valid base64\r\n");
                    return None;
                }
            },
        };
        let step = backend.log_in(Credentials::Sasl(&name, initial.as_deref()));
        self.follow(step, out)
    }

    /// Processes the response to a challenge.
    pub(super) fn response<W: Backend>(
        &mut self,
        line: &[u8],
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Next> {
        if line == b"*" {
            backend.log_in(Credentials::Cancelled);
            out.push(b"481 Authentication cancelled\r\n");
            return None;
        }
        let decoded = match line {
            b"=" => Ok(Vec::new()),
            line => BASE64.decode(line),
        };
        match decoded {
            Ok(response) => {
                let step = backend.log_in(Credentials::Response(&response));
                self.follow(step, out)
            }
            Err(_) => {
                backend.log_in(Credentials::Cancelled);
                out.push(b"504 Response is not valid base64\r\n");
                None
            }
        }
    }

    /// Replies to a step. After a login the session yields: what follows in the input is subject to the new permissions, and to the
    /// capabilities that the caller then sets.
    fn follow(&mut self, step: SaslStep, out: &mut OutBuffer) -> Option<Next> {
        match step {
            SaslStep::Pending => {
                self.is_logging_in = true;
                out.defer_reply();
            }
            SaslStep::Challenge(challenge) => {
                let text = encoded(&challenge);
                self.state = State::Sasl;
                out.push(format!("383 {text}\r\n").as_bytes());
            }
            SaslStep::Accepted(permissions, data) => {
                self.set_permissions(permissions);
                match data {
                    None => out.push(b"281 Authentication accepted\r\n"),
                    Some(data) => {
                        let text = encoded(&data);
                        out.push(format!("283 {text}\r\n").as_bytes());
                    }
                }
                return Some(Next::Yield);
            }
            SaslStep::Refused => {
                out.push(WRONG.as_bytes());
                self.count_failed_login();
            }
            SaslStep::Malformed(what) => out.push(format!("482 {what}\r\n").as_bytes()),
            SaslStep::Failed(why) => out.push(failed(why).as_bytes()),
            SaslStep::Unknown => out.push(b"503 Mechanism not supported\r\n"),
        }
        None
    }

    fn start_tls(&mut self, out: &mut OutBuffer) -> Option<Next> {
        if self.is_secure || self.is_compressed || self.permissions.is_logged_in {
            out.push(b"502 Command not available now\r\n");
            return None;
        }
        if !self.capabilities.has_tls {
            out.push(b"580 TLS not available\r\n");
            return None;
        }
        out.push(b"382 Begin TLS negotiation\r\n");
        Some(Next::StartTls)
    }

    fn compress(&mut self, algorithm: &[u8], has_room: bool, out: &mut OutBuffer) -> Option<Next> {
        // RFC 8054, 2.2.2: a word that is no algorithm name (5.3) is a syntax error.
        let is_of = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        if algorithm.len() > ALGORITHM_BYTES || !algorithm.iter().all(is_of) {
            out.push(b"501 Invalid algorithm name\r\n");
            return None;
        }
        if !algorithm.eq_ignore_ascii_case(b"DEFLATE") {
            out.push(b"503 Algorithm not supported; use DEFLATE\r\n");
            return None;
        }
        if self.is_compressed {
            out.push(b"502 Compression already active\r\n");
            return None;
        }
        if !self.capabilities.has_compression {
            out.push(b"403 Compression not available\r\n");
            return None;
        }
        if !has_room {
            out.push(b"403 Too many compressed connections; go on without compression\r\n");
            return None;
        }
        out.push(b"206 Compression active\r\n");
        Some(Next::Compress)
    }
}

/// Longest name of a compression algorithm, bytes (RFC 8054, 5.3).
const ALGORITHM_BYTES: usize = 20;

const WRONG: &str = "481 Wrong name or password\r\n";

/// The reply to an internal error (403: RFC 3977, 3.2.1).
fn failed(why: &str) -> String {
    format!("403 {why}\r\n")
}

/// Encodes in base64; empty data is `=` (RFC 4643, 2.4.2).
fn encoded(data: &[u8]) -> String {
    if data.is_empty() {
        "=".to_owned()
    } else {
        BASE64.encode(data)
    }
}
