//! `broadsheet import expire.ctl`

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use expire::explist::FILE_BYTES_MAX;
use expire::{Explist, Policy, expire_ctl};
use serde_json::{Value, json};
use store::disk::RealDisk;

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["import", "expire.ctl"],
    also: &[],
    summary: "convert INN's expire.ctl to an explist",
    about: "\
Prints the explist equivalent to FILE. In expire.ctl the last line that matches a group applies to
it, in explist the first, so the lines are printed in reverse order. A group that no line matches is
kept for ever, as in INN. `/remember/' becomes `/expired/': it counts from expiry here, from
posting in INN. A line without an equivalent is an error: all errors are reported, and nothing is
printed or installed.

  broadsheet import expire.ctl /etc/news/expire.ctl --install
  broadsheet expire -n",
    operands: Operands {
        shown: "FILE",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "install",
            "Write the result to `explist' in the news directory, after a check that it covers every group. The \
            old file is renamed to `explist.old'.",
        ),
        Flag::new(
            "partial",
            "Print the lines that could be converted in spite of errors, with a comment for each other line. \
            Review it before use.",
        ),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "FILE has errors, or [[expire]] rules would override an installed explist",
    }],
    run,
};

/// The result of a conversion.
#[derive(Default)]
struct Import {
    /// The converted file.
    path: PathBuf,
    explist: Vec<u8>,
    /// Errors, with the line of the file if one line has the error.
    faults: Vec<(Option<usize>, String)>,
    warnings: Vec<String>,
    is_installed: bool,
    /// Whether the answer contains the explist.
    is_shown: bool,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    if given.has("install") && given.has("partial") {
        return Err(given
            .usage("--install cannot be combined with --partial")
            .into());
    }
    let directory = match given.has("install") {
        true => Some(NewsDirectory::meant(given)?),
        false => NewsDirectory::maybe(given),
    };
    let Some(path) = given.operands.first().map(Path::new) else {
        return Ok(Status::NO);
    };
    let mut import = Import {
        path: path.to_owned(),
        ..converted(&read(path)?)
    };
    if import.faults.is_empty()
        && let Some(directory) = &directory
    {
        check(&mut import, directory)?;
    }
    if import.faults.is_empty()
        && given.has("install")
        && let Some(directory) = &directory
    {
        if !directory.settings()?.expiry?.rules.is_empty() {
            let why = format!(
                "explist was not installed: {} has [[expire]] rules, which override it; remove them first",
                directory.file(settings::FILE).display()
            );
            import.faults.push((None, why));
        } else {
            install(&directory.file("explist"), &import.explist)?;
            import.is_installed = true;
        }
    }
    import.is_shown = !import.is_installed && (import.faults.is_empty() || given.has("partial"));
    given.print(&import, out)?;
    Ok(if import.faults.is_empty() {
        Status::OK
    } else {
        Status::NO
    })
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let doing = || format!("cannot read {}", path.display());
    let mut text = Vec::new();
    let mut file = File::open(path)
        .with_context(doing)?
        .take(FILE_BYTES_MAX + 1);
    file.read_to_end(&mut text).with_context(doing)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        anyhow::bail!(
            "{} is larger than {FILE_BYTES_MAX} bytes; is it an expire.ctl?",
            path.display()
        );
    }
    Ok(text)
}

fn converted(text: &[u8]) -> Import {
    let says_something = |line: &[u8]| !matches!(line.trim_ascii().first(), None | Some(b'#'));
    if !text.split(|&b| b == b'\n').any(says_something) {
        let why =
            "has no rules: INN would keep everything for ever; if that is intended, write it in explist"
                .to_owned();
        return Import {
            faults: vec![(None, why)],
            ..Import::default()
        };
    }
    match expire_ctl::convert(text) {
        Ok(explist) => Import {
            explist,
            ..Import::default()
        },
        Err(part) => Import {
            explist: part.explist,
            faults: part
                .faults
                .into_iter()
                .map(|fault| (Some(fault.line), fault.why))
                .collect(),
            ..Import::default()
        },
    }
}

/// Reads the result as expire will, over the groups there are.
fn check(import: &mut Import, directory: &NewsDirectory) -> anyhow::Result<()> {
    let active = directory.active()?;
    let compiled = Explist::parse(&import.explist, "the new explist", None)
        .and_then(|list| Policy::compile(list, &active));
    match compiled {
        Ok((_, warnings)) => import
            .warnings
            .extend(warnings.iter().map(ToString::to_string)),
        Err(fault) => import.faults.push((None, fault.to_string())),
    }
    Ok(())
}

/// Replaces the file, which may be a link to a file in another directory (`init --etc`); the old one stays as `.old`.
fn install(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let path = path.canonicalize().unwrap_or(path.to_owned());
    let old = path.with_extension("old");
    let kept = match fs::remove_file(&old) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::hard_link(&path, &old),
    };
    match kept {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error)
                .with_context(|| format!("cannot rename {} to {}", path.display(), old.display()));
        }
        _ => {}
    }
    Ok(store::replace(&RealDisk, &path, |file| {
        file.write_at(text, 0)
    })?)
}

impl Answer for Import {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for warning in &self.warnings {
            eprintln!("broadsheet: {warning}");
        }
        for (line, why) in &self.faults {
            match line {
                Some(line) => eprintln!("broadsheet: {}:{line}: {why}", self.path.display()),
                None => eprintln!("broadsheet: {}: {why}", self.path.display()),
            }
        }
        match self.is_shown {
            true => out.write_all(&self.explist),
            false => Ok(()),
        }
    }

    fn json(&self) -> Value {
        let faults = self.faults.iter();
        let faults = faults.map(|(line, why)| json!({ "line": line, "why": why }));
        json!({
            "file": self.path.to_string_lossy(),
            "faults": faults.collect::<Vec<_>>(),
            "warnings": self.warnings,
            "installed": self.is_installed,
            "explist": self.is_shown.then(|| groups::escaped(&self.explist)),
        })
    }
}
