//! ARTICLE, HEAD, BODY and STAT (RFC 3977, 6.2).

use std::sync::Arc;

use crate::backend::{Article, ArticlePosition, Backend};
use crate::command::{Part, Which};
use crate::out::{Out, SharedBytes};

use super::Session;
use super::reply::{NO_CURRENT, NO_ID, NO_NUMBER, push_found, refuse};

impl Session {
    pub(super) fn get<W: Backend>(
        &mut self,
        part: Part,
        which: Which<'_>,
        backend: &mut W,
        out: &mut Out,
    ) {
        let (number, missing) = match which {
            Which::Id(id) => {
                if let Some(place) = Session::readable(id, backend, out) {
                    send(part, 0, place, NO_ID, backend, out);
                }
                return;
            }
            Which::Number(number) => (Some(number), NO_NUMBER),
            Which::Current => (None, NO_CURRENT),
        };
        let Some(selected) = self.reader.selected(backend, out) else {
            return;
        };
        let Some(number) = number.or(selected.current) else {
            return out.push(missing);
        };
        match backend.place(&selected.group, number) {
            Ok(Some(place)) => {
                if send(part, number, place, missing, backend, out) {
                    selected.current = Some(number);
                }
            }
            Ok(None) => out.push(missing),
            Err(trouble) => refuse(trouble, out),
        }
    }

    /// Where the article with an id lies. One in closed groups only is answered as one that is not here, though logging in might
    /// open them: nobody could tell else for which ids to ask for a login.
    pub(super) fn readable<W: Backend>(
        id: &[u8],
        backend: &mut W,
        out: &mut Out,
    ) -> Option<ArticlePosition> {
        match backend.find(id) {
            Ok(Some(found)) if found.may_be_read => return Some(found.place),
            Ok(_) => out.push(NO_ID),
            Err(trouble) => refuse(trouble, out),
        }
        None
    }
}

/// Sends an article, or a part of it. False: there is none, which is said.
fn send<W: Backend>(
    part: Part,
    number: u64,
    place: ArticlePosition,
    missing: &[u8],
    backend: &mut W,
    out: &mut Out,
) -> bool {
    match backend.article(place) {
        Ok(Some(article)) => {
            push(part, number, &article, out);
            drop(article);
            if part != Part::Stat {
                backend.sent();
            }
            return true;
        }
        Ok(None) => out.push(missing),
        Err(trouble) => refuse(trouble, out),
    }
    false
}

fn push(part: Part, number: u64, article: &Article<'_>, out: &mut Out) {
    let code = match part {
        Part::Article => b"220 ",
        Part::Head => b"221 ",
        Part::Body => b"222 ",
        Part::Stat => b"223 ",
    };
    let mut writing = out.text();
    let text: &mut Vec<u8> = &mut writing;
    push_found(code, number, article.id, text);
    let lent = match (part, &article.lent) {
        (Part::Stat, _) => return,
        (Part::Head, _) => {
            text.extend_from_slice(article.header);
            return text.extend_from_slice(b".\r\n");
        }
        (Part::Article, None) => return text.extend_from_slice(article.wire),
        (Part::Body, None) => {
            let body = body(article.wire, article.header.len());
            return text.extend_from_slice(article.wire.get(body..).unwrap_or(b".\r\n"));
        }
        (Part::Article | Part::Body, Some(lent)) => lent,
    };
    drop(writing);
    lend(part, article.header.len(), lent, out);
}

fn lend(part: Part, header: usize, lent: &Arc<dyn SharedBytes>, out: &mut Out) {
    let wire = lent.bytes();
    let start = match part {
        Part::Body => body(wire, header),
        _ => 0,
    };
    out.lend(Arc::clone(lent), start..wire.len());
}

/// Where the body begins: behind the empty line that ends the header. An article without one has no body.
fn body(wire: &[u8], header: usize) -> usize {
    match wire.get(header..) {
        Some([b'\r', b'\n', ..]) => header + 2,
        _ => header,
    }
}
