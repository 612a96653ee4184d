//! The criteria of `article remove`.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;
use article::{Article, Form, Header};
use inject::posts_log;
use store::Snapshot;

use crate::flags::Given;
use crate::row_search::{ContentPattern, RowFound, RowSearch};

/// The articles that meet all criteria of the flags; none without flags.
///
/// # Errors
/// Neither criteria nor operands are given, or both; an invalid pattern; or something cannot be read. Nothing may be removed then: articles
/// could be missing.
pub fn run(given: &Given, root: &Path, snapshot: &Snapshot) -> anyhow::Result<Vec<RowFound>> {
    let mut search = RowSearch::of(given, "group")?;
    search.demand_flag(given, ("from", "From"))?;
    search.demand_flag(given, ("subject", "Subject"))?;
    let path = given.value("path").map(OsStrExt::as_bytes);
    let login = given.value("login").map(|login| login.to_string_lossy());
    let is_empty = search.is_empty() && path.is_none() && login.is_none();
    match (is_empty, given.operands.is_empty()) {
        (true, true) => {
            return Err(given
                .usage("needs ID|GROUP/NUMBER..., or a criterion: --from, --subject, --path, --login, --group or --since")
                .into());
        }
        (false, false) => {
            return Err(given.usage("accepts articles or criteria, not both").into());
        }
        (true, false) => return Ok(Vec::new()),
        (false, true) => {}
    }
    if path.is_some_and(<[u8]>::is_empty) || login.as_ref().is_some_and(|login| login.is_empty()) {
        return Err(given.usage("a pattern or login is empty").into());
    }
    let (mut found, searched) = search.run(snapshot)?;
    searched?;
    if let Some(login) = login {
        let posted = posted_by(root, &login)?;
        found.retain(|article| posted.contains(article.value("Message-ID")));
    }
    let Some(path) = path.map(ContentPattern::parse) else {
        return Ok(found);
    };
    let mut kept = Vec::new();
    let mut buffer = Vec::new();
    for article in found {
        let record = snapshot.article(article.value("Message-ID"), &mut buffer)?;
        let is_match = record.is_some_and(|record| {
            let parsed = Article::parse(record.wire_article(), Form::Wire);
            path.matches(parsed.value(Header::Path).unwrap_or_default())
        });
        if is_match {
            kept.push(article);
        }
    }
    Ok(kept)
}

/// The message-ids of the posts of a login.
fn posted_by(root: &Path, login: &str) -> anyhow::Result<HashSet<Vec<u8>>> {
    let mut ids = HashSet::new();
    posts_log::each_line(root, |line| {
        if line.account == login && !line.is_refused {
            ids.insert(line.id.as_bytes().to_vec());
        }
    })
    .with_context(|| format!("cannot read {}", root.join(posts_log::POSTS).display()))?;
    Ok(ids)
}
