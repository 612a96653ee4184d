//! Zone names and numeric zones.

const HOUR_SECONDS: i64 = 3600;

/// Returns the seconds east of UTC of a numeric zone; `None` if the hours exceed 23 or the minutes 59.
pub(super) fn offset(sign: u8, hours: u32, minutes: u32) -> Option<i64> {
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = i64::from(hours * 60 + minutes) * 60;
    Some(if sign == b'-' { -seconds } else { seconds })
}

/// Offset of a zone that RFC 5322 (4.3) defines; `name` is in lower case. Military letters count as UTC.
pub(super) fn of_rfc5322(name: &[u8]) -> Option<i64> {
    let hours = match name {
        b"ut" | b"gmt" => 0,
        b"edt" => -4,
        b"est" | b"cdt" => -5,
        b"cst" | b"mdt" => -6,
        b"mst" | b"pdt" => -7,
        b"pst" => -8,
        [b'a'..=b'i' | b'k'..=b'z'] => 0,
        _ => return None,
    };
    Some(hours * HOUR_SECONDS)
}

/// Offset of any zone found in news articles; `name` is in lower case. An ambiguous name means the zone that most
/// articles of its time came from: BST is British, IST Indian as in `getdate`, IDT Israel's summer time.
pub(super) fn of_name(name: &[u8]) -> Option<i64> {
    if let Some(seconds) = of_rfc5322(name) {
        return Some(seconds);
    }
    let half_hours = match name {
        b"utc" | b"uct" | b"wet" => 0,
        b"bst" | b"west" | b"wetdst" | b"cet" | b"met" | b"mez" | b"mewt" | b"fwt" | b"swt"
        | b"set" => 2,
        b"cest" | b"mest" | b"mesz" | b"mewst" | b"metdst" | b"cetdst" | b"fst" | b"sst" => 4,
        b"eet" | b"sast" => 4,
        b"eest" | b"eetdst" | b"msk" | b"idt" | b"bt" => 6,
        b"it" => 7,
        b"msd" => 8,
        b"pkt" => 10,
        b"ist" => 11,
        b"hkt" | b"sgt" | b"cct" | b"wst" | b"awst" => 16,
        b"wadt" | b"jst" | b"kst" => 18,
        b"acst" | b"cast" => 19,
        b"aest" | b"east" | b"gst" | b"kdt" => 20,
        b"acdt" | b"cadt" => 21,
        b"aedt" | b"eadt" => 22,
        b"nzt" | b"nzst" | b"idle" => 24,
        b"nzdt" => 26,
        b"ndt" => -5,
        b"adt" => -6,
        b"nst" | b"nft" => -7,
        b"ast" => -8,
        b"akdt" | b"ydt" => -16,
        b"akst" | b"yst" | b"hdt" => -18,
        b"hst" | b"ahst" | b"cat" => -20,
        b"nt" => -22,
        b"idlw" => -24,
        _ => return None,
    };
    Some(half_hours * HOUR_SECONDS / 2)
}
