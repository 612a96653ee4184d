//! The command of a line of `batchparms`: in C News a pipeline for the shell, here parsed and run without a shell.
//!
//! | stage | words | done here |
//! |---|---|---|
//! | first | `batcher` | the waiting articles |
//! | | `batchih`, `batchsm`, `batchra` | ihave messages, sendme messages, the requested articles |
//! | middle | `compcun` | compress, after a line `#! cunbatch` |
//! | | `compress`, `gzip`, `bzip2`, `xz`, `zstd`, with a level such as `-9` | that compression, without such a line |
//! | | `cat` | nothing |
//! | last | `viauux [-g GRADE] [-z] [-n] [-c] [-d DECOMPRESSOR]` | `uux - -r [-z] [-n] [-gGRADE] SITE!rnews [-d DECOMPRESSOR]` |
//! | | `viarsh` | `rsh SITE rnews` |
//! | | any other command | that command, with the batch on its standard input |
//!
//! Any other command in the middle, and programs of C News without a counterpart here, are errors. Write a command that is a
//! pipeline itself as `sh -c '...'`.

use article::wrap::{Compression, WrapFormat};
use groups::CommandLine;
use groups::sites::Build;

/// A parsed pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pipeline {
    pub(crate) build: Build,
    pub(crate) packing: WrapFormat,
    pub(crate) command: CommandLine,
}

/// Programs of C News without a counterpart here, with the alternative.
const UNSUPPORTED: &[(&[u8], &str)] = &[
    (
        b"c7encode",
        "Broadsheet reads the 7-bit encoding but does not write it",
    ),
    (b"bencode", "Broadsheet does not write this encoding"),
    (b"nencode", "Broadsheet does not write this encoding"),
    (
        b"viamail",
        "write the mail command instead, such as sh -c '... | mail rnews@SITE'",
    ),
    (b"viainews", "write the command instead"),
    (b"viapnews", "write the command instead"),
    (b"usenntpxmit", "Broadsheet does not send batches over NNTP"),
];

/// Parses a pipeline.
///
/// # Errors
/// The text of the error.
pub(crate) fn parse(text: &[u8]) -> Result<Pipeline, String> {
    let stages = stages(text);
    let (first, rest) = stages.split_first().ok_or("there is no command")?;
    let line = words(first)?;
    let build = Build::of_program(line.program()).ok_or_else(|| {
        unsupported(line.program()).unwrap_or_else(|| {
            format!(
                "the command begins with `{}' instead of `batcher |'",
                shown(first)
            )
        })
    })?;
    if !line.arguments().is_empty() {
        let program = shown(line.program());
        return Err(format!(
            "`{program}' takes no arguments: it gets its articles from the feed"
        ));
    }
    let (last, between) = rest.split_last().ok_or(
        "the command does not send the batch: end it with `| viauux', or with a command that reads the batch",
    )?;
    let mut packing = WrapFormat::default();
    for stage in between {
        let next = middle_stage(stage)?;
        match (packing.kind, next.kind) {
            (Some(_), Some(_)) => return Err("the batch would be compressed twice".to_owned()),
            (None, _) => packing = next,
            (Some(_), None) => {}
        }
    }
    Ok(Pipeline {
        build,
        packing,
        command: sender(last)?,
    })
}

/// Splits the text at bars outside of quotes.
fn stages(text: &[u8]) -> Vec<&[u8]> {
    let (mut quote, mut is_escaped) = (None, false);
    let split = text.split(move |&byte| {
        let escaped = std::mem::take(&mut is_escaped);
        match (quote, byte) {
            _ if escaped => {}
            (Some(b'"') | None, b'\\') => is_escaped = true,
            (Some(open), byte) if byte == open => quote = None,
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'|') => return true,
            _ => {}
        }
        false
    });
    split.collect()
}

fn words(stage: &[u8]) -> Result<CommandLine, String> {
    CommandLine::parse(stage).map_err(|fault| format!("`{}': {fault}", shown(stage)))
}

/// Parses a stage between batcher and sender.
fn middle_stage(stage: &[u8]) -> Result<WrapFormat, String> {
    let line = words(stage)?;
    let bare = |kind, level| WrapFormat {
        kind,
        level,
        bare: true,
    };
    let (kind, takes_level) = match line.program() {
        b"compcun" => {
            return match line.arguments() {
                [] => Ok(WrapFormat::new(Some(Compression::Compress))),
                _ => Err("`compcun' takes no arguments here".to_owned()),
            };
        }
        b"cat" | b"nocomp" if line.arguments().is_empty() => return Ok(WrapFormat::default()),
        b"compress" => (Compression::Compress, false),
        b"gzip" => (Compression::Gzip, true),
        b"bzip2" => (Compression::Bzip2, true),
        b"xz" => (Compression::Xz, true),
        b"zstd" => (Compression::Zstd, true),
        other => {
            return Err(unsupported(other).unwrap_or_else(|| {
                format!(
                    "`{}' between batcher and sender is not supported: end the line with sh -c '... | ...' instead",
                    shown(stage)
                )
            }));
        }
    };
    let mut level = None;
    for word in line.arguments() {
        let number = word
            .strip_prefix(b"-")
            .and_then(|number| std::str::from_utf8(number).ok());
        match number {
            // The output always goes to the pipe.
            Some("c") => {}
            Some(number) if takes_level && number.parse::<u32>().is_ok() => {
                let packing = WrapFormat::of(&format!("{kind}-{number}"));
                level = packing
                    .ok_or_else(|| format!("{kind} has no level {number}"))?
                    .level;
            }
            _ => {
                return Err(format!(
                    "the argument `{}' of {kind} is not supported",
                    shown(word)
                ));
            }
        }
    }
    Ok(bare(Some(kind), level))
}

/// Parses the last stage.
fn sender(stage: &[u8]) -> Result<CommandLine, String> {
    let line = words(stage)?;
    match line.program() {
        b"viauux" => viauux(line.arguments()),
        b"viarsh" if line.arguments().is_empty() => words(b"rsh SITE rnews"),
        b"viarsh" => Err("`viarsh' takes no arguments here".to_owned()),
        other => match unsupported(other) {
            Some(fault) => Err(fault),
            None => Ok(line),
        },
    }
}

fn viauux(arguments: &[Vec<u8>]) -> Result<CommandLine, String> {
    let mut flags = b"uux - -r".to_vec();
    let mut decompressor = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let (flag, attached) = word.split_at_checked(2).unwrap_or((word, b""));
        match flag {
            b"-z" | b"-n" if attached.is_empty() => {
                flags.extend_from_slice(&[b" ".as_slice(), flag].concat());
            }
            // Ignored: there is no file to copy.
            b"-c" if attached.is_empty() => {}
            b"-g" | b"-d" => {
                let value = match attached {
                    b"" => rest.next().map(Vec::as_slice).unwrap_or_default(),
                    attached => attached,
                };
                if !is_word(value) {
                    return Err(format!("viauux: `{}' needs a value", shown(flag)));
                }
                if flag == b"-g" {
                    flags.extend_from_slice(&[b" -g", value].concat());
                } else {
                    decompressor = [b" -d ", value].concat();
                }
            }
            _ => return Err(format!("viauux: `{}' is not supported", shown(word))),
        }
    }
    words(&[&flags, b" SITE!rnews".as_slice(), &decompressor].concat())
}

/// Whether a word is a grade, or the name of a decompressor as C News's rnews accepts it: no dot or dash at its start, no slash.
fn is_word(word: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    !word.is_empty()
        && word.iter().all(allowed)
        && !word.starts_with(b".")
        && !word.starts_with(b"-")
}

fn unsupported(program: &[u8]) -> Option<String> {
    let (_, what) = UNSUPPORTED.iter().find(|(known, _)| *known == program)?;
    Some(format!("`{}': {what}", shown(program)))
}

fn shown(text: &[u8]) -> String {
    groups::shown(text.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, bool, String) {
        let pipeline = parse(text.as_bytes()).unwrap();
        let packing = pipeline.packing;
        let level = packing
            .level
            .map(|level| format!("-{level}"))
            .unwrap_or_default();
        let kind = packing
            .kind
            .map_or("none".to_owned(), |kind| kind.to_string());
        let command: Vec<_> = pipeline
            .command
            .words()
            .iter()
            .map(|word| shown(word))
            .collect();
        (kind + &level, packing.bare, command.join(" "))
    }

    #[test]
    fn the_classic_pipelines_are_known() {
        for (text, kind, bare, command) in [
            (
                "batcher | compcun | viauux",
                "compress",
                false,
                "uux - -r SITE!rnews",
            ),
            (
                "batcher|compcun|viauux -g d -z",
                "compress",
                false,
                "uux - -r -gd -z SITE!rnews",
            ),
            (
                "batcher | viauux -n -c",
                "none",
                false,
                "uux - -r -n SITE!rnews",
            ),
            (
                "batcher | gzip -9 | viauux -d gunzip",
                "gzip-9",
                true,
                "uux - -r SITE!rnews -d gunzip",
            ),
            (
                "batcher | compress | viauux -gN",
                "compress",
                true,
                "uux - -r -gN SITE!rnews",
            ),
            (
                "batcher | zstd -c -19 | ssh news@SITE rnews",
                "zstd-19",
                true,
                "ssh news@SITE rnews",
            ),
            ("batcher | cat | viarsh", "none", false, "rsh SITE rnews"),
            ("batcher | nocomp | viarsh", "none", false, "rsh SITE rnews"),
            (
                "batcher | sh -c 'tee x | ssh SITE rnews'",
                "none",
                false,
                "sh -c tee x | ssh SITE rnews",
            ),
            (
                "batcher | xz -0 | sh -c \"a \\\" | b\"",
                "xz-0",
                true,
                "sh -c a \" | b",
            ),
        ] {
            let expected = (kind.to_owned(), bare, command.to_owned());
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn builders_have_their_classic_names() {
        for (text, build) in [
            ("batcher | viauux", Build::Articles),
            ("batchih | compcun | viauux", Build::Ihave),
            ("batchsm | viauux", Build::Sendme),
            ("batchra | gzip | viauux", Build::Requested),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap().build, build);
        }
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        for (text, says) in [
            ("", "command is empty"),
            ("viauux", "instead of `batcher |'"),
            ("batcher", "does not send the batch"),
            ("batcher togo | viauux", "takes no arguments"),
            ("batchih | viainews", "write the command instead"),
            ("batchra x | viauux", "takes no arguments"),
            ("batcher | c7encode | viamail", "7-bit"),
            ("batcher | viamail -e", "mail command instead"),
            ("batcher | lzop | viauux", "sh -c"),
            ("batcher | compcun | gzip | viauux", "twice"),
            ("batcher | gzip -99 | viauux", "no level 99"),
            ("batcher | gzip --fast | viauux", "--fast"),
            ("batcher | viauux -g", "needs a value"),
            ("batcher | viauux -d ../x", "needs a value"),
            ("batcher | viauux -x", "not supported"),
            ("batcher | viauux north", "not supported"),
            ("batcher | ssh SITE rnews > /tmp/x", ">"),
            ("batcher | ", "command is empty"),
        ] {
            let fault = parse(text.as_bytes()).unwrap_err();
            assert!(fault.contains(says), "{text}: {fault}");
        }
    }
}
