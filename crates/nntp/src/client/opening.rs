//! From the greeting to the first article: capabilities, STARTTLS, login, compression.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::offers::Sends;
use super::reply::{PeerError, Reply};

/// Most lines of a list of capabilities.
pub const CAPABILITY_LINES_MAX: usize = 1000;

/// A name and password for the peer.
#[derive(Clone)]
pub struct Login {
    /// The name; no CR, LF or NUL.
    pub user: Vec<u8>,
    /// The password; no CR, LF or NUL.
    pub password: Vec<u8>,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

/// The opening of a connection.
#[derive(Debug)]
pub struct Opening {
    /// Whether STARTTLS is still to come.
    wants_tls: bool,
    /// Whether the connection is encrypted now.
    has_tls: bool,
    login: Option<Login>,
    /// Whether the login may go over a connection without TLS.
    allows_plaintext: bool,
    wants_compression: bool,
    /// Whether MODE HEADFEED is still to come.
    wants_headfeed: bool,
    /// Whether we come to read: then the peer need not take articles.
    is_reader: bool,
    /// Whether MODE READER is still to come.
    wants_mode_reader: bool,
    may_post: bool,
    waits_for: State,
    offered: Offered,
}

/// The capabilities that matter here.
#[derive(Debug, Default, Clone, Copy)]
struct Offered {
    lines: usize,
    starttls: bool,
    ihave: bool,
    streaming: bool,
    /// The server lists nothing, and says at MODE STREAM whether it streams.
    mode_stream: bool,
    deflate: bool,
    sasl_plain: bool,
    authinfo_user: bool,
    mode_reader: bool,
    over: bool,
}

/// The command that was sent last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Greeting,
    Capabilities,
    CapabilityLines,
    StartTls,
    User,
    Password,
    Sasl,
    Compress,
    ModeReader,
    ModeStream,
    /// MODE HEADFEED, on a connection that takes articles in this way.
    ModeHeadfeed(Sends),
}

/// The consequence of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send what was appended to `out`, and read the next line.
    GoOn,
    /// Begin TLS now, then call [`Opening::tls_began`]. Bytes that came behind this line are not of the peer (RFC 4642, 2.2.2): close the
    /// connection if there are any.
    BeginTls,
    /// Compress both directions from now on, then call [`Opening::deflate_began`].
    BeginDeflate,
    /// Articles may be sent, or read.
    Ready(Ready),
}

/// How the peer takes articles, and what a reader may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// By streaming or by IHAVE.
    pub sends: Sends,
    /// The server has OVER (RFC 3977, 8.3); otherwise perhaps XOVER.
    pub has_over: bool,
    /// The server lets us post, as its last greeting says; only asked for reading.
    pub may_post: bool,
}

impl Opening {
    /// A connection whose greeting has not arrived. `starttls`: ask for TLS, and send nothing else without it; `has_tls`: the connection is
    /// encrypted from the beginning.
    pub fn new(starttls: bool, has_tls: bool) -> Opening {
        Opening {
            wants_tls: starttls,
            has_tls,
            login: None,
            allows_plaintext: false,
            wants_compression: false,
            wants_headfeed: false,
            is_reader: false,
            wants_mode_reader: false,
            may_post: false,
            waits_for: State::Greeting,
            offered: Offered::default(),
        }
    }

    /// Logs in. Without TLS the password is sent only if `allows_plaintext`.
    #[must_use]
    pub fn with_login(mut self, login: Login, allows_plaintext: bool) -> Opening {
        (self.login, self.allows_plaintext) = (Some(login), allows_plaintext);
        self
    }

    /// Compresses where the peer can (RFC 8054).
    #[must_use]
    pub fn with_compression(mut self) -> Opening {
        self.wants_compression = true;
        self
    }

    /// Opens the connection for reading: MODE READER where the server has that mode (RFC 3977, 5.3), and no question for streaming.
    #[must_use]
    pub fn for_reading(mut self) -> Opening {
        (self.is_reader, self.wants_mode_reader) = (true, true);
        self
    }

    /// Sends articles without their bodies (MODE HEADFEED, as Diablo has it); an error where the peer does not take them so.
    #[must_use]
    pub fn with_headfeed(mut self) -> Opening {
        self.wants_headfeed = true;
        self
    }

    /// Takes a line without its CRLF; appends the next command to `out`.
    ///
    /// # Errors
    /// The peer does not let us in, offers no TLS although it is wanted, takes no articles, or talks nonsense.
    pub fn receive(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<Step, PeerError> {
        if self.waits_for == State::CapabilityLines {
            return match line {
                b"." => self.choose(out),
                _ => self.note(line).map(|()| Step::GoOn),
            };
        }
        let reply = Reply::parse(line)?;
        match (self.waits_for, reply.code) {
            (State::Greeting, 200 | 201) => {
                self.may_post = reply.code == 200;
                self.ask(out)
            }
            (State::Capabilities, 101) => {
                self.offered = Offered::default();
                self.waits_for = State::CapabilityLines;
                Ok(Step::GoOn)
            }
            // Some servers answer nothing before the login.
            (State::Capabilities, 480) if self.login.is_some() => {
                self.offered = Offered {
                    authinfo_user: true,
                    starttls: true,
                    ..Offered::default()
                };
                self.choose(out)
            }
            (State::ModeReader, 480) if self.login.is_some() => {
                self.wants_mode_reader = true;
                self.offered.mode_reader = false;
                self.choose(out)
            }
            // A server from before RFC 3977.
            (State::Capabilities, 500 | 501 | 503) => {
                self.offered = Offered {
                    ihave: true,
                    mode_stream: true,
                    authinfo_user: true,
                    starttls: true,
                    mode_reader: true,
                    ..Offered::default()
                };
                self.choose(out)
            }
            (State::StartTls, 382) => Ok(Step::BeginTls),
            (State::StartTls, _) => Err(PeerError::NoTls(super::reply::shown(line))),
            (State::User, 381) => {
                let password = self.login.as_ref().map(|login| login.password.clone());
                command(out, &[b"AUTHINFO PASS ", &password.unwrap_or_default()]);
                self.waits_for = State::Password;
                Ok(Step::GoOn)
            }
            // nnrpd offers SASL also where its own programs alone know the users.
            (State::Sasl, 481 | 503) if self.offered.authinfo_user => {
                self.offered.sasl_plain = false;
                self.choose(out)
            }
            (State::User | State::Password | State::Sasl, 281) => {
                self.login = None;
                // There may be more for those who have logged in.
                self.ask(out)
            }
            (State::Compress, 206) => Ok(Step::BeginDeflate),
            (State::Compress, 403 | 500..=503) => {
                self.wants_compression = false;
                self.choose(out)
            }
            (State::ModeReader, 200 | 201) => {
                self.may_post = reply.code == 200;
                // Another program may answer now.
                self.ask(out)
            }
            (State::ModeReader, 500..=503) => self.choose(out),
            (State::ModeStream, 203) => Ok(self.taken(Sends::Streaming, out)),
            (State::ModeStream, 500 | 501 | 503) if self.offered.ihave => {
                Ok(self.taken(Sends::Ihave, out))
            }
            (State::ModeHeadfeed(sends), 250) => Ok(self.ready(sends)),
            (State::ModeHeadfeed(_), 500..=503) => Err(PeerError::TakesNothing(format!(
                "none without their bodies (MODE HEADFEED): {}",
                super::reply::shown(line)
            ))),
            _ => Err(reply.to_error()),
        }
    }

    /// Goes on after the handshake of TLS: what the peer said before does not count any more (RFC 4642, 2.2.2).
    pub fn tls_began(&mut self, out: &mut Vec<u8>) {
        (self.wants_tls, self.has_tls) = (false, true);
        // Never fails.
        let _ = self.ask(out);
    }

    /// Goes on after the compression began.
    ///
    /// # Errors
    /// As [`Opening::receive`].
    pub fn deflate_began(&mut self, out: &mut Vec<u8>) -> Result<Step, PeerError> {
        self.wants_compression = false;
        self.choose(out)
    }

    fn ask(&mut self, out: &mut Vec<u8>) -> Result<Step, PeerError> {
        command(out, &[b"CAPABILITIES"]);
        self.waits_for = State::Capabilities;
        Ok(Step::GoOn)
    }

    /// Notes a line of the list of capabilities.
    fn note(&mut self, line: &[u8]) -> Result<(), PeerError> {
        self.offered.lines += 1;
        if self.offered.lines > CAPABILITY_LINES_MAX {
            return Err(PeerError::Nonsense(
                "a list of capabilities without end".into(),
            ));
        }
        let mut words = line.split(u8::is_ascii_whitespace);
        let name = words.next().unwrap_or_default().to_ascii_uppercase();
        let has = |wanted: &[u8]| words.clone().any(|word| word.eq_ignore_ascii_case(wanted));
        let offered = &mut self.offered;
        match name.as_slice() {
            b"STARTTLS" => offered.starttls = true,
            b"IHAVE" => offered.ihave = true,
            b"MODE-READER" => offered.mode_reader = true,
            b"OVER" => offered.over = true,
            b"POST" => self.may_post = true,
            b"STREAMING" => offered.streaming = true,
            b"COMPRESS" => offered.deflate = has(b"DEFLATE"),
            b"SASL" => offered.sasl_plain = has(b"PLAIN"),
            b"AUTHINFO" => offered.authinfo_user = has(b"USER"),
            _ => {}
        }
        Ok(())
    }

    /// Sends the next command for what is offered and wanted.
    fn choose(&mut self, out: &mut Vec<u8>) -> Result<Step, PeerError> {
        let offered = self.offered;
        if self.wants_mode_reader && offered.mode_reader {
            self.wants_mode_reader = false;
            command(out, &[b"MODE READER"]);
            self.waits_for = State::ModeReader;
            return Ok(Step::GoOn);
        }
        if self.wants_tls {
            if !offered.starttls {
                return Err(PeerError::NoTls("it is not among its capabilities".into()));
            }
            command(out, &[b"STARTTLS"]);
            self.waits_for = State::StartTls;
            return Ok(Step::GoOn);
        }
        if let Some(login) = &self.login {
            if !self.has_tls && !self.allows_plaintext {
                return Err(PeerError::NotPermitted(
                    "a login needs TLS, so that nobody reads the password".into(),
                ));
            }
            if offered.sasl_plain {
                let plain = [b"\0", &*login.user, b"\0", &*login.password].concat();
                let encoded = STANDARD.encode(plain);
                command(out, &[b"AUTHINFO SASL PLAIN ", encoded.as_bytes()]);
                self.waits_for = State::Sasl;
            } else {
                // A server that lists neither may know AUTHINFO USER all the same.
                command(out, &[b"AUTHINFO USER ", &login.user]);
                self.waits_for = State::User;
            }
            return Ok(Step::GoOn);
        }
        if self.wants_compression && offered.deflate {
            command(out, &[b"COMPRESS DEFLATE"]);
            self.waits_for = State::Compress;
            return Ok(Step::GoOn);
        }
        if self.is_reader {
            return Ok(self.ready(Sends::Ihave));
        }
        // A server that lists the capability needs no MODE STREAM (RFC 4644, 2.3.2), which would cost a round trip.
        if offered.streaming {
            return Ok(self.taken(Sends::Streaming, out));
        }
        if offered.mode_stream {
            command(out, &[b"MODE STREAM"]);
            self.waits_for = State::ModeStream;
            return Ok(Step::GoOn);
        }
        if offered.ihave {
            return Ok(self.taken(Sends::Ihave, out));
        }
        Err(PeerError::TakesNothing(
            "neither IHAVE nor STREAMING is among its capabilities".into(),
        ))
    }

    /// The peer takes articles; without their bodies, if that is wanted and it agrees.
    fn taken(&mut self, sends: Sends, out: &mut Vec<u8>) -> Step {
        if !self.wants_headfeed {
            return self.ready(sends);
        }
        command(out, &[b"MODE HEADFEED"]);
        self.waits_for = State::ModeHeadfeed(sends);
        Step::GoOn
    }

    fn ready(&self, sends: Sends) -> Step {
        Step::Ready(Ready {
            sends,
            has_over: self.offered.over,
            may_post: self.is_reader && self.may_post,
        })
    }
}

fn command(out: &mut Vec<u8>, words: &[&[u8]]) {
    for word in words {
        out.extend_from_slice(word);
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays the lines of a peer against what is expected from us.
    fn play(opening: &mut Opening, lines: &[(&str, &str)]) -> Result<Step, PeerError> {
        let mut last = Step::GoOn;
        for (peer, ours) in lines {
            let mut out = Vec::new();
            last = opening.receive(peer.as_bytes(), &mut out)?;
            assert_eq!(String::from_utf8_lossy(&out), *ours, "after {peer}");
        }
        Ok(last)
    }

    const CAPABILITIES: (&str, &str) = ("101 list", "");

    fn ready(sends: Sends) -> Step {
        Step::Ready(Ready {
            sends,
            has_over: false,
            may_post: false,
        })
    }

    #[test]
    fn a_reader_changes_the_mode_first() {
        let login = Login {
            user: b"we".to_vec(),
            password: b"secret".to_vec(),
        };
        let mut opening = Opening::new(false, false)
            .with_login(login, true)
            .for_reading();
        let step = play(
            &mut opening,
            &[
                ("201 hello", "CAPABILITIES\r\n"),
                CAPABILITIES,
                ("MODE-READER", ""),
                ("IHAVE", ""),
                ("STREAMING", ""),
                (".", "MODE READER\r\n"),
                ("201 read", "CAPABILITIES\r\n"),
                CAPABILITIES,
                ("READER", ""),
                ("OVER MSGID", ""),
                ("AUTHINFO USER", ""),
                (".", "AUTHINFO USER we\r\n"),
                ("381 more", "AUTHINFO PASS secret\r\n"),
                ("281 welcome", "CAPABILITIES\r\n"),
                CAPABILITIES,
                ("READER", ""),
                ("POST", ""),
                ("OVER", ""),
                (".", ""),
            ],
        );
        let reader = Ready {
            sends: Sends::Ihave,
            has_over: true,
            may_post: true,
        };
        assert_eq!(step, Ok(Step::Ready(reader)));
        // The login comes first.
        let login = Login {
            user: b"we".to_vec(),
            password: b"secret".to_vec(),
        };
        let mut opening = Opening::new(false, false)
            .with_login(login, true)
            .for_reading();
        let step = play(
            &mut opening,
            &[
                ("200 hello", "CAPABILITIES\r\n"),
                ("480 login", "AUTHINFO USER we\r\n"),
                ("381 more", "AUTHINFO PASS secret\r\n"),
                ("281 welcome", "CAPABILITIES\r\n"),
                ("500 what?", "MODE READER\r\n"),
                ("200 read", "CAPABILITIES\r\n"),
                ("500 what?", ""),
            ],
        );
        assert!(matches!(step, Ok(Step::Ready(_))), "{step:?}");
        // From before RFC 3977.
        let step = play(
            &mut Opening::new(false, false).for_reading(),
            &[
                ("200 hello", "CAPABILITIES\r\n"),
                ("500 what?", "MODE READER\r\n"),
                ("200 post", "CAPABILITIES\r\n"),
                ("500 what?", ""),
            ],
        );
        let reader = Ready {
            has_over: false,
            ..reader
        };
        assert_eq!(step, Ok(Step::Ready(reader)));
    }

    #[test]
    fn a_plain_peer_streams() {
        let mut opening = Opening::new(false, false);
        let step = play(
            &mut opening,
            &[
                ("200 hello", "CAPABILITIES\r\n"),
                CAPABILITIES,
                ("VERSION 2", ""),
                ("IHAVE", ""),
                ("STREAMING", ""),
                (".", ""),
            ],
        );
        assert_eq!(step, Ok(ready(Sends::Streaming)));
        // From before RFC 4644.
        let step = play(
            &mut Opening::new(false, false),
            &[
                ("200 hello", "CAPABILITIES\r\n"),
                ("500 what?", "MODE STREAM\r\n"),
                ("203 streaming", ""),
            ],
        );
        assert_eq!(step, Ok(ready(Sends::Streaming)));
    }

    #[test]
    fn an_old_peer_takes_ihave() {
        let mut opening = Opening::new(false, false);
        let step = play(
            &mut opening,
            &[
                ("200 hello", "CAPABILITIES\r\n"),
                ("500 what?", "MODE STREAM\r\n"),
                ("500 what?", ""),
            ],
        );
        assert_eq!(step, Ok(ready(Sends::Ihave)));
    }

    #[test]
    fn bodies_are_left_out_where_the_peer_agrees() {
        let lines = [
            ("200 hello", "CAPABILITIES\r\n"),
            ("500 what?", "MODE STREAM\r\n"),
            ("203 streaming", "MODE HEADFEED\r\n"),
        ];
        for (reply, is_taken) in [("250 ok", true), ("501 what?", false)] {
            let mut opening = Opening::new(false, false).with_headfeed();
            assert_eq!(play(&mut opening, &lines), Ok(Step::GoOn));
            let step = play(&mut opening, &[(reply, "")]);
            if is_taken {
                assert!(matches!(step, Ok(Step::Ready(_))), "{step:?}")
            } else {
                assert!(matches!(step, Err(PeerError::TakesNothing(_))), "{step:?}")
            }
        }
    }

    #[test]
    fn a_login_that_sasl_refuses_is_tried_without_it() {
        let login = || Login {
            user: b"we".to_vec(),
            password: b"secret".to_vec(),
        };
        let lines = [
            ("200 hello", "CAPABILITIES\r\n"),
            CAPABILITIES,
            ("AUTHINFO USER SASL", ""),
            ("SASL PLAIN", ""),
            (".", "AUTHINFO SASL PLAIN AHdlAHNlY3JldA==\r\n"),
            ("481 user not found", "AUTHINFO USER we\r\n"),
            ("381 more", "AUTHINFO PASS secret\r\n"),
        ];
        let mut opening = Opening::new(false, false).with_login(login(), true);
        assert_eq!(play(&mut opening, &lines), Ok(Step::GoOn));
        let mut out = Vec::new();
        let refused = opening.receive(b"481 no", &mut out);
        assert!(matches!(refused, Err(PeerError::NotPermitted(_))));
        // Without AUTHINFO USER the first refusal counts.
        let mut lines = lines[..5].to_vec();
        lines[2].0 = "AUTHINFO SASL";
        let mut opening = Opening::new(false, false).with_login(login(), true);
        assert_eq!(play(&mut opening, &lines), Ok(Step::GoOn));
        let refused = opening.receive(b"481 no", &mut out);
        assert!(matches!(refused, Err(PeerError::NotPermitted(_))));
    }

    #[test]
    fn tls_comes_before_the_login_and_compression_after_it() {
        let login = Login {
            user: b"we".to_vec(),
            password: b"secret".to_vec(),
        };
        let mut opening = Opening::new(true, false)
            .with_login(login, false)
            .with_compression();
        let step = play(
            &mut opening,
            &[
                ("201 hello", "CAPABILITIES\r\n"),
                CAPABILITIES,
                ("STARTTLS", ""),
                ("AUTHINFO", ""),
                (".", "STARTTLS\r\n"),
                ("382 go", ""),
            ],
        );
        assert_eq!(step, Ok(Step::BeginTls));
        let mut out = Vec::new();
        opening.tls_began(&mut out);
        assert_eq!(out, b"CAPABILITIES\r\n");
        let step = play(
            &mut opening,
            &[
                CAPABILITIES,
                ("AUTHINFO USER", ""),
                (".", "AUTHINFO USER we\r\n"),
                ("381 more", "AUTHINFO PASS secret\r\n"),
                ("281 welcome", "CAPABILITIES\r\n"),
                CAPABILITIES,
                ("IHAVE", ""),
                ("STREAMING", ""),
                ("COMPRESS DEFLATE", ""),
                (".", "COMPRESS DEFLATE\r\n"),
                ("206 yes", ""),
            ],
        );
        assert_eq!(step, Ok(Step::BeginDeflate));
        let mut out = Vec::new();
        let step = opening.deflate_began(&mut out);
        assert_eq!(step, Ok(ready(Sends::Streaming)));
        assert_eq!(out, b"");
        assert!(!format!("{opening:?}").contains("secret"));
    }

    #[test]
    fn what_is_missing_is_an_error() {
        let list = |more: &[(&'static str, &'static str)]| {
            let mut lines = vec![("200 hello", "CAPABILITIES\r\n"), CAPABILITIES];
            lines.extend_from_slice(more);
            lines
        };
        let mut opening = Opening::new(true, false);
        let error = play(&mut opening, &list(&[("IHAVE", ""), (".", "")])).unwrap_err();
        assert!(matches!(error, PeerError::NoTls(_)), "{error}");
        let mut opening = Opening::new(false, false);
        let error = play(&mut opening, &list(&[("READER", ""), (".", "")])).unwrap_err();
        assert!(matches!(error, PeerError::TakesNothing(_)), "{error}");
        let login = Login {
            user: b"we".to_vec(),
            password: b"secret".to_vec(),
        };
        let mut opening = Opening::new(false, false).with_login(login, false);
        let error = play(&mut opening, &list(&[("IHAVE", ""), (".", "")])).unwrap_err();
        assert!(matches!(error, PeerError::NotPermitted(_)), "{error}");
        for (greeting, unavailable) in [("400 full", true), ("502 go away", false)] {
            let error = play(&mut Opening::new(false, false), &[(greeting, "")]).unwrap_err();
            assert_eq!(matches!(error, PeerError::Unavailable(_)), unavailable);
        }
    }
}
