//! neomutt, a mail program that knows NNTP, used by hand on a terminal.

use crate::program;

use program::clients::{Server, client, editor};
use program::daemon::until;
use program::screen::Screen;

#[test]
fn a_group_read_and_a_post_made() {
    let server = Server::start();
    let editor = editor(&server.program, "A line by neomutt");
    let settings = format!(
        "set news_server = \"news://127.0.0.1:{port}\"\n\
         set spoolfile = \"news://127.0.0.1:{port}/test.one\"\n\
         set newsrc = ~/newsrc\nset news_cache_dir = ~/cache\nset folder = ~/mail\nset record = \"\"\n\
         set ssl_starttls = no\nset nntp_context = 0\nset sort = threads\n\
         set from = \"mutt@example.com\"\nset realname = \"Mutt Reader\"\nset editor = \"{editor}\"\n\
         bind index,pager P post-message\n",
        port = server.port
    );
    server.program.write("muttrc", settings.as_bytes());
    server.program.write("newsrc", b"test.one:\ntest.two:\n");
    for folder in ["cache", "mail"] {
        std::fs::create_dir(server.program.path(folder)).expect("made");
    }
    let Some(mut mutt) = client(&server.program, "usr/bin/neomutt", "neomutt") else {
        return;
    };
    // No settings of the machine.
    mutt.args(["-n", "-F", "muttrc"]);
    let Some(screen) = Screen::start(&server.program, &mutt) else {
        return;
    };

    screen.until_shows("Msgs:5").until_shows("Grüße, 1");
    screen
        .keys(&["1", "Enter", "Enter"])
        .until_shows("Line one of 1");
    screen.keys(&["j"]).until_shows("Line one of 2");
    screen
        .until_shows(".a line with a dot in front")
        .until_shows("References: <one-1@example.com>");

    screen.keys(&["P"]).until_shows("Newsgroups: test.one");
    screen
        .keys(&["C-u", "test.two", "Enter"])
        .until_shows("Subject: ");
    screen
        .keys(&["A post by neomutt", "Enter"])
        .until_shows("y:Send");
    // The editor leaves the draft younger than neomutt takes for possible.
    screen.keys(&["y"]).until_shows("Update encoding");
    screen.keys(&["y"]).until_shows("Article posted");
    until("the post of neomutt", || server.has("test.two/1"));
    let article = String::from_utf8(server.article("test.two/1")).expect("UTF-8");
    assert!(
        article.contains("From: Mutt Reader <mutt@example.com>\n"),
        "{article}"
    );
    assert!(article.contains("Newsgroups: test.two\n"), "{article}");
    assert!(
        article.contains("Subject: A post by neomutt\n"),
        "{article}"
    );
    assert!(article.contains("A line by neomutt\n"), "{article}");
    server.program.assert_clean();
}
