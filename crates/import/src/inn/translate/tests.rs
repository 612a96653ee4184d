//! The settings of an INN that each file gives, and the lines of the report.

use super::*;
use std::fs;

/// The translation of an INN with these files; its report as a text.
fn translated(files: &[(&str, &str)]) -> (Translation, String) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display();
    let conf = format!(
        "pathhost: inn.example.org\npathetc: {root}\npathdb: {root}\npathspool: {root}/spool\n"
    );
    let active = "comp.test 0000000000 0000000001 y\n";
    for (name, text) in [("inn.conf", conf.as_str()), ("active", active)]
        .iter()
        .chain(files)
    {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A further inn.conf adds to the first one.
        let before = fs::read(&path).unwrap_or_default();
        fs::write(path, [&before, text.as_bytes()].concat()).unwrap();
    }
    let to = translate(&Installation::find(dir.path()).unwrap()).unwrap();
    let entries = to.report.entries.iter();
    let report = entries.map(|entry| format!("{}: {}\n", entry.fate.word(), entry.text));
    let report = report.collect();
    (to, report)
}

fn settings_of(to: &Translation) -> Settings {
    let text = to.settings_text.clone().into_bytes();
    let read = settings::Read::parse(Path::new("broadsheet.toml"), text);
    let read = read.unwrap_or_else(|faults| panic!("{faults}: {}", to.settings_text));
    read.settings
}

/// The `[[access]]` tables of an INN with these files, and its report.
fn access_of(files: &[(&str, &str)]) -> (access::Tables, String, String) {
    let (to, report) = translated(files);
    (settings_of(&to).access, report, to.settings_text)
}

fn readers(text: &str) -> (access::Tables, String, String) {
    access_of(&[("readers.conf", text)])
}

fn names(tables: &access::Tables) -> Vec<&str> {
    let entries = tables.entries.iter();
    entries.map(|entry| entry.name.as_str()).collect()
}

#[test]
fn users_are_those_of_the_access_group() {
    let (tables, _, _) = readers(
        "auth all {\n hosts: \"*\"\n auth: \"ckpasswd -f x\"\n default: \"<reader>\"\n}\n\
         access anyone {\n users: \"<reader>\"\n newsgroups: \"comp.*\"\n access: \"R\"\n}\n\
         access known {\n users: \"*,!<reader>\"\n newsgroups: \"*\"\n}\n\
         access staff {\n users: \"alice,bob@example.org\"\n newsgroups: \"*\"\n access: \"RPAI\"\n}\n",
    );
    assert_eq!(names(&tables), ["staff", "known", "anyone"]);
    let users: Vec<_> = tables.entries.iter().map(|entry| &entry.users).collect();
    assert_eq!(users[0], &["alice", "bob@example.org"]);
    assert_eq!(users[1], &["*"]);
    assert!(users[2].is_empty());
}

#[test]
fn users_with_patterns_are_a_comment() {
    for users in ["a*", "*,!mallory", "alice,@bob", "!alice"] {
        let (tables, report, text) = readers(&format!(
            "auth all {{\n auth: \"ckpasswd -f x\"\n}}\naccess some {{\n users: \"{users}\"\n newsgroups: \"*\"\n access: \"RPAI\"\n}}\n"
        ));
        assert!(tables.entries.is_empty(), "{users}: {text}");
        let told = "NOT KEPT: access \"some\" for auth \"all\": `users' has only names";
        assert!(report.contains(told), "{users}: {report}");
        assert!(text.contains("# name = \"some\""), "{users}: {text}");
    }
}

/// The tables of comments, as somebody would put them in force.
fn comments(text: &str) -> Vec<String> {
    let (_, text) = text.split_once("comes from the files of INN").unwrap();
    let comments = text.split("\n# [[access]]\n").skip(1);
    let tables = comments.map(|rest| {
        let lines = rest.lines().map_while(|line| line.strip_prefix("# "));
        lines.fold("[[access]]\n".to_owned(), |table, line| table + line + "\n")
    });
    tables.collect()
}

#[test]
fn users_beside_a_pattern_are_kept() {
    let (tables, report, text) = readers(
        "auth all {\n auth: \"ckpasswd -f x\"\n}\n\
         access some {\n users: \"*@old.example,anna,bert\"\n newsgroups: \"*\"\n}\n",
    );
    assert_eq!(names(&tables), ["some"], "{text}");
    assert_eq!(tables.entries[0].users, ["anna", "bert"]);
    let told = "NOT KEPT: access \"some\": users `*@old.example': write their names";
    assert!(report.contains(told), "{report}");
}

/// Whoever removes the marks of a comment and reads nothing: nobody gets rights that INN did not give.
#[test]
fn a_comment_put_in_force_admits_nobody() {
    let open = "access all {\n users: \"*\"\n newsgroups: \"*\"\n}\n";
    for auth in [
        "hosts: \"*,!10.9.0.0/16\"\n default: \"x\"",
        "hosts: \"10.0.0.0/8, !10.9.0.0/16\"\n default: \"x\"",
        "hosts: \"*.example.org\"\n default: \"x\"",
        "hosts: \"10.0.0.0/8\"\n localaddress: \"192.0.2.1\"\n default: \"x\"",
        "localaddress: \"192.0.2.1\"\n auth: \"ckpasswd -f x\"",
    ] {
        let (tables, _, text) = readers(&format!("auth a {{\n {auth}\n}}\n{open}"));
        assert!(tables.entries.is_empty(), "{auth}: {text}");
        let comments = comments(&text);
        assert_eq!(comments.len(), 1, "{auth}: {text}");
        assert!(fault_of(&comments[0]).is_some(), "{auth}: {}", comments[0]);
    }
    for users in ["a*", "*,!mallory", "alice,@bob", "!alice", "a*,!alice"] {
        let (_, _, text) = readers(&format!(
            "auth all {{\n auth: \"ckpasswd -f x\"\n}}\naccess some {{\n users: \"{users}\"\n newsgroups: \"*\"\n}}\n"
        ));
        let comments = comments(&text);
        assert!(fault_of(&comments[0]).is_some(), "{users}: {}", comments[0]);
    }
    let (_, _, text) = access_of(&[(
        "incoming.conf",
        "peer p {\n hostname: \"192.0.2.7\"\n password: x\n}\n\
         peer q {\n hostname: \"192.0.2.8\"\n identd: news\n}\n\
         peer r {\n hostname: \"192.0.2.9,!192.0.2.10\"\n}\n",
    )]);
    let comments = comments(&text);
    assert!(comments[0].contains("users = [\"p\"]"), "{text}");
    assert!(fault_of(&comments[1]).is_some(), "{text}");
    assert!(fault_of(&comments[2]).is_some(), "{text}");
    assert_eq!(comments.len(), 3);
}

/// Every line of a configuration has its known result.
#[test]
fn what_somebody_must_act_on_is_told_apart() {
    let (to, report) = translated(&[
        (
            "inn.conf",
            "pgpverify: false\nverifycancels: true\nlogcycles: 9\nnnrpdposthost: far.example\nnicekids: 9\n\
             moderatormailer: %s@mod.example\nchaninacttime: 60\n",
        ),
        ("moderators", "comp.*:mod@comp.example\n"),
        ("innreport.conf", "x\n"),
        ("ovdb.conf", "x\n"),
        ("filter/filter_innd.pl", "x\n"),
        ("nocem.ctl", "x\n"),
    ]);
    let has = |fate: Fate, part: &str| {
        let told = format!("{}: ", fate.word());
        let mut lines = report.lines();
        let found = lines.any(|line| line.starts_with(&told) && line.contains(part));
        assert!(found, "{told}{part}: {report}");
    };
    for (fate, part) in [
        (Fate::Unneeded, "pgpverify: "),
        (Fate::Unneeded, "verifycancels: "),
        (Fate::Unneeded, "logcycles: "),
        (Fate::Unneeded, "nicekids: "),
        (Fate::Unneeded, "chaninacttime: "),
        (Fate::Unneeded, "`broadsheet report'"),
        (Fate::Unneeded, "overview has its own format"),
        (Fate::Dropped, "nnrpdposthost: "),
        (Fate::Dropped, "`broadsheet block'"),
        (Fate::Unneeded, "NoCeM"),
        (Fate::Kept, "moderatormailer: "),
        (Fate::Kept, "for a trial while INN runs"),
    ] {
        has(fate, part);
    }
    assert_eq!(to.report.count(Fate::Dropped), 2, "{report}");
    let moderators = to.files.iter().find(|(name, ..)| name == "moderators");
    let (_, text, _) = moderators.unwrap();
    assert_eq!(
        String::from_utf8_lossy(text),
        "comp.*:mod@comp.example\n*:%s@mod.example\n"
    );
}

#[test]
fn hosts_with_an_exclusion_are_a_comment() {
    let access = "access a {\n users: \"*\"\n newsgroups: \"*\"\n}\n";
    for keys in [
        "hosts: \"*,!10.9.0.0/16\"",
        "hosts: \"10.0.0.0/8, !10.9.0.0/16\"",
        "localaddress: \"192.0.2.1\"",
    ] {
        let (tables, report, _) = readers(&format!(
            "auth a {{\n {keys}\n default: \"x\"\n}}\n{access}"
        ));
        assert!(tables.entries.is_empty(), "{keys}");
        let told = "NOT KEPT: access \"a\" for auth \"a\": ";
        assert!(report.contains(told), "{keys}: {report}");
    }
}

#[test]
fn the_last_auth_group_of_a_client_decides() {
    // Clients of 10.9.0.0/16 have a user without an access group; the others read.
    let (tables, _, _) = readers(
        "auth all {\n hosts: \"*\"\n default: \"<reader>\"\n}\n\
         auth shut {\n hosts: \"10.9.0.0/16\"\n default: \"<shut>\"\n}\n\
         access all {\n users: \"<reader>\"\n newsgroups: \"*\"\n}\n",
    );
    assert_eq!(names(&tables), ["shut", "all"]);
    assert_eq!(tables.entries[0].read, "");
    assert_eq!(tables.entries[0].from.len(), 1);
    assert_eq!(tables.entries[1].read, "*");
}

#[test]
fn groups_that_shut_clients_out_are_never_dropped_silently() {
    let (tables, report, text) = readers(
        "auth \"all\" { hosts: \"*\" default: \"<anon>\" }\n\
         auth \"shut1\" { hosts: \"*.spam.example\" default: \"<shut>\" }\n\
         auth \"shut2\" { hosts: \"203.0.113.0/24,!203.0.113.9\" default: \"<shut>\" }\n\
         auth \"shut3\" { hosts: \"198.51.100.0/24, *.bad.example\" default: \"<shut>\" }\n\
         auth \"shut4\" { hosts: \"192.0.2.0/24\" require_ssl: true default: \"<shut>\" }\n\
         auth \"part\" { hosts: \"*.part.example\" default: \"<part>\" }\n\
         access \"anon\" { users: \"<anon>\" newsgroups: \"*\" access: \"RP\" }\n\
         access \"part\" { users: \"<part>\" read: \"comp.*\" }\n",
    );
    assert_eq!(names(&tables), ["shut4", "shut3", "anon"], "{text}");
    assert!(tables.entries[0].tls && !tables.entries[1].tls);
    assert_eq!(tables.entries[1].read, "");
    for told in [
        "NOT KEPT: auth \"shut1\": host `*.spam.example': write addresses",
        "NOT KEPT: auth \"shut1\": its clients have no rights in INN, but none of its hosts",
        "NOT KEPT: auth \"shut2\": its clients have no rights in INN, but `from' cannot exclude",
        "NOT KEPT: auth \"shut3\": host `*.bad.example': write addresses",
        "kept: auth \"shut3\": its clients have no rights",
        "NOT KEPT: access \"part\" for auth \"part\": none of its hosts",
    ] {
        assert_eq!(report.matches(told).count(), 1, "{told}: {report}");
    }
    for (name, from) in [
        ("shut1", "\"*.spam.example\""),
        ("shut2", "\"203.0.113.0/24\", \"!203.0.113.9\""),
    ] {
        let comment = format!("# name = \"{name}\"\n# from = [{from}]\n");
        assert!(text.contains(&comment), "{text}");
    }
}

#[test]
fn a_program_within_an_auth_group_is_that_of_logins() {
    let (to, report) = translated(&[(
        "readers.conf",
        "auth all {\n hosts: \"*\"\n auth pw {\n  program: \"/usr/lib/news/ckpasswd -f /etc/news/passwd\"\n  log: error\n }\n\
         res: ident\n auth other {\n  program: other\n }\n default: \"<anon>\"\n}\n\
         access anon { users: \"<anon>\" newsgroups: \"comp.*\" access: \"R\" max_rate: 10000 }\n\
         access users { users: \"*,!<anon>\" newsgroups: \"*\" access: \"RP\" max_rate: 0 }\n",
    )]);
    let settings = settings_of(&to);
    assert_eq!(
        settings.auth.program,
        "/usr/lib/news/ckpasswd -f /etc/news/passwd"
    );
    assert_eq!(names(&settings.access), ["users", "anon"]);
    let entries = &settings.access.entries;
    assert_eq!(
        (entries[0].users.as_slice(), entries[0].post.as_str()),
        (&["*".to_owned()][..], "*")
    );
    assert_eq!(entries[1].limits.bytes_per_second_max, Some(10_000));
    assert_eq!(entries[0].limits.bytes_per_second_max, None);
    for told in [
        "CHANGED: auth.program = \"/usr/lib/news/ckpasswd -f /etc/news/passwd\"",
        "NOT KEPT: auth pw: log: error",
        "NOT KEPT: auth.program is one for all: `other'",
        "NOT KEPT: res: ident",
    ] {
        assert_eq!(report.matches(told).count(), 1, "{told}: {report}");
    }
}

#[test]
fn a_default_user_has_the_default_domain() {
    let (tables, _, _) = readers(
        "auth all {\n default: \"anon\"\n default-domain: \"example.org\"\n}\n\
         access anon { users: \"anon\" newsgroups: \"*\" }\n\
         access own { users: \"*@example.org\" newsgroups: \"comp.*\" }\n",
    );
    assert_eq!(names(&tables), ["own"]);
    assert_eq!(tables.entries[0].read, "comp.*");
}

#[test]
fn lists_that_only_exclude_are_left_out() {
    let (tables, _, _) = readers(
        "auth all {\n default: \"x\"\n}\n\
         access rejected {\n users: \"*\"\n newsgroups: \"*\"\n reject_with: \"no\"\n}\n",
    );
    assert_eq!(tables.entries[0].read, "");
    let (tables, _, _) = access_of(&[
        (
            "readers.conf",
            "auth all {\n default: \"x\"\n}\naccess a {\n users: \"*\"\n read: \"*\"\n post: \"!*\"\n}\n",
        ),
        (
            "incoming.conf",
            "peer deaf {\n hostname: 192.0.2.1\n patterns: \"!*\"\n}\n",
        ),
    ]);
    assert_eq!(names(&tables), ["deaf", "a"]);
    assert_eq!(tables.entries[0].send, "");
    let rights = [&tables.entries[1].read, &tables.entries[1].post];
    assert_eq!(rights, ["*", ""]);
}

#[test]
fn peers_that_inn_ignores_have_no_rights() {
    let (tables, report, text) = access_of(&[(
        "incoming.conf",
        "peer bad {\n hostname: 192.0.2.7\n ignore: true\n}\n\
         peer away {\n hostname: 192.0.2.8\n skip: true\n}\n\
         peer secret {\n hostname: 192.0.2.9\n password: \"x\"\n}\n\
         peer wide {\n hostname: 192.0.2.0/24\n}\n",
    )]);
    assert_eq!(names(&tables), ["bad", "wide"]);
    let sends: Vec<_> = tables.entries.iter().map(|entry| &entry.send).collect();
    assert_eq!(sends, ["", "*"]);
    assert!(report.contains("kept: bad: may not send"), "{report}");
    assert!(
        report.contains("NOT KEPT: secret: its password"),
        "{report}"
    );
    assert!(text.contains("# name = \"secret\""), "{text}");
}

const ME: (&str, &str) = (
    "incoming.conf",
    "peer ME {\n hostname: \"localhost, 127.0.0.1, 192.0.2.9\"\n}\n",
);
const READERS: &str = "access own {\n users: own\n newsgroups: \"*,!private.*\"\n access: RA\n}\n\
    access others {\n users: other\n newsgroups: \"comp.*\"\n}\n";

#[test]
fn me_may_send_and_keeps_the_rights_of_readers_conf() {
    let own = format!("auth own {{\n hosts: \"localhost\"\n default: own\n}}\n{READERS}");
    let (tables, report, _) = access_of(&[ME, ("readers.conf", &own)]);
    assert_eq!(names(&tables), ["own"]);
    let table = &tables.entries[0];
    let rights = [&table.read, &table.post, &table.send].map(String::as_str);
    assert_eq!(rights, ["*,!private.*", "", "*"]);
    assert!(table.approve);
    let told = "kept: ME: programs on this machine may send: `send' of the table `own'";
    assert!(report.contains(told), "{report}");
    assert!(
        report.contains("NOT KEPT: ME: host `192.0.2.9'"),
        "{report}"
    );
    // Others match the table, too, and must not send: this machine has one of its own before it.
    for hosts in ["\"*\"", "\"10.0.0.0/8, localhost\""] {
        let any = format!(
            "auth users {{\n auth: \"ckpasswd\"\n}}\nauth any {{\n hosts: {hosts}\n default: own\n}}\n{READERS}"
        );
        let (tables, _, text) = access_of(&[ME, ("readers.conf", &any)]);
        // Those of logins come first.
        assert_eq!(
            names(&tables),
            ["others", "own", "this-machine", "own"],
            "{text}"
        );
        let [.., own, any] = tables.entries.as_slice() else {
            panic!("{text}")
        };
        assert_eq!(
            (own.read.as_str(), own.send.as_str()),
            ("*,!private.*", "*")
        );
        assert_eq!((any.read.as_str(), any.send.as_str()), ("*,!private.*", ""));
        assert_eq!(own.from, [access::Network::Local]);
    }
}

#[test]
fn me_gets_no_rights_that_inn_does_not_give() {
    let far = format!("auth far {{\n hosts: \"10.0.0.0/8\"\n default: own\n}}\n{READERS}");
    let (tables, _, _) = access_of(&[ME, ("readers.conf", &far)]);
    assert_eq!(names(&tables), ["own", "this-machine"]);
    let table = &tables.entries[1];
    assert_eq!((table.read.as_str(), table.send.as_str()), ("", "*"));
    // No readers.conf: INN lets nobody read; here programs on this machine need some rights.
    let (tables, report, _) = access_of(&[ME]);
    assert_eq!(names(&tables), ["this-machine"]);
    assert!(
        report.contains("CHANGED: ME: programs on this machine may send, and may read"),
        "{report}"
    );
    let deaf = ("incoming.conf", "peer ME {\n patterns: \"!*\"\n}\n");
    assert!(access_of(&[deaf]).0.entries.is_empty());
}

#[test]
fn distributions_of_me_are_told() {
    let (to, report) = translated(&[("newsfeeds", "ME:*,!control/!local::\n")]);
    let told = "CHANGED: ME: distributions `!local'";
    assert!(report.contains(told), "{report}");
    let (_, sys, _) = to.files.iter().find(|(name, ..)| name == "sys").unwrap();
    assert!(sys.ends_with(b"\nME:all\n"));
}

/// A site that innfeed feeds.
fn fed(newsfeeds: &str, innfeed: &str) -> (Translation, String) {
    translated(&[("newsfeeds", newsfeeds), ("innfeed.conf", innfeed)])
}

#[test]
fn a_site_gets_all_but_the_excluded_distributions() {
    let (to, report) = fed(
        "ME:*::\nb!:!*:Tc:innfeed\np/h:comp.*/!local,!collabra:Tm:b!\nq:comp.*/na:Tm:b!\n",
        "peer p { ip-name: h.example.org  port-number: 433 }\npeer q { }\n",
    );
    let text = &to.settings_text;
    assert!(
        text.contains("distributions = \"all,!local,!collabra\""),
        "{text}"
    );
    assert!(text.contains("nntp = \"h.example.org:433\""), "{text}");
    assert!(text.contains("distributions = \"na,world\""), "{text}");
    assert!(
        report.contains("CHANGED: q: distributions `na,world'"),
        "{report}"
    );
    assert_eq!(settings_of(&to).sites.sites.len(), 2);
    let (_, report) = fed("ME:*::\nb!:!*:Tc:innfeed\np:comp.*:Tm:b!\n", "");
    assert!(
        report.contains("p: a feed of type Tm by `b!', and innfeed.conf has no peer of this name"),
        "{report}"
    );
}

#[test]
fn variables_of_newsfeeds_are_written_out() {
    let (to, report) = fed(
        "$OWN=comp.test,comp.x\nME:*::\nb!:!*:Tc:innfeed\np:*,!$OWN:Tm:b!\nq:$OTHER:Tm:b!\nr!:!*:Tc:exec awk '{ print $1 }'\n",
        "peer p { }\npeer q { }\n",
    );
    assert!(
        report.contains("p: by NNTP to p, groups `all,!comp.test"),
        "{report}"
    );
    let told = report.matches("variable").collect::<Vec<_>>().len();
    assert_eq!(told, 3, "{report}");
    assert!(
        report.contains("NOT KEPT: the variable `$OTHER' is not defined before"),
        "{report}"
    );
    let told =
        "NOT KEPT: q: by NNTP to q, the variable `$OTHER' is not defined; its table is a comment";
    assert!(report.contains(told), "{report}");
    assert_eq!(settings_of(&to).sites.sites.len(), 1);
    // One of ME is one of all.
    let (to, _) = fed(
        "ME:*,!$OTHER::\nb!:!*:Tc:innfeed\np:comp.*:Tm:b!\n",
        "peer p { }\n",
    );
    assert!(settings_of(&to).sites.sites.is_empty());
}

#[test]
fn only_funnels_of_inn_itself_are_not_needed() {
    let (_, report) = fed(
        "ME:*::\ninnfeed!:!*:Tc,Wnm*:/usr/lib/news/bin/innfeed\n\
         overview!:*:Tc,WnteO:overchan\ncontrolchan!:!*,control,control.*:Tc,Wnsm:/usr/lib/news/bin/controlchan\n\
         archive!:*:Tc,Wn:/usr/lib/news/bin/archive -f\nnews2mail!:!*:Tc,Wnm*:news2mail\nlist:local.*:Tm:news2mail!\n",
        "",
    );
    for told in [
        "not needed: innfeed!: a funnel is not needed",
        "not needed: overview!: the server writes the overview",
        "not needed: controlchan!: the server acts on control messages",
        "NOT KEPT: archive!: a feed of type Tc by `/usr/lib/news/bin/archive -f'",
        "NOT KEPT: news2mail!: a feed of type Tc by `news2mail'",
        "NOT KEPT: list: a feed of type Tm by `news2mail!'",
    ] {
        assert!(report.contains(told), "{told}: {report}");
    }
}

#[test]
fn keys_of_innfeed_conf_come_over_or_are_reported() {
    let (to, report) = fed(
        "ME:*::\nb!:!*:Tc:innfeed\np:*:Tm,<0,H0:b!\nq:*:Tm:b!\nr:*:Tm:b!\ns:*:Tm:b!\n",
        "bindaddress: 192.0.2.99\nstats-period: 600\nunknown-key: 1\n\
         peer p { max-connections: 0 streaming: false username: us password: secret }\n\
         group g { max-connections: 70 peer q { force-ipv4: true } peer r { bindaddress: any max-connections: 40 } }\n\
         peer s { bindaddress6: \"2001:db8::1\" }\npeer t { }\n",
    );
    let settings = settings_of(&to);
    let sites = settings.sites.sites.iter();
    let sites = sites.map(|site| {
        let groups::sites::Via::Nntp(via) = &site.via else {
            panic!("{site:?}")
        };
        let bind = via.server.bind.map(|address| address.to_string());
        assert_eq!((site.hops_max, site.size_max), (None, None));
        (via.connections, bind)
    });
    let sites: Vec<_> = sites.collect();
    let own = Some("192.0.2.99".to_owned());
    let default = groups::nntp_server::CONNECTIONS;
    assert_eq!(
        sites,
        [
            (default, own.clone()),
            (64, own),
            (40, None),
            (default, None)
        ],
        "{}",
        to.settings_text
    );
    for told in [
        "CHANGED: p: max-connections 0 (no limit)",
        "CHANGED: q: max-connections 70: at most 64",
        "NOT KEPT: unknown-key: 1: there is no such setting",
        "not needed: streaming: false",
        "NOT KEPT: force-ipv4: true",
        "NOT KEPT: s: bindaddress 192.0.2.99 and bindaddress6 2001:db8::1",
        "not needed: t: no line of newsfeeds feeds it",
    ] {
        assert_eq!(report.matches(told).count(), 1, "{told}: {report}");
    }
    assert!(!report.contains("stats-period"), "{report}");
    let mut files = to.files.iter();
    assert!(files.any(|(name, text, _)| name == "p.password" && text == b"secret\n"));
}

#[test]
fn every_setting_without_a_counterpart_has_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display();
    let conf = format!(
        "pathhost: inn.example.org\npathnews: {root}\npathetc: {root}\npathdb: {root}\n\
         pathalias: old.example.org\npathcluster: all.example.org\nfromhost: example.org\nwanttrash: true\n"
    );
    fs::create_dir(dir.path().join("filter")).unwrap();
    for (name, text) in [
        ("inn.conf", conf.as_str()),
        ("active", "comp.test 0000000000 0000000001 y\n"),
        ("filter/filter_innd.pl", "sub filter_art { }\n"),
        ("cleanfeed.local", "%config_local = ();\n"),
        ("innshellvars.local", "X=y\n"),
        ("motd.nnrpd", "one\n"),
        ("motd.news", "two\n"),
        (
            "incoming.conf",
            "hold-time: 5\ngroup g { comment: \"x y\" peer p { hostname: 192.0.2.1 email: a@b list: false } }\n",
        ),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let to = translate(&Installation::find(dir.path()).unwrap()).unwrap();
    let told: Vec<String> = (to.report.entries.iter())
        .map(|entry| {
            let name = entry.path.file_name().unwrap().to_string_lossy();
            format!(
                "{name}:{}: {}: {}",
                entry.line,
                entry.fate.word(),
                entry.text
            )
        })
        .collect();
    for expected in [
        "inn.conf:5: NOT KEPT: pathalias: Path gets only",
        "inn.conf:6: NOT KEPT: pathcluster: Path gets only",
        "inn.conf:7: NOT KEPT: fromhost: From of posts",
        "inn.conf:8: kept: wanttrash: junk = true",
        "filter_innd.pl:0: NOT KEPT: no program checks articles",
        "cleanfeed.local:0: NOT KEPT: no program checks articles",
        "innshellvars.local:0: not needed: commands",
        "motd.nnrpd:0: kept: copied to motd",
        "motd.news:0: NOT KEPT: motd has the text",
        "incoming.conf:1: not needed: hold-time: 5",
        "incoming.conf:2: not needed: comment: x y",
        "incoming.conf:2: not needed: email: a@b",
        "incoming.conf:2: not needed: list: false",
        "expire.ctl:0: CHANGED: there are no rules: explist keeps 30 days",
    ] {
        let found = told.iter().filter(|line| line.starts_with(expected));
        assert_eq!(found.count(), 1, "{expected}: {told:#?}");
    }
    assert!(settings_of(&to).junk);
    let settings = settings_of(&translated(&[]).0);
    assert!(!settings.junk);
}

#[test]
fn a_second_entry_of_a_name_is_a_comment() {
    let (to, report) = fed(
        "ME:*::\nb!:!*:Tc:innfeed\np:comp.*:Tm:b!\np:news.*,comp.*:Tm:b!\n",
        "peer p { }\n",
    );
    assert_eq!(settings_of(&to).sites.sites.len(), 1);
    assert!(
        report.contains("NOT KEPT: p: by NNTP to p, an entry before it has this name"),
        "{report}"
    );
}

#[test]
fn a_peer_on_this_machine_shares_its_rights() {
    let tunnel = ("incoming.conf", "peer far {\n hostname: localhost\n}\n");
    let (_, report, _) = access_of(&[tunnel]);
    assert!(
        report.contains("CHANGED: far: its address is that of this machine"),
        "{report}"
    );
}

#[test]
fn a_site_that_cannot_be_expressed_is_a_comment() {
    let innfeed = "peer p { }\npeer q { }\npeer r { }\npeer s { }\n";
    let (to, report) = fed(
        "ME:*,!control*::\nb!:!*:Tc:innfeed\np:!*,comp.te*:Tm:b!\nq:*/x*:Tm:b!\nr:!*:Tm:b!\ns:!*,x*y:Tm:b!\n",
        innfeed,
    );
    let settings = settings_of(&to);
    let sites: Vec<_> = settings.sites.sites.iter().map(|site| &site.name).collect();
    assert_eq!(sites, [b"p"], "{}", to.settings_text);
    assert!(
        report.contains("CHANGED: p: by NNTP to p, groups `!all,comp.test': patterns of C News have no `*' within a word, so `comp.te*' stands"),
        "{report}"
    );
    // A distribution with `*' is no pattern here.
    assert!(
        report.contains("NOT KEPT: q: by NNTP to q, distributions has `*'"),
        "{report}"
    );
    for name in ["q", "r", "s"] {
        let comment = format!("\n# name = \"{name}\"\n");
        assert!(to.settings_text.contains(&comment), "{}", to.settings_text);
    }
    assert!(
        report.contains("s: by NNTP to s, `*,!control*,!*,x*y' includes no group"),
        "{report}"
    );
}

#[test]
fn files_of_the_same_format_come_over() {
    let (to, report) = translated(&[
        ("control.ctl", "all:*:*:doit\n"),
        ("control.ctl.local", "newgroup:*:*:drop\n"),
    ]);
    let found = to
        .files
        .iter()
        .find(|(name, ..)| name == "control.ctl.local");
    assert_eq!(found.unwrap().1, b"newgroup:*:*:drop\n", "{report}");
}

#[test]
fn secrets_and_keys_are_named() {
    let secrets = "cancels {\n canlockuser: [ \"a secret\" ]\n canlockadmin: [ ]\n}\n";
    let (_, report) = translated(&[("inn-secrets.conf", secrets), ("pgp/pubring.gpg", "x")]);
    for told in [
        "NOT KEPT: canlockuser: locks of new posts come from keys/cancel.secret",
        "NOT KEPT: the keys: write them out",
    ] {
        assert_eq!(report.matches(told).count(), 1, "{told}: {report}");
    }
    assert!(
        !report.contains("canlockadmin") && !report.contains("a secret"),
        "{report}"
    );
}

#[test]
fn files_that_wait_are_named() {
    let files = [
        ("spool/incoming/1.batch", "x"),
        ("spool/incoming/bad/2.batch", "x"),
        ("spool/outgoing/peer", "x"),
        ("spool/outgoing/empty", ""),
        ("spool/innfeed/peer.input", "x"),
        ("spool/innfeed/peer.lock", "x"),
    ];
    let (_, report) = translated(&files);
    for (told, count) in [
        ("NOT KEPT: 1 batches wait: run INN's `rnews -U'", 1),
        (
            "NOT KEPT: articles wait for other sites in 1 files: flush",
            2,
        ),
    ] {
        assert_eq!(report.matches(told).count(), count, "{told}: {report}");
    }
    let elsewhere = ("inn.conf", "pathincoming: /nowhere\n");
    let (_, report) = translated(&[&files[..], &[elsewhere]].concat());
    assert!(!report.contains("batches wait"), "{report}");
}

#[test]
fn logins_without_tls_are_named() {
    let users = (
        "readers.conf",
        "auth all {\n hosts: \"*\"\n auth: \"/bin/ckpasswd -f x\"\n}\naccess all {\n users: \"*\"\n newsgroups: \"*\"\n}\n",
    );
    let tls = ("inn.conf", "tlscertfile: /c.pem\ntlskeyfile: /k.pem\n");
    for (files, told) in [
        (
            &[users][..],
            "CHANGED: logins: INN takes passwords without TLS, this server does not, so that nobody",
        ),
        (
            &[users, tls],
            "CHANGED: logins: INN takes passwords without TLS, this server does not: clients must use STARTTLS",
        ),
    ] {
        let (_, report) = translated(files);
        assert_eq!(report.matches(told).count(), 1, "{report}");
    }
    let (_, report, _) = readers("auth all {\n default: x\n}\naccess all {\n users: \"*\"\n}\n");
    assert!(!report.contains("logins"), "{report}");
}

#[test]
fn a_hidden_table_is_a_comment() {
    let (tables, report, text) = readers(
        "auth people { hosts: \"*\" auth: \"/bin/ckpasswd -f x\" }\n\
         auth local { hosts: \"localhost, 127.0.0.1, stdin\" default: \"<local>\" }\n\
         auth here { hosts: \"127.0.0.1\" require_ssl: true default: \"<shut>\" }\n\
         access people { users: \"*\" newsgroups: \"*,!junk\" access: \"RP\" }\n\
         access local { users: \"<local>\" newsgroups: \"*\" access: \"RPA\" }\n",
    );
    let told = "NOT KEPT: access \"people\" for auth \"local\": never used, since the table `local' before it matches all its clients; its table is a comment";
    assert_eq!(report.matches(told).count(), 1, "{report}");
    assert_eq!(names(&tables), ["people", "people", "local"], "{text}");
    assert!(
        tables.entries[0].users == ["*"] && tables.entries[1].tls,
        "{text}"
    );
    // A peer that also reads.
    let (tables, report, text) = access_of(&[
        ("incoming.conf", "peer leaf {\n hostname: 192.0.2.0/28\n}\n"),
        (
            "readers.conf",
            "auth leaf { hosts: 192.0.2.7 default: leaf }\naccess leaf { users: leaf newsgroups: \"*\" }\n",
        ),
    ]);
    assert_eq!(names(&tables), ["leaf"], "{text}");
    let told =
        "NOT KEPT: access \"leaf\" for auth \"leaf\": never used, since the table `leaf' before it";
    assert!(report.contains(told), "{report}");
}

#[test]
fn keys_with_a_setting_are_set_or_name_it() {
    let conf = "mta: \"/usr/bin/msmtp -i %s\"\nallownewnews: false\ninitialtimeout: 20\nmaxconnections: 60\n\
                localmaxartsize: 5000\naddinjectionpostinghost: true\naddinjectionpostingaccount: true\nkeywords: true\n";
    let (to, report) = translated(&[("inn.conf", conf)]);
    let settings = settings_of(&to);
    assert_eq!(settings.post.sendmail, "/usr/bin/msmtp -i -t");
    assert_eq!(settings.nntp.without, "newnews");
    assert_eq!(settings.nntp.first_seconds, 20);
    assert_eq!(settings.post.reveal, "logging, account");
    for told in [
        "CHANGED: mta: post.sendmail = \"/usr/bin/msmtp -i -t\"",
        "kept: allownewnews: nntp.without = \"newnews\"",
        "kept: initialtimeout: nntp.first_seconds = 20",
        "NOT KEPT: maxconnections: it limited the connections of peers; nntp.connections_max",
        "NOT KEPT: localmaxartsize: use size_max of [[access]]",
        "CHANGED: addinjectionpostinghost: the hosts of posters are not revealed",
        "not needed: keywords: overview has the fields",
    ] {
        assert_eq!(report.matches(told).count(), 1, "{told}: {report}");
    }
    let (to, report) = translated(&[("inn.conf", "mta: \"/bin/mail -s x|y %s\"\n")]);
    assert!(report.contains("NOT KEPT: mta: "), "{report}");
    assert_eq!(
        settings_of(&to).post.sendmail,
        Settings::default().post.sendmail
    );
}

#[test]
fn defaults_of_inn_say_nothing() {
    let conf = "mta: \"/usr/sbin/sendmail -oi -oem %s\"\ndocancels: \"require-auth\"\nkeywords: no\nmaxconnections: 50\nallownewnews: on\n\
                backoffk: 1\nstatus: 600\n";
    let (_, without) = translated(&[]);
    let (to, report) = translated(&[("inn.conf", conf)]);
    assert_eq!(report, without);
    assert_eq!(settings_of(&to).nntp.without, "");
}
