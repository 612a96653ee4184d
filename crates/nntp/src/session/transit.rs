//! Receives articles: IHAVE (RFC 3977, 6.3.2), CHECK and TAKETHIS (RFC 4644), POST (RFC 3977, 6.3.1).

use article::article_end::ArticleEnd;

use crate::backend::{Backend, IdStatus, Intake, LOOKUP_FAILED, TransferKind, TransferOutcome};
use crate::command::{IDS, word};
use crate::out::OutBuffer;

use super::reply::push_line;
use super::{IncomingArticle, Next, Session, State};

const DUPLICATE: &[u8] = b"Duplicate message-id";
/// Reply to transfers of whole articles where articles are kept without their bodies. A feed holds its articles after it.
const HEADFEED_FIRST: &[u8] = b"502 Only articles without their bodies: MODE HEADFEED first\r\n";

impl Session {
    /// Completes the pending reply to the oldest received article. `id` is the message-id given with the command; for a post, the one in
    /// its header or generated here, or empty if unknown. Returns true if the connection has to be closed after all output is sent.
    pub fn complete_transfer(
        kind: TransferKind,
        id: &[u8],
        outcome: &TransferOutcome,
        out: &mut OutBuffer,
    ) -> bool {
        let mut is_over = false;
        out.complete_reply(|text| is_over = Session::push_outcome(kind, id, outcome, text));
        is_over
    }

    /// Appends the reply. Returns true if the connection has to be closed after it.
    pub(super) fn push_outcome(
        kind: TransferKind,
        id: &[u8],
        outcome: &TransferOutcome,
        text: &mut Vec<u8>,
    ) -> bool {
        let (code, why): (&[u8], &[u8]) = match (kind, outcome) {
            (TransferKind::TakeThis, TransferOutcome::Accepted) => (b"239 ", b""),
            (TransferKind::TakeThis, TransferOutcome::Duplicate) => (b"439 ", b"Duplicate"),
            (TransferKind::TakeThis, TransferOutcome::Refused(why)) => (b"439 ", why),
            (TransferKind::TakeThis, TransferOutcome::Deferred(why)) => (b"400 ", why),
            (TransferKind::Ihave, TransferOutcome::Accepted) => {
                (b"235 ", b"Article transferred OK")
            }
            (TransferKind::Ihave, TransferOutcome::Duplicate) => (b"437 ", DUPLICATE),
            (TransferKind::Ihave, TransferOutcome::Refused(why)) => (b"437 ", why),
            (TransferKind::Ihave, TransferOutcome::Deferred(why)) => (b"436 ", why),
            (TransferKind::Post, TransferOutcome::Accepted) => (b"240 Article received", b""),
            (TransferKind::Post, TransferOutcome::Duplicate) => (b"441 ", DUPLICATE),
            (TransferKind::Post, TransferOutcome::Refused(why)) => (b"441 ", why),
            (TransferKind::Post, TransferOutcome::Deferred(why)) => (b"441 Try again later: ", why),
        };
        let is_over = code == b"400 ";
        text.extend_from_slice(code);
        match kind {
            // RFC 4644, 2.5.1: the message-id is an argument of the reply.
            TransferKind::TakeThis if !is_over => {
                text.extend_from_slice(id);
                if !why.is_empty() {
                    text.push(b' ');
                }
            }
            // The poster learns the message-id of the article.
            TransferKind::Post if *outcome == TransferOutcome::Accepted && !id.is_empty() => {
                text.push(b' ');
                text.extend_from_slice(id);
            }
            _ => {}
        }
        push_line(text, why);
        is_over
    }

    pub(super) fn mode_stream(&self, out: &mut OutBuffer) {
        if self.permissions.sends {
            out.push(b"203 Streaming permitted\r\n")
        } else {
            self.deny(out)
        }
    }

    /// MODE HEADFEED, as Diablo has it.
    pub(super) fn mode_headfeed(&mut self, out: &mut OutBuffer) {
        if !self.capabilities.headers_only {
            return out.push(b"502 Whole articles only\r\n");
        }
        if !self.permissions.headfeed {
            return self.deny(out);
        }
        self.is_headfeed = true;
        out.push(b"250 Articles without their bodies\r\n");
    }

    /// The reply to a client that may not send articles now; `None` if it may.
    fn transfer_denial(&self) -> Option<&'static [u8]> {
        if !self.permissions.sends {
            return Some(self.denial());
        }
        if self.capabilities.headers_only && !self.is_headfeed {
            Some(HEADFEED_FIRST)
        } else {
            None
        }
    }

    /// The reply to CHECK, IHAVE or TAKETHIS with a message-id that no article can have. As innd's, it settles the article, so that its sender goes
    /// on: RFC 4644 has no other final refusal, and some keep an article for ever after 501.
    pub(super) fn unusable_id(&self, line: &[u8]) -> Vec<u8> {
        if let Some(denial) = self.transfer_denial() {
            return denial.to_vec();
        }
        let (verb, rest) = word(line);
        let (id, _) = word(rest);
        let (code, text) = match verb.to_ascii_uppercase().as_slice() {
            b"CHECK" => (b"438 ", id.to_vec()),
            b"TAKETHIS" => (b"439 ", [id, b" ", IDS.as_bytes()].concat()),
            _ => (b"435 ", IDS.as_bytes().to_vec()),
        };
        let mut answer = code.to_vec();
        push_line(&mut answer, &text);
        answer
    }

    pub(super) fn check<W: Backend>(&mut self, id: &[u8], backend: &mut W, out: &mut OutBuffer) {
        if let Some(denial) = self.transfer_denial() {
            return out.push(denial);
        }
        let code: &[u8] = match backend.intake() {
            Intake::Closed(_) => b"431 ",
            Intake::Open => match backend.id_status(id) {
                Ok(IdStatus::Unknown) => b"238 ",
                Ok(IdStatus::Known) => b"438 ",
                Ok(IdStatus::InTransfer) | Err(_) => b"431 ",
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
        out: &mut OutBuffer,
    ) -> Option<Next> {
        let answer = if let Some(denial) = self.transfer_denial() {
            denial.into()
        } else if Session::is_closed(backend.intake(), b"400 ", out) {
            // The only reply that defers TAKETHIS (RFC 4644, 2.5.2).
            self.state = State::Closed;
            return None;
        } else {
            match backend.id_status(id) {
                Ok(IdStatus::Known) => [b"439 ", id, b" Duplicate\r\n"].concat(),
                Ok(IdStatus::Unknown | IdStatus::InTransfer) => {
                    self.state = receive_state(TransferKind::TakeThis, id);
                    return None;
                }
                Err(_) => {
                    let mut text = out.text();
                    text.extend_from_slice(b"400 ");
                    push_line(&mut text, LOOKUP_FAILED);
                    self.state = State::Closed;
                    return None;
                }
            }
        };
        self.state = State::Discarding(ArticleEnd::default(), answer.into(), false);
        None
    }

    pub(super) fn ihave<W: Backend>(&mut self, id: &[u8], backend: &mut W, out: &mut OutBuffer) {
        if let Some(denial) = self.transfer_denial() {
            return out.push(denial);
        }
        if Session::is_closed(backend.intake(), b"436 ", out) {
            return;
        }
        match backend.id_status(id) {
            Ok(IdStatus::Unknown) => {
                out.push(b"335 Send article\r\n");
                self.state = receive_state(TransferKind::Ihave, id);
            }
            Ok(IdStatus::Known) => out.push(b"435 Duplicate article\r\n"),
            Ok(IdStatus::InTransfer) => {
                out.push(b"436 Another peer is sending it; try again later\r\n")
            }
            Err(_) => {
                let mut text = out.text();
                text.extend_from_slice(b"436 ");
                push_line(&mut text, LOOKUP_FAILED);
            }
        }
    }

    pub(super) fn post<W: Backend>(&mut self, backend: &mut W, out: &mut OutBuffer) {
        if !self.may_post() {
            return if self.could_post() {
                self.deny(out)
            } else {
                out.push(b"440 Posting not permitted\r\n")
            };
        }
        if Session::is_closed(backend.post_intake(), b"440 ", out) {
            return;
        }
        out.push(b"340 Send article\r\n");
        self.state = receive_state(TransferKind::Post, b"");
    }
}

fn receive_state(kind: TransferKind, id: &[u8]) -> State {
    State::Receiving(Box::new(IncomingArticle {
        kind,
        id: id.to_vec(),
        end: ArticleEnd::default(),
    }))
}

/// The length of a post whose lines end in LF alone, its final dot included; `None` before that dot, and for all other posts. Such a
/// client waits for a reply that the end of RFC 3977 would never bring. One CRLF in the header makes the post an ordinary one, so that
/// no text within a body ends it.
pub(super) fn end_of_bare_lines(post: &[u8]) -> Option<usize> {
    const END: &[u8] = b"\n.\n";
    let first = memchr::memchr(b'\n', post)?;
    if first.checked_sub(1).and_then(|at| post.get(at)) == Some(&b'\r') || !post.ends_with(END) {
        return None;
    }
    memchr::memchr(b'\r', post).is_none().then_some(post.len())
}

/// The reply to an article above the size limit.
pub(super) fn too_large(kind: TransferKind, id: &[u8], bytes_max: usize) -> Vec<u8> {
    let why = format!("Article exceeds {bytes_max} bytes");
    let mut text = Vec::new();
    match kind {
        TransferKind::TakeThis => {
            text.extend_from_slice(b"439 ");
            text.extend_from_slice(id);
            text.push(b' ');
        }
        TransferKind::Ihave => text.extend_from_slice(b"437 "),
        TransferKind::Post => text.extend_from_slice(b"441 "),
    }
    push_line(&mut text, why.as_bytes());
    text
}
