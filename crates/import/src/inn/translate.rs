//! The settings of an INN as those of a news directory: `broadsheet.toml`, `sys`, `explist` and copies, with a report of each line.

pub mod classic;
mod defaults;
mod feed_variables;
mod feeds;
mod innfeed_conf;
mod peers;
mod readers;
mod waiting;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use expire::explist::KEEP_DAYS;
use groups::command_line::CommandLine;
use settings::{Settings, TABLE, quoted};

use crate::inn::conf::{ConfFile, Pair, is_true};
use crate::inn::installation::Installation;
use crate::moved;
use crate::report::{Fate, Report};

pub use crate::moved::{MovedFile, Translation};

/// Files that have the same format here.
const COPIED: [(&str, &str); 8] = [
    ("control.ctl", "control.ctl"),
    ("control.ctl.local", "control.ctl.local"),
    ("moderators", "moderators"),
    ("motd.nnrpd", "motd"),
    ("motd.news", "motd"),
    ("distrib.pats", "distrib.pats"),
    ("distributions", "distributions"),
    ("subscriptions", "subscriptions"),
];

/// Files that have no counterpart, whether somebody has to act, and why.
const LEFT: [(&str, Fate, &str); 21] = [
    (
        "storage.conf",
        Fate::Unneeded,
        "all articles lie in segments; where expire.ctl has classes, those lines are reported",
    ),
    (
        "cycbuff.conf",
        Fate::Unneeded,
        "all articles lie in segments, and [expiry] keeps space free; those in the buffers come over",
    ),
    (
        "motd.innd",
        Fate::Unneeded,
        "peers get no message of the day",
    ),
    (
        "localgroups",
        Fate::Unneeded,
        "active and checkgroups of control.ctl tell which groups there are",
    ),
    (
        "nocem.ctl",
        Fate::Unneeded,
        "NoCeM is not supported: where newsfeeds has its feed, that line is reported",
    ),
    (
        "innwatch.ctl",
        Fate::Unneeded,
        "the daemon pauses by itself (nntp.keep_free)",
    ),
    (
        "nntpsend.ctl",
        Fate::Unneeded,
        "where newsfeeds writes a file for it, that line is reported",
    ),
    (
        "actsync.cfg",
        Fate::Unneeded,
        "if cron ran actsyncd: groups follow checkgroups (control.ctl) and `broadsheet group add', not the list of another server",
    ),
    (
        "news2mail.cf",
        Fate::Unneeded,
        "where newsfeeds gates news to mail, its lines are reported",
    ),
    (
        "nnrpd.track",
        Fate::Unneeded,
        "the log and `broadsheet report' name each reader",
    ),
    (
        "inn-radius.conf",
        Fate::Unneeded,
        "where readers.conf asks a RADIUS program, that line is reported",
    ),
    (
        "buffindexed.conf",
        Fate::Unneeded,
        "overview has its own format",
    ),
    ("ovdb.conf", Fate::Unneeded, "overview has its own format"),
    (
        "ovsqlite.conf",
        Fate::Unneeded,
        "overview has its own format",
    ),
    (
        "send-uucp.cf",
        Fate::Unneeded,
        "where newsfeeds writes a file for it, that line is reported",
    ),
    (
        "innreport.conf",
        Fate::Unneeded,
        "`broadsheet report' is the report of each day; report.mail gets it",
    ),
    ("filter/filter_innd.pl", Fate::Dropped, NO_FILTERS),
    ("filter/filter_innd.py", Fate::Dropped, NO_FILTERS),
    ("filter/filter_nnrpd.pl", Fate::Dropped, NO_FILTERS),
    ("cleanfeed.local", Fate::Dropped, NO_FILTERS),
    (
        "innshellvars.local",
        Fate::Unneeded,
        "commands of the server read no shell variables",
    ),
];

/// What stands in for programs that look at articles.
const NO_FILTERS: &str = "no program checks articles: `broadsheet block' refuses posters and servers, [limits] and [[access]] refuse by \
     size, age, groups and rate";

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
        if !file.is_there || file.lines().is_empty() {
            continue;
        }
        if !is_new {
            let why = format!("{here} has the text of another file before it");
            report.add(file.at(0), Fate::Dropped, why);
        } else {
            report.add(
                file.at(0),
                Fate::Kept,
                format!("copied to {here}; the format is the same"),
            );
            to.files.push((here.to_owned(), file.text, false));
        }
    }
    for (name, fate, why) in LEFT {
        let file = inn.setting(name)?;
        if file.is_there && !file.lines().is_empty() {
            report.add(file.at(0), fate, why);
        }
    }
    moderator_mailer(inn, &mut to.files, report);
    secrets(inn, report)?;
    keyring(inn, report);
    waiting::report_files(inn, report)?;
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

/// Adds the address of the moderators of all other groups to the file of moderators.
fn moderator_mailer(inn: &Installation, files: &mut Vec<MovedFile>, report: &mut Report) {
    let pair = inn
        .keys
        .pairs
        .iter()
        .find(|pair| pair.key == "moderatormailer");
    let Some(pair) = pair.filter(|pair| !pair.value.is_empty()) else {
        return;
    };
    let line = format!("*:{}\n", pair.value);
    match files.iter_mut().find(|(name, ..)| name == "moderators") {
        Some((_, text, _)) => {
            if !text.is_empty() && !text.ends_with(b"\n") {
                text.push(b'\n');
            }
            text.extend_from_slice(line.as_bytes());
        }
        None => files.push(("moderators".to_owned(), line.clone().into_bytes(), false)),
    }
    let told = format!(
        "moderatormailer: the last line of moderators, `{}'",
        line.trim_end()
    );
    report.add(inn.conf.at(pair.line), Fate::Kept, told);
}

/// Reports the secrets of Cancel-Locks, if there are any.
fn secrets(inn: &Installation, report: &mut Report) -> io::Result<()> {
    let file = inn.setting("inn-secrets.conf")?;
    let groups = file.groups().groups;
    let pairs = groups.iter().flat_map(|group| &group.pairs);
    for pair in pairs.filter(|pair| !pair.value.is_empty()) {
        let why = format!(
            "{}: locks of new posts come from keys/cancel.secret; posts of INN can only be taken down \
             (`broadsheet article remove'), not cancelled by their posters",
            pair.key
        );
        report.add(place(&file, pair), Fate::Dropped, why);
    }
    Ok(())
}

/// Files of PGP keys below `pathetc`.
const KEYRINGS: [&str; 3] = ["pgp/pubring.gpg", "pgp/pubring.kbx", "pgp/pubring.pgp"];

/// Reports the keys of control messages.
fn keyring(inn: &Installation, report: &mut Report) {
    let paths = KEYRINGS.iter().map(|name| inn.etc.join(name));
    let is_full = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|info| info.len() > 0);
    for path in paths.filter(is_full) {
        let why = format!(
            "the keys: write them out (`gpg --homedir {} --export --armor > FILE'), then `broadsheet key import FILE --key KEY --hierarchy LIST' \
             for each; without its key, `verifypgp' and `verify-' in control.ctl accept no message",
            inn.etc.join("pgp").display()
        );
        report.add((&path, 0), Fate::Dropped, why);
    }
}

fn expiry(inn: &Installation, report: &mut Report, files: &mut Vec<MovedFile>) -> io::Result<()> {
    let file = inn.setting("expire.ctl")?;
    if file.lines().is_empty() {
        let why = format!(
            "there are no rules: explist keeps {KEEP_DAYS} days, as `broadsheet init' writes it"
        );
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
const SAME: [(&str, &str); 10] = [
    ("pathhost", "name"),
    ("organization", "organization"),
    ("complaints", "post.complaints"),
    ("domain", "post.mailname"),
    ("artcutoff", "limits.article_age_days_max"),
    ("maxartsize", "limits.article_bytes_max"),
    ("clienttimeout", "nntp.idle_seconds"),
    ("initialtimeout", "nntp.first_seconds"),
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
    let of_systemd = match port.parse::<u16>() {
        Ok(port) if port < 1024 => {
            "; for the unit of systemd enable broadsheet-nntp.socket, which opens port 119 (docs/book/install.md, Ports below 1024)"
        }
        _ => "",
    };
    let told = format!(
        "nntp.listen = \"{}\"; for a trial while INN runs on this machine, set another port (\"127.0.0.1:1119\"){of_systemd}",
        settings.nntp.listen
    );
    report.add(inn.conf.at(0), Fate::Kept, told);
    let bytes = settings.limits.article_bytes_max;
    settings.store.segment_bytes = settings.store.segment_bytes.max(bytes.saturating_mul(2));
}

/// Translates one key. Nothing is reported those that say how INN itself works.
fn key(pair: &Pair, settings: &mut Settings) -> (Fate, String) {
    let text = pair.value.as_str();
    let Some((_, path)) = SAME.iter().find(|(key, _)| *key == pair.key) else {
        return other_key(pair, settings);
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

/// The mail program of Debian's inn.conf: the default of post.sendmail, but for the way in which it gets the addresses.
const SENDMAIL: &str = "/usr/sbin/sendmail -oi -oem %s";

/// post.sendmail of `mta`. INN puts the address in the place of `%s`, here the program takes it from the header lines of the mail.
fn mail_program(text: &str, settings: &mut Settings) -> (Fate, String) {
    if text == SENDMAIL {
        return (Fate::Kept, String::new());
    }
    let takes_header = text.split_ascii_whitespace().any(|word| word == "-t");
    let command = if takes_header {
        text.replace(" %s", "")
    } else {
        text.replace("%s", "-t")
    };
    if let Err(error) = CommandLine::parse(command.as_bytes()) {
        let why = format!("`{text}': {error}: set post.sendmail");
        return (Fate::Dropped, why);
    }
    settings.post.sendmail.clone_from(&command);
    let told = format!(
        "post.sendmail = {}: the program must take the addresses from the header lines of the mail (`-t' of sendmail)",
        quoted(&command)
    );
    (Fate::Changed, told)
}

/// Translates a key with a setting of another form. `None`: it has none.
fn set_by_key(pair: &Pair, settings: &mut Settings) -> Option<(Fate, String)> {
    let is_on = is_true(&pair.value);
    let told = match (pair.key.as_str(), is_on) {
        ("mta", _) if !pair.value.is_empty() => {
            return Some(mail_program(&pair.value, settings));
        }
        ("wanttrash", true) => {
            settings.junk = true;
            "junk = true: articles whose groups are all missing in active go to junk"
        }
        ("allownewnews", false) => {
            settings.nntp.without = "newnews".to_owned();
            "nntp.without = \"newnews\""
        }
        ("addinjectionpostingaccount", true) => {
            settings.post.reveal += ", account";
            "post.reveal has `account'"
        }
        ("addinjectionpostinghost", true) => {
            let told = "the hosts of posters are not revealed: add `host' to post.reveal if they should be";
            return Some((Fate::Changed, told.to_owned()));
        }
        ("addinjectionpostinghost", false) => "post.reveal has no `host'",
        ("docancels", _) if pair.value == "none" => {
            settings.control.cancel = relay::CancelPolicy::Never;
            "control.cancel = \"none\""
        }
        _ => return None,
    };
    Some((Fate::Kept, told.to_owned()))
}

fn other_key(pair: &Pair, settings: &mut Settings) -> (Fate, String) {
    if let Some(done) = set_by_key(pair, settings) {
        return done;
    }
    if defaults::is_default(pair) {
        return (Fate::Kept, String::new());
    }
    let why = match pair.key.as_str() {
        // How INN itself works, and where its files are.
        "pathalias" | "pathcluster" if !pair.value.is_empty() => {
            "Path gets only `name': tell peers that know this site by another name"
        }
        "fromhost" if !pair.value.is_empty() => {
            "From of posts stays as it is; inews makes addresses of post.mailname"
        }
        "maxconnections" => {
            "it limited the connections of peers; nntp.connections_max counts those of readers, too (a table of [[access]] can have \
             connections_max of its own)"
        }
        "localmaxartsize" => "use size_max of [[access]]",
        "nnrpdauthsender" => "post.reveal with `sender' adds Sender where From has another address",
        "nnrpdposthost" => "posts are filed here: a [[site]] brings them to the other server",
        "xrefslave" => {
            "articles get numbers of this server; `broadsheet rnews --mirror' keeps those of another one"
        }
        "verifygroups" => "articles that also name groups that active lacks are accepted",
        "checkincludedtext" => "posts may have any share of quoted text",
        "noreader" => "tables of [[access]] with `read' and `post' let readers in: remove them",
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
        "docancels" => {
            "control.cancel = \"locked\": cancels with a Cancel-Key count, whatever this says"
        }
        // See `moderator_mailer`.
        "moderatormailer" => "",
        key if key.starts_with("backoff") => "use posts_per_minute_max of [[access]]",
        _ if pair.value.is_empty() => "",
        _ => return (Fate::Unneeded, unneeded(&pair.key).to_owned()),
    };
    (Fate::Dropped, why.to_owned())
}

/// Why nothing is to be done about a key.
fn unneeded(key: &str) -> &'static str {
    match key {
        "pgpverify" => "signatures of control messages are always verified",
        "verifycancels" => "cancels need a Cancel-Key (control.cancel)",
        "extraoverviewadvertised"
        | "extraoverviewhidden"
        | "keywords"
        | "keyartlimit"
        | "keylimit"
        | "keymaxwords" => "overview has the fields of RFC 3977, and Xref",
        "linecountfuzz" => "Lines is not compared with the article",
        "remembertrash" => "ids of refused articles are remembered",
        "strippostcc" => "a post goes to its moderator without To, Cc and Bcc",
        "addinjectiondate" => "posts always get Injection-Date (RFC 5537, 3.5)",
        "syntaxchecks" => "message-ids are checked in one way",
        "sourceaddress" | "sourceaddress6" => {
            "innfeed.conf has that of feeds (`bind'); where newsfeeds writes a file, that line is reported"
        }
        key if key.starts_with("tls") => {
            "TLS is of version 1.2 or 1.3, with their usual ciphers; certificates of clients are named in [[access]]"
        }
        key if key.starts_with("nnrpd") || key.starts_with("nice") => {
            "readers are served by the daemon, not by nnrpd"
        }
        key if key.starts_with("log") || key.starts_with("innwatch") => {
            "the log and the daemon's watch of the disk need no such setting"
        }
        _ => "there is no such setting: it is about the way in which INN works",
    }
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
mod fates;
#[cfg(test)]
mod tests;
