//! Any input in any portions: no panic, bounded memory, and the same replies.

use crate::backend;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use backend::{ALL, Client, Fake, capabilities};
use nntp::{Next, OUT_BYTES_MAX};

const LINES: &[&str] = &[
    "GROUP misc.test",
    "GROUP misc.empty",
    "GROUP local.secret",
    "LISTGROUP misc.test 2-",
    "LISTGROUP",
    "STAT",
    "NEXT",
    "LAST",
    "ARTICLE 2",
    "BODY <4@test>",
    "HEAD",
    "ARTICLE <2@test>",
    "OVER 1-",
    "OVER <1@test>",
    "OVER",
    "XOVER 7-",
    "HDR x-odd 1-",
    "HDR subject 2-4",
    "XHDR lines",
    "XPAT subject 1- *2*",
    "LIST",
    "LIST ACTIVE misc.*",
    "LIST COUNTS",
    "LIST NEWSGROUPS",
    "LIST NONSENSE",
    "NEWNEWS * 19700101 000000 GMT",
    "NEWGROUPS 19700101 000000",
    "DATE",
    "HELP",
    "CAPABILITIES",
    "MODE READER",
    "MODE STREAM",
    "CHECK <1@test>",
    "CHECK <9@test>",
    "TAKETHIS <9@test>\r\nA: b\r\n\r\n..x\r\n.",
    "TAKETHIS <1@test>\r\nA: b\r\n\r\n.",
    "TAKETHIS nonsense\r\nQUIT\r\n.",
    "IHAVE <7@test>\r\nA: b\r\n\r\nx\r\n.",
    "IHAVE <1@test>",
    "POST\r\nA: b\r\n\r\nx\r\n.",
    "AUTHINFO USER me",
    "AUTHINFO PASS secret",
    "AUTHINFO SASL PLAIN AG1lAHNlY3JldA==",
    "AUTHINFO SASL SCRAM-SHA-256",
    "STARTTLS",
    "COMPRESS DEFLATE",
    "XGTITLE misc.*",
    "",
    ".",
    "*",
];

fn input() -> impl Strategy<Value = Vec<u8>> {
    let line = select(LINES).prop_map(|line| [line.as_bytes(), b"\r\n"].concat());
    let long = (0..700usize).prop_map(|length| [&vec![b'x'; length][..], b"\r\n"].concat());
    let junk = vec(any::<u8>(), 0..40);
    let piece = prop_oneof![20 => line, 1 => long, 2 => junk];
    vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn client(may_log_in: bool) -> Client {
    let mut permissions = ALL;
    permissions.could_log_in = may_log_in;
    Client::with(Fake::usual(), capabilities(), permissions)
}

proptest! {
    #[test]
    fn portions_do_not_matter(
        input in input(),
        portions in vec(1..100usize, 1..20),
        may_log_in: bool,
    ) {
        let mut whole = client(may_log_in);
        let wanted = whole.say(&input);
        let mut parted = client(may_log_in);
        let mut got = Vec::new();
        let mut rest = &input[..];
        for portion in portions.iter().cycle() {
            if rest.is_empty() || parted.next == Next::Close {
                break;
            }
            let (now, later) = rest.split_at((*portion).min(rest.len()));
            got.extend(parted.say(now));
            rest = later;
        }
        prop_assert_eq!(
            String::from_utf8_lossy(&got),
            String::from_utf8_lossy(&wanted)
        );
        prop_assert_eq!(&parted.articles, &whole.articles);
        prop_assert!(whole.most_waiting < OUT_BYTES_MAX * 2);
    }

    #[test]
    fn a_pipeline_gets_the_same_replies(lines in vec(select(LINES), 0..30)) {
        let mut one_by_one = client(false);
        let mut wanted = Vec::new();
        for line in &lines {
            if one_by_one.next != Next::Close {
                wanted.extend(one_by_one.say(format!("{line}\r\n")));
            }
        }
        let all: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let got = client(false).say(all);
        prop_assert_eq!(
            String::from_utf8_lossy(&got),
            String::from_utf8_lossy(&wanted)
        );
    }

    #[test]
    fn any_article_is_framed(
        lines in vec("[.]{0,3}[a-z\\t\r\0]{0,9}", 0..9),
        portions in vec(1..50usize, 1..9),
    ) {
        let mut article = Vec::new();
        for line in &lines {
            let dot = if line.starts_with('.') { "." } else { "" };
            article.extend(format!("{dot}{line}\r\n").into_bytes());
        }
        let input = [b"TAKETHIS <new@test>\r\n", &article[..], b".\r\nCHECK <1@test>\r\n"].concat();
        let mut client = client(false);
        let mut got = Vec::new();
        let mut rest = &input[..];
        for portion in portions.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at((*portion).min(rest.len()));
            got.extend(client.say(now));
            rest = later;
        }
        prop_assert_eq!(
            String::from_utf8_lossy(&got),
            "239 <new@test>\r\n438 <1@test>\r\n"
        );
        prop_assert_eq!(&client.articles, &[article]);
    }
}
