//! Random tables of access, clients, groups, aliases and spellings, against a slow model of the rights that shares no code with them.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::convert::Infallible;
use std::net::IpAddr;

use access::{Access, ClientIdentity, Grant, Login, Rights};
use article::date::{Utc, write_utc};
use article::wire_facts::WireFacts;
use article::{Article, Form, wire};
use groups::{Active, Matrix, Sender, Sites};
use inject::{Draft, InjectRules, InjectionSite, InjectionTime, Moderators, Reveal, Route};
use proptest::prelude::*;
use proptest::sample::select;
use relay::decide::Scratch;
use relay::{Arrival, Decision, Rules, State, decide};

const NOW: i64 = 1_600_000_000;
const NAMES: &[&str] = &["open.a", "open.b", "closed.a", "closed.b", "other.a"];
const FLAGS: &[&str] = &[
    "y",
    "y",
    "y",
    "y",
    "m",
    "n",
    "x",
    "j",
    "=open.a",
    "=open.b",
    "=closed.a",
    "=closed.b",
    "=closed.a",
    "=none.such",
];
const PATTERNS: &[&str] = &[
    "",
    "*",
    "open.*",
    "closed.a",
    "*,!closed.*",
    "open.*,!open.b",
    "*,!closed.*,closed.b",
];
const POISONED: &[&str] = &[
    "*,@closed.*",
    "open.*,@closed.a",
    "*,@closed.*,closed.b",
    "@open.b,*",
];
const CERTIFICATES: [[u8; 32]; 2] = [[0x11; 32], [0x22; 32]];

// ---- the tables ----

#[derive(Debug, Clone)]
struct Line {
    from: Option<&'static str>,
    user: Option<&'static str>,
    certificate: Option<usize>,
    tls: bool,
    read: &'static str,
    post: &'static str,
    send: &'static str,
    approve: bool,
}

#[derive(Debug, Clone)]
struct Who {
    address: Option<&'static str>,
    user: Option<&'static str>,
    certificate: Option<usize>,
    is_secure: bool,
}

fn line() -> impl Strategy<Value = Line> {
    let froms = vec![
        None,
        None,
        None,
        None,
        Some("local"),
        Some("192.0.2.0/24"),
        Some("192.0.2.7"),
    ];
    let users = vec![
        None,
        None,
        None,
        None,
        Some("*"),
        Some("anna"),
        Some("berta"),
    ];
    let posts: Vec<&str> = PATTERNS.iter().chain(POISONED).copied().collect();
    (
        select(froms),
        select(users),
        select(vec![None, None, None, None, Some(0), Some(1)]),
        prop::bool::weighted(0.2),
        select(PATTERNS),
        select(posts.clone()),
        select(posts),
        any::<bool>(),
    )
        .prop_map(
            |(from, user, certificate, tls, read, post, send, approve)| Line {
                from,
                user,
                certificate,
                tls,
                read,
                post,
                send,
                approve,
            },
        )
}

fn who() -> impl Strategy<Value = Who> {
    let addresses = vec![
        None,
        Some("127.0.0.1"),
        Some("192.0.2.7"),
        Some("192.0.2.8"),
        Some("::1"),
    ];
    (
        select(addresses),
        select(vec![None, Some("anna"), Some("berta"), Some("carla")]),
        select(vec![None, Some(0), Some(1)]),
        any::<bool>(),
    )
        .prop_map(|(address, user, certificate, is_secure)| Who {
            address,
            user,
            certificate,
            is_secure,
        })
}

fn text_of(lines: &[Line]) -> String {
    let table = |(number, line): (usize, &Line)| {
        let mut text = format!("[[access]]\nname = \"entry-{number}\"\n");
        let mut put = |key: &str, value: &str| text.push_str(&format!("{key} = {value}\n"));
        let quoted = |value: &str| format!("\"{value}\"");
        if let Some(from) = line.from {
            put("from", &quoted(from));
        }
        if let Some(user) = line.user {
            put("users", &quoted(user));
        }
        if let Some(one) = line.certificate {
            let digits = ["11", "22"][one].repeat(32);
            put("certificates", &quoted(&format!("sha256:{digits}")));
        }
        put("tls", if line.tls { "true" } else { "false" });
        put("approve", if line.approve { "true" } else { "false" });
        for (key, list) in [
            ("read", line.read),
            ("post", line.post),
            ("send", line.send),
        ] {
            if !list.is_empty() {
                put(key, &quoted(list));
            }
        }
        text
    };
    lines.iter().enumerate().map(table).collect()
}

fn rights(lines: &[Line], who: &Who) -> Rights {
    let tables = settings::access(&text_of(lines)).unwrap_or_else(|faults| panic!("{faults}"));
    let address = who
        .address
        .map(|address| address.parse::<IpAddr>().unwrap());
    Access::new(&tables, Login::none()).rights(&ClientIdentity {
        address,
        user: who.user,
        certificate: who.certificate.map(|one| CERTIFICATES[one]),
        is_secure: who.is_secure,
    })
}

/// The model: the first line all of whose conditions hold.
fn line_of<'l>(lines: &'l [Line], who: &Who) -> Option<&'l Line> {
    for line in lines {
        let from = match line.from {
            None => true,
            Some("local") => matches!(who.address, None | Some("127.0.0.1" | "::1")),
            Some("192.0.2.0/24") => matches!(who.address, Some("192.0.2.7" | "192.0.2.8")),
            Some(one) => who.address == Some(one),
        };
        let user = match (line.user, who.user) {
            (None, _) => true,
            (Some("*"), user) => user.is_some(),
            (wanted, user) => wanted == user,
        };
        let certificate = line.certificate.is_none() || line.certificate == who.certificate;
        if from && user && certificate && (!line.tls || who.is_secure) {
            return Some(line);
        }
    }
    None
}

// ---- the model of patterns and groups ----

/// `+`, `-` or `@`: what the last part of a list that fits says; `-` where none does.
fn verdict(list: &str, name: &str) -> char {
    let mut verdict = '-';
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let (sign, pattern) = match part.split_at(1) {
            ("!", rest) => ('-', rest),
            ("@", rest) => ('@', rest),
            _ => ('+', part),
        };
        let fits = match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == pattern,
        };
        if fits {
            verdict = sign;
        }
    }
    verdict
}

type Table = Vec<(&'static str, &'static str)>;

fn flag_of(table: &Table, name: &str) -> Option<&'static str> {
    table
        .iter()
        .find(|(group, _)| *group == name)
        .map(|(_, flag)| *flag)
}

/// Where an article for a name is filed.
fn behind<'n>(table: &Table, name: &'n str) -> Option<&'n str> {
    let mut name: &'n str = name;
    for _ in 0..20 {
        match flag_of(table, name)? {
            "x" | "j" => return None,
            flag => match flag.strip_prefix('=') {
                Some(target) => name = target,
                None => return Some(name),
            },
        }
    }
    None
}

fn may_post(list: &str, table: &Table, names: &[&str]) -> bool {
    let mut may = !names.is_empty();
    for name in names {
        may &= verdict(list, name) == '+';
        if let Some(group) = behind(table, name) {
            may &= verdict(list, group) == '+';
        }
    }
    may
}

fn may_send(list: &str, table: &Table, names: &[&str]) -> bool {
    let mut fits_filed = false;
    let mut fits_other = false;
    let mut is_filed = false;
    for name in names {
        if verdict(list, name) == '@' {
            return false;
        }
        let fits = verdict(list, name) == '+';
        match behind(table, name) {
            Some(group) => {
                is_filed = true;
                if verdict(list, group) == '@' {
                    return false;
                }
                fits_filed |= fits && verdict(list, group) == '+';
            }
            None => fits_other |= fits,
        }
    }
    if is_filed { fits_filed } else { fits_other }
}

// ---- articles ----

#[derive(Debug, Clone)]
struct Written {
    groups: Vec<&'static str>,
    /// In the header, in wire form.
    lines: String,
    is_plain: bool,
    approved: bool,
    order: bool,
}

/// A field with an odd spelling now and then; the last is the plain one.
fn spelled(name: &'static str, value: String, how: usize) -> (String, bool) {
    let lower = name.to_lowercase();
    match how {
        0 => (format!("{name}:{value}\r\n"), false),
        1 => (format!("{lower}: {value}\r\n"), false),
        2 => (format!("{name}:\r\n {value}\r\n"), false),
        3 => (format!("X-A: b\n{name}: {value}\r\n"), false),
        4 => (format!("X-A: b\r{name}: {value}\r\n"), false),
        5 => (format!("{name} : {value}\r\n"), false),
        6 => (format!("{name}: \t{value} \t\r\n"), false),
        7 => (format!("{name}:\r\n{name}: {value}\r\n"), false),
        8 => (format!("{name}: {value}\r\n{name}:{value}\r\n"), false),
        9 => (format!("{name}: \0{value}\r\n"), false),
        _ => (format!("{name}: {value}\r\n"), true),
    }
}

fn written() -> impl Strategy<Value = Written> {
    let names: Vec<&str> = NAMES
        .iter()
        .copied()
        .chain(["open.none", "closed.none", "Closed.A"])
        .collect();
    let orders = prop::option::weighted(
        0.2,
        select(vec![
            "newgroup closed.new",
            "NEWGROUP closed.new",
            "cancel <1@a>",
            "sendsys",
        ]),
    );
    (
        prop::collection::vec(select(names), 0..4),
        0..30usize,
        select(vec![",", ",", ",", ",", ", ", ",,", " ", "\r\n ,"]),
        prop::bool::weighted(0.2),
        0..20usize,
        orders,
        select(vec!["Control", "Also-Control"]),
        0..20usize,
    )
        .prop_map(
            |(groups, how, comma, approved, how_approved, order, field, how_order)| {
                let (mut lines, mut is_plain) = spelled("Newsgroups", groups.join(comma), how);
                is_plain &= [",", ", ", "\r\n ,"].contains(&comma) || groups.len() < 2;
                if approved {
                    let (line, plain) =
                        spelled("Approved", "a@example.com".to_owned(), how_approved);
                    lines.push_str(&line);
                    is_plain &= plain;
                }
                if let Some(order) = order {
                    let (line, plain) = spelled(field, order.to_owned(), how_order);
                    lines.push_str(&line);
                    is_plain &= plain;
                }
                Written {
                    groups,
                    lines,
                    is_plain,
                    approved,
                    order: order.is_some(),
                }
            },
        )
}

impl Written {
    fn wire(&self) -> Vec<u8> {
        let mut date = Vec::new();
        write_utc(&mut date, NOW);
        let date = String::from_utf8(date).unwrap();
        let head = format!(
            "Path: far!near!user\r\nFrom: User <user@example.com>\r\nSubject: a test\r\nMessage-ID: <1@example.com>\r\nDate: {date}\r\n"
        );
        [head.as_bytes(), self.lines.as_bytes(), b"\r\nbody\r\n"].concat()
    }
}

/// The fields of a filed article, read as slowly as can be.
fn field(native: &[u8], name: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(native);
    let header = text.split("\n\n").next().unwrap_or_default();
    let unfolded = header.replace("\n ", " ").replace("\n\t", " ");
    let of = |line: &str| {
        let (found, value) = line.split_once(':')?;
        let is_it = found.trim().eq_ignore_ascii_case(name) && !value.trim().is_empty();
        is_it.then(|| value.trim().to_owned())
    };
    unfolded.split('\n').filter_map(of).collect()
}

// ---- the real thing ----

/// The groups that an article is filed in; `None`: it is refused.
fn filed(bytes: &[u8], form: Form, active: &Active, sender: &dyn Sender) -> Option<Vec<String>> {
    let sites = Sites::parse(b"ME:all\n", b"news.example.org").unwrap();
    let mut matrix = Matrix::new(active, &sites);
    let mut state = State {
        active,
        matrix: &mut matrix,
        zone: &Utc,
        sender: Some(sender),
        is_announced: form == Form::Wire,
    };
    let article = Article::parse(bytes, form);
    if form == Form::Wire && WireFacts::of(bytes).has_hidden_lines(bytes, article.header_len()) {
        return None;
    }
    let mut scratch = Scratch::default();
    let unseen = |_: &[u8]| Ok::<bool, Infallible>(false);
    let rules = Rules::new(b"news.example.org");
    let arrival = Arrival { seconds: NOW };
    let Ok(decision) = decide(&article, arrival, &mut state, &rules, unseen, &mut scratch);
    let names = scratch.filed().iter().map(|id| active.name(*id));
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    matches!(decision, Decision::Accept { .. }).then(|| names.collect())
}

/// What a post becomes: the bytes, and whether they go to a moderator.
fn injected(wire: &[u8], active: &Active, sender: &dyn Sender) -> Option<(Vec<u8>, Route)> {
    let mut native = Vec::new();
    wire::push_native(&mut native, wire);
    let mut moderators = Moderators::default();
    assert!(
        moderators
            .read_mailpaths(b"all %s@mods.example\n")
            .is_empty()
    );
    let rules = InjectRules {
        limits: Rules::new(b"news.example.org"),
        mailname: b"example.org".to_vec(),
        organization: Vec::new(),
        complaints: Vec::new(),
        reveal: Reveal::default(),
        subject_control: false,
    };
    let site = InjectionSite {
        rules: &rules,
        active,
        moderators: &moderators,
        secret: None,
        zone: &Utc,
    };
    let poster = inject::Poster {
        sender,
        ..inject::Poster::default()
    };
    let now = InjectionTime {
        seconds: NOW,
        random: 1,
    };
    let done = inject::inject(Draft::parse(&native).ok()?, &poster, &site, now).ok()?;
    Some((done.bytes, done.route))
}

fn table() -> impl Strategy<Value = Table> {
    let flag = || select(FLAGS);
    let flags = prop::collection::vec(prop::option::weighted(0.85, flag()), NAMES.len());
    flags.prop_map(|flags| {
        let groups = NAMES.iter().copied().zip(flags);
        groups
            .filter_map(|(name, flag)| Some((name, flag?)))
            .collect()
    })
}

fn active(table: &Table) -> Active {
    let mut text = "control 0 1 y\njunk 0 1 y\n".to_owned();
    for (name, flag) in table {
        text.push_str(&format!("{name} 0 1 {flag}\n"));
    }
    Active::parse(text.into_bytes()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Which entry fits, and which groups are read.
    #[test]
    fn logins_and_reading(lines in prop::collection::vec(line(), 1..5), who in who()) {
        let rights = rights(&lines, &who);
        let model = line_of(&lines, &who);
        let place = model.map(|model| lines.iter().position(|line| std::ptr::eq(line, model)).unwrap());
        let name = place.map_or(String::new(), |place| format!("entry-{place}"));
        prop_assert_eq!(rights.name(), name);
        prop_assert_eq!(rights.may_approve(), model.is_some_and(|line| line.approve));
        let others = ["open.none", "closed.none", "Closed.A", "", "control", "control.cancel", "junk"];
        for name in NAMES.iter().chain(&others) {
            // None of the patterns names them.
            let is_named = |_: &Line| !matches!(*name, "control" | "control.cancel" | "junk");
            let is_open = |line: &Line| line.read == "*" || is_named(line);
            let may = model.is_some_and(|line| verdict(line.read, name) == '+' && is_open(line));
            prop_assert_eq!(rights.may_read(name.as_bytes()), may, "{}", name);
        }
    }

    /// What a post becomes keeps to the rights of its poster; and what is plainly allowed is filed.
    #[test]
    fn posts(lines in prop::collection::vec(line(), 1..4), who in who(), table in table(), written in written()) {
        let model = line_of(&lines, &who);
        let active = active(&table);
        let grant = Grant::Post(rights(&lines, &who));
        let done = injected(&written.wire(), &active, &grant);
        let list = model.map_or("", |line| line.post);
        let may_approve = model.is_some_and(|line| line.approve);
        if let Some((bytes, route)) = &done {
            let named = field(bytes, "Newsgroups");
            prop_assert_eq!(named.len(), 1);
            let names: Vec<&str> = named[0].split(',').collect();
            prop_assert!(may_post(list, &table, &names), "{:?}", names);
            let approved = !field(bytes, "Approved").is_empty();
            let is_order = |value: &String| !value.to_lowercase().starts_with("cancel ");
            let order = field(bytes, "Control").iter().chain(&field(bytes, "Also-Control")).any(is_order);
            prop_assert!(may_approve || !(approved || order));
            if *route == Route::File {
                let groups = filed(bytes, Form::Native, &active, &grant);
                let groups = groups.expect("what is injected is filed");
                for group in groups.iter().filter(|group| !["control", "junk"].contains(&group.as_str())) {
                    prop_assert_eq!(verdict(list, group), '+', "{}", group);
                }
            }
        }
        // The filer asks as well, whatever the injection let through.
        let everything = inject::EveryGroup { may_approve: true };
        if let Some((bytes, Route::File)) = injected(&written.wire(), &active, &everything)
            && filed(&bytes, Form::Native, &active, &grant).is_some()
        {
            prop_assert!(done.is_some());
        }
        let is_open = |name: &&str| behind(&table, name).and_then(|group| flag_of(&table, group)) == Some("y");
        let all_open = written.groups.iter().all(is_open);
        let is_usual = !written.approved && !written.order;
        if written.is_plain && is_usual && all_open && may_post(list, &table, &written.groups) {
            prop_assert!(done.is_some());
        }
    }

    /// What comes from a peer keeps to its rights; and what is plainly allowed is filed.
    #[test]
    fn peers(lines in prop::collection::vec(line(), 1..4), who in who(), table in table(), written in written()) {
        let model = line_of(&lines, &who);
        let active = active(&table);
        let grant = Grant::Send(rights(&lines, &who));
        let wire = written.wire();
        let list = model.map_or("", |line| line.send);
        let groups = filed(&wire, Form::Wire, &active, &grant);
        if let Some(groups) = &groups {
            let mut native = Vec::new();
            wire::push_native(&mut native, &wire);
            let named = field(&native, "Newsgroups");
            prop_assert_eq!(named.len(), 1);
            let names = named[0].split(',').map(str::trim);
            let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
            prop_assert!(may_send(list, &table, &names), "{:?}", names);
            for group in groups {
                prop_assert_ne!(verdict(list, group), '@', "{}", group);
            }
        }
        let is_open = |name: &&str| behind(&table, name).and_then(|group| flag_of(&table, group)) == Some("y");
        let some_open = written.groups.iter().any(is_open);
        let none_moderated = !written.groups.iter().any(|name| {
            behind(&table, name).and_then(|group| flag_of(&table, group)) == Some("m")
        });
        if written.is_plain && some_open && none_moderated && may_send(list, &table, &written.groups) {
            prop_assert!(groups.is_some());
        }
    }
}
