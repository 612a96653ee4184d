//! tin: asked for what is new, and used by hand on a terminal.

use crate::program;

use std::process::Command;

use program::clients::{Server, client, editor};
use program::daemon::until;
use program::screen::Screen;

fn tin(server: &Server) -> Option<Command> {
    let mut tin = client(&server.program, "usr/bin/tin", "tin")?;
    tin.args(["-r", "-g", "127.0.0.1", "-p", &server.port, "-q"]);
    Some(tin)
}

#[test]
fn what_is_new() {
    let server = Server::start();
    server.program.write(".newsrc", b"test.one: 1-2\n");
    let Some(mut tin) = tin(&server) else {
        return;
    };
    let told = tin.args(["-Z", "-v"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&told.stdout);
    // 2: there is something new.
    assert_eq!(told.status.code(), Some(2), "{said}");
    assert!(said.contains("3 unread"), "{said}");
}

/// tin wants a host name with a dot for its Sender, which a test's machine may lack: it gets a host name of its own.
fn with_host_name(tin: &Command) -> Option<Command> {
    let mut named = Command::new("unshare");
    named.args(["--map-root-user", "--uts", "sh", "-c"]);
    if !named
        .args(["hostname reader.example.com"])
        .output()
        .is_ok_and(|told| told.status.success())
    {
        eprintln!("skipped: posts of tin (unshare cannot give a host name)");
        return None;
    }
    let mut named = Command::new("unshare");
    named
        .args(["--map-root-user", "--uts", "sh", "-c"])
        .args(["hostname reader.example.com && exec \"$@\"", "sh"])
        .arg(tin.get_program())
        .args(tin.get_args());
    for (name, value) in tin.get_envs() {
        match value {
            Some(value) => named.env(name, value),
            None => named.env_remove(name),
        };
    }
    Some(named)
}

#[test]
fn a_thread_read_a_post_made_and_cancelled() {
    let server = Server::start();
    server.program.write(".newsrc", b"test.one:\ntest.two:\n");
    std::fs::create_dir(server.program.path(".tin")).expect("made");
    server
        .program
        .write(".tin/tinrc", b"mail_address=Tin Reader <tin@example.com>\n");
    let editor = editor(&server.program, "A line by tin");
    let Some(tin) = tin(&server) else {
        return;
    };
    let Some(mut tin) = with_host_name(&tin) else {
        return;
    };
    tin.env("EDITOR", &editor).env("VISUAL", &editor);
    let Some(screen) = Screen::start(&server.program, &tin) else {
        return;
    };

    screen
        .until_shows("The first group")
        .until_shows("The second group");
    screen.keys(&["g"]).until_shows("Go to newsgroup");
    screen
        .keys(&["test.one", "Enter", "Enter"])
        .until_shows("Grüße, 1");
    // The five are one thread.
    screen.until_shows("+   5");
    screen.keys(&["Enter"]).until_shows("Line one of 1");
    screen.keys(&["Tab"]).until_shows("Line one of 2");
    screen
        .until_shows("Article    2 of    5")
        .until_shows(".a line with a dot in front");
    screen.keys(&["q"]).until_shows("End of articles");
    screen.keys(&["q"]).until_shows("Group Selection");

    screen.keys(&["g"]).until_shows("Go to newsgroup");
    screen
        .keys(&["test.two", "Enter", "w"])
        .until_shows("Post subject");
    screen
        .keys(&["A post by tin", "Enter"])
        .until_shows("p=post");
    screen.keys(&["p"]);
    until("the post of tin", || server.has("test.two/1"));
    let article = String::from_utf8(server.article("test.two/1")).expect("UTF-8");
    assert!(
        article.contains("From: Tin Reader <tin@example.com>\n"),
        "{article}"
    );
    assert!(article.contains("User-Agent: tin/"), "{article}");
    assert!(article.ends_with("A line by tin\n"), "{article}");

    // Y: what is there now.
    screen
        .until_shows("Group Selection")
        .keys(&["Y"])
        .until_shows("1  test.two")
        .keys(&["Enter"])
        .until_shows("A post by tin");
    screen.keys(&["Enter"]).until_shows("A line by tin");
    screen.keys(&["D"]).until_shows("Cancel (delete)");
    screen.keys(&["d"]).until_shows("d=delete");
    screen.keys(&["d"]);
    until("the cancel of tin", || !server.has("test.two/1"));
    server.program.assert_clean();
}
