//! Who it is: AUTHINFO (RFC 4643), STARTTLS (RFC 4642), COMPRESS (RFC 8054).

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::backend::{Backend, Credentials, SaslStep};
use crate::capabilities::Permissions;
use crate::command::Command;
use crate::out::Out;

use crate::LOGINS_FAILED_MAX;

use super::{Next, Session, State};

/// What came of a password or the like that took time to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedIn {
    /// It is right; what the client may do now.
    Yes(Permissions),
    /// It is not.
    No,
    /// It could not be looked at, or does not count now. The reason is for strangers, too.
    Failed(&'static str),
}

impl Session {
    /// Keeps the promise that [`SaslStep::Pending`] made.
    pub fn logged_in(&mut self, told: &LoggedIn, out: &mut Out) {
        self.is_logging_in = false;
        let answer = self.told(told);
        out.keep(|text| text.extend_from_slice(answer.as_bytes()));
    }

    fn told(&mut self, told: &LoggedIn) -> String {
        match told {
            LoggedIn::Yes(permissions) => {
                self.set_standing(*permissions);
                "281 Welcome\r\n".to_owned()
            }
            LoggedIn::No => {
                self.has_failed();
                WRONG.to_owned()
            }
            LoggedIn::Failed(why) => failed(why),
        }
    }

    /// Who goes on guessing has to connect again for it.
    fn has_failed(&mut self) {
        self.logins_failed += 1;
        if self.logins_failed >= LOGINS_FAILED_MAX {
            self.state = State::Over;
        }
    }

    /// Mechanisms that can be used now.
    fn mechanisms<W: Backend>(&self, backend: &W) -> Vec<&'static str> {
        match self.capabilities.has("SASL") {
            true => backend.mechanisms(),
            false => Vec::new(),
        }
    }

    fn may_log_in(&self) -> bool {
        self.could_log_in() && !self.permissions.is_logged_in && !self.is_compressed
    }

    pub(super) fn push_identity_capabilities<W: Backend>(
        &self,
        backend: &W,
        lines: &mut Vec<String>,
    ) {
        let is_fresh = !self.permissions.is_logged_in;
        if self.capabilities.has_tls && !self.is_secure && !self.is_compressed && is_fresh {
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
        // Told after logging in, too: so a client sees that nobody has changed it (RFC 4643, 2.2).
        let is_told = self.may_log_in() || self.permissions.is_logged_in;
        if is_told && !mechanisms.is_empty() && self.capabilities.has("AUTHINFO") {
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
        out: &mut Out,
    ) -> Option<Next> {
        match command {
            Command::StartTls => return self.start_tls(out),
            Command::Compress(algorithm) => return self.compress(algorithm, out),
            _ => {}
        }
        if self.permissions.is_logged_in || self.is_compressed {
            // RFC 4643, 2.2: once only; RFC 8054, 2.2.2: not behind compression.
            out.push(b"502 Not now\r\n");
            return None;
        }
        if !self.could_log_in() {
            out.push(b"502 Nobody can log in from here\r\n");
            return None;
        }
        match command {
            Command::AuthUser(_) | Command::AuthPass(_) if !self.takes_passwords() => {
                out.push(b"483 Passwords are taken on TLS only\r\n");
            }
            Command::AuthUser(name) => {
                self.user = Some(name.into());
                out.push(b"381 Password?\r\n");
            }
            Command::AuthPass(password) => match self.user.take() {
                None => out.push(b"482 AUTHINFO USER comes first\r\n"),
                Some(user) => {
                    let credentials = Credentials::Password(&user, password);
                    let step = backend.log_in(credentials);
                    self.follow(step, out);
                }
            },
            Command::AuthSasl(mechanism, initial) => self.sasl(mechanism, initial, backend, out),
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
        out: &mut Out,
    ) {
        let name = mechanism.to_ascii_uppercase();
        let is_known = |known: &&str| known.as_bytes() == name;
        if !self.mechanisms(backend).iter().any(is_known) {
            return out.push(match name == b"PLAIN" && !self.takes_passwords() {
                true => b"483 Passwords are taken on TLS only\r\n",
                false => b"503 No such mechanism here\r\n",
            });
        }
        let initial = match initial {
            None => None,
            Some(b"=") => Some(Vec::new()),
            Some(text) => match BASE64.decode(text) {
                Ok(decoded) => Some(decoded),
                Err(_) => return out.push(b"504 The response is not in base64\r\n"),
            },
        };
        let step = backend.log_in(Credentials::Sasl(&name, initial.as_deref()));
        self.follow(step, out);
    }

    /// A line that answers a challenge.
    pub(super) fn response<W: Backend>(&mut self, line: &[u8], backend: &mut W, out: &mut Out) {
        if line == b"*" {
            backend.log_in(Credentials::Cancelled);
            return out.push(b"481 As you like\r\n");
        }
        let decoded = match line {
            b"=" => Ok(Vec::new()),
            line => BASE64.decode(line),
        };
        match decoded {
            Ok(response) => {
                let step = backend.log_in(Credentials::Response(&response));
                self.follow(step, out);
            }
            Err(_) => {
                backend.log_in(Credentials::Cancelled);
                out.push(b"504 The response is not in base64\r\n");
            }
        }
    }

    fn follow(&mut self, step: SaslStep, out: &mut Out) {
        match step {
            SaslStep::Pending => {
                self.is_logging_in = true;
                out.promise();
            }
            SaslStep::Challenge(challenge) => {
                let text = encoded(&challenge);
                self.state = State::Sasl;
                out.push(format!("383 {text}\r\n").as_bytes());
            }
            SaslStep::Accepted(permissions, data) => {
                self.set_standing(permissions);
                match data {
                    None => out.push(b"281 Welcome\r\n"),
                    Some(data) => {
                        let text = encoded(&data);
                        out.push(format!("283 {text}\r\n").as_bytes());
                    }
                }
            }
            SaslStep::Refused => {
                out.push(WRONG.as_bytes());
                self.has_failed();
            }
            SaslStep::Malformed(what) => out.push(format!("482 {what}\r\n").as_bytes()),
            SaslStep::Failed(why) => out.push(failed(why).as_bytes()),
            SaslStep::Unknown => out.push(b"503 No such mechanism here\r\n"),
        }
    }

    fn start_tls(&mut self, out: &mut Out) -> Option<Next> {
        if self.is_secure || self.is_compressed || self.permissions.is_logged_in {
            out.push(b"502 Not now\r\n");
            return None;
        }
        if !self.capabilities.has_tls {
            out.push(b"580 There is no certificate here\r\n");
            return None;
        }
        out.push(b"382 Go on with TLS\r\n");
        Some(Next::StartTls)
    }

    fn compress(&mut self, algorithm: &[u8], out: &mut Out) -> Option<Next> {
        // RFC 8054, 2.2.2: what cannot be the name of an algorithm (5.3) is a fault of syntax.
        let is_of = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        if algorithm.len() > ALGORITHM_BYTES || !algorithm.iter().all(is_of) {
            out.push(b"501 No such algorithm can be\r\n");
            return None;
        }
        if !algorithm.eq_ignore_ascii_case(b"DEFLATE") {
            out.push(b"503 Only DEFLATE\r\n");
            return None;
        }
        if self.is_compressed {
            out.push(b"502 It is on already\r\n");
            return None;
        }
        if !self.capabilities.has_compression {
            out.push(b"403 Not here\r\n");
            return None;
        }
        out.push(b"206 Compressed from here on\r\n");
        Some(Next::Compress)
    }
}

/// The longest name of a compression algorithm (RFC 8054, 5.3).
const ALGORITHM_BYTES: usize = 20;

const WRONG: &str = "481 Wrong name or password\r\n";

/// It is our fault (403: RFC 3977, 3.2.1).
fn failed(why: &str) -> String {
    format!("403 {why}\r\n")
}

/// An argument may not be empty (RFC 4643, 2.4.2).
fn encoded(data: &[u8]) -> String {
    match data.is_empty() {
        true => "=".to_owned(),
        false => BASE64.encode(data),
    }
}
