//! The settings of an INN as those of a news directory: `broadsheet.toml`, `sys`, `explist` and copies, with a report of each line.

mod classic;
mod feed_variables;
mod feeds;
mod peers;
mod readers;

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use settings::{Settings, TABLE, quoted};

use crate::inn::conf::{ConfFile, Pair, is_true};
use crate::inn::installation::Installation;
use crate::moved;
use crate::report::{Fate, Report};

pub use crate::moved::{MovedFile, Translation};

/// Files that have the same format here.
const COPIED: [(&str, &str); 7] = [
    ("control.ctl", "control.ctl"),
    ("moderators", "moderators"),
    ("motd.nnrpd", "motd"),
    ("motd.news", "motd"),
    ("distrib.pats", "distrib.pats"),
    ("distributions", "distributions"),
    ("subscriptions", "subscriptions"),
];

/// Files that have no counterpart, and why.
const LEFT: [(&str, &str); 14] = [
    ("motd.innd", "peers get no message of the day"),
    (
        "localgroups",
        "active and checkgroups of control.ctl tell which groups there are",
    ),
    ("nocem.ctl", "NoCeM is not supported"),
    (
        "innwatch.ctl",
        "the daemon pauses by itself (nntp.keep_free)",
    ),
    (
        "nntpsend.ctl",
        "feeds by NNTP are part of the daemon ([[site]])",
    ),
    (
        "actsync.cfg",
        "groups are not synchronized from another server",
    ),
    ("news2mail.cf", "news is not gated to mail"),
    ("nnrpd.track", "readers are not tracked one by one"),
    (
        "inn-radius.conf",
        "a RADIUS program can be set as auth.program",
    ),
    ("buffindexed.conf", "overview has its own format"),
    ("ovdb.conf", "overview has its own format"),
    ("ovsqlite.conf", "overview has its own format"),
    ("send-uucp.cf", "batches by UUCP are set in [[site]]"),
    (
        "innreport.conf",
        "reports come from `broadsheet status' and the metrics",
    ),
];

/// Translates the settings of an installation.
///
/// # Errors
/// A file cannot be read.
pub fn translate(inn: &Installation) -> io::Result<Translation> {
    let mut to = Translation::default();
    let report = &mut to.report;
    let file = inn.data("active")?;
    to.has_numbers = moved::has_numbers(&file);
    let active = moved::active(&file, report, &mut to.files)?;
    for name in ["newsgroups", "active.times"] {
        let file = inn.data(name)?;
        if file.is_there {
            report.add(file.at(0), Fate::Kept, format!("copied to {name}"));
            to.files.push((name.to_owned(), file.text, false));
        }
    }
    for (name, here) in COPIED {
        let file = inn.setting(name)?;
        let is_new = to.files.iter().all(|(known, _, _)| known != here);
        if file.is_there && is_new && !file.lines().is_empty() {
            report.add(
                file.at(0),
                Fate::Kept,
                format!("copied to {here}; the format is the same"),
            );
            to.files.push((here.to_owned(), file.text, false));
        }
    }
    for (name, why) in LEFT {
        let file = inn.setting(name)?;
        if file.is_there && !file.lines().is_empty() {
            report.add(file.at(0), Fate::Dropped, why);
        }
    }
    expiry(inn, report, &mut to.files)?;
    let mut settings = Settings::default();
    inn_conf(inn, &mut settings, report);
    let mut tables = String::new();
    feeds::translate(inn, &active, &mut to.files, &mut tables, report)?;
    let own_send = peers::translate(inn, &mut tables, report)?;
    readers::translate(inn, own_send, &mut settings, &mut tables, report)?;
    to.settings_text =
        settings::template(&settings) + "\n# What follows comes from the files of INN.\n" + &tables;
    Ok(to)
}

fn expiry(inn: &Installation, report: &mut Report, files: &mut Vec<MovedFile>) -> io::Result<()> {
    let file = inn.setting("expire.ctl")?;
    if file.lines().is_empty() {
        let why = "there are no rules: explist keeps 14 days, as `broadsheet init' writes it";
        report.add(file.at(0), Fate::Changed, why);
        return Ok(());
    }
    match expire::expire_ctl::convert(&file.text) {
        Ok(explist) => {
            report.add(
                file.at(0),
                Fate::Kept,
                "converted to explist; `/remember/' counts from arrival here",
            );
            files.push(("explist".to_owned(), explist, false));
        }
        Err(part) => {
            for fault in &part.faults {
                report.add(file.at(fault.line), Fate::Dropped, fault.why.clone());
            }
            report.add(
                file.at(0),
                Fate::Changed,
                "converted in part to explist.inn, which is not in force: explist keeps everything until you have \
                 edited it",
            );
            files.push(("explist.inn".to_owned(), part.explist, false));
            files.push((
                "explist".to_owned(),
                b"/expired/ x 30 -\nall x never -\n".to_vec(),
                false,
            ));
        }
    }
    Ok(())
}

/// Keys of inn.conf with a setting of the same meaning.
const SAME: [(&str, &str); 9] = [
    ("pathhost", "name"),
    ("organization", "organization"),
    ("complaints", "post.complaints"),
    ("domain", "post.mailname"),
    ("artcutoff", "limits.article_age_days_max"),
    ("maxartsize", "limits.article_bytes_max"),
    ("clienttimeout", "nntp.idle_seconds"),
    ("tlscertfile", "nntp.certificate"),
    ("tlskeyfile", "nntp.key"),
];

fn inn_conf(inn: &Installation, settings: &mut Settings, report: &mut Report) {
    let value = |key: &str| inn.keys.value(key).filter(|value| !value.is_empty());
    for pair in &inn.keys.pairs {
        let (fate, told) = key(pair, settings);
        if !told.is_empty() {
            report.add(
                inn.conf.at(pair.line),
                fate,
                format!("{}: {told}", pair.key),
            );
        }
    }
    if settings.name.is_empty()
        && let Ok(text) = std::fs::read_to_string("/proc/sys/kernel/hostname")
    {
        settings.name = text.trim().to_owned();
        report.add(
            inn.conf.at(0),
            Fate::Changed,
            format!(
                "no pathhost: the name is that of this machine, {}",
                settings.name
            ),
        );
    }
    let port = value("port").unwrap_or("119");
    let addresses: Vec<String> = [value("bindaddress"), value("bindaddress6")]
        .into_iter()
        .flatten()
        .filter(|address| *address != "none")
        .map(|address| match address {
            "all" | "any" | "::" | "0.0.0.0" => format!("*:{port}"),
            address if address.contains(':') => format!("[{address}]:{port}"),
            address => format!("{address}:{port}"),
        })
        .collect();
    settings.nntp.listen = match addresses.as_slice() {
        [] => format!("*:{port}"),
        some if some.iter().any(|address| address.starts_with('*')) => format!("*:{port}"),
        some => some.join(", "),
    };
    let told = format!("nntp.listen = \"{}\"", settings.nntp.listen);
    report.add(inn.conf.at(0), Fate::Kept, told);
    let bytes = settings.limits.article_bytes_max;
    settings.store.segment_bytes = settings.store.segment_bytes.max(bytes.saturating_mul(2));
}

/// Translates one key. Nothing is told of those that say how INN itself works.
fn key(pair: &Pair, settings: &mut Settings) -> (Fate, String) {
    let text = pair.value.as_str();
    let Some((_, path)) = SAME.iter().find(|(key, _)| *key == pair.key) else {
        return other_key(pair);
    };
    let Some(setting) = TABLE.iter().find(|setting| setting.path() == *path) else {
        return (Fate::Dropped, format!("there is no setting {path}"));
    };
    if text.is_empty() {
        return (Fate::Kept, String::new());
    }
    let mut fate = Fate::Kept;
    match (setting.slot)(settings) {
        settings::Slot::Text(slot) => *slot = text.to_owned(),
        settings::Slot::Number(slot) => {
            let Ok(number) = text.parse::<u64>() else {
                return (Fate::Dropped, format!("`{text}' is not a number"));
            };
            let (least, most) = setting.range;
            // 0 means no limit in INN.
            let wanted = match (pair.key.as_str(), number) {
                ("maxartsize", 0) => 1 << 30,
                _ => number,
            };
            *slot = wanted.clamp(least, most);
            if *slot != number {
                fate = Fate::Changed;
            }
        }
        _ => return (Fate::Dropped, format!("{path} has another form")),
    }
    (fate, format!("{path} = {}", setting.written(settings)))
}

fn other_key(pair: &Pair) -> (Fate, String) {
    let is_on = is_true(&pair.value);
    let why = match pair.key.as_str() {
        // How INN itself works, and where its files are.
        key if key.starts_with("path") || key.starts_with("ov") || key.starts_with("his") => "",
        "mailcmd"
        | "mta"
        | "runasuser"
        | "runasgroup"
        | "bindaddress"
        | "bindaddress6"
        | "port"
        | "hismethod"
        | "storageapi"
        | "enableoverview"
        | "articlemmap"
        | "tradindexedmmap"
        | "wireformat"
        | "innflags"
        | "server"
        | "fromhost"
        | "doinnwatch"
        | "overcachesize"
        | "cnfscheckfudgesize"
        | "groupbaseexpiry"
        | "storeonxref"
        | "nfsreader"
        | "nfswriter"
        | "icdsynccount"
        | "rlimitnofile"
        | "maxforks"
        | "datamovethreshold"
        | "keepmmappedthreshold" => "",
        "nnrpdflags" if pair.value.is_empty() => "",
        "wanttrash" if is_on => "articles in unknown groups go to junk, as sys and active say",
        "verifycancels" => "cancels need a Cancel-Key (control.cancel)",
        "docancels" => {
            "control.cancel = \"locked\": cancels with a Cancel-Key count, whatever this says"
        }
        "moderatormailer" if !pair.value.is_empty() => {
            "write it to the file moderators as `*:ADDRESS'"
        }
        key if key.starts_with("backoff") => "use posts_per_minute_max of [[access]]",
        _ if pair.value.is_empty() => "",
        _ => "there is no such setting",
    };
    (Fate::Dropped, why.to_owned())
}

/// A TOML list of strings.
fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(", "))
}

/// A name as a site or an entry may have it.
fn plain_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = name
        .chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect();
    match name.trim_matches('-') {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    }
}

/// Whether a wildmat list includes anything. One that only excludes is left out: `read`, `post` and `send` do not accept it.
fn includes_some(patterns: &str) -> bool {
    patterns
        .split(',')
        .any(|pattern| !pattern.starts_with(['!', '@']))
}

/// Reads addresses and networks; returns what is none of them, too.
fn networks(hosts: &str) -> (Vec<String>, Vec<String>) {
    let (mut found, mut names) = (Vec::new(), Vec::new());
    for host in hosts
        .split(',')
        .map(str::trim)
        .filter(|host| !host.is_empty())
    {
        let host = match host {
            "localhost" | "127.0.0.1" | "::1" | "stdin" => "local",
            host => host,
        };
        match access::Network::parse(host) {
            Ok(_) if found.iter().any(|known| known == host) => {}
            Ok(_) => found.push(host.to_owned()),
            Err(_) => names.push(host.to_owned()),
        }
    }
    (found, names)
}

/// Adds a table, under the line that it comes from; one that is not in force as a comment.
fn push_table(tables: &mut String, (path, line): (&Path, usize), table: &str, is_comment: bool) {
    let _ = write!(tables, "\n# {}:{line}\n", path.display());
    let mark = if is_comment { "# " } else { "" };
    for line in table.lines() {
        let _ = writeln!(tables, "{mark}{line}");
    }
}

/// The errors that broadsheet.toml would have with a table.
fn fault_of(table: &str) -> Option<String> {
    // Only `name' has no default.
    let text = format!("name = \"here\"\n{table}");
    let faults = settings::Read::parse(Path::new(settings::FILE), text.into_bytes()).err()?;
    let faults: Vec<&str> = faults.faults.iter().map(settings::Fault::what).collect();
    Some(faults.join("; "))
}

/// A file of settings that may be missing, and the first line that says something.
fn read(inn: &Installation, name: &str) -> io::Result<ConfFile> {
    inn.setting(name)
}

/// The place of a pair.
fn place<'a>(file: &'a ConfFile, pair: &Pair) -> (&'a Path, usize) {
    file.at(pair.line)
}

#[cfg(test)]
mod tests {
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
            fs::write(dir.path().join(name), text).unwrap();
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
            assert_eq!(
                names(&tables),
                ["this-machine", "own", "others", "own"],
                "{text}"
            );
            let [own, any, ..] = tables.entries.as_slice() else {
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
    fn distributions_of_me_are_not_kept() {
        let (to, report) = translated(&[("newsfeeds", "ME:*,!control/!local::\n")]);
        let told = "NOT KEPT: ME: distributions `!local'";
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
        assert_eq!(told, 2, "{report}");
        assert!(
            report.contains("NOT KEPT: the variable `$OTHER' is not defined"),
            "{report}"
        );
        settings_of(&to);
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
            report.contains("CHANGED: p: by NNTP to p, groups `!control,!all,comp.test'"),
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
}
