//! Names in `.id`: a Message-ID in which `/`, which no name of a file has, is written `%2F`, and so `%` is written `%25`.

/// The Message-IDs that a name can mean, the one by the rule first. A name with a bare `%` means what it meant before the rule had `%25`,
/// unless there is an article by the rule.
pub fn ids_of(name: &[u8]) -> [Vec<u8>; 3] {
    let id = match name.first() {
        Some(b'<') => name.to_vec(),
        _ => [b"<", name, b">"].concat(),
    };
    let by_rule = decoded(&id, &[(b"%2F", b'/'), (b"%25", b'%')]);
    let by_slash = decoded(&id, &[(b"%2F", b'/')]);
    [by_rule, id, by_slash]
}

fn decoded(text: &[u8], codes: &[(&[u8], u8)]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let mut found = codes
            .iter()
            .filter_map(|(code, byte)| Some((*byte, rest.strip_prefix(*code)?)));
        let (byte, next) = found.next().unwrap_or((first, behind));
        decoded.push(byte);
        rest = next;
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name_of(id: &str) -> String {
        id.replace('%', "%25").replace('/', "%2F")
    }

    #[test]
    fn a_bare_percent_sign_is_one() {
        for (name, id) in [
            ("<50%@x>", "<50%@x>"),
            ("%25@x", "<%25@x>"),
            ("<%2f%4@x>", "<%2f%4@x>"),
            ("a%2Fb%25@x", "<a/b%25@x>"),
        ] {
            let ids = ids_of(name.as_bytes());
            assert!(ids.contains(&id.as_bytes().to_vec()), "{name}");
        }
    }

    proptest! {
        #[test]
        fn each_id_has_its_name(id in "<[%/25F@a]{1,12}>") {
            let [by_rule, ..] = ids_of(name_of(&id).as_bytes());
            prop_assert_eq!(by_rule, id.as_bytes());
        }
    }
}
