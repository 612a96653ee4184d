//! Made-up articles and batches.

/// An article of one group, as it comes from a neighbour.
pub fn article(id: &str, group: &str) -> Vec<u8> {
    with(id, group, "", b"hello\n")
}

/// An article with further header lines and this body.
pub fn with(id: &str, groups: &str, header: &str, body: &[u8]) -> Vec<u8> {
    let mut text = format!(
        "Path: far!near!user\n\
         From: User <user@example.com>\n\
         Newsgroups: {groups}\n\
         Subject: a test\n\
         Message-ID: {id}\n\
         Date: Mon, 20 Dec 1993 04:39:21 GMT\n\
         {header}\n"
    )
    .into_bytes();
    text.extend_from_slice(body);
    text
}

/// A batch of articles.
pub fn batch(articles: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    for article in articles {
        text.extend_from_slice(format!("#! rnews {}\n", article.len()).as_bytes());
        text.extend_from_slice(article);
    }
    text
}

/// So many articles in `group`, with ids `<PREFIX.1@example.com>` and on, each with a body of `body_bytes`.
pub fn many(prefix: &str, count: usize, group: &str, body_bytes: usize) -> Vec<Vec<u8>> {
    (1..=count)
        .map(|number| {
            let mut body = format!("{prefix} {number} ").repeat(body_bytes / 8 + 1);
            body.truncate(body_bytes);
            body.push('\n');
            with(&id(prefix, number), group, "", body.as_bytes())
        })
        .collect()
}

/// The id of the article of that number that `many` makes.
pub fn id(prefix: &str, number: usize) -> String {
    format!("<{prefix}.{number}@example.com>")
}

/// What the article looks like when it has been filed: our name in Path, and Xref in front.
pub fn filed(article: &[u8], links: &str) -> Vec<u8> {
    let mut text = format!("Xref: news.example.org {links}\nPath: news.example.org!").into_bytes();
    text.extend_from_slice(article.strip_prefix(b"Path: ").expect("Path comes first"));
    text
}

/// A date as headers have it, of seconds since 1970.
pub fn date(seconds: u64) -> String {
    let mut text = Vec::new();
    article::date::write_utc(&mut text, seconds as i64);
    String::from_utf8(text).expect("a date is ASCII")
}
