//! JSON.

use std::fmt::Write;

/// Writes a value after another, with commas between them.
pub(crate) struct Json {
    text: String,
    /// Whether a comma goes before the next value.
    needs_comma: bool,
}

impl Json {
    pub(crate) fn new() -> Json {
        Json {
            text: String::new(),
            needs_comma: false,
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn begin_value(&mut self) {
        if self.needs_comma {
            self.text.push(',');
        }
        self.needs_comma = true;
    }

    /// Writes an object with the members that `members` writes.
    pub(crate) fn object(&mut self, members: impl FnOnce(&mut Json)) {
        self.nested('{', '}', members);
    }

    /// Writes an array with the values that `values` writes.
    pub(crate) fn array(&mut self, values: impl FnOnce(&mut Json)) {
        self.nested('[', ']', values);
    }

    fn nested(&mut self, open: char, close: char, inside: impl FnOnce(&mut Json)) {
        self.begin_value();
        self.text.push(open);
        self.needs_comma = false;
        inside(self);
        self.text.push(close);
        self.needs_comma = true;
    }

    /// Writes the name of a member. Its value follows.
    pub(crate) fn member(&mut self, name: &str) -> &mut Json {
        self.string(name);
        self.text.push(':');
        self.needs_comma = false;
        self
    }

    /// Writes a string.
    pub(crate) fn string(&mut self, string: &str) {
        self.begin_value();
        self.text.push('"');
        for letter in string.chars() {
            match letter {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                // The text may stand in a page, where `</script>` would end it.
                '\0'..' ' | '<' | '\u{2028}' | '\u{2029}' => {
                    _ = write!(self.text, "\\u{:04x}", letter as u32);
                }
                _ => self.text.push(letter),
            }
        }
        self.text.push('"');
    }

    /// Writes a whole number, or true or false.
    pub(crate) fn plain(&mut self, value: impl std::fmt::Display) {
        self.begin_value();
        _ = write!(self.text, "{value}");
    }

    /// Writes nanoseconds as microseconds.
    pub(crate) fn time(&mut self, nanoseconds: u64) {
        self.begin_value();
        _ = write!(self.text, "{}", nanoseconds / 1000);
        match nanoseconds % 1000 {
            0 => (),
            rest if rest % 100 == 0 => _ = write!(self.text, ".{}", rest / 100),
            rest if rest % 10 == 0 => _ = write!(self.text, ".{:02}", rest / 10),
            rest => _ = write!(self.text, ".{rest:03}"),
        }
    }

    /// Writes a number with three decimals at most.
    pub(crate) fn number(&mut self, number: f64) {
        let rounded = (number * 1000.0).round() / 1000.0;
        self.plain(if rounded.is_finite() { rounded } else { 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_get_commas_and_strings_escapes() {
        let mut json = Json::new();
        json.object(|json| {
            json.member("a").array(|json| {
                json.plain(1);
                json.time(2_030);
                json.time(5);
                json.number(0.123_456);
            });
            json.member("b\"").string("</script>\n\\é");
        });
        let expected = r#"{"a":[1,2.03,0.005,0.123],"b\"":"\u003c/script>\u000a\\é"}"#;
        assert_eq!(json.into_text(), expected);
    }
}
