//! A real innfeed, with several connections, streaming and one at a time: everything arrives.

use crate::program;

use program::articles::{id, many};
use program::clients::Server;
use program::inn::Inn;
use program::peers;

const ARTICLES: usize = 500;

#[test]
fn streaming_and_one_at_a_time() {
    let Some(inn) = Inn::start(&["test.two"]) else {
        return;
    };
    let news = peers::ids_of("news").expect("INN runs as it");
    let backlog = inn.path("spool/innfeed");
    std::fs::create_dir_all(&backlog).expect("made");
    let mut lines = String::new();
    for (article, number) in many("fed", ARTICLES, "test.two", 2000).iter().zip(1..) {
        let path = inn.path(&format!("spool/articles/{number}"));
        std::fs::write(&path, article).expect("written");
        lines.push_str(&format!("{} {}\n", path.display(), id("fed", number)));
    }
    for is_streaming in [true, false] {
        let server = Server::start();
        let settings = format!(
            "initial-reconnect-time: 1\nmax-reconnect-time: 1\nbacklog-directory: {}\npid-file: innfeed.pid\n\
             log-file: {}\nstatus-file: innfeed.status\ngen-html: false\nstreaming: {is_streaming}\n\
             peer ours {{\n  ip-name: 127.0.0.1\n  port-number: {}\n  max-connections: 3\n  initial-connections: 3\n}}\n",
            backlog.display(),
            inn.path("log/innfeed.log").display(),
            server.port,
        );
        let configuration = inn.path("etc/innfeed.conf");
        std::fs::write(&configuration, settings).expect("written");
        std::fs::write(backlog.join("ours"), &lines).expect("written");
        for path in [&backlog, &backlog.join("ours"), &configuration] {
            peers::give(path, news);
        }
        let path = configuration.to_str().expect("UTF-8");
        let told = inn.run("innfeed", &["-x", "-c", path], None);
        assert!(told.status.success(), "{told:?}");
        let filed = server
            .program
            .run(&["overview", "--dir", "news", "test.two"]);
        assert_eq!(filed.out.lines().count(), ARTICLES, "{filed:?}");
        server.program.assert_clean();
    }
}
