//! A node on which a cancel, or an expire, does something else than on the others stops at the next comparison, and names the entries among
//! which that was.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{article, batch, id, many, with};
use program::cluster::{applied, nodes, reseed_by_hand, until_equal};
use program::daemon::until;
use program::nats::Servers;
use program::nntp::{Client, Served, offer};

const ACTIVE: &str = "comp.test 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";
/// Entries after which all nodes have compared their outcomes once.
const COMPARED: usize = 80;

/// The number of the last entry that a node has applied.
fn last(program: &Program) -> u64 {
    applied(program).split(' ').nth(1).unwrap().parse().unwrap()
}

/// Lets one of three nodes have another state than the others, by `change` while it is stopped, so that the entry that `act` appends does
/// something else there.
fn one_differs(
    before: impl Fn(&Program),
    change: impl Fn(&Program),
    act: impl Fn(&Program, &Served),
) {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    reseed_by_hand(&programs[2]);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    let told = programs[0].rnews(&batch(&many("x", 40, "comp.test", 3000)));
    assert_eq!(told.status, 0, "{told:?}");
    before(&programs[0]);
    until_equal(&programs);
    served.pop().unwrap().daemon.stop();
    change(&programs[2]);
    served.push(Served::start(&programs[2]));
    until_equal(&programs);
    act(&programs[1], &served[1]);
    let entry = last(&programs[1]);
    for number in 0..COMPARED {
        let id = id("later", number);
        let code = offer(&served[0].address, &id, &article(&id, "comp.test"));
        assert_eq!(code, "239");
    }
    let said = served[2].daemon.until_said("it has filed otherwise than");
    let numbers = said.split("entry ").skip(1);
    let numbers: Vec<u64> = numbers
        .map(|text| text.split(' ').next().unwrap().parse().unwrap())
        .collect();
    let (first, end) = match numbers[..] {
        [end] => (1, end),
        [first, end] => (first, end),
        _ => panic!("{said}"),
    };
    assert!(
        (first..=end).contains(&entry) && end % 64 == 0 && end - first < 64,
        "{entry}: {said}"
    );
    until("no more clients", || {
        let greeting = Client::connect(&served[2].address).line();
        greeting.starts_with("400 ")
    });
    let after = id("after", 1);
    assert_eq!(
        offer(&served[1].address, &after, &article(&after, "comp.test")),
        "239"
    );
    for served in served {
        served.daemon.stop();
    }
}

/// The position of an article, as a node has it.
fn position(program: &Program, id: &str) -> String {
    let history = program.run(&["history", "dump", "--dir", "news"]).out;
    let line = history.lines().find(|line| line.starts_with(id)).unwrap();
    let fields = line.split('\t').nth(1).unwrap();
    fields.rsplit('~').next().unwrap().to_owned()
}

#[test]
fn by_a_cancel() {
    let (removed, other) = (id("x", 30), id("x", 35));
    one_differs(
        |program| {
            let told = program.run(&["article", "remove", "--dir", "news", &removed]);
            assert_eq!(told.status, 0, "{told:?}");
        },
        // Another article is removed there.
        |program| {
            let (from, to) = (position(program, &removed), position(program, &other));
            assert_eq!(from.len(), to.len());
            let lines = program.read("news/cancels");
            let changed = lines.replace(&format!("{from}\t{removed}"), &format!("{to}\t{removed}"));
            assert_ne!(lines, changed);
            program.write("news/cancels", changed.as_bytes());
        },
        |_, served| {
            let cancel = with(
                "<cancel@example.org>",
                "comp.test",
                &format!("Control: cancel {other}\n"),
                b"x\n",
            );
            let code = offer(&served.address, "<cancel@example.org>", &cancel);
            assert_eq!(code, "239");
        },
    );
}

#[test]
fn by_an_expire() {
    one_differs(
        |_| {},
        // An article is to survive there.
        |program| {
            let lines = "/expired/ 0\n+ comp.test/7\n";
            let sum = ::article::crc32c(lines.as_bytes());
            let text = format!("BSexpired1 {sum}\n{lines}");
            program.write("news/expired", text.as_bytes());
        },
        |program, _| {
            program.write(
                "news/explist",
                b"/expired/ x 0 -\ncomp.test x 0 -\nall x 90 -\n",
            );
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
            let later = later.duration_since(std::time::UNIX_EPOCH).unwrap();
            let now = later.as_secs().to_string();
            let told = program.run(&["expire", "--dir", "news", "--now", &now, "--force"]);
            assert_eq!(told.status, 0, "{told:?}");
        },
    );
}
