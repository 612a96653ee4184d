//! slrn, used by hand on a terminal.

use crate::program;

use program::clients::{Server, client, editor};
use program::daemon::until;
use program::peers;
use program::screen::Screen;

#[test]
fn a_thread_read_a_post_made_and_cancelled() {
    let server = Server::start();
    let editor = editor(&server.program, "A line by slrn");
    let settings = format!(
        "set username \"slrn\"\nset hostname \"example.com\"\nset realname \"Slrn Reader\"\n\
         set editor_command \"{editor} '%s'\"\n"
    );
    server.program.write("slrnrc", settings.as_bytes());
    server.program.write("newsrc", b"test.one:\ntest.two:\n");
    let Some(mut slrn) = client(&server.program, "usr/bin/slrn", "slrn") else {
        return;
    };
    let root = peers::root_of("usr/bin/slrn", "slrn").expect("it is there");
    slrn.env("SLRN_SLANG_DIR", root.join("usr/share/slrn/slang"))
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &server.port,
            "-f",
            "newsrc",
            "-i",
            "slrnrc",
            "--debug",
            "talk",
        ]);
    let Some(screen) = Screen::start(&server.program, &slrn) else {
        return;
    };

    screen.until_shows("->     5  test.one");
    screen.keys(&["Enter"]).until_shows("5 Grüße, 1");
    screen.keys(&["Enter"]).until_shows("Line one of 1");
    screen
        .keys(&["n"])
        .until_shows("Line one of 2")
        .until_shows(".a line with a dot in front");
    screen.keys(&["q"]).until_shows("->     3  test.one");

    screen
        .keys(&["P"])
        .until_shows("Are you sure that you want to post?");
    screen.keys(&["y"]).until_shows("Newsgroup: test.one");
    screen
        .keys(&["C-u", "test.two", "Enter"])
        .until_shows("Subject:");
    screen
        .keys(&["A post by slrn", "Enter"])
        .until_shows("Post the message?");
    screen.keys(&["y"]);
    until("the post of slrn", || server.has("test.two/1"));
    let article = String::from_utf8(server.article("test.two/1")).expect("UTF-8");
    assert!(
        article.contains("From: Slrn Reader <slrn@example.com>\n"),
        "{article}"
    );
    assert!(article.contains("User-Agent: slrn/"), "{article}");
    assert!(article.ends_with("\n\nA line by slrn\n"), "{article}");

    // G: what is there now.
    screen
        .until_shows("Posting...done")
        .keys(&["G"])
        .until_shows("1  test.two");
    screen
        .keys(&["Down", "Enter"])
        .until_shows("A post by slrn");
    screen.keys(&["Enter"]).until_shows("A line by slrn");
    screen
        .keys(&["Escape", "C-c"])
        .until_shows("cancel this article?");
    screen.keys(&["y"]).until_shows("Done.");
    until("the cancel of slrn", || !server.has("test.two/1"));
    screen.keys(&["q"]).until_shows("0  test.two");
    screen.keys(&["q"]).until_shows("really want to quit?");
    screen.keys(&["y"]).until_ended();
    let talk = server.program.read("talk");
    assert!(
        talk.contains("OVER 1-5"),
        "it reads without the overview: {talk}"
    );
    server.program.assert_clean();
}
