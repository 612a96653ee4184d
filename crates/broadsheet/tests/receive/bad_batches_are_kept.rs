//! A batch that cannot be read to its end is kept in bad/, and a message names it. What could be read is
//! filed. The exit statuses are those of relaynews: 1 for a short batch, 2 for one out of step.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;

use program::articles::{article, batch, many};
use program::{Program, Told};

fn news() -> Program {
    Program::with_news("comp.test 0000000000 00001 y\n")
}

/// The one kept batch, which the message must name.
fn kept(program: &Program, told: &Told) -> Vec<u8> {
    let kept = program.files("news/bad");
    assert_eq!(kept.len(), 1, "{told:?}");
    let name = kept[0].file_name().unwrap().to_string_lossy();
    assert!(told.err.contains(&format!("news/bad/{name}")), "{told:?}");
    assert!(program.files("news/in.coming").is_empty());
    std::fs::read(&kept[0]).unwrap()
}

/// Runs the batch from a pipe, and from a file, in news directories of their own.
fn both_ways(text: &[u8], look: impl Fn(&Program, &Told)) {
    let program = news();
    let told = program.rnews(text);
    look(&program, &told);
    program.assert_clean();
    let program = news();
    program.write("batch", text);
    let told = program.run(&["rnews", "--dir", "news", "--json", "-u", "batch"]);
    assert!(program.path("batch").exists(), "-u leaves what was bad");
    look(&program, &told);
    program.assert_clean();
}

#[test]
fn a_line_out_of_step() {
    let mut text = batch(&many("a", 3, "comp.test", 100));
    let good = text.len();
    text.extend_from_slice(b"this is no batch line\nnor is this\n\n");
    text.extend_from_slice(&batch(&many("b", 3, "comp.test", 100)));
    both_ways(&text, |program, told| {
        assert_eq!((told.status, told.count("accepted")), (2, 6), "{told:?}");
        assert!(
            told.err.contains(&format!(
                "out of step at byte {good}: `this is no batch line'"
            )),
            "{told:?}"
        );
        assert!(
            program
                .read("news/log")
                .contains("(local) b <> unbatcher out of synch in file ")
        );
        assert!(kept(program, told) == text);
    });
}

/// `#! rnews 185\r\n` and articles in CR LF with the right counts, as INN's pullnews wrote them before 2.7.2.
#[test]
fn a_batch_in_cr_lf_is_converted() {
    let mut text = Vec::new();
    for number in 1..=2 {
        let lines = article(&format!("<{number}@example.com>"), "comp.test");
        let lines = String::from_utf8(lines).unwrap().replace('\n', "\r\n");
        text.extend_from_slice(format!("#! rnews {}\r\n{lines}", lines.len()).as_bytes());
    }
    let program = news();
    program.write("batch", &text);
    let told = program.run(&["rnews", "--dir", "news", "--json", "-u", "batch"]);
    assert_eq!((told.status, told.count("accepted")), (0, 2), "{told:?}");
    assert!(!program.path("batch").exists() && told.err.is_empty());
    program.assert_clean();
}

#[test]
fn a_wrong_count() {
    // The count is two too small: the rest of the article is out of step.
    let one = article("<1@example.com>", "comp.test");
    let mut text = format!("#! rnews {}\n", one.len() - 2).into_bytes();
    text.extend_from_slice(&one);
    text.extend_from_slice(&batch(&[article("<2@example.com>", "comp.test")]));
    both_ways(&text, |program, told| {
        assert_eq!((told.status, told.count("accepted")), (2, 2), "{told:?}");
        kept(program, told);
    });
}

#[test]
fn a_batch_cut_off() {
    let whole = batch(&many("a", 3, "comp.test", 100));
    let text = &whole[..whole.len() - 40];
    both_ways(text, |program, told| {
        assert_eq!((told.status, told.count("accepted")), (1, 2), "{told:?}");
        assert!(told.err.contains("short by 40 bytes"), "{told:?}");
        assert!(
            program
                .read("news/log")
                .contains(" b <a.3@example.com> short by 40 bytes")
        );
        assert!(kept(program, told) == text);
        // When it comes again, whole, the rest of it is filed.
        let again = program.rnews(&whole);
        assert_eq!(
            (
                again.status,
                again.count("accepted"),
                again.count("duplicates")
            ),
            (0, 1, 2)
        );
    });
}

#[test]
fn a_batch_cut_off_in_its_line() {
    let mut text = batch(&many("a", 2, "comp.test", 100));
    text.extend_from_slice(b"#! rne");
    both_ways(&text, |program, told| {
        assert_eq!((told.status, told.count("accepted")), (2, 2), "{told:?}");
        kept(program, told);
    });
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

/// Codes of `compress`, all of 9 bits and each for one byte: nothing shrinks, but it is its format. The
/// table is cleared before codes of 10 bits are due.
fn compressed(text: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x9d, 0x80 | 16];
    for piece in text.chunks(200) {
        // Codes go out in groups of eight; a clear code ends the last group.
        let mut codes: Vec<u16> = piece.iter().map(|&byte| u16::from(byte)).collect();
        codes.push(256);
        codes.resize(codes.len().next_multiple_of(8), 0);
        for group in codes.chunks(8) {
            let mut bits: u128 = 0;
            for (place, code) in group.iter().enumerate() {
                bits |= u128::from(*code) << (9 * place);
            }
            out.extend_from_slice(&bits.to_le_bytes()[..9]);
        }
    }
    out
}

/// Articles that hardly shrink, so that their compressed batch is read in many pieces.
fn stubborn(count: usize) -> Vec<Vec<u8>> {
    let mut state: u32 = 1;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'!' + (state >> 24) as u8 % 90
    };
    (0..count)
        .map(|number| {
            let mut article = article(&format!("<{number}@example.com>"), "comp.test");
            article.extend((0..3000).map(|at| if at % 70 == 69 { b'\n' } else { letter() }));
            article
        })
        .collect()
}

#[test]
fn whole_compressed_batches_are_filed_however_they_come() {
    let text = batch(&stubborn(150));
    let small = batch(&many("a", 150, "comp.test", 100));
    for (name, packed) in [
        ("plain", text.clone()),
        ("gzip", gzipped(&text)),
        ("compress", compressed(&text)),
        ("small gzip", gzipped(&small)),
    ] {
        let words = ["rnews", "--dir", "news", "--json"];
        for how in ["pipe", "file", "redirected file"] {
            let program = news();
            program.write("batch", &packed);
            let told = match how {
                "pipe" => program.rnews(&packed),
                "file" => program.run(&[&words[..], &["batch"]].concat()),
                _ => {
                    let done = program
                        .command(&words)
                        .stdin(std::fs::File::open(program.path("batch")).unwrap())
                        .output()
                        .unwrap();
                    Told {
                        status: done.status.code().unwrap_or(-1),
                        out: String::from_utf8_lossy(&done.stdout).into_owned(),
                        err: String::from_utf8_lossy(&done.stderr).into_owned(),
                    }
                }
            };
            assert_eq!(
                (told.status, told.count("accepted")),
                (0, 150),
                "{name}, {how}: {told:?}"
            );
            assert!(
                program.files("news/bad").is_empty() && program.files("news/in.coming").is_empty()
            );
        }
    }
}

#[test]
fn torn_compressed_batches_are_kept_whole() {
    let text = batch(&many("a", 200, "comp.test", 300));
    // compress has no checksum: without its last byte nothing may be amiss.
    for (name, packed, spare) in [
        ("gunbatch", gzipped(&text), 1),
        ("cunbatch", compressed(&text), 9),
    ] {
        for line in [String::new(), format!("#! {name}\n")] {
            for cut in [packed.len() / 2, packed.len() - spare, 12] {
                let mut torn = line.clone().into_bytes();
                torn.extend_from_slice(&packed[..cut]);
                both_ways(&torn, |program, told| {
                    assert_ne!(told.status, 0, "{name} cut at {cut}: {told:?}");
                    assert!(kept(program, told) == torn, "{name} cut at {cut}: {told:?}");
                });
            }
        }
    }
}

/// As in C News, where an empty batch was often sent compressed.
#[test]
fn less_than_five_compressed_bytes_are_an_empty_batch() {
    let program = news();
    let told = program.rnews(b"#! cunbatch\n\x1f\x9d\x90");
    assert_eq!((told.status, told.count("articles")), (0, 0), "{told:?}");
    assert!(program.files("news/bad").is_empty());
}

#[test]
fn the_first_bytes_of_a_gzip_are_a_bad_batch() {
    let whole = gzipped(&batch(&many("a", 3, "comp.test", 100)));
    for count in 1..=4 {
        let torn = &whole[..count];
        both_ways(torn, |program, told| {
            assert_eq!(told.status, 1, "{count}: {told:?}");
            assert_eq!(kept(program, told), torn, "{count}");
        });
    }
}

#[test]
fn the_line_of_a_wrapper_reaches_no_terminal_as_it_is() {
    let text = b"#! cunbatch \x1b[2Jxx\nfoooooooooooooo";
    both_ways(text, |program, told| {
        assert_ne!(told.status, 0, "{told:?}");
        assert!(told.err.contains("`#! cunbatch \\x1b[2Jxx'"), "{told:?}");
        assert!(!told.err.contains('\x1b'), "{told:?}");
        assert_eq!(kept(program, told), text);
    });
}

#[test]
fn spoilt_compressed_batches_are_kept_whole() {
    let text = batch(&many("a", 200, "comp.test", 300));
    let mut spoilt = gzipped(&text);
    let middle = spoilt.len() / 2;
    for byte in &mut spoilt[middle..middle + 8] {
        *byte ^= 0x55;
    }
    both_ways(&spoilt, |program, told| {
        assert_ne!(told.status, 0, "{told:?}");
        assert!(kept(program, told) == spoilt);
    });
}

#[test]
fn one_bad_batch_does_not_stop_the_others() {
    let program = news();
    program.write("one", b"#! rnews 500\nshort\n");
    program.write("two", &batch(&[article("<2@example.com>", "comp.test")]));
    let told = program.run(&[
        "rnews", "--dir", "news", "--json", "-u", "absent", "one", "two",
    ]);
    assert_eq!((told.status, told.count("accepted")), (2, 1), "{told:?}");
    assert!(told.err.contains("cannot open absent"), "{told:?}");
    assert!(program.path("one").exists() && !program.path("two").exists());
}

/// Runs rnews with a file as standard input.
fn from_file(program: &Program, name: &str) -> Told {
    let script = format!(
        "exec {} rnews --dir news --json < {name}",
        env!("CARGO_BIN_EXE_broadsheet")
    );
    program.run_as(std::path::Path::new("/bin/sh"), &["-c", &script], b"")
}

#[test]
fn an_empty_compressed_batch_is_discarded() {
    for text in [
        &b"#! cunbatch\n"[..],
        b"#! gunbatch\n",
        b"#! zunbatch\n",
        b"#! cunbatch\n\x1f\x9d",
    ] {
        let program = news();
        program.write("batch", text);
        for told in [
            program.rnews(text),
            program.run(&["rnews", "--dir", "news", "--json", "batch"]),
            from_file(&program, "batch"),
        ] {
            assert_eq!(told.status, 0, "{told:?}");
        }
        assert!(program.files("news/bad").is_empty());
    }
}

#[test]
fn the_line_of_a_wrapper_before_a_plain_batch_is_skipped() {
    let text = [
        b"#! cunbatch\n".to_vec(),
        batch(&many("a", 3, "comp.test", 100)),
    ]
    .concat();
    let program = news();
    program.write("batch", &text);
    let told = program.run(&["rnews", "--dir", "news", "--json", "batch"]);
    assert_eq!((told.status, told.count("accepted")), (0, 3), "{told:?}");
    for told in [program.rnews(&text), from_file(&program, "batch")] {
        assert_eq!((told.status, told.count("duplicates")), (0, 3), "{told:?}");
    }
}

#[test]
fn a_pipe_that_cannot_be_saved_is_for_its_sender_to_keep() {
    let program = news();
    let Some(small) = program::small::Small::mount(&program.path("news/bad"), "512k") else {
        eprintln!("skipped: a full disk (no file system may be mounted here)");
        return;
    };
    program.keep_nothing_free();
    // Filing stops at its first commit.
    std::fs::remove_file(program.path("news/log")).ok();
    std::os::unix::fs::symlink("/dev/full", program.path("news/log")).unwrap();
    for (count, status) in [(1, 2), (100, 75)] {
        let told = program.rnews(&batch(&many("b", count, "comp.test", 20_000)));
        assert_eq!(told.status, status, "{told:?}");
        let kept = program.files("news/bad");
        assert_eq!(kept.len(), 1, "{told:?}");
        let said = match status {
            2 => "saved in news/bad/",
            _ => "standard input: not saved: bad/ has no room for it: make room",
        };
        assert!(told.err.contains(said), "{told:?}");
    }
    drop(small);
}

/// With the daemon and without it: what came through a pipe behind an input at which filing stops is nowhere else.
#[test]
fn what_comes_behind_a_stop_is_kept() {
    for has_daemon in [false, true] {
        let program = news();
        let mut short = batch(&many("short", 2, "comp.test", 100));
        short.truncate(short.len() - 10);
        program.write("short", &short);
        let settings = program.read("news/broadsheet.toml");
        let full = settings.replace("keep_free = \"5 MiB\"", "keep_free = \"9000 GiB\"");
        assert_ne!(full, settings);
        program.write("news/broadsheet.toml", full.as_bytes());
        let daemon = has_daemon.then(|| program::daemon::Daemon::start(&program));
        let text = batch(&many("piped", 2, "comp.test", 100));
        let words = ["rnews", "--dir", "news", "short", "-"];
        let told = program.feed(&words, &text);
        // There is no room for it in bad/ either.
        assert_eq!(told.status, 75, "{told:?}");
        assert!(told.err.contains("send it again"), "{told:?}");
        drop(daemon);
    }
}

#[test]
fn a_bad_pipe_that_cannot_be_saved_is_for_its_sender_to_keep() {
    let program = news();
    std::fs::remove_dir_all(program.path("news/bad")).ok();
    program.write("news/bad", b"a file");
    let mut text = batch(&many("short", 2, "comp.test", 100));
    text.truncate(text.len() - 10);
    for has_daemon in [false, true] {
        let daemon = has_daemon.then(|| program::daemon::Daemon::start(&program));
        let told = program.rnews(&text);
        assert_eq!(told.status, 75, "{told:?}");
        drop(daemon);
    }
    let told = program.feed(&["rnews", "--dir", "nwes"], &text);
    assert_eq!(told.status, 75, "{told:?}");
    // The disk of the default directory may not be mounted.
    for words in [&["rnews"][..], &["rnews", "--spool"], &["newsspool"]] {
        let told = program.feed(words, &text);
        assert_eq!(told.status, 75, "{told:?}");
        assert!(
            told.err.contains("the news directory is missing"),
            "{told:?}"
        );
    }
}

#[test]
fn an_error_in_the_settings_loses_no_pipe() {
    let text = batch(&many("b", 2, "comp.test", 100));
    let program = news();
    let settings = program.read("news/broadsheet.toml");
    let wrong = format!("nonsense = 1\n{settings}");
    program.write("news/broadsheet.toml", wrong.as_bytes());
    let told = program.rnews(&text);
    assert_eq!(told.status, 75, "{told:?}");
    assert!(told.err.contains("nonsense"), "{told:?}");
    // uuxqt gives a file, and removes it; an operand stays where it is.
    program.write("given", &text);
    program.write("empty", b"");
    for (directory, name, status) in [
        ("news", "given", 75),
        ("nwes", "given", 75),
        ("news", "empty", 78),
    ] {
        let mut rnews = program.command(&["rnews", "--dir", directory]);
        rnews.stdin(std::fs::File::open(program.path(name)).unwrap());
        assert_eq!(
            rnews.status().unwrap().code(),
            Some(status),
            "{directory} {name}"
        );
    }
    let told = program.run(&["rnews", "--dir", "news", "given"]);
    assert_eq!(told.status, 78, "{told:?}");
    for words in [&["rnews", "--spool"][..], &["newsspool"]] {
        let told = program.feed(&[words, &["--dir", "news"]].concat(), &text);
        assert_eq!(told.status, 0, "{told:?}");
        assert!(told.err.contains("nonsense"), "{told:?}");
    }
    assert_eq!(program.files("news/in.coming").len(), 2);
    program.write("news/broadsheet.toml", settings.as_bytes());
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!((told.status, told.count("accepted")), (0, 2), "{told:?}");
}

#[test]
fn a_wrong_name_makes_no_directory() {
    let program = news();
    for words in [&["rnews"][..], &["rnews", "--spool"], &["newsspool"]] {
        let told = program.feed(&[words, &["--dir", "nwes"]].concat(), b"x");
        assert_ne!(told.status, 0, "{told:?}");
        assert!(told.err.contains("nwes"), "{told:?}");
        assert!(!program.path("nwes").exists());
    }
}

/// Nobody waits for a sender that pauses in the middle of its batch.
#[test]
fn a_slow_sender_delays_nobody() {
    let program = news();
    let text = batch(&many("slow", 2, "comp.test", 100));
    let mut slow = program.command(&["rnews", "--dir", "news"]);
    let mut slow = slow.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = slow.stdin.take().unwrap();
    input.write_all(&text[..text.len() - 10]).unwrap();
    // It has read that.
    program::daemon::until("the reader", || {
        rustix::io::ioctl_fionread(&input).unwrap() == 0
    });
    let told = program.rnews(&batch(&many("quick", 1, "comp.test", 100)));
    assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
    input.write_all(&text[text.len() - 10..]).unwrap();
    drop(input);
    assert!(slow.wait().unwrap().success());
    assert_eq!(program.rnews(&text).count("duplicates"), 2);
}

/// The daemon gets the open file without its name.
#[test]
fn a_batch_that_is_filed_from_bad_has_no_second_copy_there() {
    let program = news();
    let mut text = batch(&many("short", 2, "comp.test", 100));
    text.truncate(text.len() - 10);
    program.write("short", &text);
    for has_daemon in [false, true] {
        let daemon = has_daemon.then(|| program::daemon::Daemon::start(&program));
        let told = program.run(&["rnews", "--dir", "news", "short"]);
        let before = program.files("news/bad");
        assert!(!before.is_empty(), "{told:?}");
        for path in &before {
            let name = path.to_str().unwrap();
            let told = program.run(&["rnews", "--dir", "news", "-u", name]);
            assert_eq!(told.status, 1, "{told:?}");
            assert!(told.err.contains("the batch is saved in"), "{told:?}");
        }
        assert_eq!(program.files("news/bad"), before);
        drop(daemon);
    }
}
