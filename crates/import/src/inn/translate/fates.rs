//! A configuration in which each line has a known fate: the report has these entries, and no others.

use super::*;
use std::collections::BTreeSet;
use std::fs;

/// The files of an INN. Behind `=>` are the entries of the report for the line before it, separated by ` & `, each the word of its fate and a part
/// of its text; for the whole file, if nothing is before it. A line without `=>` has no entry.
const FILES: [(&str, &str); 28] = [
    (
        "active",
        "=> kept: 9 groups, with their high marks and flags
         comp.announce 0000000003 0000000001 m
         comp.test 0000000009 0000000001 y
         comp.closed 0000000000 0000000001 x
         comp.junked 0000000000 0000000001 j
         comp.alias 0000000000 0000000001 =comp.test
         comp.old 0000000004 0000000003 n
         alt.binaries.pics 0000000000 0000000001 y
         local.test 0000000000 0000000001 y
         rec.test 0000000000 0000000001 y
",
    ),
    ("newsgroups", "=> kept: copied to newsgroups\ncomp.test\tTests.\n"),
    (
        "inn.conf",
        "mta: \"/usr/bin/msmtp -i -t %s\" => CHANGED: post.sendmail = \"/usr/bin/msmtp -i -t\": the program
         organization: \"The Example House\" => kept: organization = \"The Example House\"
         ovmethod: ovdb
         hismethod: hisv6
         pathhost: inn.example.org => kept: name = \"inn.example.org\"
         pathalias: old.example.org => NOT KEPT: pathalias: Path gets only `name'
         pathetc: {root}
         pathdb: {root}
         pathspool: {root}/spool
         domain: example.org => kept: post.mailname = \"example.org\"
         artcutoff: 14 => kept: limits.article_age_days_max = 14
         bindaddress: 192.0.2.2
         bindaddress6: none
         port: 119
         docancels: none => kept: control.cancel = \"none\"
         linecountfuzz: 5 => not needed: Lines is not compared
         maxartsize: 2000000 => kept: limits.article_bytes_max = 2000000
         maxconnections: 70 => NOT KEPT: it limited the connections of peers
         verifygroups: true => NOT KEPT: articles that also name groups that active lacks
         wanttrash: true => kept: junk = true
         remembertrash: false => not needed: ids of refused articles
         extraoverviewadvertised: [ Newsgroups Keywords ] => not needed: overview has the fields
         extraoverviewhidden: [ ]
         allownewnews: false => kept: nntp.without = \"newnews\"
         clienttimeout: 900 => kept: nntp.idle_seconds = 900
         initialtimeout: 10 => kept: nntp.first_seconds = 10
         nnrpdflags: \"-o\" => not needed: not by nnrpd
         nnrpdcheckart: true
         keywords: true => not needed: overview has the fields
         addinjectiondate: false => not needed: Injection-Date
         addinjectionpostingaccount: true => kept: post.reveal has `account'
         addinjectionpostinghost: false => kept: post.reveal has no `host'
         checkincludedtext: true => NOT KEPT: quoted text
         complaints: abuse@example.org => kept: post.complaints
         fromhost: example.org => NOT KEPT: From of posts stays
         localmaxartsize: 300000 => NOT KEPT: use size_max of [[access]]
         moderatormailer: %s@moderators.example.net => kept: the last line of moderators
         nnrpdauthsender: true => NOT KEPT: post.reveal with `sender'
         strippostcc: true => not needed: without To, Cc and Bcc
         backofftrigger: 20 => NOT KEPT: posts_per_minute_max
         tlscertfile: /etc/news/cert.pem => kept: nntp.certificate
         tlskeyfile: /etc/news/key.pem => kept: nntp.key
         tlsprotocols: [ TLSv1.2 TLSv1.3 ] => not needed: TLS is of version 1.2 or 1.3
         doinnwatch: false
         logcycles: 30 => not needed: the log and
         peertimeout: 7200 => not needed: the way in which INN works
         nicennrpd: 5 => not needed: not by nnrpd
         sourceaddress: 192.0.2.2 => not needed: innfeed.conf has that
=> kept: nntp.listen = \"192.0.2.2:119\"
",
    ),
    (
        "newsfeeds",
        "# A comment.
         $LOCAL=local.*,example.* => kept: a variable
         ME/spam.example.net:*,@alt.binaries.*,!$LOCAL/!collabra:: => kept: every group of active & CHANGED: ME: distributions `!collabra' & NOT KEPT: spam.example.net in Path
         innfeed!:!*:Tc,Wnm*:/usr/lib/news/bin/innfeed -y => not needed: a funnel is not needed
         controlchan!:!*,control:AC,Tc,Wnsm:/usr/lib/news/bin/controlchan => not needed: acts on control messages
         inpaths!:*:Tc,WP:/usr/lib/news/bin/ginpaths2 => not needed: `broadsheet report' counts the sites
         crosspost:*:Tc,Ap,WR:/usr/lib/news/bin/crosspost => not needed: in all its groups
         nocem!:!*,news.lists.filters:Tc,Wf,Ap:/usr/lib/news/bin/perl-nocem => NOT KEPT: a feed of type Tc by `/usr/lib/news/bin/perl-nocem': write
         big:*,!junk/!local:Tm,<100000,H8,Nm,B40000/10000:innfeed! => kept: groups `all,!junk'
         near/near.example.net:comp.*,rec.*,!rec.test,$LOCAL:Tm,Ap,P5,S4096,H:innfeed! => kept: groups `all,@alt.binaries,!local & CHANGED: max-connections 100: at most 64
         odd.example.net:*:Tm,>200,Acpe,G5,C10,U3,O*,Q1/2,X1:innfeed! => kept: groups `all' & NOT KEPT: >200: small & NOT KEPT: Acpe: control messages go too & NOT KEPT: Acpe: articles go too of which & NOT KEPT: G5: articles with more groups & NOT KEPT: C10: articles with more & NOT KEPT: U3: articles with more & NOT KEPT: O*: articles of any origin & NOT KEPT: Q1/2: it gets all & NOT KEPT: X1: there is no such
         third.example.net:!*,comp.*/world,de:Tm:innfeed! => kept: groups `!all,comp'
         file.example.net:comp.*:Tf,Wnm,I500,F/outgoing/f: => NOT KEPT: a feed of type Tf (a file for nntpsend, innxmit or send-uucp): write
         prog:comp.announce:Tp:/usr/local/bin/gate %s => NOT KEPT: a feed of type Tp by `/usr/local/bin/gate %s': write
         logonly:comp.*:Tl: => not needed: `log' has one
         mail!:!*:Tc,Wnm*:/usr/local/bin/news2mail => NOT KEPT: type Tc by `/usr/local/bin/news2mail'
         list:comp.announce:Tm:mail! => NOT KEPT: type Tm by `mail!', and innfeed.conf has no peer
",
    ),
    (
        "innfeed.conf",
        "pid-file: innfeed.pid
         backlog-directory: innfeed
         port-number: 119
         max-connections: 5
         peer big { ip-name: 192.0.2.77 username: us password: secret }
         group hosts {
           streaming: false => not needed: streaming: false: articles are sent
           peer near { ip-name: 192.0.2.78 max-connections: 100 drop-deferred: true } => not needed: drop-deferred
           peer odd.example.net { force-ipv4: true } => NOT KEPT: force-ipv4: true: set `bind'
         }
         peer third.example.net { bindaddress: 192.0.2.2 backlog-limit: 1000000 } => not needed: backlog-limit
         peer gone.example.net { ip-name: 192.0.2.79 } => not needed: so INN does not
",
    ),
    (
        "passwd.nntp",
        "third.example.net:user3:secret3 => kept: the login at third.example.net
         unused.example.net:user4:secret4 => NOT KEPT: the login at unused.example.net
",
    ),
    (
        "incoming.conf",
        "streaming: true
         max-connections: 8
         hold-time: 60 => not needed: hold-time
         peer ME { hostname: \"localhost, 127.0.0.1, ::1\" } => kept: ME: programs on this machine may send
         group upstreams {
           email: \"noc@example.net\" => not needed: email
           peer big { hostname: \"192.0.2.77, 2001:db8::77\" patterns: \"*,!local.*\" } => kept: big: may send *,!local.*
           peer near { hostname: 192.0.2.78 streaming: false list: false } => kept: near: may send * & not needed: list: false
         }
         peer plain { hostname: 192.0.2.1 resendid: false xbatch: false } => kept: plain: may send * & not needed: resendid & not needed: xbatch
         peer named { hostname: feed.example.net } => NOT KEPT: host `feed.example.net' & NOT KEPT: named: its table is a comment
         peer secret { hostname: 192.0.2.80 password: hush } => NOT KEPT: secret: its table is a comment & NOT KEPT: secret: its password
         peer ident { hostname: 192.0.2.81 identd: news } => NOT KEPT: ident: its table is a comment & NOT KEPT: ident: `identd'
         peer bad { hostname: 192.0.2.82 ignore: true } => kept: bad: may not send
         peer later { hostname: 192.0.2.83 skip: true } => kept: later: `skip'
         peer batch { hostname: 192.0.2.84 xbatch: true } => kept: batch: may send * & NOT KEPT: xbatch: true: there is no XBATCH
",
    ),
    (
        "readers.conf",
        "=> CHANGED: logins: INN takes passwords without TLS
         auth anywhere {
           hosts: \"*\"
           auth: \"/usr/lib/news/bin/auth/passwd/ckpasswd -f x\" => CHANGED: auth.program
           default: \"<anon>\"
         }
         auth campus { => NOT KEPT: host `*.campus.example.org'
           hosts: \"10.0.0.0/8, *.campus.example.org\"
           default: \"campus\"
           default-domain: \"example.org\"
           res: ident => NOT KEPT: res: ident
         }
         auth shut { hosts: \"203.0.113.0/24\" default: \"<shut>\" } => kept: its clients have no rights
         auth near { hosts: 10.1.2.3 localaddress: 192.0.2.9 default: near }
         auth own { hosts: \"localhost, 127.0.0.1, ::1\" default: \"<localhost>\" }
         access anon { users: \"<anon>\" read: \"comp.*,@comp.secret.*\" access: \"R\" max_rate: 50000 } => kept: access \"anon\" for auth \"anywhere\"
         access members { users: \"anna,bert,*@old.example\" newsgroups: \"*\" access: \"RPN\" strippath: true } => kept: access \"members\" & NOT KEPT: users `*@old.example' & NOT KEPT: strippath
         access staff { users: \"root,mod\" newsgroups: \"*\" access: \"RPAI\" require_ssl: true } => kept: access \"staff\"
         access campus { => CHANGED: access \"campus\" for auth \"campus\"; `L' & NOT KEPT: access \"campus\" for auth \"anywhere\": `users' has only names
           users: \"*@example.org\" newsgroups: \"*\" access: \"RPL\"
           perlfilter: false => not needed: perlfilter
           localtime: true => not needed: localtime
           clienttimeout: 60 => NOT KEPT: clienttimeout: 60: nntp.idle_seconds
         }
         access near { users: near newsgroups: \"*\" } => NOT KEPT: access \"near\" for auth \"near\": `localaddress' & kept: access \"near\" for auth \"anywhere\"
         access nobody { users: ghost key: other newsgroups: \"*\" } => NOT KEPT: no auth group gives a user that matches `ghost'
         access localhost { users: \"<localhost>\" newsgroups: \"*\" access: RPA addcanlockuser: none } => kept: access \"localhost\" for auth \"own\" & not needed: addcanlockuser
",
    ),
    (
        "expire.ctl",
        "=> kept: converted to explist
         /remember/:20
         *:A:1:30:90
         comp.*:M:1:60:never
",
    ),
    ("storage.conf", "=> not needed: segments\nmethod tradspool {\n newsgroups: *\n class: 0\n}\n"),
    ("cycbuff.conf", "=> not needed: segments\ncycbuff:ONE:/x:4096\n"),
    ("control.ctl", "=> kept: copied to control.ctl\nall:*:*:drop\n"),
    ("control.ctl.local", "=> kept: copied\nnewgroup:*:local.*:doit\n"),
    ("moderators", "=> kept: copied\ncomp.announce:mod@example.org\n"),
    ("motd.nnrpd", "=> kept: copied to motd\nWelcome.\n"),
    ("motd.innd", "=> not needed: peers get no message\nHello.\n"),
    ("distributions", "=> kept: copied\nlocal:for this site\n"),
    ("distrib.pats", "=> kept: copied\n10:local.*:local\n"),
    ("subscriptions", "=> kept: copied\ncomp.test\n"),
    ("localgroups", "=> not needed: active and checkgroups\nlocal.test\tLocal.\n"),
    (
        "inn-secrets.conf",
        "cancels {
           canlockuser: [ \"a first secret\" ] => NOT KEPT: canlockuser: locks of new posts
           canlockadmin: [ ]
         }
",
    ),
    ("nntpsend.ctl", "=> not needed: that line is reported\nf:f::\n"),
    ("send-uucp.cf", "=> not needed: that line is reported\nuucp\tgzip\t16384\n"),
    ("news2mail.cf", "=> not needed: its lines are reported\nlist list@example.org\n"),
    ("innreport.conf", "=> not needed: `broadsheet report'\nx\n"),
    ("innwatch.ctl", "=> not needed: the daemon pauses by itself\nx\n"),
    ("filter/filter_innd.pl", "=> NOT KEPT: `broadsheet block'\nsub filter_art { }\n"),
    ("cleanfeed.local", "=> NOT KEPT: `broadsheet block'\n1;\n"),
];

/// The file as INN has it, and the expected entries: lines (0: the whole file) with texts.
fn file_of(marked: &str) -> (String, Vec<(usize, &str)>) {
    let (mut text, mut expected, mut number) = (String::new(), Vec::new(), 0);
    for line in marked.lines() {
        let (line, entries) = line.split_once("=>").unwrap_or((line, ""));
        let line = line.trim();
        let is_of_file = line.is_empty() && !entries.is_empty();
        if !is_of_file {
            number += 1;
            text += line;
            text += "\n";
        }
        let entries = entries.split(" & ").map(str::trim);
        let entries = entries.filter(|entry| !entry.is_empty());
        let at = if is_of_file { 0 } else { number };
        expected.extend(entries.map(|entry| (at, entry)));
    }
    (text, expected)
}

#[test]
fn each_line_has_its_fate_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display().to_string();
    let mut expected = BTreeSet::new();
    for (name, marked) in FILES {
        let (text, entries) = file_of(marked);
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("{root}", &root)).unwrap();
        for (line, entry) in entries {
            let (word, part) = entry.split_once(": ").unwrap();
            assert!(
                expected.insert((path.clone(), line, word, part)),
                "{name}: {entry}"
            );
        }
    }
    let to = translate(&Installation::find(dir.path()).unwrap()).unwrap();
    for entry in &to.report.entries {
        let place = (entry.path.clone(), entry.line, entry.fate.word());
        let found = expected.iter().find(|(path, line, word, part)| {
            (path, *line, *word) == (&place.0, place.1, place.2) && entry.text.contains(part)
        });
        let found = found.cloned();
        let found = found.unwrap_or_else(|| panic!("not expected: {entry:?}"));
        expected.remove(&found);
    }
    assert!(expected.is_empty(), "missing: {expected:#?}");
    let text = to.settings_text.clone().into_bytes();
    let read = settings::Read::parse(Path::new("broadsheet.toml"), text);
    read.unwrap_or_else(|faults| panic!("{faults}: {}", to.settings_text));
}
