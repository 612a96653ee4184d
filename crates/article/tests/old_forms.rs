//! Converted A News and early B News articles have the required headers and lose nothing.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::panic)]

use crate::shared_tables;

use std::io::Read;

use article::{Article, Form, Header, old};
use proptest::prelude::*;

fn convert(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    old::convert(&Article::parse(text, Form::Native), &mut out).then_some(out)
}

#[test]
fn a_converted_a_news_article_has_every_required_header() {
    let old =
        b"Asite.12\nnet.test,net.misc\nnear!site!user\nThu Jan 13 05:53:30 1983\nhello\nbody\0\n";
    let new = convert(old).expect("an A News article");
    let article = Article::parse(&new, Form::Native);
    assert_eq!((article.error(), article.required()), (None, Ok(())));
    assert_eq!(
        article.value(Header::MessageId),
        Some(&b"<12@site.UUCP>"[..])
    );
    assert_eq!(
        article.value(Header::Newsgroups),
        Some(&b"net.test,net.misc"[..])
    );
    assert_eq!(article.value(Header::Path), Some(&b"near!site!user"[..]));
    assert_eq!(
        article.value(Header::Date),
        Some(&b"Thu Jan 13 05:53:30 1983"[..])
    );
    assert_eq!(article.value(Header::Subject), Some(&b"hello"[..]));
    assert_eq!(&new[article.body()..], b"body\0\n");
}

/// The articles of a gzipped batch; skipped with a line on stderr if it is absent.
fn batch(path: &str) -> Option<Vec<Vec<u8>>> {
    let file = std::fs::File::open(shared_tables::shared(path)?).expect("a readable batch");
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut text)
        .expect("a whole batch");
    let mut articles = Vec::new();
    let mut rest = &text[..];
    while let Some(after) = rest.strip_prefix(b"#! rnews ") {
        let end = after
            .iter()
            .position(|&byte| byte == b'\n')
            .expect("a count");
        let count = std::str::from_utf8(&after[..end]).expect("digits");
        let (article, others) = after[end + 1..].split_at(count.parse().expect("a count"));
        articles.push(article.to_vec());
        rest = others;
    }
    assert!(!articles.is_empty() && rest.is_empty(), "{path}");
    Some(articles)
}

#[test]
fn late_b_news_articles_are_unchanged() {
    let Some(articles) = batch("corpus/edge/bnews.rnews.gz") else {
        return;
    };
    for text in articles {
        let article = Article::parse(&text, Form::Native);
        assert_eq!((article.error(), article.required()), (None, Ok(())));
        let marks = [
            Header::ArticleId,
            Header::RelayVersion,
            Header::PostingVersion,
            Header::DateReceived,
            Header::Received,
        ];
        assert!(marks.iter().any(|&mark| article.value(mark).is_some()));
        assert_eq!(convert(&text), None);
    }
}

#[test]
fn early_b_news_articles_get_their_headers_back() {
    let Some(articles) = batch("corpus/incomplete/crlf.rnews.gz") else {
        return;
    };
    let mut early = 0;
    for text in articles {
        // These articles have CRLF line ends; the test concerns their headers only.
        let text: Vec<u8> = text.into_iter().filter(|&byte| byte != b'\r').collect();
        let article = Article::parse(&text, Form::Native);
        let Some(id) = article.value(Header::ArticleId) else {
            continue;
        };
        early += 1;
        // The form before RFC 850: without the modern names.
        let modern = [Header::MessageId, Header::Date].map(|header| article.line(header));
        let mut before: Vec<u8> = Vec::new();
        let at = |index: &usize| !modern.iter().flatten().any(|line| line.contains(index));
        before.extend((0..text.len()).filter(at).map(|index| text[index]));
        let new = convert(&before).expect("something to add");
        assert!(new.ends_with(&before));
        let article = Article::parse(&new, Form::Native);
        assert_eq!((article.error(), article.required()), (None, Ok(())));
        let (site, number) = id.split_at(id.iter().position(|&b| b == b'.').expect("a dot"));
        let expected = [b"<", &number[1..], b"@", site, b".UUCP>"].concat();
        assert_eq!(article.value(Header::MessageId), Some(&expected[..]));
        assert_eq!(article.value(Header::Date), article.value(Header::Posted));
    }
    assert!(early > 0, "the batch has B News articles");
}

proptest! {
    #[test]
    fn nothing_is_removed(text in "A?([a-z!.@: \n]{0,60}\n|Title: x\n|Posted: y\n|Article-I.D.: a.1\n){0,8}") {
        let text = text.as_bytes();
        if let Some(new) = convert(text) {
            let is_b = new.ends_with(text);
            let body = text.splitn(6, |&byte| byte == b'\n').nth(5).unwrap_or_default();
            prop_assert!(is_b || (text.starts_with(b"A") && new.ends_with(body)));
            let has_id = Article::parse(&new, Form::Native).value(Header::MessageId).is_some();
            prop_assert!(has_id || is_b);
        }
    }
}
