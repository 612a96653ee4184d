//! `import mbox`: articles of mailboxes are filed, whatever their age and compression; what cannot be filed is named and kept, or mended when asked.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io::Write;

use crate::program;

use program::Program;
use program::articles::{batch, filed, id, many, with};

const ACTIVE: &str = "comp.test 0000000009 00001 y\nrec.test 0000000000 00001 m\nold.test 0000000000 00001 =rec.test\n\
                      bad.test 0000000000 00001 x\n";

/// A mailbox with a line before each article.
fn mbox(articles: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    for article in articles {
        text.extend_from_slice(b"From user@example.com Mon Dec 20 04:39:21 1993\n");
        text.extend_from_slice(article);
        text.push(b'\n');
    }
    text
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn import(program: &Program, words: &[&str]) -> (i32, serde_json::Value, String) {
    let words = [&["import", "mbox", "--dir", "news", "--json"][..], words].concat();
    let told = program.run(&words);
    let json = serde_json::from_str(&told.out).unwrap_or_default();
    (told.status, json, told.err)
}

#[test]
fn archives_are_filed_under_the_next_numbers() {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    assert!(settings.contains("article_age_days_max"), "{settings}");
    let aged = settings.replace("#article_age_days_max = 0", "article_age_days_max = 30");
    let aged = aged.replace("article_age_days_max = 0", "article_age_days_max = 30");
    program.write("news/broadsheet.toml", aged.as_bytes());
    let body = b"From me to you\n\nFrom the book of\nlines\n.\n>From a\n\n";
    let plain = with(
        "<1@example.com>",
        "comp.test,old.test,alt.none,bad.test",
        "Xref: elsewhere comp.test:77\nExpires: Mon, 20 Dec 1994 04:39:21 GMT\n",
        body,
    );
    let cancel = with(
        "<2@example.com>",
        "comp.test",
        "Control: cancel <1@example.com>\n",
        b"x\n",
    );
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.add_directory("comp", options).unwrap();
    zip.start_file("comp/test.mbox", options).unwrap();
    let zipped = many("z", 50, "comp.test", 3000);
    zip.write_all(&mbox(&zipped)).unwrap();
    let zip = zip.finish().unwrap().into_inner();
    program.write("a.mbox", &mbox(&[plain.clone(), cancel]));
    program.write("b.mbox.gz", &gzip(&mbox(&many("g", 20, "rec.test", 100))));
    program.write("c.mbox.zip", &zip);
    let files = ["a.mbox", "b.mbox.gz", "c.mbox.zip"];
    let (status, told, err) = import(&program, &files);
    assert_eq!((status, err.as_str()), (0, ""), "{told}");
    assert_eq!(
        (told["filed"].as_u64(), told["quoted_lines"].as_u64()),
        (Some(72), Some(1))
    );
    program.assert_clean();
    // As it was, but for Path and Xref.
    let expected = filed(&plain, "comp.test:10 rec.test:1");
    let expected = String::from_utf8(expected)
        .unwrap()
        .replace("Xref: elsewhere comp.test:77\n", "");
    let shown = program.run_bytes(&["article", "--dir", "news", "comp.test/10"]);
    assert_eq!(String::from_utf8(shown).unwrap(), expected);
    let row = program
        .run(&["overview", "--dir", "news", "rec.test", "1"])
        .out;
    assert!(
        row.contains("Xref: news.example.org comp.test:10 rec.test:1"),
        "{row}"
    );
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let last = rows.lines().last().unwrap();
    assert!(
        last.starts_with("60\t") && last.contains(&id("z", 50)),
        "{last}"
    );
    // The control message is filed, and cancels nothing; an Expires that has passed removes nothing.
    assert!(
        program
            .run(&["overview", "--dir", "news", "control"])
            .out
            .contains("<2@example.com>")
    );
    program.run(&["expire", "--dir", "news"]);
    assert!(
        program
            .run(&["overview", "--dir", "news", "comp.test", "10"])
            .out
            .contains("<1@example.com>")
    );
    // Again: all are here.
    let (status, told, _) = import(&program, &files);
    assert_eq!(
        (status, told["known"].as_u64(), told["filed"].as_u64()),
        (0, Some(72), Some(0))
    );
    // The limit of the age is in force for others.
    let old = with("<old@example.com>", "comp.test", "", b"x\n");
    assert_eq!(program.rnews(&batch(&[old])).count("accepted"), 0);
    program.assert_clean();
}

/// Articles that need mending: of Deja News, without anything, of an unknown group.
fn broken() -> Vec<u8> {
    let mut text = b"From -8946248053963491671\nX-Google-Thread: 1\nFrom: a@b (C)\nSubject: Re: New\nDate: 1997/11/17\n\
        Message-ID: <deja@example.com>#1/1\nNewsgroups: comp.test\n\nHello\n\n\
        From user@example.com Mon Dec 20 04:39:21 1993\nSubject: bare\n\nbare\n\n"
        .to_vec();
    text.extend_from_slice(&mbox(&[
        with("<good@example.com>", "comp.test", "", b"good\n"),
        with("<none@example.com>", "alt.none", "", b"none\n"),
    ]));
    text
}

#[test]
fn what_is_broken_is_kept_and_named() {
    let program = Program::with_news(ACTIVE);
    program.write("x.mbox", &broken());
    let (status, told, err) = import(&program, &["x.mbox"]);
    assert_eq!(status, 1, "{err}");
    assert_eq!(
        (told["filed"].as_u64(), told["unfiled"].as_u64()),
        (Some(1), Some(3))
    );
    for part in [
        "x.mbox byte 0: <deja@example.com>#1/1: no Path: header",
        ": no Message-ID: header (--mend adds what can be known)",
        "<none@example.com>: none of its groups is in active: `alt.none'",
    ] {
        assert!(err.contains(part), "{part}: {err}");
        assert!(program.read("news/import.refused").contains(part));
    }
    let kept = program.read("news/bad/import.unfiled");
    assert_eq!(kept.matches("#! rnews ").count(), 3);
    program.assert_clean();
}

#[test]
fn groups_that_take_no_articles_are_named_so() {
    let program = Program::with_news(ACTIVE);
    let article = with("<1@example.com>", "bad.test,alt.none", "", b"x\n");
    program.write("x.mbox", &mbox(&[article]));
    let (status, _, err) = import(&program, &["x.mbox"]);
    assert_eq!(status, 1, "{err}");
    let why = "its groups take no articles (flag x or j): `bad.test'; change the flag";
    assert!(err.contains(why), "{err}");
}

#[test]
fn missing_headers_are_mended_when_asked() {
    let program = Program::with_news(ACTIVE);
    // The last one is cut off within its header.
    let cut = [
        &broken()[..],
        b"From user@example.com Mon Dec 20 04:39:22 1993\nSubject: cut",
    ]
    .concat();
    program.write("x.mbox", &cut);
    let words = ["--mend", "--group", "old.test", "x.mbox"];
    let (status, told, err) = import(&program, &words);
    assert_eq!(status, 0, "{err}");
    assert_eq!(
        (told["filed"].as_u64(), told["mended"].as_u64()),
        (Some(5), Some(3))
    );
    let mended = program.read("news/import.mended");
    for part in [
        "<deja@example.com>: Message-ID replaced (what follows it was cut off), Path added",
        "Newsgroups added (of --group)",
        "Date added (from the line before the article)",
    ] {
        assert!(mended.contains(part), "{part}: {mended}");
        assert!(err.contains(part), "{part}: {err}");
    }
    let article = program.run(&["article", "--dir", "news", "rec.test/2"]).out;
    for part in [
        "Path: news.example.org!not-for-mail\n",
        "\nDate: Mon, 20 Dec 1993 04:39:21 -0000 (UTC)\n",
        "\nNewsgroups: rec.test\n",
        "\nFrom: user@example.com\n",
        "\nSubject: bare\n\nbare\n",
    ] {
        assert!(article.contains(part), "{part}: {article}");
    }
    // Mended articles get the same ids again.
    let (status, told, _) = import(&program, &words);
    assert_eq!(
        (status, told["known"].as_u64(), told["mended"].as_u64()),
        (0, Some(5), Some(0))
    );
    program.assert_clean();
}

#[test]
fn quotes_are_undone_only_when_asked() {
    let program = Program::with_news(ACTIVE);
    let text = b">From a\n>>From b\n";
    for (number, form) in [(10, ""), (11, "mboxo"), (12, "mboxrd")] {
        program.write(
            "q.mbox",
            &mbox(&[with(&format!("<{number}@q>"), "comp.test", "", text)]),
        );
        let form = format!("--quoting={form}");
        let words: &[&str] = match number {
            10 => &["q.mbox"],
            _ => &[&form, "q.mbox"],
        };
        let (status, _, err) = import(&program, words);
        assert_eq!(status, 0, "{err}");
        let article = program.run(&["article", "--dir", "news", &format!("comp.test/{number}")]);
        let body = [
            ">From a\n>>From b\n",
            "From a\n>>From b\n",
            "From a\n>From b\n",
        ][number - 10];
        assert!(article.out.ends_with(&format!("\n\n{body}")), "{article:?}");
    }
    let (status, _, err) = import(&program, &["--quoting", "other", "q.mbox"]);
    assert!(status > 1 && err.contains("mboxrd"), "{err}");
}

#[test]
fn files_that_are_no_mailboxes_are_named_and_the_rest_goes_on() {
    let program = Program::with_news(ACTIVE);
    let articles = many("d", 40, "comp.test", 3000);
    program.write("batch", &batch(&articles));
    program.write("empty", b"");
    let mut damaged = gzip(&mbox(&articles));
    damaged.truncate(damaged.len() / 2);
    program.write("cut.gz", &damaged);
    program.write("bad.zip", b"PK\x03\x04 nothing of the kind");
    program.write("good", &mbox(&many("e", 3, "comp.test", 10)));
    let made = std::process::Command::new("mkfifo")
        .arg(program.path("fifo"))
        .status();
    assert!(made.unwrap().success());
    let words = [
        "batch", "none", "empty", "cut.gz", "bad.zip", "fifo", "good",
    ];
    let (status, told, err) = import(&program, &words);
    assert_eq!(status, 1, "{err}");
    assert_eq!(told["unread_files"], 5, "{err}");
    let filed = told["filed"].as_u64().unwrap();
    assert!((3..43).contains(&filed), "{told}");
    for part in [
        "batch: not a mailbox",
        "none: ",
        "cut.gz: gzip data is truncated",
        "bad.zip: the zip archive: ",
        "fifo: it is not a regular file",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    program.assert_clean();
    let (status, _, err) = import(&program, &["--group", "no.group", "good"]);
    assert!(
        status > 0 && err.contains("no.group is not in active"),
        "{err}"
    );
    let (status, _, err) = import(&program, &["--group", "bad.test", "good"]);
    assert!(
        status > 0 && err.contains("nothing is filed in bad.test"),
        "{err}"
    );
}

#[test]
fn standard_input_may_be_a_pipe() {
    let program = Program::with_news(ACTIVE);
    let text = gzip(&mbox(&many("a", 2, "comp.test", 100)));
    let told = program.feed(&["import", "mbox", "--dir", "news", "/dev/stdin"], &text);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.starts_with("2 articles filed"), "{told:?}");
}

#[test]
fn the_limit_of_articles_holds_for_small_ones() {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    let (before, after) = settings.split_once("\narticle_bytes_max = ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    let text = format!("{before}\narticle_bytes_max = 50000\n{after}");
    program.write("news/broadsheet.toml", text.as_bytes());
    let articles = [
        with(
            "<large@example.com>",
            "comp.test",
            "",
            &b"line\n".repeat(10_000),
        ),
        with(
            "<small@example.com>",
            "comp.test",
            "",
            &b"line\n".repeat(8_000),
        ),
    ];
    program.write("box", &mbox(&articles));
    let (status, told, err) = import(&program, &["box"]);
    assert_eq!((status, told["filed"].as_u64()), (1, Some(1)), "{err}");
    let why = "box byte 0: <large@example.com>: it has ";
    assert!(err.contains(why), "{err}");
}

#[test]
fn a_large_archive_needs_little_memory() {
    const PEAK_KIB_MAX: u64 = 128 << 10;
    let program = Program::with_news(ACTIVE);
    // 200 MB of articles, and one of 40 MB that is too large.
    let mut out = flate2::write::GzEncoder::new(
        fs::File::create(program.path("l.mbox.gz")).unwrap(),
        flate2::Compression::fast(),
    );
    let mut large = with("<large@example.com>", "comp.test", "", b"");
    large.extend_from_slice(&b"From nobody\n\nwords and words\n\n".repeat(40 << 15));
    out.write_all(&mbox(&[large])).unwrap();
    for round in 0..20 {
        let articles = many(&format!("l{round}"), 100, "comp.test", 100_000);
        out.write_all(&mbox(&articles)).unwrap();
    }
    out.finish().unwrap();
    let child = program
        .command(&["import", "mbox", "--dir", "news", "l.mbox.gz"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let process = child.id();
    let watch = std::thread::spawn(move || {
        let mut peak = 0;
        // Until it has ended.
        while let Some(kib) = program::peak_kib(process) {
            peak = peak.max(kib);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        peak
    });
    let done = child.wait_with_output().unwrap();
    let peak = watch.join().unwrap();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(told.starts_with("2000 articles filed"), "{told}");
    let err = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(err.contains("<large@example.com>: it has "), "{err}");
    assert!(peak < PEAK_KIB_MAX, "{peak} KiB");
}

#[test]
fn a_full_disk_ends_it_before_it_is_full() {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    let (before, after) = settings.split_once("[incoming]").unwrap();
    let (start, end) = after.split_once("\nkeep_free = ").unwrap();
    let (_, end) = end.split_once('\n').unwrap();
    let text = format!("{before}[incoming]{start}\nkeep_free = \"900 TiB\"\n{end}");
    program.write("news/broadsheet.toml", text.as_bytes());
    program.write("box", &mbox(&many("a", 3, "comp.test", 100)));
    let (status, _, err) = import(&program, &["box"]);
    assert_eq!(status, 2, "{err}");
    assert!(
        err.contains("`broadsheet expire'") && err.contains("then run the import again"),
        "{err}"
    );
    program.write("news/broadsheet.toml", settings.as_bytes());
    let (status, json, err) = import(&program, &["box"]);
    assert_eq!((status, json["filed"].as_u64()), (0, Some(3)), "{err}");
}

#[test]
fn the_same_refusals_are_written_once() {
    let program = Program::with_news(ACTIVE);
    program.write("x.mbox", &broken());
    let lists = || {
        ["import.refused", "bad/import.unfiled"].map(|name| program.read(&format!("news/{name}")))
    };
    let (status, first, err) = import(&program, &["x.mbox"]);
    assert_eq!((status, first["unfiled"].as_u64()), (1, Some(3)));
    let written = lists();
    // They are refused, and told, in each run.
    let (status, again, told) = import(&program, &["x.mbox"]);
    assert_eq!((status, again["unfiled"].as_u64()), (1, Some(3)));
    assert_eq!(told, err);
    assert!(lists() == written);
    // Other articles are added.
    program.write(
        "y.mbox",
        &mbox(&[with("<y@example.com>", "alt.none", "", b"y\n")]),
    );
    let (status, _, _) = import(&program, &["y.mbox"]);
    assert_eq!(status, 1);
    let [refused, kept] = lists();
    assert!(refused.starts_with(&written[0]) && refused.contains("<y@example.com>: none of"));
    assert!(
        kept.starts_with(&written[1]) && kept.ends_with("\n\ny\n"),
        "{kept}"
    );
    // An article that somebody took away is kept again.
    fs::remove_file(program.path("news/bad/import.unfiled")).unwrap();
    import(&program, &["x.mbox"]);
    assert!(lists()[1] == written[1]);
}

#[test]
fn another_article_with_the_same_id_is_kept_and_named() {
    let program = Program::with_news(ACTIVE);
    let article = |path: &str, more: &str, body: &[u8]| {
        let text = with("<1@example.com>", "comp.test", more, body);
        let text = String::from_utf8(text).unwrap();
        let (start, rest) = text.split_once("Path: ").unwrap();
        let (_, end) = rest.split_once('\n').unwrap();
        format!("{start}Path: {path}\n{end}").into_bytes()
    };
    let first = article("a!x", "", b"one\n");
    // It came by another way, and its mailbox has an empty line more.
    let same = article("b!x", "Xref: b comp.test:7\n", b"one\n\n");
    let header = article("a!x", "Keywords: other\n", b"one\n");
    let body = article("a!x", "", b"two\n");
    program.write(
        "x.mbox",
        &mbox(&[first.clone(), same, header, body.clone()]),
    );
    for filed in [1, 0] {
        let (status, told, err) = import(&program, &["x.mbox"]);
        assert_eq!(status, 1, "{err}");
        let counts = ["filed", "known", "unfiled"].map(|key| told[key].as_u64().unwrap());
        assert_eq!(counts, [filed, 2 - filed, 2], "{told}");
        let why = ": <1@example.com>: another article with this id is here";
        assert_eq!(err.matches(why).count(), 2, "{err}");
        assert_eq!(program.read("news/import.refused").matches(why).count(), 2);
        let kept = program.read("news/bad/import.unfiled");
        assert_eq!(kept.matches("#! rnews ").count(), 2, "{kept}");
        assert!(
            kept.ends_with(&String::from_utf8(body.clone()).unwrap()),
            "{kept}"
        );
    }
    // A removed one does not come back.
    program.run(&["article", "remove", "--dir", "news", "<1@example.com>"]);
    program.write("y.mbox", &mbox(&[first]));
    let (status, told, _) = import(&program, &["y.mbox"]);
    assert_eq!((status, told["known"].as_u64()), (0, Some(1)), "{told}");
    program.assert_clean();
}

const DATED: &str = "From user@example.com Mon Dec 20 04:39:21 1993\n";

#[test]
fn lines_of_newsreaders_and_missing_empty_lines_lose_no_message() {
    let program = Program::with_news(ACTIVE);
    let articles = many("m", 53, "comp.test", 100);
    let between = [
        "Article 415 of comp.test:\n",
        ">From a!user Mon Dec 20 04:39:21 1993 remote from b\n",
        "",
    ];
    let mut text = Vec::new();
    for (at, article) in articles.iter().enumerate() {
        text.extend_from_slice(DATED.as_bytes());
        text.extend_from_slice(between[at.min(2)].as_bytes());
        text.extend_from_slice(article);
    }
    program.write("x.mbox", &text);
    let (status, told, err) = import(&program, &["x.mbox"]);
    assert_eq!(
        (status, told["filed"].as_u64(), err.as_str()),
        (0, Some(53), "")
    );
    // Nothing but the lines of the mailbox has gone.
    let shown = program.run_bytes(&["article", "--dir", "news", "comp.test/10"]);
    assert!(shown == filed(&articles[0], "comp.test:10"));
    program.assert_clean();
}

#[test]
fn text_that_looks_like_a_beginning_stays_text_and_is_reported() {
    let program = Program::with_news(ACTIVE);
    let body = b"x\n\nFrom the manual of the day:\nNote: this is text\n\ny\n";
    let articles = [
        with("<1@example.com>", "comp.test", "", body),
        with("<2@example.com>", "comp.test", "", b"z\n"),
    ];
    let text = mbox(&articles);
    let at = text
        .windows(8)
        .position(|part| part == b"From the")
        .unwrap();
    program.write("x.mbox", &text);
    let (status, told, err) = import(&program, &["x.mbox"]);
    let counts = ["filed", "unfiled", "apparent_beginnings"].map(|key| told[key].as_u64());
    assert_eq!((status, counts), (1, [Some(2), Some(0), Some(1)]), "{err}");
    let why = format!("x.mbox byte {at}: this `From ' line looks like the beginning of a message");
    assert!(
        err.contains(&why) && program.read("news/import.refused").contains(&why),
        "{err}"
    );
    let article = program.run(&["article", "--dir", "news", "comp.test/10"]);
    assert!(article.out.as_bytes().ends_with(body), "{article:?}");
}

#[test]
fn text_behind_a_compressed_mailbox_costs_no_article() {
    let program = Program::with_news(ACTIVE);
    let text = mbox(&many("t", 60, "comp.test", 100));
    program.write("x.mbox.gz", &[&gzip(&text)[..], b"\x1a"].concat());
    // `compress' of bytes that are not shrunk: codes of 9 bits, and a clear code before they get wider.
    let mut packed = vec![0x1f, 0x9d, 0x90];
    let text = mbox(&many("c", 60, "comp.test", 100));
    let mut groups = text.chunks(200).peekable();
    while let Some(group) = groups.next() {
        let mut codes: Vec<u16> = group.iter().map(|&byte| u16::from(byte)).collect();
        if groups.peek().is_some() {
            codes.push(256);
            codes.resize(codes.len().next_multiple_of(8), 0);
        }
        let mut bits = codes
            .iter()
            .flat_map(|code| (0..9).map(move |bit| (code >> bit & 1) as u8));
        while let Some(first) = bits.next() {
            let byte = (1..8).fold(first, |byte, bit| byte | bits.next().unwrap_or(0) << bit);
            packed.push(byte);
        }
    }
    packed.push(b'\n');
    program.write("y.mbox.Z", &packed);
    let (status, told, err) = import(&program, &["x.mbox.gz", "y.mbox.Z"]);
    assert_eq!((status, told["filed"].as_u64()), (0, Some(120)), "{err}");
    assert!(err.contains("x.mbox.gz: gzip data ends at byte"), "{err}");
    assert!(
        err.contains("y.mbox.Z: compress data ends at byte"),
        "{err}"
    );
}
