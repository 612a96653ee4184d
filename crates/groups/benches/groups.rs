//! Prints the times of frequent operations of this crate: `cargo bench -p groups`.
//!
//! Uses the full `active` list of the shared corpus where it is present
//! (`BROADSHEET_SHARED`), else a generated one of the same size.

use std::hint::black_box;
use std::io::Read;
use std::path::PathBuf;
use std::time::Instant;

use groups::{Active, Matrix, Pattern, SiteSet, Sites, Wildmat};

fn main() {
    let text = isc_active().unwrap_or_else(generated_active);
    println!("active: {} bytes", text.len());
    best("load active", 40, 1, || {
        black_box(Active::parse(text.clone())).map(|active| active.len())
    });
    best("  of which the copy of the text", 40, 1, || {
        black_box(text.clone())
    });
    let Ok(mut active) = Active::parse(text) else {
        return;
    };
    println!(
        "groups: {}, bad lines: {}",
        active.len(),
        active.bad_line_count()
    );
    let ids: Vec<_> = active.ids().collect();
    let names: Vec<Vec<u8>> = spread(&ids).map(|id| active.name(id).to_vec()).collect();
    best("find, a name", 20, names.len(), || {
        names
            .iter()
            .filter(|name| active.find(name).is_some())
            .count()
    });
    best("take_number, a group", 20, names.len(), || {
        spread(&ids).filter_map(|id| active.take_number(id)).max()
    });
    let pattern = Pattern::parse(b"comp,news,rec,!rec.games,alt.all.test,!alt.sex,local");
    best("C News pattern, a group", 20, names.len(), || {
        names.iter().filter(|name| pattern.matches(name)).count()
    });
    let wildmat =
        Wildmat::parse(b"comp.*,news.*,rec.*,!rec.games.*,alt.*.test,!*binaries*,local.*");
    best("wildmat, a group", 20, names.len(), || {
        names.iter().filter(|name| wildmat.matches(name)).count()
    });
    for sites in [5, 50, 500] {
        select(&active, &ids, sites);
    }
}

/// Articles with two groups each, over a thousand groups.
fn select(active: &Active, ids: &[groups::GroupId], sites: usize) {
    const HIERARCHIES: [&str; 9] = [
        "comp", "news", "rec", "sci", "soc", "talk", "misc", "alt", "de",
    ];
    let mut text = String::from("ME:all::\n");
    for site in 0..sites {
        let subs: Vec<&str> = HIERARCHIES
            .iter()
            .cycle()
            .skip(site)
            .take(7)
            .copied()
            .collect();
        text += &format!(
            "site{site}:{},!comp.sys{site}/world,na:f:\n",
            subs.join(",")
        );
    }
    let Ok(sys) = Sites::parse(text.as_bytes(), b"here") else {
        return;
    };
    let some: Vec<_> = spread(ids).collect();
    let pairs: Vec<_> = some
        .iter()
        .zip(some.iter().rev())
        .map(|(&a, &b)| [a, b])
        .collect();
    let mut matrix = Matrix::new(active, &sys);
    let mut out = SiteSet::new();
    let mut run = |distribution: Option<&[u8]>| {
        let mut selected = 0usize;
        for pair in &pairs {
            matrix.select(active, pair, &[], distribution, false, &mut out);
            selected += usize::from(out.contains(1));
        }
        selected
    };
    let start = Instant::now();
    black_box(run(None));
    let first = start.elapsed().as_nanos() as f64 / some.len() as f64;
    println!("{sites} sites: row of a group, first time: {first:.0} ns");
    best(
        "  select, an article with 2 groups",
        20,
        pairs.len(),
        || run(None),
    );
    best("  select, with a Distribution", 20, pairs.len(), || {
        run(Some(b"na"))
    });
}

/// A thousand ids, spread over the table.
fn spread(ids: &[groups::GroupId]) -> impl Iterator<Item = groups::GroupId> + '_ {
    let step = (ids.len() / 1000).max(1);
    ids.iter().copied().step_by(step)
}

/// Prints the shortest of several runs, in nanoseconds per item.
fn best<T>(what: &str, runs: usize, count: usize, mut run: impl FnMut() -> T) {
    let mut shortest = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        black_box(run());
        shortest = shortest.min(start.elapsed().as_nanos() as f64);
    }
    println!("{what}: {:.0} ns", shortest / count.max(1) as f64);
}

fn isc_active() -> Option<Vec<u8>> {
    let shared = std::env::var_os("BROADSHEET_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let file = std::fs::File::open(shared.join("corpus/admin/active.isc.gz")).ok()?;
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(file)
        .read_to_end(&mut text)
        .ok()?;
    Some(text)
}

fn generated_active() -> Vec<u8> {
    let line = |n: u32| format!("g{}.h{}.name{n} 0000000000 0000000001 y\n", n % 7, n % 501);
    (0..45_000).map(line).collect::<String>().into_bytes()
}
