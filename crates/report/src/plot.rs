//! Plots as SVG, for HTML: no scripts, no fonts or pictures from elsewhere.

use std::fmt::Write;

use crate::escape::escape;

/// Width of a plot, pixels.
const WIDTH: f64 = 720.0;
/// Height of the drawing, pixels.
const HEIGHT: f64 = 140.0;
/// Space at the left for the scale, and below for the times.
const LEFT: f64 = 76.0;
const BELOW: f64 = 22.0;
const ABOVE: f64 = 10.0;

/// A plot.
#[derive(Debug, Clone, Default)]
pub struct Plot<'a> {
    /// Its subject, for readers who do not see it.
    pub title: &'a str,
    /// The labels below, from the left to the right.
    pub labels: Vec<String>,
    /// The text of the highest value.
    pub scale: String,
}

impl Plot<'_> {
    /// Bars side by side, each of parts on top of each other. Each part has a class of the style sheet; the text of a bar appears when the
    /// pointer is on it.
    pub fn bars(&self, classes: &[&str], bars: &[(String, Vec<u64>)]) -> String {
        let most = bars
            .iter()
            .map(|(_, parts)| parts.iter().sum::<u64>())
            .max();
        let most = most.unwrap_or_default().max(1) as f64;
        let step = (WIDTH - LEFT) / bars.len().max(1) as f64;
        let mut body = String::new();
        for ((text, parts), place) in bars.iter().zip(0u32..) {
            let x = LEFT + step * f64::from(place);
            let mut y = ABOVE + HEIGHT;
            let _ = write!(body, "<g><title>{}</title>", escape(text));
            for (part, class) in parts.iter().zip(classes) {
                let height = *part as f64 / most * HEIGHT;
                y -= height;
                let width = (step - 2.0).max(0.5);
                let _ = write!(
                    body,
                    "<rect class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
                    escape(class)
                );
            }
            body.push_str("</g>");
        }
        self.frame(&body)
    }

    /// A line through points: a place from 0 to 1 and a value.
    pub fn line(&self, class: &str, points: &[(f64, u64)], most: u64) -> String {
        let most = most.max(1) as f64;
        let mut at = String::new();
        for (place, value) in points {
            let x = LEFT + (WIDTH - LEFT) * place.clamp(0.0, 1.0);
            let y = ABOVE + HEIGHT - (*value as f64 / most).min(1.0) * HEIGHT;
            let _ = write!(at, "{x:.1},{y:.1} ");
        }
        let class = escape(class);
        // A single point would be invisible.
        let marks = match points.len() {
            1 => at
                .trim_end()
                .split_once(',')
                .map_or_else(String::new, |(x, y)| {
                    format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"3\"/>")
                }),
            _ => format!("<polyline class=\"{class}\" points=\"{}\"/>", at.trim_end()),
        };
        self.frame(&marks)
    }

    fn frame(&self, body: &str) -> String {
        let (height, bottom) = (ABOVE + HEIGHT + BELOW, ABOVE + HEIGHT);
        let title = escape(self.title);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>\
             <line class=\"axis\" x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{WIDTH}\" y2=\"{bottom}\"/>\
             <line class=\"axis\" x1=\"{LEFT}\" y1=\"{ABOVE}\" x2=\"{LEFT}\" y2=\"{bottom}\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">0</text>",
            LEFT - 6.0,
            ABOVE + 10.0,
            escape(&self.scale),
            LEFT - 6.0,
        );
        let last = self.labels.len().saturating_sub(1).max(1) as f64;
        for (label, place) in self.labels.iter().zip(0u32..) {
            let x = LEFT + (WIDTH - LEFT) * f64::from(place) / last;
            let anchor = match f64::from(place) {
                0.0 => "start",
                place if place >= last => "end",
                _ => "middle",
            };
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                bottom + 16.0,
                escape(label)
            );
        }
        svg.push_str(body);
        svg.push_str("</svg>\n");
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_the_frame() {
        let plot = Plot {
            title: "a <b>",
            labels: vec!["00:00".to_owned(), "24:00".to_owned()],
            scale: "5".to_owned(),
        };
        let bars = plot.bars(&["a", "b"], &[("x & y".to_owned(), vec![2, 3])]);
        assert!(
            bars.contains("a &lt;b&gt;") && bars.contains("x &amp; y"),
            "{bars}"
        );
        assert!(bars.contains("height=\"84.0\""), "{bars}");
        let line = plot.line("a", &[(0.0, 0), (2.0, 500)], 100);
        assert!(line.contains("points=\"76.0,150.0 720.0,10.0\""), "{line}");
        assert!(plot.line("a", &[(0.5, 1)], 1).contains("<circle"));
        // Without values there is nothing but the frame.
        assert!(plot.bars(&["a"], &[]).ends_with("</svg>\n"));
    }
}
