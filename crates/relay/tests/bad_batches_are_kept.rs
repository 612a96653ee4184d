//! A batch that cannot be read to its end is kept in bad/, and what is good of it is filed.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use newsdir::{HOST, NOW, Newsdir, Told, article, batch};
use relay::rnews::{self, Handed, Input, Options, Status};
use relay::{FilerOptions, Rules};

fn two() -> (String, String) {
    (
        article("<1@a>", "comp.std", &[]),
        article("<2@a>", "comp.std", &[]),
    )
}

/// The only batch in bad/.
fn kept(newsdir: &Newsdir) -> Vec<u8> {
    let names = newsdir.bad();
    assert_eq!(names.len(), 1, "{names:?}");
    fs::read(newsdir.path().join("bad").join(&names[0])).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn out_of_step() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    let mut bytes = batch(&[&one]);
    let at = bytes.len();
    bytes.extend_from_slice(b"what is this?\n");
    bytes.extend_from_slice(&batch(&[&two]));
    let input = newsdir.input("batch", &bytes);
    let (outcome, told) = newsdir.rnews(&[input], Options::default());
    assert_eq!(outcome.status, Status::Attention);
    assert_eq!(outcome.summary.accepted, 2);
    assert_eq!(kept(&newsdir), bytes);
    assert_eq!(told.len(), 1);
    for part in [
        "batch: out of step at byte ",
        &at.to_string(),
        "`what is this?'",
        "bad/991396800.batch",
    ] {
        assert!(told[0].contains(part), "{told:?}");
    }
    assert!(newsdir.log()[1].starts_with("(local) b <> unbatcher out of synch in file "));
}

#[test]
fn out_of_step_at_every_article_is_told_once() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    // A blank line behind each article, as some batchers wrote.
    let mut bytes = Vec::new();
    for article in [&one, &two, &one, &two] {
        bytes.extend_from_slice(&batch(&[article]));
        bytes.push(b'\n');
    }
    let input = newsdir.input("batch", &bytes);
    let (outcome, told) = newsdir.rnews(&[input], Options::default());
    assert_eq!(outcome.status, Status::Attention);
    assert_eq!(
        (outcome.summary.accepted, outcome.summary.duplicates),
        (2, 2)
    );
    assert_eq!(told.len(), 1, "{told:?}");
    let log = newsdir.log();
    let faults = log.iter().filter(|line| line.contains(" b <> ")).count();
    assert_eq!(faults, 4);
}

#[test]
fn short_and_the_short_article_is_not_filed() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    let mut bytes = batch(&[&one, &two]);
    bytes.truncate(bytes.len() - 3);
    let input = newsdir.input("batch", &bytes);
    let (outcome, told) = newsdir.rnews(&[input], Options::default());
    assert_eq!(outcome.status, Status::Bad);
    assert_eq!((outcome.summary.accepted, outcome.summary.refused), (1, 1));
    assert_eq!(kept(&newsdir), bytes);
    assert!(told[0].contains("short by 3 bytes"), "{told:?}");
    assert_eq!(newsdir.log()[1], "near.example b <2@a> short by 3 bytes");
    // The whole batch, sent again, brings what was missing.
    let again = newsdir.input("again", &batch(&[&one, &two]));
    let (outcome, _) = newsdir.rnews(&[again], Options::default());
    assert_eq!(
        (outcome.summary.accepted, outcome.summary.duplicates),
        (1, 1)
    );
}

#[test]
fn a_wrapped_file_larger_than_the_first_read_is_read_to_its_end() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    // A body that hardly shrinks, so that the second article lies far behind what is read first.
    let mut seed: u32 = 1;
    let body: String = (0..400_000)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'0' + (seed >> 26) as u8)
        })
        .collect();
    let bytes = gzip(&batch(&[&format!("{one}{body}\n"), &two]));
    assert!(bytes.len() > 200_000);
    let input = newsdir.input("batch", &bytes);
    let (outcome, told) = newsdir.rnews(&[input], Options::default());
    assert_eq!(told, Vec::<String>::new());
    assert_eq!(outcome.status, Status::Fine);
    assert_eq!(outcome.summary.accepted, 2);
}

#[test]
fn a_directory_is_no_batch_and_nothing_is_kept_of_it() {
    let newsdir = Newsdir::new();
    let (one, _) = two();
    let good = newsdir.input("batch", &batch(&[&one]));
    let inputs = [Input::File(newsdir.path().join("segments")), good];
    let (outcome, told) = newsdir.rnews(&inputs, Options::default());
    assert_eq!(outcome.status, Status::Attention);
    assert_eq!(outcome.summary.accepted, 1);
    assert!(told[0].contains("directory"), "{told:?}");
    let bad = newsdir.path().join("bad");
    assert!(!bad.exists() || fs::read_dir(bad).unwrap().next().is_none());
}

#[test]
fn torn_compression() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    let mut bytes = gzip(&batch(&[&one, &two]));
    bytes.truncate(bytes.len() - 8);
    let input = newsdir.input("batch", &bytes);
    let (outcome, told) = newsdir.rnews(&[input], Options::default());
    assert_eq!(outcome.status, Status::Bad);
    assert_eq!(kept(&newsdir), bytes);
    assert!(told[0].contains("truncated"), "{told:?}");
}

#[test]
fn a_spoilt_compressed_batch_is_kept_to_its_end() {
    let newsdir = Newsdir::new();
    let mut noise = 1u64;
    let mut line = || {
        noise = noise.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        format!("X-Fill: {noise:x}")
    };
    let articles: Vec<String> = (0..20_000)
        .map(|at| article(&format!("<{at}@a>"), "comp.std", &[&line()]))
        .collect();
    let articles: Vec<&str> = articles.iter().map(String::as_str).collect();
    let mut bytes = gzip(&batch(&articles));
    assert!(bytes.len() > 300_000, "more than a buffer holds");
    for byte in &mut bytes[1000..1100] {
        *byte = 0xff;
    }
    let input = newsdir.input("batch", &bytes);
    let (outcome, _) = newsdir.rnews(&[input], Options::default());
    assert_ne!(outcome.status, Status::Fine);
    assert!(kept(&newsdir) == bytes);
}

#[test]
fn nothing_of_a_batch_with_a_wrong_checksum_is_filed() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    let text = batch(&[&one, &two]);
    // Stored, not deflated: every flipped bit is one of the text.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gzip.write_all(&text).unwrap();
    let mut bytes = gzip.finish().unwrap();
    let at = bytes.windows(5).position(|part| part == b"<2@a>").unwrap();
    bytes[at + 1] ^= 1;
    let input = newsdir.input("batch", &bytes);
    let (outcome, told) = newsdir.rnews(&[input], Options::default());
    assert_eq!(outcome.status, Status::Bad);
    assert_eq!(outcome.summary.articles, 0);
    assert_eq!(kept(&newsdir), bytes);
    assert!(told[0].contains("nothing was filed"), "{told:?}");
}

#[test]
fn a_kept_batch_does_not_change_with_its_file() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    let mut bytes = batch(&[&one, &two]);
    bytes.truncate(bytes.len() - 3);
    let input = newsdir.input("batch", &bytes);
    let Input::File(path) = &input else {
        panic!("{input:?}");
    };
    let path = path.clone();
    newsdir.rnews(&[input], Options::default());
    // As `prog > batch` does, which is the same file.
    fs::write(&path, "another batch").unwrap();
    assert_eq!(kept(&newsdir), bytes);
}

#[test]
fn when_filing_stops_a_file_stays_where_it_is() {
    let newsdir = Newsdir::new();
    std::os::unix::fs::symlink("/dev/full", newsdir.path().join("log")).unwrap();
    let (one, two) = two();
    let input = newsdir.input("batch", &batch(&[&one, &two]));
    let unlink = Options {
        unlink: true,
        ..Options::default()
    };
    let (outcome, _) = newsdir.rnews(&[input], unlink);
    assert_eq!(outcome.status, Status::Attention);
    assert!(newsdir.path().join("batch").exists());
}

/// Cuts a file as soon as it is told how far the run is.
struct Cutting(PathBuf);

impl relay::rnews::Watch for Cutting {
    fn message(&mut self, _: &str) {}

    fn progress(&mut self, _: u64, _: u64) {
        let file = fs::OpenOptions::new().write(true).open(&self.0).unwrap();
        file.set_len(10).unwrap();
    }
}

#[test]
fn a_file_of_others_that_is_cut_while_it_is_read_ends_nobody() {
    let articles: Vec<String> = (0..4_000)
        .map(|number| article(&format!("<{number}@a>"), "comp.std", &[]))
        .collect();
    let bytes = batch(&articles.iter().map(String::as_str).collect::<Vec<_>>());
    for is_handed in [false, true] {
        let newsdir = Newsdir::new();
        let Input::File(path) = newsdir.input("batch", &bytes) else {
            panic!("a file");
        };
        let input = if is_handed {
            Input::Handed(Handed {
                name: "batch".to_owned(),
                tail: "batch".to_owned(),
                file: fs::File::open(&path).unwrap().into(),
                is_private: false,
            })
        } else {
            Input::Spooled(path.clone())
        };
        let mut filer = newsdir.filer();
        let options = Options::default();
        let outcome = relay::rnews::run(&[input], &mut filer, &options, &mut Cutting(path));
        // What was read of it before is filed. Reading a map of it would have killed us (SIGBUS).
        assert!(outcome.summary.accepted >= 512, "{outcome:?}");
        assert!(outcome.summary.accepted < 4_000, "{outcome:?}");
        assert_ne!(outcome.status, Status::Fine, "{outcome:?}");
    }
}

#[test]
fn too_large_articles_on_request() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    let filler = format!("Organization: {}", "x".repeat(9000));
    let large = article("<large@a>", "comp.std", &[&filler]);
    let rnews = |input, save_too_large| {
        let rules = Rules {
            article_bytes_max: 4096,
            ..Rules::new(HOST.as_bytes())
        };
        let mut filer = newsdir.filer_with(rules, FilerOptions::default());
        let mut told = Told::default();
        let options = Options {
            save_too_large,
            clock: || NOW,
            ..Options::default()
        };
        let outcome = rnews::run(&[input], &mut filer, &options, &mut told);
        assert_eq!(outcome.status, Status::Fine);
        told.0.join("\n")
    };
    let bytes = batch(&[&one, &large, &two]);
    let told = rnews(newsdir.input("batch", &bytes), false);
    assert!(
        told.contains("<large@a> from near.example; refused"),
        "{told}"
    );
    assert!(newsdir.bad().is_empty());
    assert!(newsdir.links("<2@a>").is_some());
    let line = "near.example - <large@a> article too large: ";
    let log = newsdir.log();
    assert!(log.iter().any(|told| told.starts_with(line)), "{log:?}");

    let told = rnews(newsdir.input("batch", &bytes), true);
    assert!(told.contains("refused; the batch is saved in "), "{told}");
    assert_eq!(kept(&newsdir), bytes);
}

#[test]
fn what_is_filed_from_bad_is_not_copied_there_again() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    let mut bytes = batch(&[&one, &two]);
    bytes.truncate(bytes.len() - 3);
    newsdir.rnews(&[newsdir.input("batch", &bytes)], Options::default());
    let [name] = &newsdir.bad()[..] else {
        panic!("one batch");
    };
    let again = Input::File(newsdir.path().join("bad").join(name));
    let (outcome, told) = newsdir.rnews(&[again], Options::default());
    assert_eq!(outcome.status, Status::Bad);
    assert!(told[0].contains(&format!("bad/{name}")), "{told:?}");
    assert_eq!(kept(&newsdir), bytes);
}

#[test]
fn one_line_of_the_log_stands_for_all_empty_articles() {
    let newsdir = Newsdir::new();
    let (one, _) = two();
    let bytes = [b"#! rnews 0\n".repeat(5_000), batch(&[&one])].concat();
    let input = newsdir.input("batch", &bytes);
    let (outcome, _) = newsdir.rnews(&[input], Options::default());
    let summary = outcome.summary;
    assert_eq!((summary.accepted, summary.refused), (1, 5_000));
    assert_eq!(newsdir.log().len(), 2);
}

#[test]
fn lines_out_of_step_do_not_grow_the_log_without_end() {
    let newsdir = Newsdir::new();
    let (one, _) = two();
    let bytes = [b"x\n#! rnews 0\n".repeat(50_000), batch(&[&one])].concat();
    let input = newsdir.input("batch", &bytes);
    let (outcome, told) = newsdir.rnews(&[input], Options::default());
    assert_eq!(outcome.status, Status::Attention);
    assert_eq!((outcome.summary.accepted, told.len()), (1, 1), "{told:?}");
    // Those lines, one for the empty articles, and the article.
    assert_eq!(newsdir.log().len(), 1_002);
}

#[test]
fn a_batch_that_could_not_be_saved_stays() {
    let newsdir = Newsdir::new();
    let filler = format!("Organization: {}", "x".repeat(9000));
    let large = article("<large@a>", "comp.std", &[&filler]);
    let (one, _) = two();
    let bytes = batch(&[&one, &large]);
    fs::write(newsdir.path().join("bad"), "in the way").unwrap();
    let input = newsdir.input("batch", &bytes);
    let Input::File(path) = input.clone() else {
        panic!("a file")
    };
    let rules = Rules {
        article_bytes_max: 4096,
        ..Rules::new(HOST.as_bytes())
    };
    let options = Options {
        save_too_large: true,
        unlink: true,
        clock: || NOW,
        ..Options::default()
    };
    let mut filer = newsdir.filer_with(rules, FilerOptions::default());
    let mut told = Told::default();
    let outcome = rnews::run(&[input], &mut filer, &options, &mut told);
    assert_eq!(
        (outcome.status, outcome.without_errors, outcome.left),
        (Status::Attention, 0, vec![0]),
        "{:?}",
        told.0
    );
    assert_eq!(fs::read(path).unwrap(), bytes);
}

/// Runs rnews over one file with `-u`: the status, the number of filed articles, and the messages.
fn unlinking(newsdir: &Newsdir, bytes: &[u8]) -> (Status, u64, Vec<String>) {
    let input = newsdir.input("batch", bytes);
    let options = Options {
        unlink: true,
        ..Options::default()
    };
    let (outcome, told) = newsdir.rnews(&[input], options);
    let is_removed = !newsdir.path().join("batch").exists();
    assert_eq!(is_removed, outcome.status == Status::Fine);
    (outcome.status, outcome.summary.accepted, told)
}

#[test]
fn articles_with_crlf_are_converted() {
    let newsdir = Newsdir::new();
    let (one, two) = two();
    let crlf = [one.replace('\n', "\r\n"), two.replace('\n', "\r\n")];
    let framed = crlf
        .each_ref()
        .map(|text| format!("#! rnews {}\r\n{text}", text.len()));
    let result = unlinking(&newsdir, framed.concat().as_bytes());
    assert_eq!(result, (Status::Fine, 2, Vec::new()));
    assert!(newsdir.bad().is_empty());
    // As the same article with line feeds.
    let plain = Newsdir::new();
    plain.rnews(&[plain.input("batch", &batch(&[&one]))], Options::default());
    assert_eq!(newsdir.article("<1@a>"), plain.article("<1@a>"));
    // And one article alone.
    let alone = Newsdir::new();
    let result = unlinking(&alone, crlf[0].as_bytes());
    assert_eq!(result, (Status::Fine, 1, Vec::new()));
}

#[test]
fn a_batch_without_any_article_of_the_right_form_is_bad() {
    let (one, _) = two();
    let without_id = one.replace("Message-ID", "X-ID");
    let cut = one.replace('\n', "\r\n");
    let large = "x".repeat(Rules::new(HOST.as_bytes()).article_bytes_max + 1);
    for articles in [
        vec!["no header\n", "none here\n"],
        vec![without_id.as_str()],
        vec!["", "", ""],
        vec![large.as_str()],
        // Counts of a batch whose lines got CRLF later.
        vec![cut.get(..cut.len() - 3).unwrap()],
    ] {
        let newsdir = Newsdir::new();
        let bytes = batch(&articles);
        let (status, accepted, told) = unlinking(&newsdir, &bytes);
        assert_eq!((status, accepted), (Status::Bad, 0), "{told:?}");
        assert_eq!(kept(&newsdir), bytes);
        let right = format!(
            "none of its {} articles has the header of an article",
            articles.len()
        );
        assert!(told.iter().any(|told| told.contains(&right)), "{told:?}");
    }
    // With a good one, the others are refused as in C News.
    let newsdir = Newsdir::new();
    let result = unlinking(&newsdir, &batch(&[&without_id, &one]));
    assert_eq!(result, (Status::Fine, 1, Vec::new()));
    // So is one that is known, or that our site does not want.
    assert_eq!(unlinking(&newsdir, &batch(&[&one])).0, Status::Fine);
}

#[test]
fn a_whole_batch_is_filed_whatever_follows_its_compressed_data() {
    let (one, two) = two();
    let text = batch(&[&one, &two]);
    let skippable = b"\x50\x2a\x4d\x18\x04\0\0\0abcd";
    // One block of plain bytes.
    let block = (u32::try_from(text.len()).unwrap() << 3 | 1).to_le_bytes();
    let zstd = [&b"\x28\xb5\x2f\xfd\0\x58"[..], &block[..3], &text].concat();
    for (wrapped, message) in [
        (
            [&gzip(&text)[..], b"\x1a"].concat(),
            "1 bytes of text behind its end are ignored: `\\x1a'",
        ),
        (
            [&gzip(&text)[..], b"-- \nmailed\n"].concat(),
            "`-- \\nmailed\\n'",
        ),
        ([&skippable[..], &zstd, skippable].concat(), ""),
    ] {
        let newsdir = Newsdir::new();
        let (status, accepted, told) = unlinking(&newsdir, &wrapped);
        assert_eq!((status, accepted), (Status::Fine, 2), "{told:?}");
        assert_eq!(told.is_empty(), message.is_empty(), "{told:?}");
        assert!(told.iter().all(|told| told.contains(message)), "{told:?}");
    }
    // Other data may be the rest of the batch.
    let newsdir = Newsdir::new();
    let wrapped = [&gzip(&text)[..], b"\x1f\x8c\x08\0\x01\x02\x03"].concat();
    let (status, accepted, told) = unlinking(&newsdir, &wrapped);
    assert_eq!((status, accepted), (Status::Bad, 2), "{told:?}");
    assert!(told[0].contains("unknown data follows"), "{told:?}");
    assert_eq!(kept(&newsdir), wrapped);
}

#[test]
fn a_batch_that_needs_more_memory_is_kept_and_its_need_is_named() {
    let (one, two) = two();
    let text = batch(&[&one, &two]);
    let block = (u32::try_from(text.len()).unwrap() << 3 | 1).to_le_bytes();
    // A window of 256 MiB.
    let zstd = [&b"\x28\xb5\x2f\xfd\0\x90"[..], &block[..3], &text].concat();
    let newsdir = Newsdir::new();
    let (status, accepted, told) = unlinking(&newsdir, &zstd);
    assert_eq!((status, accepted), (Status::Bad, 0));
    let right = "needs 268435456 bytes of memory to be expanded, more than the limit of 134217728; \
                 raise limits.expansion_memory_bytes_max";
    assert!(told[0].contains(right), "{told:?}");
    assert_eq!(kept(&newsdir), zstd);
    let mut options = Options::default();
    options.wrap.memory_bytes_max = 256 << 20;
    let input = newsdir.input("batch", &zstd);
    let (outcome, told) = newsdir.rnews(&[input], options);
    assert_eq!(
        (outcome.status, outcome.summary.accepted),
        (Status::Fine, 2),
        "{told:?}"
    );
}
