//! The lines of batchparms, in both classic forms, and what a site's own table says instead.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use article::wrap::{Compression, WrapFormat};
use feed::{Batchparms, Error};
use groups::CommandLine;
use groups::sites::{BatchVia, Compress, Queue, To};

const FILE: &str = "\
# site\tclass size queue command

north    u  100000          20  batcher | compcun | viauux -z
north    n  5000            5   batcher | viauux -gn
south\tu!\t300000-1000000\t-\tbatcher | gzip -9 | ssh news@SITE rnews
east     n  1               0   batcher | viauux
west 60000 10 batcher compcun 'viauux -gd'
/default/ u 100000 20 batcher | viauux
";

fn file() -> Batchparms {
    Batchparms::parse(FILE.as_bytes()).unwrap()
}

/// What bpfind of C News was asked: a site's own line, the default, the wrong class.
#[test]
fn the_line_of_a_site_is_found() {
    let file = file();
    let line = |site: &str, class| file.rule(site.as_bytes(), class).map(|rule| rule.line);
    assert_eq!(line("north", b'u'), Some(3));
    assert_eq!(line("north", b'n'), Some(4));
    assert_eq!(line("nobody", b'u'), Some(8));
    assert_eq!(line("nobody", b'n'), None);
    assert_eq!(line("east", b'u'), None, "it has a line, of another class");
    assert_eq!(line("west", b'u'), Some(7));
    assert_eq!(file.rules().len(), 6);
}

#[test]
fn its_words_are_understood() {
    let file = file();
    let south = file.rule(b"south", b'u').unwrap();
    assert!(south.is_off);
    assert_eq!((south.size, south.size_max), (300_000, 1_000_000));
    assert_eq!(south.queue, Queue::Unlimited);
    let gzip = WrapFormat {
        kind: Some(Compression::Gzip),
        level: Some(9),
        bare: true,
    };
    assert_eq!(south.packing, gzip);
    let west = file.rule(b"west", b'u').unwrap();
    assert_eq!(
        (west.size, west.size_max, west.queue),
        (60_000, 180_000, Queue::Batches(10))
    );
    assert_eq!(west.packing, WrapFormat::new(Some(Compression::Compress)));
    assert_eq!(
        west.command,
        CommandLine::parse(b"uux - -r -gd SITE!rnews").unwrap()
    );
}

#[test]
fn a_table_comes_before_the_file() {
    let file = file();
    let parms = file.parms(b"north", &BatchVia::default(), None).unwrap();
    assert_eq!(
        parms.to,
        To::Command(CommandLine::parse(b"uux - -r -z north!rnews").unwrap())
    );
    assert_eq!(parms.packing, WrapFormat::new(Some(Compression::Compress)));
    let table = BatchVia {
        size: Some(7),
        compress: Some(Compress::Zstd),
        class: Some(b'n'),
        ..BatchVia::default()
    };
    let parms = file.parms(b"north", &table, None).unwrap();
    assert_eq!(
        (parms.size, parms.size_max, parms.queue),
        (7, 21, Queue::Batches(5))
    );
    assert_eq!(parms.packing, WrapFormat::new(Some(Compression::Zstd)));
    assert_eq!(
        parms.to,
        To::Command(CommandLine::parse(b"uux - -r -gn north!rnews").unwrap())
    );
    let parms = file.parms(b"north", &table, Some(b'u')).unwrap();
    assert_eq!(parms.queue, Queue::Batches(20));
    assert!(
        file.parms(b"south", &BatchVia::default(), None)
            .unwrap()
            .is_off
    );
    let to = BatchVia {
        to: Some(To::Directory("/x".into())),
        ..BatchVia::default()
    };
    let parms = Batchparms::default().parms(b"lone", &to, None).unwrap();
    assert_eq!(
        (parms.size, parms.size_max, parms.queue),
        (100_000, 300_000, Queue::Unlimited)
    );
    assert_eq!(parms.packing, WrapFormat::default());
}

#[test]
fn what_nobody_says_is_asked_for() {
    let error = file()
        .parms(b"east", &BatchVia::default(), None)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "batches for east have no destination: add a line for it, class u, to batchparms, or `via = { batch = ... }' to its [[site]]"
    );
    let error = file()
        .parms(b"a;b", &BatchVia::default(), None)
        .unwrap_err();
    assert!(matches!(error, Error::SiteName(_)));
}

#[test]
fn every_fault_is_told_with_its_line() {
    for (line, says) in [
        ("a/b u 1 1 batcher | viauux", "name of a site"),
        ("a uu 1 1 batcher | viauux", "class is `uu'"),
        ("a ! 1 1 batcher | viauux", "class is `!'"),
        ("a u x 1 batcher | viauux", "size is `x'"),
        ("a u 0 1 batcher | viauux", "size is `0'"),
        ("a u 300-100 1 batcher | viauux", "size is `300-100'"),
        ("a u 99999999999 1 batcher | viauux", "size is"),
        ("a u 100 x batcher | viauux", "queue is `x'"),
        ("a u 100 20", "command is empty"),
        ("a u", "size is `'"),
        ("a 100 20 batcher compcun", "older form"),
        ("a u 100 20 batcher | lzop | viauux", "sh -c"),
    ] {
        let faults = Batchparms::parse(format!("# x\n{line}\n").as_bytes()).unwrap_err();
        let told = faults[0].to_string();
        assert!(
            told.starts_with("line 2: ") && told.contains(says),
            "{line}: {told}"
        );
    }
    let faults = Batchparms::parse(b"a\nb u 1 1 batcher | viauux\nc\n").unwrap_err();
    assert_eq!(
        faults.iter().map(|fault| fault.line).collect::<Vec<_>>(),
        [1, 3]
    );
}

#[test]
fn a_missing_file_has_no_lines() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("batchparms");
    assert_eq!(Batchparms::read(&path).unwrap(), Batchparms::default());
    std::fs::write(&path, "x\n").unwrap();
    let told = Batchparms::read(&path).unwrap_err().to_string();
    assert!(
        told.starts_with(&format!("{}: line 1: ", path.display())),
        "{told}"
    );
}
