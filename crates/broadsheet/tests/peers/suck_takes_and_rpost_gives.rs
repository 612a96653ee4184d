//! suck takes a group, one file an article, and goes on from there the next time; rpost posts.

use crate::program;

use std::fs::File;
use std::process::Command;

use program::Told;
use program::clients::{Server, client, thread_here};

fn run(command: &mut Command) -> Told {
    let told = command.output().expect("it runs");
    Told {
        status: told.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&told.stdout).into_owned(),
        err: String::from_utf8_lossy(&told.stderr).into_owned(),
    }
}

fn suck(server: &Server) -> Option<Told> {
    let mut suck = client(&server.program, "usr/bin/suck", "suck")?;
    // No history file, no kill file; one file an article.
    suck.args(["127.0.0.1", "-N", &server.port, "-H", "-K", "-m"])
        .args(["-dd", ".", "-dt", ".", "-dm", "sucked"]);
    Some(run(&mut suck))
}

#[test]
fn every_article_once() {
    let server = Server::start();
    // The number of the last article it has.
    server.program.write("sucknewsrc", b"test.one 0\n");
    let Some(told) = suck(&server) else {
        return;
    };
    assert_eq!(told.status, 0, "{told:?}");
    let files = server.program.files("sucked");
    let sucked = files.iter().map(|path| std::fs::read(path).expect("read"));
    assert_eq!(sucked.collect::<Vec<_>>(), thread_here(), "{told:?}");
    assert_eq!(server.program.read("suck.newrc").trim(), "test.one 5");

    std::fs::rename(
        server.program.path("suck.newrc"),
        server.program.path("sucknewsrc"),
    )
    .expect("renamed");
    let later = program::articles::article("<later@example.com>", "test.one");
    server.program.rnews(&program::articles::batch(&[later]));
    for path in files {
        std::fs::remove_file(path).expect("removed");
    }
    let told = suck(&server).expect("it is there");
    assert!(
        told.err.contains("1 Articles to download") || told.out.contains("1 Articles"),
        "{told:?}"
    );
    let files = server.program.files("sucked");
    assert_eq!(files.len(), 1, "{told:?}");
    assert!(
        String::from_utf8_lossy(&std::fs::read(&files[0]).expect("read"))
            .contains("<later@example.com>")
    );
}

#[test]
fn rpost_posts() {
    let server = Server::start();
    let Some(mut rpost) = client(&server.program, "usr/bin/rpost", "suck") else {
        return;
    };
    let body = "First\n.dot\n..\n.\nlast\n";
    let post = format!(
        "From: Poster <poster@example.com>\nNewsgroups: test.two\nSubject: by rpost\n\
         Message-ID: <rpost@example.com>\n\n{body}"
    );
    server.program.write("post", post.as_bytes());
    let post = File::open(server.program.path("post")).expect("opened");
    let told = run(rpost.args(["127.0.0.1", "-N", &server.port]).stdin(post));
    assert_eq!(told.status, 0, "{told:?}");
    let article = String::from_utf8(server.article("test.two/1")).expect("UTF-8");
    assert!(
        article.contains("Message-ID: <rpost@example.com>\n"),
        "{article}"
    );
    assert!(article.ends_with(&format!("\n\n{body}")), "{article}");
}
