//! The reference chapters of the manual, made of the tables of commands, settings and limits. `UPDATE_GOLDEN=1` writes
//! `docs/book/reference/`; otherwise a difference fails.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use nntp::{Needs, NntpCommand};
use settings::{SECTIONS, Settings, TABLE, Unit};

use crate::command;
use crate::exit::{COMMON, Meaning};
use crate::fixed_limits::FIXED;
use crate::flags::{Command, DIR, Flag, JSON, Kind};
use crate::{help, text};

/// Columns of a line of the manual.
const WIDTH: usize = 116;

/// Corner cases of settings: the path of a setting, and the text behind its help.
const NOTES: &[(&str, &str)] = &[
    (
        "sandbox",
        "A change takes effect after a restart. `status' names the features that the kernel lacks.",
    ),
    (
        "headers_only",
        "A reload does not change it. The file `headers.only' keeps a directory to its kind.",
    ),
    (
        "limits.article_bytes_max",
        "In a cluster at most 8.75 MiB, with the CRs and doubled dots of NNTP.",
    ),
    (
        "store.segment_bytes",
        "A lowered value applies to the current segment at the next commit, a raised one from the next segment on. A segment \
         that was filled fast, or that begins with the copies of very many groups, is larger than a sixteenth of the spool. \
         In a cluster at least 64 MiB.",
    ),
    (
        "store.checkpoint_bytes",
        "A start after a power cut reads this much in a fraction of a second.",
    ),
    (
        "offload.after_days",
        "The segment that is filed into stays, and so do articles younger than about a sixteenth of the spool.",
    ),
    (
        "control.cancel",
        "Waiting cancels from the time before a change to `none' still refuse their article.",
    ),
    (
        "incoming.keep_free",
        "The space of the reserves does not count as free.",
    ),
    (
        "incoming.spool_after_seconds",
        "A run with -h, -s, -o, -x or -b always waits, because newsrun would not know these flags.",
    ),
    (
        "post.mail_server",
        "No TLS and no login, so it should be near. Bounces go to `news@' and post.mailname.",
    ),
    (
        "nntp.connections_max",
        "LimitNOFILE must be larger: the store needs 256 descriptors besides.",
    ),
    (
        "nntp.keep_free",
        "The intake opens when a sixteenth more is free.",
    ),
    (
        "nntp.metrics",
        "A change takes effect after a restart, as one of listen, listen_tls and threads does.",
    ),
    (
        "auth.program_seconds",
        "The children of the program are killed, too.",
    ),
    (
        "schedule.expire",
        "A missed run is made up for once; a task that still runs is not started a second time.",
    ),
    (
        "cluster.node",
        "All nodes of a cluster need names of their own.",
    ),
];

/// The tables of `broadsheet.toml` that are not in the table of settings, and the chapters that explain them.
const TABLES: &str = "\
- `[[access]]`: [Readers and access](../readers.md)
- `[[site]]` and its `via`: [Sites and feeds](../sites.md), [Peers by NNTP](../peers.md)
- `[[pull]]`: [Pulling from a server](../pull.md)
- `[expiry]` and `[[expire]]`: [Expire](../expire.md), [Archives](../archives.md)
";

fn check_chapter(name: &str, content: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/book/reference")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, content).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == content,
        "docs/book/reference/{name} differs from the tables of the program; run this test with UPDATE_GOLDEN=1"
    );
}

fn head(title: &str, purpose: &str) -> String {
    format!(
        "# {title}\n\n<!-- Made by the tests `book_reference` of the tables of the program: do not edit. -->\n\n{}\n",
        wrapped(purpose, "")
    )
}

/// Lines of at most [`WIDTH`] columns, of which all but the first begin with `indent`.
fn wrapped(content: &str, indent: &str) -> String {
    let lines = text::wrap(&markdown(content), WIDTH - indent.len());
    lines.join(&format!("\n{indent}"))
}

/// Markdown of a text of the tables: `` `word' `` is a code span, and characters that mean something to Markdown are escaped.
fn markdown(content: &str) -> String {
    let mut out = String::new();
    let mut rest = content;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let is_inside_word =
            out.ends_with(char::is_alphanumeric) && rest.starts_with(char::is_alphanumeric);
        match c {
            '`' => match rest.split_once(['\'', '`']) {
                Some((span, behind)) => {
                    let _ = write!(out, "`{span}`");
                    rest = behind;
                }
                None => out.push_str("\\`"),
            },
            '_' if is_inside_word => out.push(c),
            '<' | '*' | '_' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Paragraphs, and examples (lines that begin with two blanks) as code.
fn about(out: &mut String, command: &Command) {
    let mut paragraph = String::new();
    let flush = |paragraph: &mut String, out: &mut String| {
        if !paragraph.is_empty() {
            let _ = writeln!(out, "\n{}", wrapped(paragraph.trim_end(), ""));
            paragraph.clear();
        }
    };
    let mut is_code = false;
    for line in command.about.lines() {
        match line.strip_prefix("  ") {
            Some(example) => {
                flush(&mut paragraph, out);
                if !is_code {
                    out.push('\n');
                }
                let _ = writeln!(out, "    {example}");
                is_code = true;
            }
            None => {
                is_code = false;
                if line.is_empty() {
                    flush(&mut paragraph, out);
                } else {
                    paragraph.push_str(line);
                    paragraph.push(' ');
                }
            }
        }
    }
    flush(&mut paragraph, out);
}

fn flag_line(flag: &Flag) -> String {
    let kind = match flag.kind {
        Kind::New => "",
        Kind::Classic => " (classic)",
        Kind::Refused => " (refused)",
    };
    let shown = format!("- **`{}`**{kind}: ", help::shown(flag));
    format!("{shown}{}", wrapped(flag.help, "  "))
}

fn commands() -> String {
    let mut out = head(
        "Commands",
        "This chapter has every command, as `broadsheet help COMMAND' prints it, with its own exit statuses. `--dir DIR' names the \
         news directory (default: the environment variable BROADSHEET_DIR, else /var/spool/news if that is one), `--json' prints JSON, \
         and every command has `--help'.",
    );
    let mut written = Vec::new();
    for section in command::SECTIONS {
        let _ = writeln!(out, "\n## {}", section.title);
        for command in section.commands {
            if written.contains(&command.words) {
                continue;
            }
            written.push(command.words);
            let _ = writeln!(out, "\n### {}\n", command.name());
            let (first, rest) = command.summary.split_at(1);
            let mut summary = first.to_uppercase() + rest;
            if !command.also.is_empty() {
                let _ = write!(summary, "; also called {}", command.also.join(", "));
            }
            let _ = writeln!(out, "{}.\n", wrapped(&summary, ""));
            let _ = writeln!(out, "    {}", help::usage(command));
            about(&mut out, command);
            let is_common = |flag: &&Flag| [DIR.help, JSON.help].contains(&flag.help);
            let common: Vec<_> = command.flags.iter().filter(is_common).collect();
            if !common.is_empty() {
                let names = common.iter().map(|flag| format!("`--{}`", flag.name));
                let names = names.collect::<Vec<_>>().join(", ");
                let _ = writeln!(out, "\nCommon flags: {names}");
            }
            let own = command.flags.iter().filter(|flag| !is_common(flag));
            for (place, flag) in own.enumerate() {
                let between = if place == 0 { "\n" } else { "" };
                let _ = writeln!(out, "{between}{}", flag_line(flag));
            }
            for Meaning { status, when } in command.exits {
                let _ = writeln!(out, "\nStatus {}: {}.", status.code(), wrapped(when, ""));
            }
        }
    }
    out
}

fn exits() -> String {
    let mut out = head(
        "Exit statuses",
        "This chapter has the exit statuses for scripts. The classic programs use 0, 1 and 2 with the same meanings, and 75 when \
         the sender must keep a batch. A usage error has a status of its own, so that no script mistakes it for a bad batch. \
         [Commands](commands.md) has the statuses of each command.",
    );
    let own = [
        (
            0,
            "success; for rnews: every accepted article is on the disk",
        ),
        (
            1,
            "a negative answer: a bad batch, no such article, a group that does not match",
        ),
        (75, "not now: retry later"),
        (
            141,
            "the program that reads the output has ended, as `head' does",
        ),
    ];
    let common = COMMON
        .iter()
        .map(|meaning| (meaning.status.code(), meaning.when));
    let all: BTreeMap<u8, &str> = common.chain(own).collect();
    out.push('\n');
    for (status, when) in all {
        let _ = writeln!(out, "- **{status}**: {}", wrapped(when, "  "));
    }
    out
}

fn setting_line(setting: &settings::Setting, defaults: &Settings) -> String {
    let mut value = setting.written(defaults);
    let (least, most) = setting.range;
    if setting.unit != Unit::Text && most < u64::MAX >> 1 {
        let shown = |number| match setting.unit {
            Unit::Bytes => text::bytes(number),
            unit => format!("{number} {}", unit.word()),
        };
        let _ = write!(value, "`, from `{}` to `{}", shown(least), shown(most));
    }
    let note = NOTES.iter().find(|(path, _)| *path == setting.path());
    let note = note.map_or_else(String::new, |(_, note)| format!(" {note}"));
    let help = wrapped(&format!("{}{note}", setting.help), "  ");
    format!("- **`{}`** = `{value}`.\n  {help}", setting.key)
}

fn settings_chapter() -> String {
    let mut out = head(
        "Settings",
        "This chapter has every setting of `broadsheet.toml' with its default. `broadsheet init' writes the file with all of \
         them; `broadsheet check' prints the values in force and their origin.",
    );
    let _ = writeln!(
        out,
        "\nThese tables have chapters of their own:\n\n{TABLES}"
    );
    out.push_str("## The top of the file\n\n");
    let defaults = Settings::default();
    let mut section = "";
    for setting in TABLE {
        if setting.section != section {
            section = setting.section;
            let subject = SECTIONS.iter().find(|(name, _)| *name == section);
            let subject = subject.map_or("", |(_, subject)| subject);
            let _ = writeln!(out, "\n## `[{section}]`\n\n{}\n", wrapped(subject, ""));
        }
        let _ = writeln!(out, "{}", setting_line(setting, &defaults));
    }
    out
}

fn metrics_chapter() -> String {
    let mut out = head(
        "Metrics",
        "This chapter has every metric that `[nntp] metrics' serves at `/metrics', in the text format of Prometheus, version 0.0.4. \
         Counters begin when the daemon starts. Figures of the store and of backlogs are at most ten seconds old, or ten times as \
         old as counting takes. A metric is missing where its subject is: no peer, no mount, no cluster, no object store that was \
         asked, or a file system that does not report its size.",
    );
    out.push('\n');
    for metric in daemon::metrics() {
        let of = match metric.labels {
            [] => String::new(),
            labels => format!(" by `{}'", labels.join("', `")),
        };
        let (name, kind, help) = (&metric.name, metric.kind.word(), metric.help);
        let line = format!("`broadsheet_{name}' ({kind}{of}): {help}");
        let _ = writeln!(out, "- {}", wrapped(&line, "  "));
    }
    out
}

fn nntp_commands() -> String {
    let mut out = head(
        "NNTP commands",
        "This chapter has every command that a client may send. Features that `nntp.without' names turn the commands of their capability off. \
         Without the permission, a client gets 480, 483 or 502.",
    );
    out.push('\n');
    let mut commands: Vec<&NntpCommand> = nntp::COMMANDS.iter().collect();
    commands.sort_unstable_by_key(|command| command.name);
    for command in commands {
        let capability = command
            .capability
            .map_or(String::new(), |name| format!(", capability {name}"));
        let needs = match command.needs {
            Needs::Nothing => "",
            Needs::Reading => ", needs the permission to read",
            Needs::ReadingOrSending => ", needs the permission to read or to send",
        };
        let _ = writeln!(out, "- `{}`{capability}{needs}", command.syntax());
    }
    out
}

fn limits() -> String {
    let mut out = head(
        "Limits",
        "This chapter has the limits that no setting changes. Everything that a stranger can make large has one: the limits with \
         a key are in [Settings](settings.md), and `broadsheet limits' prints both.",
    );
    out.push('\n');
    for limit in FIXED {
        let value = match limit.unit {
            Unit::Bytes => {
                let size = text::bytes(limit.value);
                let plain = size.bytes().all(|b| b.is_ascii_digit());
                if plain { format!("{size} bytes") } else { size }
            }
            unit => format!("{} {}", limit.value, unit.word()),
        };
        let line = format!("{}: {value}. {}", limit.name, limit.help);
        let _ = writeln!(out, "- {}", wrapped(&line, "  "));
    }
    out
}

#[test]
fn the_reference_is_that_of_the_tables() {
    check_chapter("commands.md", &commands());
    check_chapter("exits.md", &exits());
    check_chapter("settings.md", &settings_chapter());
    check_chapter("limits.md", &limits());
    check_chapter("metrics.md", &metrics_chapter());
    check_chapter("nntp.md", &nntp_commands());
}

#[test]
fn each_note_has_its_setting() {
    for (path, _) in NOTES {
        let found = TABLE.iter().any(|setting| setting.path() == *path);
        assert!(found, "there is no setting {path}");
    }
}
