//! Posts made here go up to the server.
//!
//! An article was posted here if its Path begins with our own name and `.POSTED` (RFC 5536, 3.2.1): what came from another server has a
//! name there, and peers and servers to pull from may send nothing else. Batches are trusted.

use std::ops::ControlFlow;

use groups::wildmat::Wildmat;
use store::{HistoryLine, Logged, Position, Snapshot};

use crate::connection::{Connection, Posted};
use crate::error::Error;
use crate::marks::Marks;
use crate::news::News;

/// Header fields that the server adds itself, and refuses in a post (RFC 5537, 3.5).
const ADDED: &[&[u8]] = &[
    b"Path",
    b"Xref",
    b"Injection-Info",
    b"Injection-Date",
    b"NNTP-Posting-Host",
    b"NNTP-Posting-Date",
    b"X-Trace",
    b"X-Complaints-To",
    b"Lines",
];

/// Sends the posts since the last visit; returns how many the server took, and how many it refused.
pub fn send(
    connection: &mut Connection,
    may_post: bool,
    (snapshot, host, groups): (&Snapshot, &str, &Wildmat),
    marks: &mut Marks,
    news: &mut dyn News,
) -> Result<(u64, u64), Error> {
    let end = snapshot.end();
    // The log ends earlier where it was made anew.
    let from = marks.posts.map_or(end, |from| from.min(end));
    let mut posts: Vec<(Position, Vec<u8>, Vec<u8>)> = Vec::new();
    let _: ControlFlow<()> = snapshot.each_article((from, end), |logged| {
        posts.extend(post(&logged, snapshot, (host, groups)));
        if posts.len() < POSTS_MAX {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    let is_all = posts.len() < POSTS_MAX;
    if !posts.is_empty() && !may_post {
        let count = posts.len();
        news.message(&format!(
            "the server lets us not post; {count} posts made here wait"
        ));
        return Ok((0, 0));
    }
    let (mut posted, mut refused) = (0, 0);
    let mut left = posts.len();
    for (next, id, text) in posts {
        let answer = match connection.post(&text) {
            Err(error) if error.is_break() => {
                let count = marks.note_break(&id);
                marks.save()?;
                return Err(error.at(&id, count));
            }
            answer => answer?,
        };
        marks.pass_break(&id);
        match answer {
            Posted::Taken => posted += 1,
            Posted::NotNow(answer) => {
                news.message(&format!(
                    "the server takes no posts: {answer}; {left} posts made here wait"
                ));
                return Ok((posted, refused));
            }
            Posted::Refused(answer) => {
                refused += 1;
                let id = id.escape_ascii();
                news.message(&format!(
                    "the server refuses the post {id}: {answer}; it is here only, and not sent again"
                ));
            }
        }
        left -= 1;
        marks.set_posts(next);
        marks.save()?;
    }
    if is_all {
        marks.set_posts(end);
    }
    Ok((posted, refused))
}

/// Most posts of one visit; the others go up with the next.
pub const POSTS_MAX: usize = 1000;

/// The text to send of an article that was posted here, with its id and where the log goes on.
fn post(
    logged: &Logged<'_>,
    snapshot: &Snapshot,
    (host, groups): (&str, &Wildmat),
) -> Option<(Position, Vec<u8>, Vec<u8>)> {
    let line = HistoryLine::parse(logged.record.line())?;
    let text = to_post(logged.record.wire_article(), host, groups)?;
    let is_there = snapshot.is_alive(&line);
    is_there.then(|| (logged.next, line.id.to_vec(), text))
}

/// An article as it is posted again; `None` if it was not posted here, or not to these groups.
fn to_post(wire: &[u8], host: &str, groups: &Wildmat) -> Option<Vec<u8>> {
    let (mut is_ours, mut is_for_them, mut is_dropped) = (false, false, false);
    let mut out = Vec::with_capacity(wire.len());
    let mut rest = wire;
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')? + 1;
        let (line, after) = rest.split_at_checked(end)?;
        if line.trim_ascii().is_empty() {
            break;
        }
        rest = after;
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at_checked(colon)?;
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            is_dropped = ADDED.iter().any(|known| known.eq_ignore_ascii_case(name));
            if name.eq_ignore_ascii_case(b"Path") {
                let after = value.strip_prefix(host.as_bytes());
                is_ours = after.is_some_and(|after| after.starts_with(b"!.POSTED"));
            }
            if name.eq_ignore_ascii_case(b"Newsgroups") {
                let mut names = value.split(|byte| *byte == b',');
                is_for_them = names.any(|name| groups.matches(name.trim_ascii()));
            }
        }
        if !is_dropped {
            out.extend_from_slice(line);
        }
    }
    out.extend_from_slice(rest);
    (is_ours && is_for_them).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_posted_here_goes_up() {
        let groups = Wildmat::parse(b"comp.*");
        let article = |path: &str, newsgroups: &str| {
            format!(
                "Path: {path}\r\nFrom: a@b\r\nNewsgroups: {newsgroups}\r\nInjection-Info: us;\r\n\tmore\r\nSubject: x\r\n folded\r\n\
                 xref: us comp.test:1\r\n\r\nPath: body\r\n..\r\n"
            )
        };
        let text = |path: &str, newsgroups: &str| {
            to_post(article(path, newsgroups).as_bytes(), "us", &groups)
                .map(|text| String::from_utf8(text).unwrap())
        };
        let wanted = "From: a@b\r\nNewsgroups: alt.x, comp.test\r\nSubject: x\r\n folded\r\n\r\nPath: body\r\n..\r\n";
        let posted = text("us!.POSTED.127.0.0.1!not-for-mail", "alt.x, comp.test");
        assert_eq!(posted.as_deref(), Some(wanted));
        assert!(text("us!.POSTED!not-for-mail", "comp.test").is_some());
        assert_eq!(text("us!.POSTED!not-for-mail", "alt.x"), None);
        assert_eq!(text("us!them!.POSTED!not-for-mail", "comp.test"), None);
        assert_eq!(text("us!not-for-mail", "comp.test"), None);
        assert_eq!(text("them!.POSTED!not-for-mail", "comp.test"), None);
        assert_eq!(to_post(b"no article", "us", &groups), None);
    }
}
