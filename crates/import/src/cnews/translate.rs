//! The files of a C News as those of a news directory. Most have the same format here; lines that Broadsheet cannot use become comments,
//! each with its reason in the report.

use std::io;
use std::path::Path;

use expire::explist::KEEP_DAYS;
use feed::Batchparms;
use groups::sites::{Site, Via};
use groups::{Active, Sites};
use settings::Settings;

use crate::cnews::installation::Installation;
use crate::conf_file::ConfFile;
use crate::moved::{self, MovedFile, Translation};
use crate::report::{Fate, Report};

/// Files that have the same format and the same name here.
const COPIED: [&str; 2] = ["distributions", "moderators"];

/// Files without a counterpart, whether somebody has to act, and why.
const LEFT: [(&str, Fate, &str); 8] = [
    (
        "nntp_access",
        Fate::Dropped,
        "who may read, post and send over NNTP: write [[access]] tables; without one, only clients on this machine may",
    ),
    (
        "server",
        Fate::Dropped,
        "readers connect to this site; there is no reading by NFS",
    ),
    ("postdefltgroup", Fate::Unneeded, "posts name their groups"),
    (
        "postdefltdist",
        Fate::Unneeded,
        "posts name their distribution",
    ),
    ("replyusepath", Fate::Unneeded, "replies use From"),
    (
        "report.ctl",
        Fate::Unneeded,
        "reports go to the journal, and by `broadsheet report' to report.mail",
    ),
    (
        "delayed",
        Fate::Unneeded,
        "sendsys and version are not answered",
    ),
    ("dirs.tbd", Fate::Unneeded, "groups have no directories"),
];
/// The files with the articles that wait for a site, in out.going/SITE.
const WAITING: [&str; 5] = ["togo", "togo.more", "togo.next", "togo.leftover", "togo.1"];

/// Translates the files of an installation.
///
/// # Errors
/// A file cannot be read.
pub fn translate(cnews: &Installation) -> io::Result<Translation> {
    let mut to = Translation::default();
    let (report, files) = (&mut to.report, &mut to.files);
    let active = moved::active(&cnews.control("active")?, report, files)?;
    for name in ["newsgroups", "active.times"] {
        let file = cnews.control(name)?;
        if file.is_there {
            report.add(file.at(0), Fate::Kept, format!("copied to {name}"));
            files.push((name.to_owned(), file.text, false));
        }
    }
    let mut settings = Settings {
        junk: true,
        ..Settings::default()
    };
    report.add(
        cnews.control("active")?.at(0),
        Fate::Kept,
        "junk = true: articles whose groups are all missing in active go to junk",
    );
    names(cnews, &mut settings, report)?;
    let batches = batchparms(cnews, files, report)?;
    sys(cnews, settings.name.as_bytes(), &batches, files, report)?;
    explist(cnews, &active, files, report)?;
    mailpaths(cnews, files, report)?;
    controlperm(cnews, files, report)?;
    for name in COPIED {
        let file = cnews.control(name)?;
        if !file.lines().is_empty() {
            let told = format!("copied to {name}; the format is the same");
            report.add(file.at(0), Fate::Kept, told);
            files.push((name.to_owned(), file.text, false));
        }
    }
    for (name, fate, why) in LEFT {
        let file = cnews.control(name)?;
        if file.is_there && (name == "replyusepath" || !file.lines().is_empty()) {
            report.add(file.at(0), fate, why);
        }
    }
    incoming(&cnews.articles.join("in.coming"), report);
    to.settings_text = settings::template(&settings);
    Ok(to)
}

/// whoami, mailname and organization: a line each.
fn names(cnews: &Installation, settings: &mut Settings, report: &mut Report) -> io::Result<()> {
    let (whoami, mailname) = (cnews.control("whoami")?, cnews.control("mailname")?);
    let organization = cnews.control("organization")?;
    let first = |file: &ConfFile| file.lines().into_iter().next();
    match first(&whoami) {
        Some((line, name)) => {
            settings.name = name.trim().to_owned();
            let told = format!("name = \"{}\"", settings.name);
            report.add(whoami.at(line), Fate::Kept, told);
        }
        None => {
            let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            settings.name = name.trim().to_owned();
            let told = format!(
                "there is none: the name is that of this machine, {}",
                settings.name
            );
            report.add(whoami.at(0), Fate::Changed, told);
        }
    }
    let slots = [
        (&mailname, &mut settings.post.mailname, "post.mailname"),
        (&organization, &mut settings.organization, "organization"),
    ];
    for (file, slot, key) in slots {
        if let Some((line, text)) = first(file) {
            // `a@b' in mailname makes addresses `user%a@b'.
            if key == "post.mailname" && text.contains('@') {
                let why = format!("`{}': addresses of that form are not made", text.trim());
                report.add(file.at(line), Fate::Dropped, why);
                continue;
            }
            *slot = text.trim().to_owned();
            report.add(file.at(line), Fate::Kept, format!("{key} = \"{slot}\""));
        }
    }
    Ok(())
}

/// Copies batchparms; lines that cannot be used become comments.
fn batchparms(
    cnews: &Installation,
    files: &mut Vec<MovedFile>,
    report: &mut Report,
) -> io::Result<Batchparms> {
    let file = cnews.control("batchparms")?;
    let mut edits = Edits::default();
    for (number, line) in physical_lines(&file) {
        match Batchparms::parse(line) {
            Err(errors) => {
                let why: Vec<String> = errors.into_iter().map(|error| error.what).collect();
                let why = why.join("; ");
                let line = String::from_utf8_lossy(line);
                let stopped = stopped(&line);
                let more = match &stopped {
                    Some(_) => ", and the site gets no batches (`!') until you have edited it",
                    None => "",
                };
                report.add(
                    file.at(number),
                    Fate::Dropped,
                    format!("`{line}': {why}; it is a comment in batchparms{more}"),
                );
                edits.0.push((number, stopped));
            }
            Ok(parsed) => {
                for rule in parsed.rules() {
                    let site = String::from_utf8_lossy(&rule.site);
                    let off = if rule.is_off { ", off (`!')" } else { "" };
                    let told = format!(
                        "{site}: batches of class {} by `{}'{off}",
                        char::from(rule.class),
                        String::from_utf8_lossy(rule.command.program())
                    );
                    report.add(file.at(number), Fate::Kept, told);
                }
            }
        }
    }
    let text = edits.apply(&file);
    let parsed = Batchparms::parse(&text).unwrap_or_default();
    if file.is_there {
        files.push(("batchparms".to_owned(), text, false));
    }
    Ok(parsed)
}

/// The line that stops a site whose own line cannot be used: without one, it would get batches by that of `/default/`.
fn stopped(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let site = words.next().filter(|site| *site != "/default/")?;
    let class = words.next().unwrap_or_default().trim_matches('!');
    let class = match class.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => class,
        _ => "u",
    };
    let line = format!("{site}\t{class}!\t100000\t20\tbatcher | viauux");
    Batchparms::parse(line.as_bytes()).is_ok().then_some(line)
}

/// Copies sys; lines that cannot be used become comments.
fn sys(
    cnews: &Installation,
    me: &[u8],
    batches: &Batchparms,
    files: &mut Vec<MovedFile>,
    report: &mut Report,
) -> io::Result<()> {
    let file = cnews.control("sys")?;
    if !file.is_there {
        report.add(
            file.at(0),
            Fate::Changed,
            "there is none: all groups of active are accepted",
        );
        return Ok(());
    }
    let mut edits = Edits::default();
    for (number, line) in file.lines() {
        let parsed = match Sites::parse(line.as_bytes(), me) {
            Ok(parsed) => parsed,
            Err(error) => {
                // The number in it is that of this one line.
                let why = error.to_string();
                let why = why.strip_prefix("sys line 1: ").unwrap_or(&why);
                report.add(
                    file.at(number),
                    Fate::Dropped,
                    format!("`{line}': {why}; it is a comment in sys"),
                );
                edits.0.push((number, None));
                continue;
            }
        };
        for site in parsed.sites() {
            let (fate, told, new) = site_entry(site, &line, cnews, batches);
            report.add(file.at(number), fate, told);
            if let Some(new) = new {
                edits.0.push((number, Some(new)));
            }
            waiting(cnews, site, (&file, number), report);
        }
    }
    let text = edits.apply(&file);
    match Sites::parse(&text, me) {
        Ok(_) => files.push(("sys".to_owned(), text, false)),
        Err(error) => {
            let why =
                format!("{error}; it is in sys.cnews, and sys accepts all groups and feeds nobody");
            report.add(file.at(0), Fate::Dropped, why);
            files.push(("sys.cnews".to_owned(), file.text, false));
        }
    }
    Ok(())
}

/// The fate of a line of sys, and its replacement if there is one.
fn site_entry(
    site: &Site,
    line: &str,
    cnews: &Installation,
    batches: &Batchparms,
) -> (Fate, String, Option<String>) {
    let name = String::from_utf8_lossy(&site.name).into_owned();
    if site.is_me {
        return (
            Fate::Kept,
            "ME: the groups that are accepted".to_owned(),
            None,
        );
    }
    let togo = cnews.articles.join("out.going").join(&name).join("togo");
    let (via, new) = match &site.via {
        // The file of C News's batches, in full.
        Via::FileList { path, .. } if *path == togo => {
            let fields: Vec<&str> = line.splitn(4, ':').take(3).collect();
            (
                Via::Batch(groups::sites::BatchVia::default()),
                Some(fields.join(":") + ":"),
            )
        }
        via => (via.clone(), None),
    };
    let (fate, told) = match &via {
        Via::Batch(via) => match batches.parms(&site.name, via, None) {
            Ok(_) => (Fate::Kept, "batches, by batchparms".to_owned()),
            Err(error) => (Fate::Changed, format!("batches: {error}")),
        },
        Via::FileList { path, .. } => (
            Fate::Changed,
            format!(
                "a list of articles in {}: entries are `group/number', not files; `broadsheet article' prints them",
                path.display()
            ),
        ),
        Via::Command(command) => (
            Fate::Kept,
            format!(
                "`{}' for each article, without a shell",
                String::from_utf8_lossy(command.program())
            ),
        ),
        via => (Fate::Kept, via.word().to_owned()),
    };
    (fate, format!("{name}: {told}"), new)
}

/// Articles that wait for a site are not taken over.
fn waiting(
    cnews: &Installation,
    site: &Site,
    (file, number): (&ConfFile, usize),
    report: &mut Report,
) {
    if site.is_me || !groups::name::is_safe(&site.name) {
        return;
    }
    let name = String::from_utf8_lossy(&site.name).into_owned();
    let dir = cnews.articles.join("out.going").join(&name);
    let is_full = |name: &&str| std::fs::metadata(dir.join(name)).is_ok_and(|info| info.len() > 0);
    if WAITING.iter().any(is_full) {
        report.add(
            file.at(number),
            Fate::Dropped,
            format!(
                "{name}: articles wait in {}: run C News's sendbatches before you switch",
                dir.display()
            ),
        );
    }
}

fn explist(
    cnews: &Installation,
    active: &Active,
    files: &mut Vec<MovedFile>,
    report: &mut Report,
) -> io::Result<()> {
    let file = cnews.control("explist")?;
    if !file.is_there {
        let why = format!(
            "there is none: explist keeps {KEEP_DAYS} days, as `broadsheet init' writes it"
        );
        report.add(file.at(0), Fate::Changed, why);
        return Ok(());
    }
    // `@' stands for the directory of `expire -a', which is not known here.
    let parsed = expire::explist::Explist::parse(&file.text, "explist", Some(b"/"));
    let compiled = parsed.and_then(|list| expire::Policy::compile(list, active));
    match compiled {
        Ok((policy, warnings)) => {
            report.add(
                file.at(0),
                Fate::Kept,
                "copied to explist; the format is the same",
            );
            for (number, line) in physical_lines(&file) {
                let line = String::from_utf8_lossy(line);
                if line.split_ascii_whitespace().nth(3) == Some("@") {
                    report.add(
                        file.at(number),
                        Fate::Changed,
                        format!("`{line}': set archive_directory, or run `expire -a DIR'"),
                    );
                }
            }
            for warning in warnings {
                report.add(file.at(0), Fate::Changed, warning.to_string());
            }
            drop(policy);
            files.push(("explist".to_owned(), file.text, false));
        }
        Err(error) => {
            let why = format!(
                "{error}; it is in explist.cnews, which is not in force: explist keeps everything until you have edited it"
            );
            report.add(file.at(0), Fate::Changed, why);
            files.push(("explist.cnews".to_owned(), file.text, false));
            let all = b"/expired/ x 30 -\nall x never -\n".to_vec();
            files.push(("explist".to_owned(), all, false));
        }
    }
    Ok(())
}

fn mailpaths(
    cnews: &Installation,
    files: &mut Vec<MovedFile>,
    report: &mut Report,
) -> io::Result<()> {
    let file = cnews.control("mailpaths")?;
    if !file.is_there {
        return Ok(());
    }
    let mut edits = Edits::default();
    let faults = inject::Moderators::default().read_mailpaths(&file.text);
    for fault in &faults {
        let why = format!("{}; it is a comment in mailpaths", fault.why);
        report.add(file.at(fault.line), Fate::Dropped, why);
        edits.0.push((fault.line, None));
    }
    for (number, line) in physical_lines(&file) {
        let line = String::from_utf8_lossy(line);
        if line.split_ascii_whitespace().next() == Some("internet") {
            let why = "replies by mail go straight to their addresses";
            report.add(file.at(number), Fate::Unneeded, format!("internet: {why}"));
        }
    }
    report.add(
        file.at(0),
        Fate::Kept,
        "copied to mailpaths; the format is the same",
    );
    files.push(("mailpaths".to_owned(), edits.apply(&file), false));
    Ok(())
}

fn controlperm(
    cnews: &Installation,
    files: &mut Vec<MovedFile>,
    report: &mut Report,
) -> io::Result<()> {
    let file = cnews.control("controlperm")?;
    report.add(
        file.at(0),
        Fate::Changed,
        "control.cancel = \"locked\": cancels and Supersedes count only with a Cancel-Key that fits the article; C News compared addresses, which anybody can write",
    );
    if !file.is_there {
        let told = "there is none: only messages signed by a trusted key create or remove groups; C News let anybody make groups";
        report.add(file.at(0), Fate::Changed, told);
        return Ok(());
    }
    match relay::control::policy::Policy::parse(None, None, Some(&file.text)) {
        Ok(_) => {
            let told = "copied to controlperm; the format is the same; without a match anybody may make groups: better use control.ctl and keys";
            report.add(file.at(0), Fate::Kept, told);
            files.push(("controlperm".to_owned(), file.text, false));
        }
        Err(error) => {
            let why = format!(
                "{error}; it is in controlperm.cnews, which is not in force: control messages change no groups"
            );
            report.add(file.at(0), Fate::Dropped, why);
            files.push(("controlperm.cnews".to_owned(), file.text, false));
        }
    }
    Ok(())
}

/// Batches that C News has not filed yet are not taken over.
fn incoming(dir: &Path, report: &mut Report) {
    let count = moved::files_in(dir, |name| name != "stop");
    if count > 0 {
        let why = format!("{count} batches wait: run C News's newsrun before you import");
        report.add((dir, 0), Fate::Dropped, why);
    }
}

/// The lines of a file without continuations, numbered from 1: no comments, no empty ones.
fn physical_lines(file: &ConfFile) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = file.text.split(|&b| b == b'\n');
    // Other blanks than those of ASCII are text for the readers of these files.
    let lines = (1..).zip(lines.map(<[u8]>::trim_ascii));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#"))
}

/// Lines that become comments, or others. A line with continuations changes as a whole.
#[derive(Debug, Default)]
struct Edits(Vec<(usize, Option<String>)>);

impl Edits {
    fn apply(&self, file: &ConfFile) -> Vec<u8> {
        let mut out = Vec::new();
        let mut is_open = false;
        for (number, line) in (1..).zip(file.text.split_inclusive(|&b| b == b'\n')) {
            let edit = self.0.iter().find(|(edited, _)| *edited == number);
            if is_open || edit.is_some() {
                let plain = line.strip_suffix(b"\n").unwrap_or(line);
                // No comment ends with a backslash, which would continue it.
                is_open = plain.ends_with(b"\\");
                let plain = plain.strip_suffix(b"\\").unwrap_or(plain);
                out.extend_from_slice(b"# of C News: ");
                out.extend_from_slice(plain);
                out.push(b'\n');
            } else {
                out.extend_from_slice(line);
            }
            if let Some((_, Some(new))) = edit {
                out.extend_from_slice(new.as_bytes());
                out.push(b'\n');
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_only_looks_blank_is_a_line() {
        let file = ConfFile {
            text: b" \t\n\x0b\n#\n\xff x\n".to_vec(),
            ..ConfFile::default()
        };
        let lines: Vec<_> = physical_lines(&file).collect();
        assert_eq!(lines, [(2, &b"\x0b"[..]), (4, b"\xff x")]);
    }

    #[test]
    fn edited_lines_become_comments_with_their_continuations() {
        let file = ConfFile {
            text: b"a:all\nb:comp,\\\n  sci:f:x\nc:all:f:c/togo\n".to_vec(),
            ..ConfFile::default()
        };
        let edits = Edits(vec![(2, None), (4, Some("c:all:f:".to_owned()))]);
        assert_eq!(
            String::from_utf8(edits.apply(&file)).unwrap(),
            "a:all\n# of C News: b:comp,\n# of C News:   sci:f:x\n# of C News: c:all:f:c/togo\nc:all:f:\n"
        );
    }
}
