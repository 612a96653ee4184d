//! The variables of newsfeeds: `$NAME=value`, and `$NAME` in the lines behind it (newsfeeds(5) of INN 2.7).

/// The variables defined so far.
#[derive(Debug, Default)]
pub struct Variables {
    /// Names and values, the newest first.
    known: Vec<(String, String)>,
}

impl Variables {
    /// Takes up the definition of a variable; false if the line is none.
    pub fn define(&mut self, line: &str) -> bool {
        let Some((name, value)) = line.trim().strip_prefix('$').and_then(|rest| {
            let (name, value) = rest.split_once('=')?;
            (!name.is_empty() && name.bytes().all(is_of_name)).then_some((name, value))
        }) else {
            return false;
        };
        let (value, _) = self.expand(value);
        self.known.insert(0, (name.to_owned(), value));
        true
    }

    /// A line with the values of its variables, and the first name that is not defined. A `!` or `@` before a variable applies to each
    /// element of its value.
    pub fn expand(&self, line: &str) -> (String, Option<String>) {
        let mut parts = line.split('$');
        let mut expanded = parts.next().unwrap_or_default().to_owned();
        let mut unknown = None;
        for part in parts {
            let end = part.bytes().position(|byte| !is_of_name(byte));
            let (name, rest) = part.split_at(end.unwrap_or(part.len()));
            let known = self.known.iter().find(|(known, _)| known == name);
            match (known, expanded.bytes().last()) {
                (Some((_, value)), Some(sign @ (b'!' | b'@'))) => {
                    let separator = format!(",{}", char::from(sign));
                    expanded.push_str(&value.replace(',', &separator));
                }
                (Some((_, value)), _) => expanded.push_str(value),
                (None, _) => {
                    unknown.get_or_insert_with(|| name.to_owned());
                    expanded.push('$');
                    expanded.push_str(name);
                }
            }
            expanded.push_str(rest);
        }
        (expanded, unknown)
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_before_a_variable_is_one_of_each_element() {
        let mut variables = Variables::default();
        assert!(variables.define("$OWN=local.*,example.*"));
        assert!(variables.define(" $ALSO=$OWN,x"));
        assert!(!variables.define("p:$OWN:Tm:b!") && !variables.define("$a b=c"));
        for (line, expected, unknown) in [
            (
                "p:*,@$OWN,!$ALSO:Tm:b!",
                "p:*,@local.*,@example.*,!local.*,!example.*,!x:Tm:b!",
                None,
            ),
            ("$OWN/x", "local.*,example.*/x", None),
            ("p:$OWNER,$", "p:$OWNER,$", Some("OWNER")),
            ("none", "none", None),
        ] {
            let (text, told) = variables.expand(line);
            assert_eq!((text.as_str(), told.as_deref()), (expected, unknown));
        }
        assert!(variables.define("$OWN=y"));
        assert_eq!(variables.expand("$OWN").0, "y");
    }
}
