//! What `broadsheet expire` says of archiving.

use std::io::Write;

use expire::Archived;

use crate::exit::Status;

/// Tells each fault, and gives the status to end with.
pub fn faults(faults: &[String]) -> Status {
    for fault in faults {
        eprintln!("broadsheet: {fault}");
    }
    match faults {
        [] => Status::OK,
        _ => Status::ATTENTION,
    }
}

/// The lines of the summary, those that say something.
pub fn tell(told: &Archived, dry: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let (copied, missing) = match dry {
        true => (
            "would be archived first",
            "would be removed without an archived copy",
        ),
        false => ("archived first", "removed without an archived copy"),
    };
    for (count, what) in [
        (told.copies, copied),
        (told.missing, missing),
        (told.failed, "could not be archived and stay"),
        (told.held, "stay because archiving is on hold"),
    ] {
        if count > 0 {
            let why = match what == missing {
                true => " (cancelled, or lost)",
                false => "",
            };
            writeln!(out, "{count} articles {what}{why}")?;
        }
    }
    Ok(())
}
