//! Articles that come: IHAVE (RFC 3977, 6.3.2), CHECK and TAKETHIS (RFC 4644), POST (RFC 3977, 6.3.1).

use crate::article_end::ArticleEnd;
use crate::backend::{Backend, BackendError, Intake, Kind, LOOKUP_FAILED, Outcome, Seen};
use crate::out::Out;

use super::reply::push_line;
use super::{Coming, Next, Session, State};

const DUPLICATE: &[u8] = b"An article with this message-id is here already";

impl Session {
    /// Says what became of the oldest article that was handed in and is not answered. True: the connection is to be closed when
    /// everything is sent. `id`: as it was announced; of a post, the one that it has or got, empty where that is not known.
    pub fn settle(kind: Kind, id: &[u8], outcome: &Outcome, out: &mut Out) -> bool {
        let mut is_over = false;
        out.keep(|text| is_over = Session::push_outcome(kind, id, outcome, text));
        is_over
    }

    /// True: the connection is to be closed then.
    pub(super) fn push_outcome(
        kind: Kind,
        id: &[u8],
        outcome: &Outcome,
        text: &mut Vec<u8>,
    ) -> bool {
        let (code, why): (&[u8], &[u8]) = match (kind, outcome) {
            (Kind::TakeThis, Outcome::Taken) => (b"239 ", b""),
            (Kind::TakeThis, Outcome::Duplicate) => (b"439 ", b""),
            (Kind::TakeThis, Outcome::Refused(why)) => (b"439 ", why),
            (Kind::TakeThis, Outcome::TryLater(why)) => (b"400 ", why),
            (Kind::Ihave, Outcome::Taken) => (b"235 ", b"Article taken"),
            (Kind::Ihave, Outcome::Duplicate) => (b"437 ", DUPLICATE),
            (Kind::Ihave, Outcome::Refused(why)) => (b"437 ", why),
            (Kind::Ihave, Outcome::TryLater(why)) => (b"436 ", why),
            (Kind::Post, Outcome::Taken) => (b"240 Article received", b""),
            (Kind::Post, Outcome::Duplicate) => (b"441 ", DUPLICATE),
            (Kind::Post, Outcome::Refused(why)) => (b"441 ", why),
            (Kind::Post, Outcome::TryLater(why)) => (b"441 Try again later: ", why),
        };
        let is_over = code == b"400 ";
        text.extend_from_slice(code);
        match kind {
            // RFC 4644, 2.5.1: the message-id is an argument of the reply.
            Kind::TakeThis if !is_over => {
                text.extend_from_slice(id);
                if !why.is_empty() {
                    text.push(b' ');
                }
            }
            // Where it got one here, or had one: who posted learns under which id it can be found.
            Kind::Post if *outcome == Outcome::Taken && !id.is_empty() => {
                text.push(b' ');
                text.extend_from_slice(id);
            }
            _ => {}
        }
        push_line(text, why);
        is_over
    }

    pub(super) fn mode_stream(&self, out: &mut Out) {
        match self.permissions.sends {
            true => out.push(b"203 Streaming permitted\r\n"),
            false => self.deny(out),
        }
    }

    pub(super) fn check<W: Backend>(&mut self, id: &[u8], backend: &mut W, out: &mut Out) {
        if !self.permissions.sends {
            return self.deny(out);
        }
        let code: &[u8] = match backend.intake() {
            Intake::Closed(_) => b"431 ",
            Intake::Open => match backend.seen(id) {
                Ok(Seen::No) => b"238 ",
                Ok(Seen::Here) => b"438 ",
                Ok(Seen::Coming) | Err(_) => b"431 ",
            },
        };
        let mut text = out.text();
        let text: &mut Vec<u8> = &mut text;
        text.extend_from_slice(code);
        text.extend_from_slice(id);
        text.extend_from_slice(b"\r\n");
    }

    pub(super) fn take_this<W: Backend>(
        &mut self,
        id: &[u8],
        backend: &mut W,
        out: &mut Out,
    ) -> Option<Next> {
        let answer = if !self.permissions.sends {
            self.denial().into()
        } else if Session::is_closed(backend, b"400 ", out) {
            // It cannot be asked for again later in any other way (RFC 4644, 2.5.2).
            self.state = State::Over;
            return None;
        } else {
            match backend.seen(id) {
                Ok(Seen::Here) => [b"439 ", id, b"\r\n"].concat(),
                Ok(Seen::No | Seen::Coming) => {
                    self.state = coming(Kind::TakeThis, id);
                    return None;
                }
                Err(BackendError) => {
                    let mut text = out.text();
                    text.extend_from_slice(b"400 ");
                    push_line(&mut text, LOOKUP_FAILED);
                    self.state = State::Over;
                    return None;
                }
            }
        };
        self.state = State::Unwanted(ArticleEnd::default(), answer.into(), false);
        None
    }

    pub(super) fn ihave<W: Backend>(&mut self, id: &[u8], backend: &mut W, out: &mut Out) {
        if !self.permissions.sends {
            return self.deny(out);
        }
        if Session::is_closed(backend, b"436 ", out) {
            return;
        }
        match backend.seen(id) {
            Ok(Seen::No) => {
                out.push(b"335 Send it\r\n");
                self.state = coming(Kind::Ihave, id);
            }
            Ok(Seen::Here) => out.push(b"435 Seen already\r\n"),
            Ok(Seen::Coming) => out.push(b"436 Another is sending it; try again later\r\n"),
            Err(BackendError) => {
                let mut text = out.text();
                text.extend_from_slice(b"436 ");
                push_line(&mut text, LOOKUP_FAILED);
            }
        }
    }

    pub(super) fn post<W: Backend>(&mut self, backend: &mut W, out: &mut Out) {
        if !self.permissions.posts {
            return match self.could_log_in() {
                true => self.deny(out),
                false => out.push(b"440 No posting from here\r\n"),
            };
        }
        if Session::is_closed(backend, b"440 ", out) {
            return;
        }
        out.push(b"340 Send it\r\n");
        self.state = coming(Kind::Post, b"");
    }
}

fn coming(kind: Kind, id: &[u8]) -> State {
    State::Article(Box::new(Coming {
        kind,
        id: id.to_vec(),
        end: ArticleEnd::default(),
    }))
}

/// The answer to an article that is too large to be taken.
pub(super) fn too_large(kind: Kind, id: &[u8], bytes_max: usize) -> Vec<u8> {
    let why = format!("Larger than {bytes_max} bytes");
    let mut text = Vec::new();
    match kind {
        Kind::TakeThis => {
            text.extend_from_slice(b"439 ");
            text.extend_from_slice(id);
            text.push(b' ');
        }
        Kind::Ihave => text.extend_from_slice(b"437 "),
        Kind::Post => text.extend_from_slice(b"441 "),
    }
    push_line(&mut text, why.as_bytes());
    text
}
