//! slrnpull takes a group into a spool of its own: every article, byte for byte.

use crate::program;

use program::clients::{Server, client, thread_here};

#[test]
fn every_article_as_it_is() {
    let server = Server::start();
    let Some(mut pull) = client(&server.program, "usr/bin/slrnpull", "slrnpull") else {
        return;
    };
    std::fs::create_dir(server.program.path("pulled")).expect("made");
    server.program.write(
        "pulled/slrnpull.conf",
        b"default 0 0 0\ntest.one\ntest.two\n",
    );
    let told = pull
        .args(["-d", "pulled", "-h"])
        .arg(format!("127.0.0.1:{}", server.port))
        .output()
        .expect("it runs");
    assert!(told.status.success(), "{told:?}");
    for (number, article) in (1..).zip(thread_here()) {
        let pulled = std::fs::read(
            server
                .program
                .path(&format!("pulled/news/test/one/{number}")),
        );
        assert_eq!(pulled.expect("pulled"), article);
    }
    let overview = server.program.read("pulled/news/test/one/.overview");
    assert_eq!(overview.lines().count(), 5);
    assert!(overview.contains("<one-5@example.com>"));
}
