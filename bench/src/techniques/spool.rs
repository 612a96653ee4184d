//! Techniques in the store. Need the feature `index`.

use std::path::Path;

use anyhow::Result;

use super::Row;

/// Measures commits and look-ups in an empty news directory.
///
/// # Errors
/// The store fails.
#[cfg(feature = "index")]
pub(super) fn rows(news: &Path) -> Result<Vec<Row>> {
    filled::rows(news)
}

/// Returns no rows: this bench was built without the store.
#[cfg(not(feature = "index"))]
pub(super) fn rows(_news: &Path) -> Result<Vec<Row>> {
    eprintln!(
        "this bench was built without its feature `index': the rows of the store are skipped"
    );
    Ok(Vec::new())
}

#[cfg(feature = "index")]
mod filled {
    use std::cell::{Cell, RefCell};
    use std::path::Path;

    use anyhow::{Context, Result};
    use memchr::memmem;
    use store::{Expires, Options, Spool};

    use super::Row;
    use crate::techniques::each_way;

    /// Ids of a group that arrives under load.
    const GROUP: usize = 50;
    /// Ids in the history of the look-ups.
    const IDS: usize = 20_000;
    /// Number of look-ups.
    const LOOK_UPS: usize = 200;
    /// The arrival of all ids; 1 June 2012.
    const ARRIVAL: i64 = 1_338_508_800;

    pub(super) fn rows(news: &Path) -> Result<Vec<Row>> {
        let spool = RefCell::new(Spool::open(news, Options::default())?);
        let next = Cell::new(0);
        let remember = |commits: bool| -> Result<()> {
            let mut spool = spool.borrow_mut();
            for _ in 0..GROUP {
                spool.remember(&id(next.get()), ARRIVAL, Expires::Absent)?;
                next.set(next.get() + 1);
                if commits {
                    spool.commit()?;
                }
            }
            spool.commit()?;
            Ok(())
        };
        let siloing = each_way(GROUP, || remember(true), || remember(false))?;
        while next.get() < IDS {
            remember(false)?;
        }
        let history: Vec<u8> = (0..IDS)
            .flat_map(|number| [id(number), b"\n".to_vec()].concat())
            .collect();
        let asked = || (0..LOOK_UPS).map(|number| id(number * 7_919 % IDS));
        let look_ups = each_way(
            LOOK_UPS,
            || {
                for id in asked() {
                    memmem::find(&history, &id).context("an id is missing in the text")?;
                }
                Ok(())
            },
            || {
                for id in asked() {
                    spool
                        .borrow()
                        .find(&id)?
                        .context("an id is missing in the index")?;
                }
                Ok(())
            },
        )?;
        Ok(vec![
            Row {
                what: "commits adapt to the load",
                unit: "µs an id",
                without: ("a commit each", siloing.0),
                with: ("a commit for 50", siloing.1),
                paper: "siloing above 50 characters a second",
            },
            Row {
                what: "hashed database, 20,000 ids",
                unit: "µs a look-up",
                without: ("a scan of the text", look_ups.0),
                with: ("the index", look_ups.1),
                paper: "dbm; no figure",
            },
        ])
    }

    fn id(number: usize) -> Vec<u8> {
        format!("<{number:016x}@techniques.example>").into_bytes()
    }
}
