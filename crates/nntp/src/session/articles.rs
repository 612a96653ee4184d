//! ARTICLE, HEAD, BODY and STAT (RFC 3977, 6.2).

use std::sync::Arc;

use crate::backend::{Article, ArticlePosition, AskedNumber, Backend};
use crate::command::{ArticleArgument, Part};
use crate::out::{OutBuffer, SharedBytes};

use super::Session;
use super::reply::{NO_CURRENT, NO_ID, NO_NUMBER, push_found, refuse};

impl Session {
    pub(super) fn get<W: Backend>(
        &mut self,
        part: Part,
        which: ArticleArgument<'_>,
        backend: &mut W,
        out: &mut OutBuffer,
    ) {
        let (number, missing) = match which {
            ArticleArgument::Id(id) => {
                if let Some(position) = Session::readable(id, backend, out) {
                    send(part, None, position, NO_ID, backend, out);
                }
                return;
            }
            ArticleArgument::Number(number) => (Some(number), NO_NUMBER),
            ArticleArgument::Current => (None, NO_CURRENT),
        };
        let Some(selected) = self.reader.selected(backend, out) else {
            return;
        };
        let Some(number) = number.or(selected.current) else {
            return out.push(missing);
        };
        backend.group_asked(&selected.group);
        match backend.position(&selected.group, number) {
            Ok(Some(position)) => {
                let asked = Some((&*selected.group, number));
                if send(part, asked, position, missing, backend, out) {
                    selected.current = Some(number);
                }
            }
            Ok(None) => out.push(missing),
            Err(error) => refuse(error, out),
        }
    }

    /// Finds a readable article by its message-id, or replies. An article in closed groups gets the reply of a missing one, although
    /// logging in might open them: its existence must not show.
    pub(super) fn readable<W: Backend>(
        id: &[u8],
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<ArticlePosition> {
        match backend.find(id) {
            Ok(Some(found)) if found.may_be_read => return Some(found.position),
            Ok(_) => out.push(NO_ID),
            Err(error) => refuse(error, out),
        }
        None
    }
}

/// Reply to ARTICLE and BODY of an article that came without its body (RFC 3977, 3.2.1: not an article that does not exist).
const HEADER_ONLY: &[u8] = b"503 This server has the header of this article only\r\n";

/// Reply code of STAT (RFC 3977, 6.2.4).
const STAT_CODE: &[u8; 4] = b"223 ";

/// Sends an article or a part of it. Returns false, after the reply `missing`, if there is none.
fn send<W: Backend>(
    part: Part,
    asked: AskedNumber<'_>,
    position: ArticlePosition,
    missing: &[u8],
    backend: &mut W,
    out: &mut OutBuffer,
) -> bool {
    if part == Part::Stat {
        return stat(asked, position, missing, backend, out);
    }
    let number = number_of(asked);
    match backend.article(position, asked) {
        Ok(Some(article))
            if article.is_header_only && matches!(part, Part::Article | Part::Body) =>
        {
            // The header alone would pass for the article.
            out.push(HEADER_ONLY);
            return false;
        }
        Ok(Some(article)) => {
            if has_nul(part, &article) {
                push_without_nuls(part, number, &article, out);
            } else {
                push(part, number, &article, out);
            }
            drop(article);
            backend.sent();
            return true;
        }
        Ok(None) => out.push(missing),
        Err(error) => refuse(error, out),
    }
    false
}

/// Replies to STAT, which needs no article (RFC 3977, 6.2.4). Returns false, after the reply `missing`, if there is none.
fn stat<W: Backend>(
    asked: AskedNumber<'_>,
    position: ArticlePosition,
    missing: &[u8],
    backend: &mut W,
    out: &mut OutBuffer,
) -> bool {
    let mut id = Vec::new();
    match backend.message_id(position, asked, &mut id) {
        Ok(true) => {
            push_found(STAT_CODE, number_of(asked), &id, &mut out.text());
            return true;
        }
        Ok(false) => out.push(missing),
        Err(error) => refuse(error, out),
    }
    false
}

/// The number in a reply; 0 for an article that was asked for by its message-id.
fn number_of(asked: AskedNumber<'_>) -> u64 {
    asked.map_or(0, |(_, number)| number)
}

fn wire<'a>(article: &'a Article<'_>) -> &'a [u8] {
    let shared = article.shared.as_ref();
    shared.map_or(article.wire, |shared| shared.bytes())
}

/// Whether a part of an article has a NUL. Peers and posters can send none, but old batches have them, and archives stay as they are.
fn has_nul(part: Part, article: &Article<'_>) -> bool {
    let sent = match part {
        Part::Head => article.header,
        _ => wire(article),
    };
    memchr::memchr(0, sent).is_some()
}

/// Sends a blank for each NUL, as OVER and HDR do: RFC 3977, 3.1.1 forbids NUL. No line becomes another one, as it would without the byte.
#[cold]
fn push_without_nuls(part: Part, number: u64, article: &Article<'_>, out: &mut OutBuffer) {
    let blank = |&byte: &u8| if byte == 0 { b' ' } else { byte };
    let clean: Vec<u8> = wire(article).iter().map(blank).collect();
    if let Some(shared) = &article.shared
        && !shared.is_valid()
    {
        // The zeros may be those of a hole: expire removed the article meanwhile, which sending it finds out.
        return push(part, number, article, out);
    }
    let header = clean.get(..article.header.len()).unwrap_or_default();
    let article = Article {
        wire: &clean,
        header,
        shared: None,
        ..*article
    };
    push(part, number, &article, out);
}

fn push(part: Part, number: u64, article: &Article<'_>, out: &mut OutBuffer) {
    let code = match part {
        Part::Article => b"220 ",
        Part::Head => b"221 ",
        Part::Body => b"222 ",
        Part::Stat => STAT_CODE,
    };
    let mut writing = out.text();
    let text: &mut Vec<u8> = &mut writing;
    push_found(code, number, article.id, text);
    let wire = wire(article);
    let shared = match (part, &article.shared) {
        (Part::Stat, _) => return,
        // Some sites send an article that ends with its header; to a client an empty line ends every header (RFC 3977, 3.6).
        (Part::Article, _)
            if !wire
                .get(article.header.len()..)
                .unwrap_or_default()
                .starts_with(b"\r\n") =>
        {
            text.extend_from_slice(article.header);
            return text.extend_from_slice(b"\r\n.\r\n");
        }
        (Part::Head, _) => {
            text.extend_from_slice(article.header);
            return text.extend_from_slice(b".\r\n");
        }
        (Part::Article, None) => return text.extend_from_slice(article.wire),
        (Part::Body, None) => {
            let body = body(article.wire, article.header.len());
            return text.extend_from_slice(article.wire.get(body..).unwrap_or(b".\r\n"));
        }
        (Part::Article | Part::Body, Some(shared)) => shared,
    };
    drop(writing);
    push_shared_part(part, article.header.len(), shared, out);
}

fn push_shared_part(part: Part, header: usize, shared: &Arc<dyn SharedBytes>, out: &mut OutBuffer) {
    let wire = shared.bytes();
    let start = match part {
        Part::Body => body(wire, header),
        _ => 0,
    };
    out.push_shared(Arc::clone(shared), start..wire.len());
}

/// Offset of the body: after the empty line that ends the header. An article without that line has no body.
fn body(wire: &[u8], header: usize) -> usize {
    match wire.get(header..) {
        Some([b'\r', b'\n', ..]) => header + 2,
        _ => header,
    }
}
