//! What is filed is read back, by id, by number, and as overview rows.

use crate::news;

use news::News;
use store::{Options, Snapshot, Spool};

#[test]
fn what_is_filed_is_read_back() {
    let news = News::new(&["a.b", "c"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    for n in 1..=20 {
        news.file(&mut spool, &format!("<{n}@x>"), &["a.b"]);
    }
    news.file(&mut spool, "<both@x>", &["a.b", "c"]);
    assert!(spool.has(b"<both@x>").unwrap());
    spool.commit().unwrap();
    drop(spool);

    let reader = Snapshot::open(news.dir()).unwrap();
    let (mut buffer, mut native) = (Vec::new(), Vec::new());
    let stored = reader.article(b"<both@x>", &mut buffer).unwrap().unwrap();
    stored.push_native(&mut native);
    assert_eq!(
        String::from_utf8(native).unwrap(),
        news::article("<both@x>")
    );
    let mut buffer = Vec::new();
    let by_number = reader.article_by_number(b"c", 1, &mut buffer).unwrap();
    assert_eq!(by_number.unwrap().line(), stored.line());
    let mut rows = Vec::new();
    reader
        .overview(b"a.b", (20, 21), |row| {
            rows.extend_from_slice(row.text);
            Ok(())
        })
        .unwrap();
    let rows = String::from_utf8(rows).unwrap();
    assert_eq!(rows.lines().count(), 2);
    assert!(
        rows.starts_with("20\tsubject <20@x>\tu@x\tthen\t<20@x>\t\t"),
        "{rows}"
    );
    assert!(
        reader
            .article(b"<none@x>", &mut Vec::new())
            .unwrap()
            .is_none()
    );
    assert!(store::fsck(news.dir(), false).unwrap().is_clean());
}

#[test]
fn many_small_segments_hold_what_one_would() {
    let news = News::new(&["a.b", "c"]);
    let options = Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    };
    let mut spool = Spool::open(news.dir(), options).unwrap();
    let filler = "x".repeat(3000);
    for n in 1..=2000 {
        news.file_with(&mut spool, &format!("<{n}@x>"), &["a.b"], &filler);
        if n % 100 == 0 {
            spool.commit().unwrap();
        }
    }
    spool.commit().unwrap();
    for n in 1..=2000 {
        assert!(spool.has(format!("<{n}@x>").as_bytes()).unwrap(), "{n}");
    }
    drop(spool);
    let reader = Snapshot::open(news.dir()).unwrap();
    assert!(reader.segments().len() > 5);
    for n in [1, 777, 2000] {
        assert!(
            reader
                .article_by_number(b"a.b", n, &mut Vec::new())
                .unwrap()
                .is_some(),
            "{n}"
        );
    }
    let mut numbers = Vec::new();
    reader
        .overview(b"a.b", (0, u64::MAX), |row| {
            numbers.push(row.number);
            Ok(())
        })
        .unwrap();
    assert_eq!(numbers, (1..=2000).collect::<Vec<_>>());
    let report = store::fsck(news.dir(), false).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.articles, 2000);
}
