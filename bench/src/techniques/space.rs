//! Small things packed: the fragments of 4.2BSD, and the segments of articles.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;

use super::Row;

/// Number of articles.
const ARTICLES: usize = 1_000;
/// Length of an article, bytes: about that of the 171 of "News Need Not Be Slow" (297,054 bytes).
const ARTICLE_BYTES: usize = 1_737;

/// Disk space of articles in files of their own, and one behind the other.
pub(super) fn row(dir: &Path) -> Result<Row> {
    let dir = dir.join("articles");
    fs::create_dir(&dir)?;
    let article = vec![b'x'; ARTICLE_BYTES];
    let mut alone = 0;
    for number in 0..ARTICLES {
        let path = dir.join(number.to_string());
        fs::write(&path, &article)?;
        let file = File::open(&path)?;
        file.sync_all()?;
        alone += file.metadata()?.blocks();
    }
    let mut packed = File::create(dir.join("segment"))?;
    for _ in 0..ARTICLES {
        packed.write_all(&article)?;
    }
    packed.sync_all()?;
    let cost = |blocks: u64| blocks as f64 * 512.0 / ARTICLES as f64 / 1000.0;
    Ok(Row {
        what: "small articles packed",
        unit: "KB an article of 1.7",
        without: ("a file each", cost(alone)),
        with: ("a segment", cost(packed.metadata()?.blocks())),
        paper: "fragments",
    })
}
